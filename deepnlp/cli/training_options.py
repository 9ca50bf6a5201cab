"""The options of a training run on the command line, derived from what they configure."""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepnlp.cli.parser import Parser, several

if TYPE_CHECKING:
    from deepnlp.options import Option
    from deepnlp.training import TrainConfig


def add_task_and_recipe(parser: argparse.ArgumentParser, task: str) -> None:
    """Add ``--task`` and ``--recipe``."""
    from deepnlp.tasks import TASKS
    from deepnlp.training.config import recipe_names

    parser.add_argument(
        "--task",
        choices=[*TASKS],
        default=task,
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
    from deepnlp.training.config import option_groups

    for heading, options in option_groups(defaults["task"]).items():
        group = parser.add_argument_group(heading)
        for option in options.values():
            _add(group, option, defaults[option.name])
    for other in TASKS:
        for options in option_groups(other).values():
            for name in ("--" + option.replace("_", "-") for option in options):
                if name not in parser._option_string_actions:
                    tasks = f"{parser.elsewhere[name]} or" if name in parser.elsewhere else "--task"
                    parser.elsewhere[name] = f"{tasks} {other}"


def defaults_of(argv: Sequence[str]) -> "TrainConfig":
    """The options of a call before its own: of the resumed run, the recipe or the task."""
    from deepnlp.training import TrainConfig, configure

    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    for name in ("--task", "--recipe", "--out"):
        parser.add_argument(name)
    parser.add_argument("--resume", action="store_true")
    try:
        said, _ = parser.parse_known_args(argv)
        if said.resume and said.out:
            return TrainConfig.load(Path(said.out) / "config.toml")
        return configure(said.recipe, task=said.task)
    except (argparse.ArgumentError, ValueError, OSError):
        return TrainConfig()  # the error is reported when the options are read again


def given_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options that were given, by their names."""
    from deepnlp.training.config import option_groups

    names = [name for group in option_groups(arguments.task).values() for name in group]
    return {name: getattr(arguments, name) for name in names if hasattr(arguments, name)}


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
    group.add_argument("--" + option.name.replace("_", "-"), help=help_text, **details)
