"""The comments on the answers to an exercise: the tables in ``lessonK.toml``, by diagnosis."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any

from deepnlp.lessons.exercises.values import compare_values
from deepnlp.lessons.exercises.verdict import Verdict, is_empty


class Texts(dict[str, str]):
    """The sentences of one exercise, with fields such as ``{n}`` for what was found.

    Where several values show the same mistake, a bar and a further word tell them apart:
    ``"mask forgotten|in backward"`` has the sentence, and the name, of ``"mask forgotten"``.
    """

    def told(self, diagnosis: str, **found: Any) -> str:
        """A sentence with its fields filled in."""
        return self[diagnosis].format(**found)

    def wrong(self, diagnosis: str, **found: Any) -> Verdict:
        """The verdict on a wrong answer of this kind."""
        return Verdict.wrong(kind_of(diagnosis), self.told(diagnosis, **found))

    def right(self, **found: Any) -> Verdict:
        """The verdict on a right answer."""
        return Verdict.right(self.told("right", **found))

    def compare(
        self, got: Any, right: Any, name: str, wrong: Mapping[str, Any], tolerance: float = 1e-6
    ) -> Verdict:
        """Compare a value with the right one, and with those of typical mistakes."""
        verdict = compare_values(got, right, name, tolerance, self.of(wrong))
        diagnosis = verdict.diagnosis and kind_of(verdict.diagnosis)
        return Verdict(verdict.ok, diagnosis, verdict.text)

    def name(self, got: Any, right: Any, name: str, wrong: Iterable[tuple[str, Any]]) -> Verdict:
        """As :meth:`compare`, where several wrong values may have the same diagnosis."""
        verdict = compare_values(got, right, name)
        if not verdict.ok and not is_empty(got):
            for diagnosis, value in wrong:
                if compare_values(got, value).ok:
                    return self.wrong(diagnosis)
        return verdict

    def of(self, values: Mapping[str, Any]) -> dict[str, tuple[Any, str]]:
        """Alternatives for ``compare_values``, from the value that each mistake gives."""
        return {name: (value, self[kind_of(name)]) for name, value in values.items()}


def kind_of(name: str) -> str:
    """The mistake that a name stands for: what comes before its bar, if it has one."""
    return name.partition("|")[0]


def texts_of(lesson: int) -> dict[str, Texts]:
    """The sentences of a lesson, by the name of the exercise."""
    text = (
        files("deepnlp.lessons.exercises")
        .joinpath(f"lesson{lesson}.toml")
        .read_text(encoding="utf-8")
    )
    return {name: Texts(table) for name, table in tomllib.loads(text).items()}
