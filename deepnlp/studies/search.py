"""A search: the options of its trials, the values to try, and how; read from its TOML file."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from deepnlp.options import to_toml
from deepnlp.studies.declaration import check_keys, load_declared
from deepnlp.studies.parameter import KEYS, Parameter, build_parameter
from deepnlp.studies.study import Study, differences
from deepnlp.tasks import TASKS
from deepnlp.training import TrainConfig, configure

SAMPLERS, PRUNERS = ("tpe", "random", "grid"), ("median", "halving", "none")
LEAST = {"trials": 1, "sampler_seed": 0, "startup_trials": 0, "warmup_epochs": 0}
SAMPLING = ("sampler", "sampler_seed", "startup_trials", "pruner", "warmup_epochs")


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

    kind, command, ended_run = "search", "search", "ended trial"
    change_advice = "bring back its options, or take the trials of another study"
    text_advice = "begin another study than that in {folder}"

    config: TrainConfig
    space: Sequence[Parameter]
    recipe: str = ""
    sampler: str = "tpe"
    sampler_seed: int = 0
    startup_trials: int = 5
    pruner: str = "median"
    warmup_epochs: int = 1
    trials: int

    def __post_init__(self) -> None:
        for key, known in (("sampler", SAMPLERS), ("pruner", PRUNERS)):
            if getattr(self, key) not in known:
                raise ValueError(
                    f"{key} should be one of {', '.join(known)}, got {getattr(self, key)!r}"
                )
        for parameter in self.space:
            if self.sampler == "grid" and parameter.points() is None:
                raise ValueError(f"a grid needs choices or a step for {parameter.name}")
        for key, low in LEAST.items():
            value = getattr(self, key)
            if not isinstance(value, int) or isinstance(value, bool) or value < low:
                raise ValueError(f"{key} should be a whole number, {low} or more, got {value!r}")
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
        return [trial_name(number) for number in range(self.trials)]

    @property
    def metric(self) -> str:
        """The validation figure that decides."""
        return TASKS[self.config.task].judged_by(self.config)[0]

    @property
    def higher_is_better(self) -> bool:
        """Of that figure."""
        return TASKS[self.config.task].judged_by(self.config)[1]

    @property
    def better(self) -> Callable[..., Any]:
        """``max`` or ``min``, which picks the better of two figures."""
        return max if self.higher_is_better else min

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
        changes = differences(config, self.config, [*self.fixed()])
        if config.task != self.config.task:
            return changes
        return changes + [
            f"{option} was {config[option]!r}, is one of {parameter.describe()}"
            for parameter in self.space
            for option in parameter.options
            if not parameter.contains(config[option])
            or config[option] != config[parameter.options[0]]
        ]

    def points(self) -> Iterator[dict[str, Any]]:
        """All points of a grid; of two that follow each other the last parameter differs."""
        names = [parameter.name for parameter in self.space]
        for values in itertools.product(*(parameter.points() or () for parameter in self.space)):
            yield dict(zip(names, values, strict=True))

    def differences(self, then: Search) -> list[str]:
        """What is not as it was, each as a text; more trials are not counted."""
        changed = [(key, getattr(then, key), getattr(self, key)) for key in SAMPLING]
        if self.trials < then.trials:
            changed.append(("trials", then.trials, self.trials))
        changed.append(("task", then.config.task, self.config.task))
        if self.config.task == then.config.task:
            changed += [(name, then.config[name], self.config[name]) for name in self.fixed()]
        before, after = ({p.name: p.describe() for p in search.space} for search in (then, self))
        changed += [
            (f"the space of {name}", before.get(name, "empty"), after.get(name, "empty"))
            for name in {**before, **after}
        ]
        return [f"{name} was {old}, is {new}" for name, old, new in changed if old != new]

    def to_toml(self) -> str:
        """The search as a TOML file with all options, so that no recipe is needed."""
        keys = [key for key in DECLARED if key not in ("recipe", "space", "options")]
        parts = [to_toml({key: getattr(self, key) for key in keys})]
        parts.append("[options]\n" + to_toml(self.fixed()))
        for parameter in self.space:
            values = {key: getattr(parameter, key) for key in KEYS}
            values = {key: value for key, value in values.items() if value or key == "low"}
            parts.append(f'[space."{parameter.name}"]\n{to_toml(values)}')
        return "\n".join(parts)


COMPUTED = ("name", "config")  # fields that are no keys of the TOML file
DECLARED = [*(field.name for field in fields(Search) if field.name not in COMPUTED), "options"]


def trial_name(number: int) -> str:
    """The name of the run folder of a trial."""
    return f"trial-{number:03d}"


def load_search(name: str) -> Search:
    """Read a search: one that comes with deepnlp, or the path of a TOML file."""
    return load_declared("search", name, build_search)


def build_search(name: str, content: Mapping[str, Any]) -> Search:
    """The search that a table of TOML declares, or a ValueError that says what is wrong in it."""
    check_keys(content, DECLARED, "the search")
    parts = {"recipe": "", "trials": None, "options": {}, "space": {}, **content}
    options = parts.pop("options")
    config = configure(parts["recipe"] or None, options, options.get("task"))
    if config.seed is None:  # a trial that was killed must go on as it began
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
    if not parts.get("title"):
        parts["title"] = f"A search for {' and '.join(parameter.name for parameter in space)}"
    if parts["trials"] is None:
        if math.isinf(_size(space)):
            raise ValueError("trials is missing: expected how many there are to be")
        parts["trials"] = int(_size(space))
    return Search(**{**parts, "name": name, "config": config, "space": space})


def _size(space: Sequence[Parameter]) -> float:
    """The number of points of a space."""
    return math.prod(len(parameter.points() or ()) or math.inf for parameter in space)
