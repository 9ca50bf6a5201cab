"""What people bring: objects, pairs of functions, functions of a context, losses with gradients.

Each becomes the two functions of the user, ``forward`` and ``backward``, beside an object that
holds the weights.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


class Context:
    """What functions such as those of ``torch.autograd`` keep their values in."""

    saved_tensors: tuple[Any, ...] = ()
    needs_input_grad = (True,) * 32

    def save_for_backward(self, *values: Any) -> None:
        """Keep values for backward, which finds them in ``saved_tensors``."""
        self.saved_tensors = values


@dataclass
class Code:
    """The forward and the backward of somebody's code.

    Attributes
    ----------
    name : str
    layer : object
        Holds the weights; a copy.
    forward, backward : callable
        Of the user; ``backward`` is None where forward gives the gradients beside the loss.
    has_context : bool
        Whether both take a context first.
    """

    name: str
    layer: Any
    forward: Callable[..., Any]
    backward: Callable[..., Any] | None
    has_context: bool = False

    def __post_init__(self) -> None:
        firsts = {
            next(iter(inspect.signature(function).parameters), "")
            for function in (self.forward, self.backward)
            if function is not None
        }
        self.has_context = firsts <= {"ctx", "context"}


def read_code(given: Any) -> Code:
    """Forward and backward of a layer in any form, copied.

    Raises
    ------
    TypeError
        If they are not there.
    """
    if given is None:
        raise TypeError("check_gradients: got None, expected a layer with forward and backward")
    if isinstance(given, tuple | list):
        return _pair(given)
    if isinstance(given, type):
        return _class(given)
    if inspect.isroutine(given):
        return Code(getattr(given, "__name__", "function"), object(), given, None)
    layer = _copied(given)
    is_called = not hasattr(layer, "forward") and callable(layer)
    forward = layer.__call__ if is_called else _method(layer, "forward")
    return Code(type(layer).__name__, layer, forward, _method(layer, "backward"))


def _copied(layer: Any) -> Any:
    """A copy, or an error that names the attribute of which there can be none."""
    try:
        return copy.deepcopy(layer)
    except Exception as error:
        for name, value in getattr(layer, "__dict__", {}).items():
            try:
                copy.deepcopy(value)
            except Exception:
                raise TypeError(
                    f"check_gradients: the attribute {name} of this {type(layer).__name__} cannot "
                    f"be copied ({error}): make it in forward, or leave it out of the copy with "
                    "__deepcopy__"
                ) from error
        raise


def _pair(given: Any) -> Code:
    if len(given) != 2 or not all(map(callable, given)):
        raise TypeError(
            "check_gradients: a pair should be two functions, (affine_forward, affine_backward)"
        )
    names = [getattr(function, "__name__", "function") for function in given]
    name = names[0].removesuffix("_forward") if "<" not in names[0] else names[1]
    return Code(name.removesuffix("_backward"), object(), *given)


def _class(kind: type) -> Code:
    if isinstance(inspect.getattr_static(kind, "forward", None), staticmethod | classmethod):
        layer: Any = object.__new__(kind)
        return Code(kind.__name__, layer, _method(layer, "forward"), _method(layer, "backward"))
    try:
        taken = ", ".join(inspect.signature(kind).parameters)
    except (TypeError, ValueError):
        taken = "..."
    raise TypeError(
        f"check_gradients: {kind.__name__} is a class; give an object of it, such as "
        f"{kind.__name__}({taken})"
    )


def _method(layer: Any, name: str) -> Any:
    method = getattr(layer, name, None)
    if callable(method):
        return method
    raise TypeError(
        f"check_gradients: a {type(layer).__name__} has no {name}; expected a layer with forward "
        "and backward, or a pair of functions (forward, backward)"
    )
