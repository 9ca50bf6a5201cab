"""The result of a demonstration."""

from __future__ import annotations

import dataclasses
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

from matplotlib.figure import Figure

from deepnlp.files.tables import table


class Result(ABC):
    """The outcome of a demonstration, a dataclass with a table and a figure."""

    @abstractmethod
    def table(self) -> str:
        """The result as text."""

    @abstractmethod
    def figure(self) -> Figure:
        """The result as a figure."""

    def to_dict(self) -> dict[str, Any]:
        """Every field as lists and numbers, for JSON."""
        fields = dataclasses.asdict(self)  # type: ignore[call-overload]
        lists: dict[str, Any] = json.loads(json.dumps(fields, default=lambda array: array.tolist()))
        return lists


def number_table(
    first: str, others: Iterable[str], rows: Mapping[Any, Iterable[float | str]], form: str
) -> str:
    """A table with a named row each, under the headings of its columns; numbers in one form.

    >>> print(number_table("", ["D = 2", "D = 4"], {"tied": [0.25, 0.125]}, ".2f"))
          D = 2  D = 4
    ----  -----  -----
    tied   0.25   0.12
    """
    body = [
        [str(name), *(value if isinstance(value, str) else format(value, form) for value in of)]
        for name, of in rows.items()
    ]
    return table([first, *(f">{heading}" for heading in others)], body)
