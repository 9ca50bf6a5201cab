"""The result of a demonstration."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from matplotlib.figure import Figure


class Result:
    """The outcome of a demonstration, a dataclass with a table and a figure."""

    def table(self) -> str:
        """The result as text."""
        raise TypeError(f"{type(self).__name__} has no table")

    def figure(self) -> Figure:
        """The result as a figure."""
        raise TypeError(f"{type(self).__name__} has no figure")

    def to_dict(self) -> dict[str, Any]:
        """Every field as lists and numbers, for JSON."""
        fields = dataclasses.fields(self)  # type: ignore[arg-type]
        return {field.name: jsonable(getattr(self, field.name)) for field in fields}


def jsonable(value: Any) -> Any:
    """Dataclasses as dicts and arrays as lists, at any depth.

    Examples
    --------
    >>> jsonable({"norms": np.array([1.0, 2.0]), "pair": (1, np.float32(0.5))})
    {'norms': [1.0, 2.0], 'pair': [1, 0.5]}
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: jsonable(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return value
