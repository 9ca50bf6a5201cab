"""Messages between the grader and a submission: trees of data, which nothing executes.

A message is a length, a JSON text and the bytes of its arrays. Nothing that comes from a submission
is unpickled: what is no data stays where it is and is known by a number.
"""

from __future__ import annotations

import json
import math
import struct
from collections import deque
from collections.abc import Callable, ItemsView, Iterator, KeysView, ValuesView
from fractions import Fraction
from typing import IO, Any

import numpy as np

MOST = 1 << 26  # bytes of a message
HEAD = struct.Struct(">QQ")
LISTS = (list, range, deque, KeysView, ValuesView, ItemsView, Iterator)


class BrokenMessageError(Exception):
    """What came is no message."""


def pack(value: Any, known: Callable[[Any], Any]) -> bytes:
    """A message; ``known`` gives the description of an object that is no data.

    >>> unpack(pack((1, np.eye(2)[0]), known=id), known=str)
    (1, array([1., 0.]))
    """
    blobs: list[bytes] = []

    def tree(value: Any) -> Any:
        if value is None or isinstance(value, bool | str):
            return value
        if isinstance(value, np.ndarray | np.generic):
            array = np.asarray(value)
            if array.dtype.kind not in "biufc":
                return tree(value.tolist())
            blobs.append(np.ascontiguousarray(array).tobytes())
            kind = "array" if isinstance(value, np.ndarray) else "number"
            return [kind, array.dtype.str, *array.shape]
        for kind, (types, parts, _) in _KINDS.items():
            if isinstance(value, types):
                return [kind, *map(tree, parts(value))]
        return value if isinstance(value, int | float) else ["object", known(value)]

    text = json.dumps(tree(value)).encode()
    return HEAD.pack(len(text), sum(map(len, blobs))) + text + b"".join(blobs)


# By name: types, their parts, and what makes a value of the parts.
_KINDS: dict[str, tuple[Any, Callable[[Any], Any], Callable[..., Any]]] = {
    "ellipsis": (type(...), lambda _: (), lambda: ...),
    "complex": (complex, lambda z: (z.real, z.imag), complex),
    "fraction": (Fraction, lambda r: (str(r),), Fraction),
    "tuple": (tuple, iter, lambda *parts: parts),
    "list": (LISTS, iter, lambda *parts: [*parts]),
    "set": (set | frozenset, iter, lambda *parts: {*parts}),
    "dict": (dict, lambda d: d.items(), lambda *pairs: dict(pairs)),
}


def unpack(message: bytes, known: Callable[[Any], Any]) -> Any:
    """The value of a message; ``known`` gives the object that a description stands for."""
    try:
        length, _ = HEAD.unpack_from(message)
        start = HEAD.size + length
        text, place = message[HEAD.size : start], start

        def value(tree: Any) -> Any:
            nonlocal place
            if not isinstance(tree, list):
                return tree
            kind, *parts = tree
            if kind == "object":
                return known(parts[0])
            if kind not in ("array", "number"):
                return _KINDS[kind][2](*map(value, parts))
            dtype, count = np.dtype(parts[0]), math.prod(parts[1:])
            if dtype.kind not in "biufc" or min([count, *parts[1:]]) < 0:
                raise ValueError(f"an array of {dtype}")
            array = np.frombuffer(message, dtype, count, place).reshape(parts[1:]).copy()
            place += array.nbytes
            return array if kind == "array" else array[()]

        return value(json.loads(text))
    except (ValueError, TypeError, LookupError, RecursionError, struct.error) as error:
        raise BrokenMessageError(str(error)) from error


def receive(stream: IO[bytes]) -> bytes:
    """The next message; EOFError at the end of the stream."""
    head = stream.read(HEAD.size)
    if len(head) < HEAD.size:
        raise EOFError
    length = sum(HEAD.unpack(head))
    if length > MOST:
        raise BrokenMessageError(f"a message of {length:,} bytes")
    body = stream.read(length)
    if len(body) < length:
        raise EOFError
    return head + body
