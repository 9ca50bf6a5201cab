"""What people bring: objects, pairs of functions, functions of a context, losses with gradients.

Each becomes the two functions of the user, ``forward`` and ``backward``, beside an object that
holds the weights.
"""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy

from deepnlp.gradcheck.engines import is_node, plain
from deepnlp.gradcheck.lines import Lines
from deepnlp.gradcheck.walking import leaves


class Context:
    """What functions such as those of ``torch.autograd`` keep their values in."""

    saved_tensors: tuple[Any, ...] = ()
    needs_input_grad = (True,) * 32

    def save_for_backward(self, *values: Any) -> None:
        """Keep values for backward, which finds them in ``saved_tensors``."""
        self.saved_tensors = values

    @property
    def saved_values(self) -> tuple[Any, ...]:
        """The same, as MiniTorch calls them."""
        return self.saved_tensors


@dataclass
class Code:
    """The forward and the backward of somebody's code.

    Attributes
    ----------
    name : str
    layer : object
        Holds the weights; a copy.
    forward : callable
        Of the user.
    backward : callable, optional
        None where what forward gives says how: gradients beside the loss, a function behind the
        outputs, or nodes that go backward by themselves.
    node : object, optional
        A node of the engine that takes the inputs.
    is_again : bool
        Whether backward takes what forward takes, as ``gradient(x, t)`` beside ``loss(x, t)``.
    has_context : bool
        Whether both take a context first.
    lines : Lines, optional
        The lines that forward runs.
    in_torch : tuple of functions, optional
        The forward and the backward of a function of torch.
    """

    name: str
    layer: Any
    forward: Callable[..., Any]
    backward: Callable[..., Any] | None = None
    node: Any = None
    is_again: bool = False
    has_context: bool = False
    lines: Lines | None = None
    in_torch: tuple[Any, Any] | None = None

    def __post_init__(self) -> None:
        firsts = {
            next(iter(inspect.signature(function).parameters), "")
            for function in (self.forward, self.backward)
            if function is not None
        }
        self.has_context = firsts <= {"ctx", "context"}


def read_code(given: Any, inputs: Any = ()) -> Code:
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
        return _function(given)
    layer = _copied(given)
    name = type(layer).__name__
    node = next((one for _, one in leaves(inputs) if is_node(one)), None) or _node_of(layer)
    if node is not None:
        return Code(name, layer, layer if callable(layer) else _method(layer, "forward"), node=node)
    if hasattr(layer, "loss") and not hasattr(layer, "forward"):
        again = getattr(layer, "gradient", None)
        return Code(name, layer, layer.loss, again, is_again=again is not None)
    is_called = not hasattr(layer, "forward") and callable(layer)
    forward = layer.__call__ if is_called else _method(layer, "forward")
    backward = getattr(layer, "backward", None)
    if backward is None and hasattr(layer, "derivative"):
        return Code(name, layer, forward, lambda dout: dout * layer.derivative())
    return Code(name, layer, forward, backward)


def code_of_lines(lines: Lines) -> Code:
    """A function of every array of which the lines compute the gradient."""

    def run(*values: Any) -> Any:
        return lines.forward(*values)

    kind = inspect.Parameter.POSITIONAL_ONLY
    parameters = [inspect.Parameter(f"value_{k}", kind) for k in range(len(lines.values))]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return Code("lines", object(), run, lines=lines)


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
    if isinstance(given[1], type) and hasattr(given[1], "apply"):
        return Code(given[1].__name__, object(), *_applying(*given))
    names = [getattr(function, "__name__", "function") for function in given]
    name = names[0].removesuffix("_forward") if "<" not in names[0] else names[1]
    return Code(name.removesuffix("_backward"), object(), *given)


def _applying(forward: Callable[..., Any], kind: Any) -> tuple[Any, Any]:
    """A function of arrays, and the ``apply`` of an object made with the tensors of its inputs."""
    kept: list[Any] = []

    @wraps(forward)
    def run(*inputs: Any) -> Any:
        kept[:] = inputs
        return forward(*map(plain, inputs))

    return run, lambda grad_output: kind(*kept).apply(grad_output)


def _function(given: Callable[..., Any]) -> Code:
    """A function, or a method of an object, which is copied."""
    name = getattr(given, "__name__", "function")
    owner = getattr(given, "__self__", None)
    if owner is None or inspect.ismodule(owner) or isinstance(owner, type):
        return Code(name, object(), given)
    layer = copy.deepcopy(owner)
    return Code(f"{type(layer).__name__}.{name}", layer, getattr(layer, name))


def _class(kind: type) -> Code:
    torch = sys.modules.get("torch")
    if torch is not None and issubclass(kind, torch.autograd.Function):
        both = kind.forward, kind.backward
        return Code(
            kind.__name__, object(), _applied(kind), node=torch.zeros(()), in_torch=both
        )
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


def _applied(kind: Any) -> Callable[..., Any]:
    """``kind.apply`` with the arguments of its forward."""

    def apply(*inputs: Any) -> Any:
        return kind.apply(*inputs)

    parameters = list(inspect.signature(kind.forward).parameters.values())
    is_old = bool(parameters) and parameters[0].name in ("ctx", "context")
    apply.__signature__ = inspect.Signature(parameters[is_old:])  # type: ignore[attr-defined]
    apply.__name__ = kind.__name__
    return apply


def _node_of(layer: Any) -> Any:
    """A node of the engine whose function this is, as those of DeZero; None of other objects."""
    call: Any = next(
        (vars(k)["__call__"] for k in type(layer).__mro__ if "__call__" in vars(k)), None
    )
    kind: Any = getattr(call, "__globals__", {}).get("Variable")
    is_function = isinstance(kind, type) and hasattr(layer, "forward")
    return kind(numpy.zeros(())) if is_function and hasattr(kind, "backward") else None


def _method(layer: Any, name: str) -> Any:
    method = getattr(layer, name, None)
    if callable(method):
        return method
    raise TypeError(
        f"check_gradients: a {type(layer).__name__} has no {name}; expected a layer with forward "
        "and backward, or a pair of functions (forward, backward)"
    )
