"""The attributes and lists of an object and of the objects inside."""

from __future__ import annotations

import inspect
import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy

from deepnlp.backend import Generator

HostArray = numpy.ndarray[Any, Any]

_CLOSED = (type, numpy.ndarray, numpy.generic, Generator, numpy.random.RandomState, random.Random)


class Holder(NamedTuple):
    """An object with attributes, a list, a tuple or a dict.

    Attributes
    ----------
    path : str
        Such as ``"layers.0."``; empty for the object itself.
    owner : object
    parent, key : object, str or int
        What it stands in, and where; None for the object itself.
    """

    path: str
    owner: Any
    parent: Any = None
    key: Any = None

    @property
    def entries(self) -> Any:
        """Its attributes, as a dict, or the list itself."""
        # Not kept: the attributes of a copied object are not the copied dict of its attributes.
        return entries_of(self.owner)


def entries_of(owner: Any) -> Any:
    """The attributes of an object, as a dict; a list, tuple or dict itself; None of others."""
    if isinstance(owner, list | dict | tuple):
        return owner
    return getattr(owner, "__dict__", None)


def holders(owner: Any, depth: int = 4) -> list[Holder]:
    """All of an object, the outer ones first."""
    found: dict[int, Holder] = {}

    def walk(holder: Holder, depth: int) -> None:
        value, entries = holder.owner, holder.entries
        closed = isinstance(value, _CLOSED) or inspect.isroutine(value) or inspect.ismodule(value)
        if entries is None or closed or id(entries) in found or depth == 0:
            return
        found[id(entries)] = holder
        for key, one in list(items(entries)):
            walk(Holder(f"{holder.path}{key}.", one, value, key), depth - 1)

    walk(Holder("", owner), depth)
    return list(found.values())


def containers(owner: Any, depth: int = 4) -> list[Any]:
    """The attribute dictionaries and lists of an object and of the objects inside."""
    return [holder.entries for holder in holders(owner, depth)]


def items(entries: Any) -> Iterator[tuple[Any, Any]]:
    """Keys and values of a dictionary, positions and values of a list."""
    yield from entries.items() if isinstance(entries, dict) else enumerate(entries)


def replace(owner: Any, old: Any, new: Any) -> None:
    """Put a value in the place of another, wherever an object holds it."""
    for holder in holders(owner):
        for key, held in list(items(holder.entries)):
            if held is old and not isinstance(holder.entries, tuple):
                holder.entries[key] = new
            elif type(held) is tuple and any(one is old for one in held):
                holder.entries[key] = tuple(new if one is old else one for one in held)


def is_real(value: Any) -> bool:
    """Whether it is an array of floating-point numbers."""
    return isinstance(value, numpy.ndarray) and value.dtype.kind == "f"
