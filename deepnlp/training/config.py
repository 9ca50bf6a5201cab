"""The options of a training run, read from what they configure; and recipes.

The command line builds its options from :func:`option_groups`, a recipe is a TOML file of the same
names, and so is the ``config.toml`` of a run folder. A value further to the right overrides those
before it:

    defaults of the constructors  <  recipe "default"  <  recipe  <  what the user says
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib import resources
from os import PathLike
from typing import Any

from deepnlp.files.reading import read_toml
from deepnlp.optimizers import OPTIMIZERS
from deepnlp.options import Choice, Option, kept_at_resume, options_of, to_toml
from deepnlp.tasks import TASKS, Task
from deepnlp.training.schedules import SCHEDULES
from deepnlp.training.trainer import Trainer

DEFAULT_TASK = "lm"
RECIPES = resources.files("deepnlp").joinpath("recipes")


def _task(name: str) -> type[Task]:
    if name not in TASKS:
        raise ValueError(f"task should be one of {', '.join(map(repr, TASKS))}, got {name!r}")
    return TASKS[name]


def option_groups(
    task: str, given: Mapping[str, Any] | None = None
) -> dict[str, dict[str, Option]]:
    """Return the options of training for a task, by heading and name.

    Where alternatives share an option, the default is that of the one in ``given``.
    """
    kind = _task(task)
    parts: dict[str, Any] = {**kind.parts}
    if not kind.counted:
        parts |= {"optimizer": OPTIMIZERS, "schedule": SCHEDULES, "training": (kind, Trainer)}
    groups = {}
    for heading, part in parts.items():
        if isinstance(part, Choice):
            groups[heading] = part.options(heading, (given or {}).get(heading))
        else:
            groups[heading] = {n: option for f in part for n, option in options_of(f).items()}
    return groups


def all_options(task: str, given: Mapping[str, Any] | None = None) -> dict[str, Option]:
    """Return the options of all groups, by name."""
    return {n: o for group in option_groups(task, given).values() for n, o in group.items()}


class TrainConfig(dict[str, Any]):
    """All options of a training run: a table by name, whose entries are attributes too.

    Parameters
    ----------
    task : str
        A key of :data:`deepnlp.tasks.TASKS`.
    **options
        Each by name; the others have the default of the constructor they belong to. None stands
        for an option that is not given.

    Raises
    ------
    ValueError
        Naming the option, what was expected and what was given.

    Examples
    --------
    >>> TrainConfig(lr=1).lr
    1.0
    >>> TrainConfig(dropout=1.5)
    Traceback (most recent call last):
        ...
    ValueError: dropout should be a number, 0 or more and below 1, got 1.5
    """

    def __init__(self, task: str = DEFAULT_TASK, **options: Any) -> None:
        known = all_options(task, options)
        if unknown := [name for name in options if name not in known]:
            raise ValueError(f"unknown option {unknown[0]!r}: expected one of {', '.join(known)}")
        super().__init__(task=task)
        for name, option in known.items():
            value = options.get(name, option.default)
            said = name in options and (value is not None or option.default is not None)
            self[name] = option.check(value) if said else value

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"a TrainConfig has no {name}") from None

    def replace(self, **changes: Any) -> TrainConfig:
        """Return the same options with some of them changed.

        Examples
        --------
        >>> TrainConfig().replace(epochs=9).epochs
        9
        """
        return TrainConfig(**{**self, **changes})

    def fixed(self) -> dict[str, Any]:
        """Return the options that a resumed run must have too.

        Examples
        --------
        >>> TrainConfig(seed=3).fixed()["seed"]
        3
        """
        known = all_options(self.task, self)
        return kept_at_resume({name: self[name] for name in known}, known)

    def to_toml(self) -> str:
        """Return the options as the text of a TOML file, which :meth:`load` reads."""
        return to_toml(self)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> TrainConfig:
        """Read options from a TOML file such as the ``config.toml`` of a run.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If it is not TOML, or has an unknown key or a wrong value.
        """
        return _from_table(read_toml(path), str(path))


def _from_table(table: Mapping[str, Any], source: str) -> TrainConfig:
    try:
        return TrainConfig(**table)
    except ValueError as error:
        raise ValueError(f"{source}: {error}") from error


def configure(
    recipe_name: str | None = None,
    explicit: Mapping[str, Any] | None = None,
    task: str | None = None,
) -> TrainConfig:
    """Return options of a run: those of a recipe, then those given explicitly.

    Parameters
    ----------
    recipe_name : str, optional
        A name from :func:`recipe_names`, or the path of a TOML file; by default the task's for
        this kind of data.
    explicit : dict, optional
        Options by name.
    task : str, optional
        By default that of the recipe.

    Examples
    --------
    >>> config = configure("book-rnnlm", {"epochs": 1})
    >>> config.lr, config.epochs
    (20.0, 1)
    """
    name = recipe_name or _task(task or DEFAULT_TASK).recipe_for(explicit or {})
    stated = {"task": task or DEFAULT_TASK} if name is None else {"task": recipe(name).task}
    if task not in (None, stated["task"]):
        raise ValueError(f"recipe {name} is for task {stated['task']!r}, got {task!r}")
    if name is not None:
        stated |= _stated(name)
    # Options that are not stated have the default of the chosen model, optimizer and schedule.
    return TrainConfig(**{**stated, **(explicit or {})})


def recipe_names() -> list[str]:
    """Return names of the recipes that come with deepnlp.

    Examples
    --------
    >>> "book-rnnlm" in recipe_names()
    True
    """
    names = (file.name for file in RECIPES.iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def recipe(name: str) -> TrainConfig:
    """Return a recipe: the options of a run whose result is known.

    Options that it does not give are taken from the default recipe of its task.

    Parameters
    ----------
    name : str
        One of :func:`recipe_names`, or the path of a TOML file.

    Raises
    ------
    ValueError
        If there is no recipe of this name; the text lists those there are.

    Examples
    --------
    >>> recipe("book-rnnlm").hidden_size
    100
    """
    return _from_table(_stated(name), name if name.endswith(".toml") else f"recipe {name}")


def _stated(name: str) -> dict[str, Any]:
    """Return what a recipe says, over what the default recipe of its task says."""
    table = read_toml(name) if name.endswith(".toml") else tomllib.loads(recipe_text(name))
    task = table.get("task", DEFAULT_TASK)
    default = TASKS[task].recipe if task in TASKS else None
    return {**({} if default is None else tomllib.loads(recipe_text(default))), **table}


def recipe_text(name: str) -> str:
    """Return the TOML text of a recipe; its comments state source, expected result and time.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> recipe_text("book-rnnlm").startswith("# ")
    True
    """
    if name not in recipe_names():
        names = f"{', '.join(recipe_names())}, or the path of a .toml file"
        raise ValueError(f"unknown recipe {name!r}: expected one of {names}")
    return RECIPES.joinpath(f"{name}.toml").read_text(encoding="utf-8")
