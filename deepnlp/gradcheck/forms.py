"""Which form somebody's code has: the adapter of layers, pairs, functions, classes and lines.

:data:`FORMS` lists who reads them, in the order in which they are tried.
"""

import inspect
import sys
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

import numpy

from deepnlp.gradcheck import adapters
from deepnlp.gradcheck.adapters import Adapter, Code
from deepnlp.gradcheck.causes import say
from deepnlp.gradcheck.lines import Lines
from deepnlp.gradcheck.names import CONTEXTS, DATA
from deepnlp.gradcheck.walking import copy_of, has_gradient, is_node, is_tensor, leaves, plain


def adapter_of(given: Any, inputs: Any, named: Any, table: Mapping[str, str]) -> Adapter:
    """The adapter of code in any form; objects are copied.

    Parameters
    ----------
    given : object
    inputs : tuple
        What forward takes by position.
    named : dict
        What it takes by name; the names that lines may use.
    table : mapping of str to str
        The gradients of lines whose names do not say it.

    Raises
    ------
    TypeError
        If there is no forward or backward.
    """
    if given is None:
        raise TypeError(say("none"))
    if isinstance(given, str | Path):
        return adapters.Script(Lines(given, named, table))
    found = (read(given, inputs, named) for read in FORMS)
    return next(adapter for adapter in found if adapter is not None)


def _two(name: str, layer: Any, forward: Any, backward: Any, inputs: Any, named: Any) -> Adapter:
    """A forward and a backward, which may take a context first, or nodes."""
    code = Code(name, layer, forward, backward)
    firsts = {next(iter(inspect.signature(one).parameters), "") for one in (forward, backward)}
    if firsts <= {*CONTEXTS}:
        return adapters.WithContext(code, inputs, named)
    has_nodes = any(has_gradient(one) for _, one in leaves([*inputs, *named.values()]))
    return (adapters.Backwards if has_nodes else adapters.TwoFunctions)(code, inputs, named)


def _pair(given: Any, inputs: Any, named: Any) -> Adapter | None:
    """Two functions; or a function of arrays, and a class of which the ``apply`` goes back."""
    if not isinstance(given, tuple | list) or hasattr(given, "forward"):
        return None
    if len(given) != 2 or not all(map(callable, given)):
        raise TypeError(say("pair"))
    if isinstance(given[1], type) and hasattr(given[1], "apply"):
        forward, backward = _applying(*given)
        return _two(given[1].__name__, object(), forward, backward, inputs, named)
    names = [getattr(function, "__name__", "function") for function in given]
    name = names[0].removesuffix("_forward") if "<" not in names[0] else names[1]
    return _two(name.removesuffix("_backward"), object(), given[0], given[1], inputs, named)


def _applying(forward: Callable[..., Any], kind: Any) -> tuple[Any, Any]:
    """A function of arrays, and the ``apply`` of an object made with the tensors of its inputs.

    A function that reads ``x.data`` takes tensors as well.
    """
    kept: list[Any] = []
    takes_boxes = not {*DATA}.isdisjoint(inspect.unwrap(forward).__code__.co_names)

    @wraps(forward)
    def run(*inputs: Any) -> Any:
        kept[:] = inputs
        return forward(*(inputs if takes_boxes else map(plain, inputs)))

    return run, lambda grad_output: kind(*kept).apply(grad_output)


def _function(given: Any, inputs: Any, named: Any) -> Adapter | None:
    """A function, or a method of an object, which is copied."""
    if not inspect.isroutine(given):
        return None
    name = getattr(given, "__name__", "function")
    owner = getattr(given, "__self__", None)
    if owner is None or inspect.ismodule(owner) or isinstance(owner, type):
        return adapters.OneFunction(Code(name, object(), given), inputs, named)
    layer = copy_of(owner)
    code = Code(f"{type(layer).__name__}.{name}", layer, getattr(layer, name))
    return adapters.OneFunction(code, inputs, named)


