"""The argument parser, and options that several commands share."""

import argparse
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

from deepnlp.files.reading import content_of, decode
from deepnlp.options import Option


class Parser(argparse.ArgumentParser):
    """An argparse parser whose errors are one line, and whose examples keep their line breaks.

    Parameters
    ----------
    **options
        Those of ``argparse.ArgumentParser``.

    Attributes
    ----------
    arguments : sequence of str
        The arguments to be parsed, without those that :meth:`take` has taken.
    called : Parser
        The parser of the command that was called, which speaks of options that nobody knows.
    elsewhere : dict of str to str
        Options that the command has in another case only, and that case.
    """

    arguments: Sequence[str] = ()

    def __init__(self, **options: Any) -> None:
        defaults: dict[str, Any] = {
            "formatter_class": _Formatter,
            "allow_abbrev": False,
        }
        super().__init__(**(defaults | options))
        self.elsewhere: dict[str, str] = {}
        self.called = self

    def error(self, message: str) -> NoReturn:
        """Print what was wrong and how to get help, and exit with code 2."""
        line, command = " ".join(message.split()), self.called
        if line.startswith("unrecognized arguments:"):
            line += command._hint(line)
        self.exit(2, f"deepnlp: error: {line} (see {command.prog} --help)\n")

    def take(self, add: Callable[[argparse.ArgumentParser], Any]) -> argparse.Namespace:
        """Add options on which others depend, and take their values out of the arguments."""
        first = Parser(prog=self.prog, add_help=False)
        add(first)
        taken, self.arguments = first.parse_known_args(self.arguments)
        add(self)  # for --help
        self.set_defaults(**vars(taken))
        return taken

    def _hint(self, line: str) -> str:
        """Where the first unknown option of a line belongs, or the option that is spelt like it."""
        option = next((word for word in line.split() if word.startswith("--")), "").split("=")[0]
        known = [*self._option_string_actions, *self.elsewhere]
        near = next(iter(get_close_matches(option, known, 1, cutoff=0.75)), "")
        asked = "" if near in (option, "") else f"; did you mean {near}?"
        where = f"; {near} is an option of {self.elsewhere[near]}" if near in self.elsewhere else ""
        return asked + where


def option(
    parser: argparse._ActionsContainer,
    spelled: str,
    what: str,
    kind: Any = str,
    default: Any = None,
    many: bool = False,
    **more: Any,
) -> None:
    """Add an option, or an argument, spelled as in a usage: ``--length N``, ``FILE``.

    ``kind`` turns the word into a value; ``bool`` stands for an option without one, and a sequence
    for a choice. ``many`` options gather their values in a list. The help states the default.

    >>> parser = Parser()
    >>> option(parser, "--length N", "words to add", int, 50)
    >>> parser.parse_args([]).length
    50
    """
    name, _, shown = spelled.partition(" ")
    if kind is bool:
        more |= {"action": "store_true", "default": False if default is None else default}
    elif many:
        more |= {"action": "append", "default": []}
    else:
        more["default"] = default
        more |= {"type": kind} if callable(kind) else {"choices": kind}
    if shown:
        more["metavar"] = shown
    shown_default = kind is not bool and default not in (None, "", [], argparse.SUPPRESS)
    if shown_default and "default" not in what:
        what += f" (default {default:g})" if isinstance(default, float) else f" (default {default})"
    parser.add_argument(name, help=what, **more)


def add_backend(parser: argparse.ArgumentParser, default: str | None) -> None:
    """Add ``--backend`` and ``--traceback``, which every command has."""
    option(
        parser,
        "--backend",
        "compute on the CPU (numpy) or on an NVIDIA GPU (cupy); by default what the "
        "environment variable DEEPNLP_BACKEND says, else numpy",
        ["numpy", "cupy"],
        default,
    )
    option(
        parser, "--traceback", "after an error show where in the code it was raised", bool, default
    )


def add_json(parser: argparse._ActionsContainer, default: Any = False) -> None:
    """Add ``--json``, with which a command prints its figures for programs to read."""
    option(
        parser,
        "--json",
        "print one JSON object on standard output, and everything else on standard error",
        bool,
        default,
    )


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add the model that a command works with."""
    option(parser, "model RUN_OR_CHECKPOINT", "a run folder, or a checkpoint (.npz) of one")


def add_corpus(parser: argparse.ArgumentParser, split: str) -> None:
    """Add the text that a command measures a model on."""
    option(
        parser,
        "--corpus NAME|PATH",
        "name of a corpus, or path of a text file or folder; by default the run's own",
    )
    option(parser, "--split", f"default {split}", ["train", "valid", "test"], split)


class Number:
    """The type of an option that is a number between limits, which ``--help`` shows.

    >>> Number(float, above=0, high=1)("2")
    Traceback (most recent call last):
        ...
    argparse.ArgumentTypeError: should be a number, above 0 and at most 1, got '2'
    """

    def __init__(self, kind: type[int] | type[float], **limits: float) -> None:
        self.option = Option("", kind=kind, **limits)  # type: ignore[arg-type]

    def __call__(self, text: str) -> Any:
        """The number in a text."""
        try:
            return self.option.check(self.option.kind(text))
        except (ValueError, OverflowError):
            raise argparse.ArgumentTypeError(
                f"should be {self.option.expected()}, got {text!r}"
            ) from None


def at_least(low: int, most: int | None = None) -> Number:
    """The type of an option that is a whole number, ``low`` or more.

    >>> at_least(1)("0")
    Traceback (most recent call last):
        ...
    argparse.ArgumentTypeError: should be a whole number, 1 or more, got '0'
    """
    return Number(int, low=low) if most is None else Number(int, low=low, high=most)


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Keeps the line breaks of a description, and shows the limits of numbers."""

    def _expand_help(self, action: argparse.Action) -> str:
        limits = action.type.option.limits() if isinstance(action.type, Number) else ""
        return super()._expand_help(action) + (f" [{limits}]" if limits else "")


def picture(text: str) -> str:
    """The type of an option that names the file of a figure.

    >>> picture("figure.gif")
    Traceback (most recent call last):
        ...
    argparse.ArgumentTypeError: should end in .png, .pdf or .svg, got 'figure.gif'
    """
    path = Path(text)
    if not text.lower().endswith((".png", ".pdf", ".svg")) or not path.suffix:
        raise argparse.ArgumentTypeError(f"should end in .png, .pdf or .svg, got {text!r}")
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"cannot write {text}: it is a folder")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"cannot write {text}: there is no folder {path.parent}")
    return text


def file_name(text: str) -> str:
    """The type of an option that is part of the name of a file or folder, and no path.

    >>> file_name("../book")
    Traceback (most recent call last):
        ...
    argparse.ArgumentTypeError: should be a name without folders, got '../book'
    """
    if not text or text.startswith(".") or not text.isprintable() or Path(text).name != text:
        raise argparse.ArgumentTypeError(f"should be a name without folders, got {text!r}")
    return text


def several(kind: type) -> Callable[[str], Any]:
    """The type of an option that takes one value, or several with commas between.

    >>> several(int)("8"), several(int)("8,8,4")
    (8, [8, 8, 4])
    """

    def values(text: str) -> Any:
        found = [kind(part) for part in text.split(",")]
        return found if len(found) > 1 else found[0]

    values.__name__ = kind.__name__  # in argparse's message
    return values


def read_text(path: str) -> str:
    """Read a text file, or standard input for ``-``, as UTF-8 whatever the platform's encoding."""
    return decode(content_of(path), "standard input" if path == "-" else path)
