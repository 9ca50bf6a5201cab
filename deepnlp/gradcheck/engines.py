"""Engines that go backward by themselves: micrograd, DeZero, TinyTorch, torch and their like.

What their functions take and give are *nodes*, which keep numbers and the gradient with respect to
them. A check hands over leaves with the numbers of an input, lets the output go backward, and reads
the gradients from the leaves.
"""

from __future__ import annotations

import copy
import inspect
import sys
from typing import Any

import numpy

from deepnlp.gradcheck.names import DATA, GRAD, name_of

_PLAIN = (numpy.ndarray, numpy.generic, str, bytes, int, float, complex, type(None), type)


def is_node(value: Any) -> bool:
    """Whether it keeps numbers and their gradient, and can go backward."""
    return is_box(value) and hasattr(value, "backward") and bool(name_of(GRAD, value))


def is_box(value: Any) -> bool:
    """Whether it is an object that keeps numbers."""
    is_array = isinstance(value, _PLAIN) or hasattr(type(value), "__array_function__")
    return not is_array and bool(name_of(DATA, value))


def plain(value: Any) -> Any:
    """The numbers of a node or a box; other values as they are."""
    if not is_box(value):
        return value
    if hasattr(value, "detach"):  # torch's
        return value.detach().resolve_conj().numpy()
    return plain(getattr(value, name_of(DATA, value)))


def leaf(like: Any, value: Any) -> Any:
    """A node of the kind of another one, with other numbers and no gradient."""
    if hasattr(like, "detach"):
        made = sys.modules["torch"].from_numpy(numpy.array(value))
        return made.requires_grad_() if made.is_floating_point() or made.is_complex() else made
    made, (data, grad) = copy.copy(like), _names(like)
    is_number = isinstance(getattr(like, data), int | float)
    setattr(made, data, value.item() if is_number else value)
    before = getattr(like, grad)
    setattr(made, grad, None if before is None else 0.0 * numpy.asarray(plain(before)))
    if isinstance(before, int | float):
        setattr(made, grad, 0.0)
    return made


def gradient_of(node: Any) -> Any:
    """The gradient that a leaf has after backward."""
    grad = getattr(node, _names(node)[1])
    return plain(grad)


def go_backward(outputs: list[Any], dys: list[Any]) -> None:
    """Let the outputs go backward, together."""
    if len(outputs) > 1 and hasattr(outputs[0], "detach"):
        given = [leaf(y, numpy.asarray(dy)).detach() for y, dy in zip(outputs, dys, strict=True)]
        sys.modules["torch"].autograd.backward(outputs, given)
        return
    total: Any = None
    for y, dy in zip(outputs, dys, strict=True):
        taken = [p for p in inspect.signature(y.backward).parameters.values()]
        takes = bool(taken) and taken[0].name not in ("retain_grad", "self")
        if len(outputs) == 1 and takes:
            given = leaf(y, numpy.asarray(dy, dtype=float).reshape(numpy.shape(plain(y))))
            is_array = not (hasattr(y, "detach") or _takes_nodes(y))
            y.backward(plain(given) if is_array else given.detach() if hasattr(y, "detach") else given)
            return
        one = numpy.size(plain(y)) == 1 and len(outputs) == 1
        term = y if one else y * leaf(y, numpy.asarray(dy))
        total = term if total is None else total + term
    total.backward()


def _takes_nodes(y: Any) -> bool:
    """Whether the gradients that it keeps are nodes, too."""
    return is_node(getattr(y, _names(y)[1]))


def _names(node: Any) -> tuple[str, str]:
    return name_of(DATA, node), name_of(GRAD, node)
