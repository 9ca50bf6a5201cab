"""What commands answer: a text for people, one JSON object for programs."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Answer(NamedTuple):
    """What a command has found: facts for ``--json``, a text for people, and the exit code."""

    facts: Mapping[str, Any]
    text: str | None = None
    code: int = 0


def megabytes(count: float) -> str:
    """A number of bytes in units that are easy to read.

    >>> megabytes(10_612_736)
    '10.6 MB'
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count:.0f} bytes"
