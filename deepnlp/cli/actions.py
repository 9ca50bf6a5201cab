"""The actions of a command, as in ``deepnlp data fetch``."""

import argparse
from collections.abc import Callable
from functools import partial
from typing import Any

from deepnlp.cli.parser import add_backend, add_json, option

Add = Callable[..., None]


def add_actions(
    parser: argparse.ArgumentParser, shared: Callable[[Add], None] | None = None
) -> Callable[[str, str, Any], Add]:
    """The function that adds an action to a command, and gives the one that adds its options.

    ``shared`` adds options that all actions have; ``arguments.do`` is then the action's function.

    >>> parser = argparse.ArgumentParser()
    >>> action = add_actions(parser)
    >>> add = action("double", "twice a number", lambda arguments: 2 * arguments.number)
    >>> add("number", "", int)
    >>> arguments = parser.parse_args(["double", "4"])
    >>> arguments.do(arguments)
    8
    """
    add_json(parser)
    actions = parser.add_subparsers(metavar="ACTION", dest="action", required=True)

    def action(name: str, summary: str, do: Any) -> Add:
        description = summary[0].upper() + summary[1:] + "."
        own: argparse.ArgumentParser = actions.add_parser(
            name, help=summary, description=description
        )
        add = partial(option, own)
        if shared is not None:
            shared(add)
        own.set_defaults(do=do)
        add_json(own, default=argparse.SUPPRESS)
        add_backend(own, default=argparse.SUPPRESS)
        return add

    return action
