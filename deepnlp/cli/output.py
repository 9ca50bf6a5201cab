"""What commands print: tables for people, one JSON object for programs."""

import argparse
import sys
from collections.abc import Mapping
from typing import Any, TextIO

from deepnlp.files.tables import table

__all__ = ["answer", "aside", "megabytes", "print_json", "table"]


def aside(arguments: argparse.Namespace) -> TextIO:
    """Where a command prints what is meant for people: standard error if JSON is asked for."""
    return sys.stderr if arguments.json else sys.stdout


def answer(arguments: argparse.Namespace, facts: Mapping[str, Any], text: str) -> int:
    """Print the facts for programs if JSON is asked for, else the text for people; exit code 0."""
    if arguments.json:
        print_json(facts)
    else:
        print(text)
    return 0


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object on standard output; a number that is not finite becomes null.

    >>> print_json({"perplexity": float("inf"), "tokens": 3})
    {
      "perplexity": null,
      "tokens": 3
    }
    """
    from deepnlp.files.writing import to_json

    print(to_json(value, indent=2))


def megabytes(count: float) -> str:
    """A number of bytes in units that are easy to read.

    >>> megabytes(10_612_736)
    '10.6 MB'
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count:.0f} bytes"
