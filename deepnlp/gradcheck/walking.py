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
    """A dictionary of attributes, a list, a tuple or a dict.

    Attributes
    ----------
    path : str
        Such as ``"layers.0."``; empty for the object itself.
    owner : object
        Whose attributes they are, or the list itself.
    entries : dict, list or tuple
    parent, key : dict, list or tuple, and where it stands there
        None for the object itself.
    """

    path: str
    owner: Any
    entries: Any
    parent: Any = None
    key: Any = None


def holders(owner: Any, depth: int = 4) -> list[Holder]:
    """All of an object, the outer ones first."""
    found: dict[int, Holder] = {}

    def walk(path: str, value: Any, depth: int, parent: Any, key: Any) -> None:
        is_plain = isinstance(value, list | dict | tuple)
        entries = value if is_plain else getattr(value, "__dict__", None)
        closed = isinstance(value, _CLOSED) or inspect.isroutine(value) or inspect.ismodule(value)
        if entries is None or closed or id(entries) in found or depth == 0:
            return
        found[id(entries)] = Holder(path, value, entries, parent, key)
        for inner, one in list(items(entries)):
            walk(f"{path}{inner}.", one, depth - 1, entries, inner)

    walk("", owner, depth, None, None)
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
