"""The argument parser: one-line errors, and arguments read from the signature of a function."""

import argparse
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from functools import partial
from inspect import signature
from typing import Any, NoReturn, get_origin, get_type_hints

from deepnlp.options import Option, options_of


class Parser(argparse.ArgumentParser):
    """An argparse parser whose errors are one line, and whose examples keep their line breaks.

    Parameters
    ----------
    **options
        Those of ``argparse.ArgumentParser``.

    Attributes
    ----------
    called : Parser
        The parser of the command that was called, which speaks of options that nobody knows.
    elsewhere : dict of str to str
        Options that the command has in another case only, and that case.
    """

    def __init__(self, **options: Any) -> None:
        raw = argparse.RawDescriptionHelpFormatter
        super().__init__(formatter_class=raw, allow_abbrev=False, **options)
        self.elsewhere: dict[str, str] = {}
        self.called = self

    def _print_message(self, message: str, file: Any = None) -> None:
        """Write a message; argparse would pass over the errors of the stream."""
        (file or sys.stderr).write(message)

    def error(self, message: str) -> NoReturn:
        """Print what was wrong and how to get help, and exit with code 2."""
        line = " ".join(message.split())
        self.exit(2, f"deepnlp: error: {line} (see {self.prog} --help)\n")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raise argparse's error of an unknown command or value, with the one that is spelt so."""
        if action.choices is None or value in action.choices:
            return
        near = get_close_matches(str(value), map(str, action.choices), 1)
        asked = f"; did you mean {near[0]}?" if near else ""
        known = ", ".join(map(repr, action.choices))
        wrong = f"invalid choice: {value!r} (choose from {known}){asked}"
        raise argparse.ArgumentError(action, wrong)

    def refuse(self, words: Sequence[str]) -> NoReturn:
        """Report unknown arguments: where the first option belongs, or a similar one."""
        option = next((word for word in words if word.startswith("--")), "").split("=")[0]
        known = [*self._option_string_actions, *self.elsewhere]
        near = next(iter(get_close_matches(option, known, 1, cutoff=0.75)), "")
        asked = "" if near in (option, "") else f"; did you mean {near}?"
        where = f"; {near} is an option of {self.elsewhere[near]}" if near in self.elsewhere else ""
        self.error(f"unrecognized arguments: {' '.join(words)}{asked}{where}")


def declare(parser: Any, *functions: Callable[..., Any], **common: Any) -> None:
    """Add the arguments of functions, which stand for what signatures and docstrings say.

    Arguments by position are positions of the command line too, those by keyword alone its options.
    A sequence takes several words, or its option several times. ``common`` holds for all of them.

    >>> from typing import Annotated
    >>> def scale(x: Annotated[float, Option()], *, by: Annotated[int, Option(low=1)] = 2): ...
    >>> parser = Parser()
    >>> declare(parser, scale)
    >>> parser.parse_args(["2.5"])
    Namespace(x=2.5, by=2)
    """
    declared = {o.argument: (o, f) for f in functions for o in options_of(f).values()}
    groups = {"": parser}
    for name, (option, function) in declared.items():
        parameter = signature(function).parameters[name]
        is_option = parameter.kind is parameter.KEYWORD_ONLY
        is_needed = parameter.default is parameter.empty
        details: dict[str, Any] = {"default": option.default}
        if get_origin(get_type_hints(function)[name]) is Sequence:
            details["default"] = list(option.default or ())
            details |= {"action": "append"} if is_option else {"nargs": "+" if is_needed else "*"}
        elif not is_option and not is_needed:
            details["nargs"] = "?"
        if is_option:
            details |= {"dest": name, "required": is_needed}
        if option.kind is bool:
            details["action"] = "store_true"
        if option.either not in groups:
            groups[option.either] = parser.add_mutually_exclusive_group(required=not is_option)
        spelled = flag(option.name) if is_option else name
        add_option(
            groups[option.either], spelled, option, **{**details, **option.details, **common}
        )


def flag(name: str) -> str:
    """Return an option as it is written on the command line.

    >>> flag("batch_size"), flag("k")
    ('--batch-size', '-k')
    """
    return f"--{name.replace('_', '-')}" if len(name) > 1 else f"-{name}"


def add_option(group: Any, spelled: str, option: Option, **details: Any) -> None:
    """Add an argument to argparse, with the help, the default and the limits of an option."""
    text, shown = option.help.replace("%", "%%"), option.default
    if option.kind is bool:
        details.setdefault("action", argparse.BooleanOptionalAction)
        shown = None if details["action"] == "store_true" else "yes" if shown else "no"
    elif option.choices:
        details["choices"] = option.choices
    else:
        letter = option.metavar or {int: "N", float: "X"}.get(option.kind)
        details = {"metavar": letter, "type": partial(_value, option), **details}
    if shown not in (None, "", ()) and "default" not in text:
        text += f" (default {shown})"
    if option.limits():
        text += f" [{option.limits()}]"
    group.add_argument(spelled, help=text, **details)


def _value(option: Option, word: str) -> Any:
    """Return the value of a word; where an option takes several, commas stand between them."""
    if option.kind is str:
        return word
    words = word.split(",") if option.several else [word]
    try:
        values = [option.check(option.kind(each)) for each in words]
    except (ValueError, OverflowError):
        expected = f"should be {option.expected()}, got {word!r}"
        raise argparse.ArgumentTypeError(expected) from None
    return values if len(values) > 1 else values[0]
