"""What backward returned, and which input or weight each part of it belongs to."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy

from deepnlp.gradcheck.gradients import gradient_names
from deepnlp.gradcheck.variables import Attribute, Input

Part = tuple[str, Any]
"""A gradient, and the name it was returned under; an empty one if that is not known."""


def parts(
    returned: Any, backward: Callable[..., Any] | None, shape: tuple[int, ...] | None
) -> list[Part]:
    """The gradients that backward returned, in order.

    Parameters
    ----------
    returned : object
    backward : callable
        Its source says under which names they are returned.
    shape : tuple of int, optional
        Of the only input: a list of that shape is one gradient.
    """
    if isinstance(returned, list) and shape is not None and _shape_of(returned) == shape:
        return [("", returned)]
    found = list(_flat(returned))
    names = _names_returned(inspect.unwrap(backward)) if backward is not None else []
    if len(names) == len(found):
        found = [(old or name, value) for name, (old, value) in zip(names, found, strict=True)]
    return found


def belongs(name: str, key: Any) -> bool:
    """Whether a gradient of that name is that of a variable of this key.

    >>> belongs("dW", "W"), belongs("W", "W"), belongs("dx", "W")
    (True, True, False)
    """
    key = str(key)
    return bool(name) and (name in (key, key.lower()) or name in gradient_names(key))


def hand_over(given: list[Part], inputs: list[Input], count: int, weights: list[Attribute]) -> None:
    """Give each part to the variable it belongs to, by its name or by its place.

    Parameters
    ----------
    given : list of Part
    inputs : list of Input
        Those that have a gradient, of ``count`` inputs.
    weights : list of Attribute
        Those whose gradient is nowhere else: it may be returned behind those of the inputs.
    """
    variables: list[Input | Attribute] = [*inputs, *weights]
    for variable in variables:
        variable.returned = None
    named = [next((v for v in variables if belongs(name, v.key)), None) for name, _ in given]
    known = [v for v in named if v is not None]
    of_weights = any(isinstance(v, Attribute) for v in known)
    if len({id(v) for v in known}) == len(given) and (of_weights or len(given) < len(inputs)):
        for variable, (_, value) in zip(known, given, strict=True):
            variable.returned = value
        return
    # One for each input, such as (None, dx) for (ids, x); or one for each that has a gradient.
    by_place = [(v, given[v.position][1]) for v in inputs] if len(given) >= count else []
    in_order = [(v, value) for v, (_, value) in zip(inputs, given, strict=False)]
    rest = given[len(inputs) :]
    if _fit(by_place) or (len(given) == count and not _fit(in_order)):
        in_order, rest = by_place, given[count:]
    for variable, value in in_order:
        variable.returned = value
    _hand_to_weights(rest, weights)


def _hand_to_weights(rest: list[Part], weights: list[Attribute]) -> None:
    left = list(weights)
    for name, value in rest:
        chosen = [v for v in left if belongs(name, v.key)]
        chosen += [v for v in left if numpy.shape(value) == v.get().shape]
        if chosen and value is not None:
            chosen[0].returned = value
            left.remove(chosen[0])


def _fit(pairs: Sequence[tuple[Input, Any]]) -> bool:
    """Whether every gradient has the shape of its input."""
    return bool(pairs) and all(_shape_of(value) == v.get().shape for v, value in pairs)


def _flat(value: Any, name: str = "") -> Iterator[Part]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _flat(one, str(key))
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _flat(one)
    else:
        yield name, value


def _shape_of(value: Any) -> tuple[int, ...] | None:
    try:
        return numpy.shape(value)
    except ValueError:
        return None


def _names_returned(function: Callable[..., Any]) -> list[str]:
    """Names in the last ``return a, b, self.c`` or ``return a``; empty ones for expressions."""
    function = getattr(function, "__func__", function)
    if not inspect.isfunction(function):
        return []
    return _names_in(function)


@cache
def _names_in(function: Callable[..., Any]) -> list[str]:
    try:
        source = textwrap.dedent(inspect.getsource(function))
        tree = ast.parse(source)
    except (OSError, TypeError, SyntaxError, ValueError):
        return []
    returns = [node.value for node in ast.walk(tree) if isinstance(node, ast.Return)]
    return list(map(_name_of, _leaves(returns[-1]))) if returns and returns[-1] else []


def _leaves(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Tuple | ast.List):
        for one in node.elts:
            yield from _leaves(one)
    else:
        yield node


def _name_of(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    return node.attr if isinstance(node, ast.Attribute) else ""
