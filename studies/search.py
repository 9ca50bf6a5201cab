"""A search: the options of its trials, the values to try, and how; read from its TOML file."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from deepnlp.errors import DeepNLPError
from deepnlp.files.writing import locked, write_whole
from deepnlp.options import Option, check_options, options_of, to_toml, values_of
from deepnlp.training import TrainConfig, configure
from deepnlp.training.result import FINISHED
from studies.logs import Run, judged_by
from studies.parameter import KEYS, Parameter, build_parameter, text
from studies.study import Study, check_keys, differences, load_declared

DECLARED, LOCK = "search.toml", "study.lock"  # in the folder of a search that is run


@dataclass(frozen=True, kw_only=True)
class Search(Study):
    """A search: the options of all its trials, the space, the number of trials and the manner.

    ``sampler`` is ``"tpe"`` (the tree-structured Parzen estimator: Bergstra et al. 2011),
    ``"random"`` or ``"grid"``; each trial draws from a generator of its own, seeded with
    ``sampler_seed`` and its number. ``pruner`` ends a trial after an epoch: ``"median"`` if its
    best validation is worse than the median of the finished trials at that epoch, ``"halving"`` by
    successive halving, ``"none"`` never. Until ``startup_trials`` have ended, TPE draws at random
    and the median ends none; no trial is ended in its first ``warmup_epochs``.
    """

    kind, stops_at_failure = "search", True

    config: TrainConfig
    space: Sequence[Parameter]
    recipe: str = ""
    trials: Annotated[int, Option("number of trials; by default all points", low=1, high=1_000_000)]
    sampler: Annotated[str, Option("how values are chosen", ("tpe", "random", "grid"))] = "tpe"
    sampler_seed: Annotated[int, Option("its seed", low=0)] = 0
    startup_trials: Annotated[int, Option("trials before tpe and median begin", low=0)] = 5
    pruner: Annotated[
        str, Option("how trials that are not promising are ended", ("median", "halving", "none"))
    ] = "median"
    warmup_epochs: Annotated[int, Option("epochs in which none is ended", low=0)] = 1

    def __post_init__(self) -> None:
        check_options(Search, vars(self))
        for parameter in self.space:
            if self.sampler == "grid" and parameter.points() is None:
                raise ValueError(f"a grid needs choices or a step for {parameter.name}")
        if self.trials > _size(self.space):
            raise ValueError(
                f"the space has only {_size(self.space)} points, too few for {self.trials} trials"
            )

    @property
    def folder(self) -> str:
        """The name of the folder with its logs, and of its page."""
        return f"search-{self.name}"

    @property
    def run_names(self) -> Sequence[str]:
        """The names of the folders of all trials."""
        return [f"trial-{number:03d}" for number in range(self.trials)]

    @property
    def metric(self) -> str:
        """The validation figure that decides."""
        return judged_by(self.config)[0]

    @property
    def better(self) -> Callable[..., Any]:
        """``max`` or ``min``, which picks the better of two figures."""
        return max if judged_by(self.config)[1] else min

    def best_of(self, trials: Sequence[Run]) -> Run | None:
        """The best of the trials that ran all their epochs; of two that are as good the first."""
        finished = [trial for trial in trials if trial.status == FINISHED]
        best: Run | None = self.better(finished, key=lambda trial: trial.best or 0.0, default=None)
        return best

    def number(self, trial: Run) -> int:
        """The number of a trial, from 0 on."""
        return self.run_names.index(trial.name)

    def facts(self, trial: Run) -> dict[str, Any]:
        """Return the facts of a trial for its page and for JSON."""
        return {
            "number": self.run_names.index(trial.name),
            "values": self.values(trial.config),
            "status": trial.status,
            "epochs": len(trial.curve),
            "best_epoch": trial.best_epoch,
            self.metric: trial.best,
        }

    def describe(self, trial: Run) -> str:
        """The values of a trial in words."""
        values = self.values(trial.config).items()
        return ", ".join(f"{name} {text(value)}" for name, value in values)

    def fixed(self) -> dict[str, Any]:
        """The options that all trials have in common."""
        searched = {option for parameter in self.space for option in parameter.options}
        return {name: value for name, value in self.config.items() if name not in searched}

    def options(self, values: Mapping[str, Any]) -> TrainConfig:
        """The options of the trial with these values of the parameters."""
        return self.config.replace(**{o: values[p.name] for p in self.space for o in p.options})

    def values(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The values of the parameters in the options of a trial."""
        return {parameter.name: config[parameter.options[0]] for parameter in self.space}

    def changes(self, name: str, config: TrainConfig) -> list[str]:
        """The options of a trial that are not those of the search, each as a text."""
        if config.task != self.config.task:
            return differences(config, self.config)
        values = self.values(config)
        return differences(config, self.options(values)) + [
            f"{p.name} was {values[p.name]!r}, is one of {p.describe()}"
            for p in self.space
            if not p.contains(values[p.name])
        ]

    def points(self) -> Iterator[dict[str, Any]]:
        """All points of a grid; of two that follow each other the last parameter differs."""
        names = [parameter.name for parameter in self.space]
        for values in itertools.product(*(parameter.points() or () for parameter in self.space)):
            yield dict(zip(names, values, strict=True))

    def differences(self, then: Search) -> list[str]:
        """Describe what has changed, each change as a text; more trials are not counted."""
        before, now = (
            {**values_of(s), **s.fixed(), "space": {p.name: p.describe() for p in s.space}}
            for s in (then, self)
        )
        return differences({**before, "trials": max(then.trials, self.trials)}, now)

    def to_toml(self) -> str:
        """The search as a TOML file with all options, so that no recipe is needed."""
        texts = {"title": self.title, "text": self.text, "notes": self.notes}
        parts = [to_toml({**texts, **values_of(self)}), "[options]\n" + to_toml(self.fixed())]
        for parameter in self.space:
            values = {key: getattr(parameter, key) for key in KEYS}
            values = {key: value for key, value in values.items() if value or key == "low"}
            parts.append(f'[space."{parameter.name}"]\n{to_toml(values)}')
        return "\n".join(parts)


