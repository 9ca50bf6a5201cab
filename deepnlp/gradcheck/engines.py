"""Engines that go backward by themselves: micrograd, DeZero, TinyTorch, torch and their like.

What their functions take and give are *nodes*, which keep numbers and the gradient with respect to
them. A check hands over leaves with the numbers of an input, lets the output go backward, and reads
the gradients from the leaves.
"""

from __future__ import annotations

import copy
import inspect
import operator
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from typing import Any

import numpy

from deepnlp.gradcheck.names import DATA, GRAD, name_of

_PLAIN = (numpy.ndarray, numpy.generic, str, bytes, int, float, complex, type(None), type)


def is_node(value: Any) -> bool:
    """Whether it keeps numbers and their gradient, and can go backward."""
    if not is_box(value) or not hasattr(value, "backward"):
        return False
    return is_tensor(value) or bool(name_of(GRAD, value))


def is_tensor(value: Any) -> bool:
    """Whether it is a tensor of torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def is_box(value: Any) -> bool:
    """Whether it is an object that keeps numbers."""
    is_array = isinstance(value, _PLAIN) or hasattr(type(value), "__array_function__")
    return not is_array and bool(name_of(DATA, value))


def plain(value: Any) -> Any:
    """The numbers of a node or a box; other values as they are."""
    if not is_box(value):
        return value
    if is_tensor(value):
        return value.detach().resolve_conj().numpy()
    return plain(getattr(value, name_of(DATA, value)))


def leaf(like: Any, value: Any) -> Any:
    """A node of the kind of another one, with other numbers and no gradient."""
    if is_tensor(like):
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


def go_backward(outputs: list[Any], dys: list[Any], like: Any, call: Any) -> None:
    """Let the outputs go backward, together; ``like`` is a leaf."""
    if len(outputs) > 1 and is_tensor(outputs[0]):
        given = [leaf(y, numpy.asarray(dy)).detach() for y, dy in zip(outputs, dys, strict=True)]
        sys.modules["torch"].autograd.backward(outputs, given)
        return
    y, dy = outputs[0], numpy.asarray(dys[0], dtype=float)
    if len(outputs) == 1 and _takes_gradient(y):
        given = leaf(y, dy.reshape(numpy.shape(plain(y))))
        call(y.backward, given.detach() if is_tensor(y) else plain(given))
        return
    if len(outputs) > 1 or numpy.size(plain(y)) > 1:  # backward starts from ones
        try:
            terms = [y * leaf(like, numpy.asarray(dy)) for y, dy in zip(outputs, dys, strict=True)]
            y = reduce(operator.add, terms)
        except TypeError:  # it has no operators
            setattr(y, name_of(GRAD, y), dy)
    call(y.backward)


@contextmanager
def doubles() -> Iterator[None]:
    """Context in which torch makes tensors of float64, if it is there."""
    torch = sys.modules.get("torch")
    kind = torch.get_default_dtype() if torch is not None else None
    if torch is not None:
        torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        if torch is not None:
            torch.set_default_dtype(kind)


def _takes_gradient(y: Any) -> bool:
    """Whether backward takes the gradient with respect to the output."""
    names = list(inspect.signature(y.backward).parameters)
    return bool(names) and not names[0].startswith("retain")


def _names(node: Any) -> tuple[str, str]:
    return name_of(DATA, node), name_of(GRAD, node)