def _class(kind: Any, inputs: Any, named: Any) -> Adapter | None:
    """A class of which the functions take a context, or one of torch."""
    if not isinstance(kind, type):
        return None
    torch = sys.modules.get("torch")
    if torch is not None and issubclass(kind, torch.autograd.Function):
        both = _method(kind, "forward"), _method(kind, "backward")
        code = Code(kind.__name__, object(), _applied(kind), in_torch=both)
        return adapters.TorchFunction(code, inputs, named, torch.zeros(()))
    if isinstance(inspect.getattr_static(kind, "forward", None), staticmethod | classmethod):
        layer: Any = object.__new__(kind)
        forward, backward = _method(layer, "forward"), _method(layer, "backward")
        return _two(kind.__name__, layer, forward, backward, inputs, named)
    try:
        taken = ", ".join(inspect.signature(kind).parameters)
    except (TypeError, ValueError):
        taken = "..."
    raise TypeError(say("class", kind=kind.__name__, taken=taken))


def _applied(kind: Any) -> Callable[..., Any]:
    """``kind.apply`` with the arguments of its forward."""

    def apply(*inputs: Any) -> Any:
        return kind.apply(*inputs)

    parameters = list(inspect.signature(kind.forward).parameters.values())
    is_old = bool(parameters) and parameters[0].name in CONTEXTS
    apply.__signature__ = inspect.Signature(parameters[is_old:])  # type: ignore[attr-defined]
    apply.__name__, apply.kind = kind.__name__, kind  # type: ignore[attr-defined]
    return apply


def _object(given: Any, inputs: Any, named: Any) -> Adapter:
    """A layer, a net with a loss, or a module of an engine."""
    layer = _copied(given)
    name, backward = type(layer).__name__, getattr(layer, "backward", None)
    node = _first_node(inputs, named)
    if node is None:
        node = _node_of(layer)
    if node is not None and not (is_tensor(node) and backward is not None):
        forward = layer if callable(layer) else _method(layer, "forward")
        return adapters.Nodes(Code(name, layer, forward), inputs, named, node)
    if node is not None and (held := [n for n, v in _attributes(layer) if is_tensor(v)]):
        raise TypeError(say("tensors", names=", ".join(held), kind=name))
    if hasattr(layer, "loss") and not hasattr(layer, "forward"):
        again = getattr(layer, "gradient", None)
        form = adapters.OneFunction if again is None else adapters.Again
        return form(Code(name, layer, layer.loss, again), inputs, named)
    is_called = not hasattr(layer, "forward") and callable(layer)
    forward = layer.__call__ if is_called else _method(layer, "forward")
    if backward is None and hasattr(layer, "derivative"):
        backward = lambda dout: dout * layer.derivative()  # noqa: E731
    if backward is None:
        return adapters.OneFunction(Code(name, layer, forward), inputs, named)
    return _two(name, layer, forward, backward, inputs, named)


def _copied(layer: Any) -> Any:
    """A copy, or an error that names the attribute of which there can be none."""
    try:
        return copy_of(layer)
    except Exception as error:
        for name, value in _attributes(layer):
            try:
                copy_of(value)
            except Exception:
                raise TypeError(
                    say("not copied", name=name, kind=type(layer).__name__, error=error)
                ) from error
        raise


def _attributes(layer: Any) -> list[tuple[str, Any]]:
    return [*getattr(layer, "__dict__", {}).items()]


def _first_node(inputs: Any, named: Any) -> Any:
    """A node of an engine among the inputs; None if there is none."""
    return next((one for _, one in leaves([*inputs, *named.values()]) if is_node(one)), None)


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
    raise TypeError(say("no method", kind=type(layer).__name__, name=name))


FORMS: tuple[Callable[..., Adapter | None], ...] = (_pair, _class, _function, _object)
"""Each gives the adapter of its form, or None of another."""
