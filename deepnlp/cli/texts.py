"""The text that a command is given, and which of its words the model does not know."""

import argparse
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from deepnlp.cli.parser import option, read_text

if TYPE_CHECKING:
    from deepnlp.text import Vocabulary


def add_text(parser: argparse.ArgumentParser, unit: str) -> None:
    """Add a text, as an argument or a file with a ``unit`` a line."""
    given = parser.add_mutually_exclusive_group(required=True)
    option(given, "text TEXT", "the text, or - for standard input", nargs="?")
    option(given, "--file FILE", f"a text file, {unit} a line")


def text_of(arguments: argparse.Namespace) -> str:
    """The text that was given."""
    if arguments.file is None and arguments.text != "-":
        text: str = arguments.text
        return text
    return read_text(arguments.file or "-")


def note_unknown(vocab: "Vocabulary", tokens: Iterable[str]) -> None:
    """Name the words that a model reads as ``<unk>``."""
    unknown = ", ".join(dict.fromkeys(token for token in tokens if token not in vocab))
    if unknown:
        print(f"not in the vocabulary, read as <unk>: {unknown}", file=sys.stderr)
