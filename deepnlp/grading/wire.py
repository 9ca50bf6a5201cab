"""Messages between the grader and a submission: lines of JSON, which nothing executes.

A value that JSON does not have is written as a list of its kind and its parts. An object that is no
data stays where it is, and a number stands for it.
"""

import base64
import json
import math
import operator
from collections import deque
from collections.abc import Callable, ItemsView, Iterator, KeysView, ValuesView
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np

MOST = 1 << 24  # bytes of a message, and numbers of an array
MEMBERS = 10_000  # of a set or a dict: members with equal hashes are each compared with all others
LISTS = list | range | deque | KeysView | ValuesView | ItemsView | Iterator


def exchange(out: Any, into: Any, message: bytes) -> bytes:
    """Write a message and read the next one, which is empty where the other end is gone."""
    with suppress(OSError):
        out.write(message)
        out.flush()
    return into.readline(MOST)


def pack(value: Any, known: Callable[[Any], Any]) -> bytes:
    """Return a message; ``known`` gives the description of an object that is no data.

    >>> unpack(pack((1, np.eye(2)[0]), known=id), known=str)
    (1, array([1., 0.]))
    """

    def tree(value: Any) -> Any:
        if isinstance(value, np.ndarray | np.generic) and not _is_of_numbers(np.asarray(value)):
            return tree(value.tolist())
        for kind, (types, parts, _) in KINDS.items():
            if isinstance(value, types):
                return [kind, *map(tree, parts(value))]
        return value if isinstance(value, str | int | float | None) else ["object", known(value)]

    return json.dumps(tree(value)).encode() + b"\n"


def unpack(message: bytes, known: Callable[[Any], Any]) -> Any:
    """Return the value of a message; ``known`` gives the object that a description stands for.

    What is no message is a ValueError.
    """

    def value(tree: Any) -> Any:
        if not isinstance(tree, list):
            return tree
        kind, *parts = tree
        return known(parts[0]) if kind == "object" else KINDS[kind][2](*map(value, parts))

    try:
        return value(json.loads(message))
    except (ValueError, TypeError, ArithmeticError, LookupError, RecursionError) as error:
        raise ValueError(f"no message: {error}") from error


def _is_of_numbers(array: Any) -> bool:
    return array.dtype.kind in "biufc"


def _parts_of_array(value: Any) -> tuple[Any, ...]:
    array = np.asarray(value)
    return array.dtype.str, base64.b64encode(array.tobytes()).decode(), *array.shape


def _array(dtype: Any, content: Any, *shape: Any) -> Any:
    """Return an array, or a number of NumPy where there is no axis."""
    if math.prod(max(size, 1) for size in shape) > MOST:  # sums over an empty axis are arrays too
        raise ValueError(f"an array of shape {shape}")
    array: Any = np.frombuffer(base64.b64decode(content), str(dtype)).reshape(shape)
    if not _is_of_numbers(array):
        raise ValueError(f"an array of {array.dtype}")
    return array.copy()[()]


def _fraction(above: int, below: int) -> Fraction:
    """Return a fraction of two whole numbers: of a text it would compute any power of ten."""
    return Fraction(operator.index(above), operator.index(below))


def _few(parts: Any) -> Any:
    """Return the members of a set or a dict, if there are not too many."""
    if len(parts) > MEMBERS:
        raise ValueError(f"{len(parts)} members")
    return parts


# By name: types, their parts, and what makes a value of the parts.
KINDS: dict[str, tuple[Any, Callable[[Any], Any], Callable[..., Any]]] = {
    "array": (np.ndarray | np.generic, _parts_of_array, _array),
    "ellipsis": (type(...), lambda _: (), lambda: ...),
    "complex": (complex, lambda z: (z.real, z.imag), complex),
    "fraction": (Fraction, Fraction.as_integer_ratio, _fraction),
    "tuple": (tuple, iter, lambda *parts: parts),
    "list": (LISTS, iter, lambda *parts: [*parts]),
    "set": (set | frozenset, iter, lambda *parts: {*_few(parts)}),
    "dict": (dict, lambda d: d.items(), lambda *pairs: dict(_few(pairs))),
}
