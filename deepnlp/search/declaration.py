"""What a search consists of, read from its TOML file."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from importlib import resources
from typing import Any

from deepnlp.options import to_toml
from deepnlp.reproduce.declared import made, names_in, read_declaration
from deepnlp.search.parameter import Parameter, parameter
from deepnlp.tasks import TASKS
from deepnlp.training import TrainConfig, configure

SEARCHES = resources.files("deepnlp").joinpath("search", "searches")
SAMPLERS, PRUNERS = ("tpe", "random", "grid"), ("median", "halving", "none")
LEAST = {"trials": 1, "sampler_seed": 0, "startup_trials": 0, "warmup_epochs": 0}


@dataclass(frozen=True, kw_only=True)
class Manner:
    """How a space is searched, and what is said of it.

    ``sampler`` is ``"tpe"`` (the tree-structured Parzen estimator: Bergstra et al. 2011),
    ``"random"`` or ``"grid"``; each trial draws from a generator of its own, seeded with
    ``sampler_seed`` and its number. ``pruner`` ends a trial after an epoch: ``"median"`` if its
    best validation is worse than the median of the finished trials at that epoch, ``"halving"`` by
    successive halving, ``"none"`` never. Until ``startup_trials`` have ended, TPE draws at random
    and the median ends none; no trial is ended in its first ``warmup_epochs``.
    """

    title: str = ""
    text: str = ""
    notes: str = ""
    recipe: str = ""
    sampler: str = "tpe"
    sampler_seed: int = 0
    startup_trials: int = 5
    pruner: str = "median"
    warmup_epochs: int = 1


@dataclass(frozen=True, kw_only=True)
class Declared(Manner):
    """The keys of the TOML file."""

    space: Mapping[str, Mapping[str, Any]]
    trials: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Search(Manner):
    """A search: the options of all its trials, the space and the number of trials."""

    name: str
    config: TrainConfig
    space: Sequence[Parameter]
    trials: int

    def __post_init__(self) -> None:
        for key, known in (("sampler", SAMPLERS), ("pruner", PRUNERS)):
            if getattr(self, key) not in known:
                raise ValueError(
                    f"{key} should be one of {', '.join(known)}, got {getattr(self, key)!r}"
                )
        for one in self.space:
            if self.sampler == "grid" and one.points() is None:
                raise ValueError(f"a grid needs choices or a step for {one.name}")
        for key, low in LEAST.items():
            value = getattr(self, key)
            if not isinstance(value, int) or isinstance(value, bool) or value < low:
                raise ValueError(f"{key} should be a whole number, {low} or more, got {value!r}")
        if self.trials > size_of(self.space):
            raise ValueError(
                f"the space has only {size_of(self.space)} points, too few for {self.trials} trials"
            )

    @property
    def metric(self) -> str:
        """The validation figure that decides."""
        return TASKS[self.config.task].judged_by(self.config)[0]

    @property
    def higher_is_better(self) -> bool:
        """Of that figure."""
        return TASKS[self.config.task].judged_by(self.config)[1]

    def fixed(self) -> dict[str, Any]:
        """The options that all trials have in common."""
        searched = {option for one in self.space for option in one.options}
        return {name: value for name, value in self.config.items() if name not in searched}

    def options(self, values: Mapping[str, Any]) -> TrainConfig:
        """The options of the trial with these values of the parameters."""
        return self.config.replace(**{o: values[p.name] for p in self.space for o in p.options})

    def values(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """The values of the parameters in the options of a trial."""
        return {parameter.name: config[parameter.options[0]] for parameter in self.space}

    def points(self) -> Iterator[dict[str, Any]]:
        """All points of a grid; of two that follow each other the last parameter differs."""
        names = [one.name for one in self.space]
        for values in itertools.product(*(one.points() or () for one in self.space)):
            yield dict(zip(names, values, strict=True))

    def differences(self, then: Search) -> list[str]:
        """What is not as it was, each as a text; more trials are not counted."""
        changed = [
            (key, getattr(then, key), getattr(self, key))
            for key in ("sampler", "sampler_seed", "startup_trials", "pruner", "warmup_epochs")
        ]
        if self.trials < then.trials:
            changed.append(("trials", then.trials, self.trials))
        changed.append(("task", then.config.task, self.config.task))
        if self.config.task == then.config.task:
            changed += [(name, then.config[name], self.config[name]) for name in self.fixed()]
        before, after = ({p.name: p.said() for p in one.space} for one in (then, self))
        changed += [
            (f"the space of {name}", before.get(name, "empty"), after.get(name, "empty"))
            for name in {**before, **after}
        ]
        return [f"{name} was {old}, is {new}" for name, old, new in changed if old != new]

    def to_toml(self) -> str:
        """The search as a TOML file with all options, so that no recipe is needed."""
        manner = {one.name: getattr(self, one.name) for one in fields(Manner)}
        parts = [to_toml({**manner, "recipe": None, "trials": self.trials})]
        parts.append("[options]\n" + to_toml(self.fixed()))
        for one in self.space:
            values = {key: value for key, value in vars(one.values).items() if value}
            if not one.values.choices:
                values["low"] = one.values.low  # which may be zero
            parts.append(f'[space."{one.name}"]\n{to_toml(values)}')
        return "\n".join(parts)


def size_of(space: Sequence[Parameter]) -> float:
    """The number of points of a space."""
    return math.prod(len(one.points() or ()) or math.inf for one in space)


def search_names() -> list[str]:
    """Names of the searches that come with deepnlp."""
    return names_in(SEARCHES)


def load_search(name: str) -> Search:
    """Read a search: one of :func:`search_names`, or the path of a TOML file."""
    name, content, source = read_declaration(name, SEARCHES, "search")
    try:
        return search(name, content)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{source}: {error}") from error


def search(name: str, content: Mapping[str, Any]) -> Search:
    """The search that a table of TOML declares, or a ValueError that says what is wrong in it."""
    declared: Declared = made(Declared, content, "the search")
    config = configure(declared.recipe or None, declared.options, declared.options.get("task"))
    if config.seed is None:  # a trial that was killed must go on as it began
        config = config.replace(seed=0)
    space = [parameter(key, values, config) for key, values in declared.space.items()]
    if not space:
        raise ValueError("the space is empty: name an option and the values to try")
    taken = [option for one in space for option in one.options]
    for option in taken:
        if taken.count(option) > 1:
            raise ValueError(f"{option} is in two parameters of the space")
        if option in declared.options:
            raise ValueError(f"{option} is in the space, and has a fixed value too")
    manner = {one.name: getattr(declared, one.name) for one in fields(Manner)}
    if not declared.title:
        manner["title"] = f"A search for {' and '.join(parameter.name for parameter in space)}"
    trials = declared.trials
    if trials is None:
        if math.isinf(size_of(space)):
            raise ValueError("trials is missing: expected how many there are to be")
        trials = int(size_of(space))
    return Search(**manner, name=name, config=config, space=space, trials=trials)
