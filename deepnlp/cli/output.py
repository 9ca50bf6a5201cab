"""What commands print: tables for people, one JSON object for programs."""

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO


def aside(arguments: argparse.Namespace) -> TextIO:
    """Where a command prints what is meant for people: out of the way of JSON.

    Parameters
    ----------
    arguments : argparse.Namespace
        Of a command that has ``--json``.

    Returns
    -------
    text stream
    """
    return sys.stderr if arguments.json else sys.stdout


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object on standard output; a number that is not finite becomes null.

    Parameters
    ----------
    value : mapping
        Of what JSON knows: strings, numbers, lists, mappings, None.

    Examples
    --------
    >>> print_json({"perplexity": float("inf"), "tokens": 3})
    {
      "perplexity": null,
      "tokens": 3
    }
    """
    from deepnlp.training.runfolder import to_json

    print(to_json(value, indent=2))


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay out rows of text under headings, each column as wide as its widest entry.

    A column stands to the right where its heading begins with ``>``.

    Parameters
    ----------
    headings : sequence of str
    rows : iterable of sequence of str

    Returns
    -------
    str

    Examples
    --------
    >>> print(table(["layer", ">error"], [["Affine", "1e-16"], ["LSTM", "3e-15"]]))
    layer   error
    ------  -----
    Affine  1e-16
    LSTM    3e-15
    """
    right = [heading.startswith(">") for heading in headings]
    names = [heading.removeprefix(">") for heading in headings]
    body = [list(row) for row in rows]
    widths = [max(map(len, column)) for column in zip(names, *body, strict=True)]
    lines = [names, ["-" * width for width in widths], *body]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(line, widths, right, strict=True)
        ).rstrip()
        for line in lines
    )


def megabytes(count: float) -> str:
    """Say a number of bytes in units a reader can hold in the head.

    Parameters
    ----------
    count : float

    Returns
    -------
    str

    Examples
    --------
    >>> megabytes(10_612_736)
    '10.6 MB'
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count:.0f} bytes"
