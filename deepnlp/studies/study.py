"""What a table of results and a search have in common, and the column of a page's table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from deepnlp.training import TrainConfig


@dataclass(frozen=True)
class Column:
    """A column: its heading, and a text with figures in braces, such as ``{perplexity.test:.1f}``.

    A figure is the path of a number in ``result.json``; ``config.NAME`` is an option of the run and
    ``row.NAME`` a key of the row in the TOML file, such as ``published``. ``{a - b:+.1f}`` is a
    difference; ``before.perplexity.test`` is a figure of the row that this one comes after. Where
    runs with different seeds differ, their mean and spread are shown.
    """

    heading: str
    text: str
    align: str = "right"


@dataclass(frozen=True, kw_only=True)
class Study:
    """A plan of runs and what its page says; a subclass says which runs."""

    kind: ClassVar[str]
    plural: ClassVar[str]  # of the kind
    run_kind: ClassVar[str]  # what one of its runs is called
    done: ClassVar[str]  # and what it is at the end
    command: ClassVar[str]  # of deepnlp, which runs it
    stops_at_failure: ClassVar[bool]  # as the runs are alike
    change_advice: ClassVar[str]  # where a run has other options
    text_advice: ClassVar[str]  # where a run was made on another text

    name: str
    title: str = ""
    text: str = ""
    notes: str = ""

    @property
    def folder(self) -> str:
        """The name of the folder with its logs, and of its page."""
        return self.name

    @property
    def run_names(self) -> Sequence[str]:
        """The names of the folders of its runs."""
        raise NotImplementedError

    def changes(self, name: str, config: TrainConfig) -> list[str]:
        """The options of a run that are not those of the study, each as a text."""
        raise NotImplementedError

    def needs(self, name: str) -> Sequence[str]:
        """The runs whose folders a run reads."""
        return ()


def differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What is not as it was, each as a text; of another task only that it is another one."""
    names = ["task"] if then["task"] != now["task"] else {**then, **now}
    return [
        f"{name} was {then.get(name)!r}, is {now.get(name)!r}"
        for name in names
        if then.get(name) != now.get(name)
    ]
