"""The options of a training run on the command line, derived from what they configure."""

import argparse
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepnlp.cli.parser import Parser, several

if TYPE_CHECKING:
    from deepnlp.options import Option


def add_task_and_recipe(parser: Parser, add_folder: Callable[[Any], None] | None = None) -> Any:
    """Add ``--task``, ``--recipe`` and, by ``add_folder``, ``--out`` and ``--resume``.

    Gives the options that hold before any other is said: those of the run to resume, of the recipe,
    or of the task.
    """
    from deepnlp.training import TrainConfig, configure

    def add(parser: argparse.ArgumentParser) -> None:
        _add_task_and_recipe(parser)
        if add_folder is not None:
            add_folder(parser)

    said = parser.take(add)
    config = Path(getattr(said, "out", None) or "") / "config.toml"
    is_resumed = getattr(said, "resume", False) and said.out and config.is_file()
    defaults = TrainConfig.load(config) if is_resumed else configure(said.recipe, task=said.task)
    parser.set_defaults(task=said.task or defaults.task)
    return defaults


def _add_task_and_recipe(parser: argparse.ArgumentParser) -> None:
    from deepnlp.tasks import TASKS
    from deepnlp.training.config import recipe_names

    parser.add_argument(
        "--task",
        choices=[*TASKS],
        help="what to train for; with --help after it, its options are shown (default lm)",
    )
    recipes = ", ".join(recipe_names())
    parser.add_argument(
        "--recipe",
        metavar="NAME",
        help=f"options of a run whose result is known: {recipes}, or the path of a .toml file",
    )


def add_training_options(parser: Parser, defaults: Mapping[str, Any]) -> None:
    """Add the options of the task of ``defaults``; those of other tasks are known by name."""
    from deepnlp.tasks import TASKS
    from deepnlp.training.config import all_options, option_groups

    for heading, options in option_groups(defaults["task"]).items():
        group = parser.add_argument_group(heading)
        for option in options.values():
            _add(group, option, defaults[option.name])
    for other in TASKS:
        for name in (_flag(option) for option in all_options(other)):
            if name not in parser._option_string_actions:
                tasks = f"{parser.elsewhere[name]} or" if name in parser.elsewhere else "--task"
                parser.elsewhere[name] = f"{tasks} {other}"


def given_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options that were given, by their names."""
    from deepnlp.training.config import all_options

    names = all_options(arguments.task)
    return {name: getattr(arguments, name) for name in names if hasattr(arguments, name)}


def _flag(option: str) -> str:
    return "--" + option.replace("_", "-")


def _add(group: Any, option: "Option", default: Any) -> None:
    """Add an option to a group; one that is not given is not in the namespace."""
    help_text = option.help.replace("%", "%%")
    details: dict[str, Any] = {"default": argparse.SUPPRESS}
    if option.kind is bool:
        details |= {"action": argparse.BooleanOptionalAction}
    else:
        kind = several(option.kind) if option.several else option.kind
        details |= {"type": kind, "choices": option.choices or None}
        if not option.choices:
            details["metavar"] = option.metavar or {int: "N", float: "X"}.get(option.kind)
    if default is not None:
        shown = {True: "yes", False: "no"}[default] if option.kind is bool else default
        help_text += f" (default {shown})"
    if option.limits():
        help_text += f" [{option.limits()}]"
    group.add_argument(_flag(option.name), help=help_text, **details)