def load_search(name: str) -> Search:
    """Read a search: one that comes with deepnlp, or the path of a TOML file."""
    return load_declared("search", name, build_search)


def build_search(name: str, content: Mapping[str, Any]) -> Search:
    """The search that a table of TOML declares, or a ValueError that says what is wrong in it."""
    texts = ("title", "text", "notes", "recipe")
    check_keys(content, (*texts, "options", "space", *options_of(Search)), "the search")
    parts = {"recipe": "", "options": {}, "space": {}, **content}
    options = parts.pop("options")
    config = configure(parts["recipe"] or None, options, options.get("task"))
    if config.seed is None:  # a killed trial must continue as it began
        config = config.replace(seed=0)
    space = [build_parameter(key, values, config) for key, values in parts["space"].items()]
    if not space:
        raise ValueError("the space is empty: name an option and the values to try")
    taken = [option for parameter in space for option in parameter.options]
    for option in taken:
        if taken.count(option) > 1:
            raise ValueError(f"{option} is in two parameters of the space")
        if option in options:
            raise ValueError(f"{option} is in the space, and has a fixed value too")
    if "trials" not in parts and math.isinf(_size(space)):
        raise ValueError("trials is missing: expected how many there are to be")
    parts["trials"] = parts.get("trials", _size(space))
    parts["title"] = parts.get("title") or f"A search for {' and '.join(p.name for p in space)}"
    return Search(**{**parts, "name": name, "config": config, "space": space})


def _size(space: Sequence[Parameter]) -> int | float:
    """The number of points of a space; infinity where there is no end of them."""
    return math.prod(len(parameter.points() or ()) or math.inf for parameter in space)


def begin_study(folder: Path, search: Search) -> None:
    """Write down the search in a new folder, or check that it is that of the folder.

    The number of trials may have grown.
    """
    declared = folder / DECLARED
    others = [path for path in folder.glob("*") if path.name != LOCK and path.suffix != ".tmp"]
    if others and not declared.exists():
        raise DeepNLPError(
            f"{folder} holds no study: it has no {DECLARED}; name a new or an empty folder"
        )
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / LOCK, math.inf):
        if declared.exists():
            changes = search.differences(begun_search(folder))
            if changes:
                raise DeepNLPError(
                    f"{folder} holds a study with other options ({'; '.join(changes)}): bring back "
                    "its options, or name another folder"
                )
        write_whole(declared, search.to_toml())


def begun_search(folder: Path) -> Search:
    """The search of the folder in which its trials are run; its name is the folder's."""
    if not (folder / DECLARED).exists():
        raise FileNotFoundError(
            f"no study in {folder}: it has no {DECLARED}; begin one with --space"
        )
    return replace(load_search(str(folder / DECLARED)), name=folder.name)
