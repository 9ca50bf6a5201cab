"""The options of a training run on the command line, derived from what they configure."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepnlp.cli.parser import Parser, several

if TYPE_CHECKING:
    from deepnlp.options import Option
    from deepnlp.training import TrainConfig


OUT = "the folder of the run; by default a new one, runs/NAME-TIME"
RESUME = (
    "continue the run in --out; --epochs may be larger, --corpus, --vectors and --start-from say "
    "where the same files are now, and no option may change that training depends on"
)


def add_task_and_recipe(parser: Parser, folder: Any = None) -> "TrainConfig":
    """Add ``--task`` and ``--recipe``, and to a group ``folder`` ``--out`` and ``--resume``.

    Gives the options that hold before any other is said: those of the run to resume, of the recipe,
    or of the task.
    """
    from deepnlp.tasks import TASKS
    from deepnlp.training import TrainConfig, configure, recipe_names

    def add(to: argparse.ArgumentParser) -> None:
        help_task = "what to train for; with --help after it, its options are shown (default lm)"
        to.add_argument("--task", choices=[*TASKS], help=help_task)
        names = f"{', '.join(recipe_names())}, or the path of a .toml file"
        help_recipe = f"options of a run whose result is known: {names}"
        to.add_argument("--recipe", metavar="NAME", help=help_recipe)
        if folder is not None:
            group = folder if to is parser else to
            group.add_argument("--out", metavar="DIR", help=OUT)
            group.add_argument("--resume", action="store_true", help=RESUME)

    said = parser.take(add)
    is_resumed = folder is not None and said.resume and said.out
    config = Path(said.out) / "config.toml" if is_resumed else None
    if config is not None and config.is_file():
        defaults = TrainConfig.load(config)
    else:
        defaults = configure(said.recipe, task=said.task)
    parser.set_defaults(task=said.task or defaults.task)
    return defaults


def add_training_options(parser: Parser, defaults: Mapping[str, Any]) -> None:
    """Add the options of the task of ``defaults``; those of other tasks are known by name."""
    from deepnlp.tasks import TASKS
    from deepnlp.training.config import all_options, option_groups

    for heading, options in option_groups(defaults["task"]).items():
        group = parser.add_argument_group(heading)
        for option in options.values():
            add_declared(group, option, defaults[option.name])
    for other in TASKS:
        for name in (flag(option) for option in all_options(other)):
            if name not in parser._option_string_actions:
                tasks = f"{parser.elsewhere[name]} or" if name in parser.elsewhere else "--task"
                parser.elsewhere[name] = f"{tasks} {other}"


def given_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options that were given, by their names."""
    from deepnlp.training.config import all_options

    names = all_options(arguments.task)
    return {name: getattr(arguments, name) for name in names if hasattr(arguments, name)}


def flag(option: str) -> str:
    """An option as it is written on the command line."""
    return "--" + option.replace("_", "-")


def add_declared(group: Any, option: "Option", default: Any) -> None:
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
    group.add_argument(flag(option.name), help=help_text, **details)
