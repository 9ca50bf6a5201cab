"""The commands by name, and the parser with the arguments of the one that is called.

examples:
  deepnlp train                                    the default model on the built-in corpus
  deepnlp train --corpus book.txt --epochs 10 --out runs/book
  deepnlp generate runs/book --prompt "the list is"
  deepnlp COMMAND --help                           what a command can do
"""

import argparse
import tomllib
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from keyword import iskeyword
from pathlib import Path
from typing import Annotated, Any

from deepnlp import __version__
from deepnlp.cli.parser import Parser, declare
from deepnlp.cli.shared import Answer, Flag, from_checkout
from deepnlp.options import Option, fill

COMMANDS: dict[str, str] = tomllib.loads(
    Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
)
OUTSIDE = {  # commands of a checkout: where they are, and what they belong to
    "bench": ("benchmarks.command", "the benchmarks"),
    "reproduce": ("studies.commands.reproduce", "the tables of results"),
    "search": ("studies.commands.search", "searches"),
}


def build_parser(argv: Sequence[str] = ()) -> Parser:
    """Build the parser, with the arguments of the command that ``argv`` names.

    >>> build_parser(["gradcheck"]).parse_args(["gradcheck", "--seed", "3"]).seed
    3
    """
    parser = Parser(
        prog="deepnlp",
        description="Deep learning for language, from scratch on NumPy and CuPy.",
        epilog=_more(__doc__),
    )
    parser.add_argument("--version", action="version", version=f"deepnlp {__version__}")
    declare(parser, common)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    called = next((word for word in argv if word in COMMANDS), None)
    for name, summary in COMMANDS.items():
        command = _add(commands, name, summary)
        if name == called:
            parser.called = command
            _configure(command, name, argv)
    return parser


def common(
    *,
    backend: Annotated[str | None, Option(choices=("numpy", "cupy"))] = None,
    traceback: Flag = False,
    json: Flag = False,
) -> None:
    """Options of every command.

    Parameters
    ----------
    backend : str, optional
        compute on the CPU (numpy) or on an NVIDIA GPU (cupy); by default what the environment
        variable DEEPNLP_BACKEND says, else numpy.
    traceback : bool
        after an error show where in the code it was raised.
    json : bool
        print one JSON object on standard output, and everything else on standard error.
    """


def _add(commands: Any, name: str, summary: str) -> Parser:
    description = summary[0].upper() + summary[1:] + "."
    parser: Parser = commands.add_parser(name, help=summary, description=description)
    return parser


def _more(doc: str | None) -> str:
    """Return a docstring without its first line: more, and examples."""
    return (doc or "").partition("\n\n")[2]


def _configure(command: Parser, name: str, argv: Sequence[str]) -> None:
    """Add the arguments of a command; one with actions has its own for each of them."""
    file = f"{name}_" if iskeyword(name) else name
    if name in OUTSIDE:
        module = from_checkout(*OUTSIDE[name])
    else:
        module = import_module(f"deepnlp.cli.{file}")
    command.epilog = _more(module.__doc__)
    parsers = [command]
    if hasattr(module, "ACTIONS"):
        actions = command.add_subparsers(metavar="ACTION", required=True)
        for name, action in module.ACTIONS.items():
            parser_of_action = _add(actions, name, (action.__doc__ or "").partition(".")[0])
            parser_of_action.set_defaults(run=partial(_act, module.run, action))
            declare(parser_of_action, module.run, action)
            parsers.append(parser_of_action)
    else:
        command.set_defaults(run=module.run)
        declare(command, module.run)
    if hasattr(module, "configure"):
        module.configure(command, argv)
    for parser in parsers:  # without defaults, so that a value given before is kept
        declare(parser, common, default=argparse.SUPPRESS)


def _act(run: Callable[..., Answer], action: Callable[..., Any], **values: Any) -> Answer:
    """Run a command with one of its actions, each with its own arguments."""
    return fill(run, values, partial(fill, action, values))
