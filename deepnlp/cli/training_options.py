"""The options of a training run on the command line, derived from what they configure."""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from deepnlp.cli.parser import Parser, add_option, declare, flag
from deepnlp.cli.shared import Flag
from deepnlp.options import Option
from deepnlp.tasks import TASKS
from deepnlp.training import TrainConfig, recipe_names
from deepnlp.training import configure as configured
from deepnlp.training.config import all_options, option_groups

RECIPES = f"{', '.join(recipe_names())}, or the path of a .toml file"

Task = Annotated[str | None, Option(choices=TASKS)]
Recipe = Annotated[
    str | None, Option(f"options of a run whose result is known: {RECIPES}", metavar="NAME")
]
Folder = Annotated[str | None, Option(metavar="DIR")]


def configure(parser: Parser, argv: Sequence[str]) -> None:
    """Add the options of the task that is asked for; those of other tasks are known by name."""
    words = [f"[{action.metavar}] " for action in parser._get_positional_actions()]
    parser.usage = f"%(prog)s {''.join(words)}[option ...]"
    first = Parser(prog=parser.prog, add_help=False)
    declare(first, defaults_of)
    defaults = defaults_of(**vars(first.parse_known_args(argv)[0]))
    for heading, options in option_groups(defaults["task"]).items():
        group = parser.add_argument_group(heading)
        for name, option in options.items():
            add_declared(group, replace(option, default=defaults[name]))
    for other in TASKS:
        for name in map(flag, all_options(other)):
            if name not in parser._option_string_actions:
                tasks = f"{parser.elsewhere[name]} or" if name in parser.elsewhere else "--task"
                parser.elsewhere[name] = f"{tasks} {other}"


def defaults_of(
    *, task: Task = None, recipe: Recipe = None, out: Folder = None, resume: Flag = False
) -> TrainConfig:
    """The options that hold before others are given: of the run to resume, the recipe or the task.

    >>> defaults_of(recipe="book-rnnlm").lr
    20.0
    """
    config = Path(out or "", "config.toml")
    if resume and out and config.is_file():
        return TrainConfig.load(config)
    return configured(recipe, task=task)


def add_declared(group: Any, option: Option) -> None:
    """Add an option which is not in the namespace where it is not given."""
    add_option(group, flag(option.name), option, default=argparse.SUPPRESS)


def file_name(text: str) -> str:
    """The value of an option that is part of the name of a file or folder, and no path.

    >>> file_name("../book")
    Traceback (most recent call last):
        ...
    argparse.ArgumentTypeError: should be a name without folders, got '../book'
    """
    if not text or text.startswith(".") or not text.isprintable() or Path(text).name != text:
        raise argparse.ArgumentTypeError(f"should be a name without folders, got {text!r}")
    return text
