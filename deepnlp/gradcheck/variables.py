"""What the outputs of an object depend on, each with its value and its analytic gradient."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy

from deepnlp.backend import asarray, asnumpy
from deepnlp.gradcheck.numeric import HostArray
from deepnlp.layer import Layer
from deepnlp.layers.recurrent import TimeRecurrent
from deepnlp.parameter import Parameter, View


class Variable:
    """Something the outputs depend on: its value can be set, its analytic gradient read."""

    def get(self) -> HostArray:
        """Value on the host, in float64."""
        raise TypeError(f"{type(self).__name__} has no get")

    def set(self, value: Any) -> None:
        """Put another value in place for the next forward."""
        raise TypeError(f"{type(self).__name__} has no set")

    def grad(self) -> Any:
        """Gradient after backward; None where there is none."""
        raise TypeError(f"{type(self).__name__} has no grad")


class Input(Variable):
    """An array that forward takes.

    Parameters
    ----------
    inputs : list
        All that forward takes.
    position : int
        Which of them.
    """

    def __init__(self, inputs: list[Any], position: int) -> None:
        self.inputs, self.position = inputs, position
        self.gradient: Any = None  # what backward returned for it

    def get(self) -> HostArray:
        """Value on the host."""
        return numpy.array(self.inputs[self.position])

    def set(self, value: Any) -> None:
        """Put another value in place."""
        self.inputs[self.position] = value

    def grad(self) -> Any:
        """What backward returned for it."""
        return self.gradient


class State(Variable):
    """The state a recurrent layer starts from; it lives in the snapshot that is put back.

    Parameters
    ----------
    snapshot : dict
    key : str
        Its name there.
    layer : TimeRecurrent
    """

    def __init__(self, snapshot: dict[str, Any], key: str, layer: TimeRecurrent) -> None:
        self.snapshot, self.key, self.layer = snapshot, key, layer

    def get(self) -> HostArray:
        """Value on the host."""
        return numpy.array(self.snapshot[self.key], dtype="float64")

    def set(self, value: Any) -> None:
        """Put another value in place."""
        self.snapshot[self.key] = value

    def grad(self) -> Any:
        """``layer.dh0`` or ``layer.dc0``."""
        return getattr(self.layer, f"d{self.key.rpartition('.')[2]}0")


class Weight(Variable):
    """A Parameter, or a reading of one."""

    def __init__(self, parameter: Parameter) -> None:
        self.parameter = parameter

    def get(self) -> HostArray:
        """Value on the host."""
        return numpy.array(asnumpy(self.parameter.value))

    def set(self, value: Any) -> None:
        """Put another value in place."""
        self.parameter.value = asarray(value)

    def grad(self) -> Any:
        """``parameter.grad``."""
        return self.parameter.grad


class Attribute(Variable):
    """An array held as an attribute or in a list ``params``, its gradient beside it.

    A float value is written into the array, because other lists may hold it too; another kind
    of array (complex, or one that a tape follows) replaces it wherever it is held.

    Parameters
    ----------
    owner : object
        The object under test.
    holder : dict or list
    where : str or int
        The array is ``holder[where]``.
    grad : callable
        Gives the gradient.
    """

    def __init__(self, owner: Any, holder: Any, where: Any, grad: Callable[[], Any]) -> None:
        self.owner, self.holder, self.where, self.grad_of = owner, holder, where, grad
        self.array = holder[where]

    def get(self) -> HostArray:
        """Value on the host."""
        return numpy.array(self.array, dtype="float64")

    def set(self, value: Any) -> None:
        """Put another value in place."""
        if isinstance(value, numpy.ndarray) and not numpy.iscomplexobj(value):
            self.array[...] = value
            value = self.array
        old = self.holder[self.where]
        if old is value:
            return
        for holder in containers(self.owner):
            for key, held in list(_items(holder)):
                if held is old:
                    holder[key] = value

    def grad(self) -> Any:
        """The array beside it."""
        return self.grad_of()


def find_parameters(layer: Any) -> Iterator[tuple[str, Variable]]:
    """The parameters of an object, in any of the supported forms.

    Parameters
    ----------
    layer : Layer, or any object
        With Parameters, with lists or dicts ``params`` and ``grads``, or with pairs ``W`` and
        ``dW``.
    """
    if isinstance(layer, Layer):
        for name, parameter in layer.named_parameters():
            if parameter.trainable:
                yield name, Weight(parameter)
        return
    own = vars(layer)
    weights = [w for n, v in own.items() if isinstance(v, View) for w in v.named_bases(n)]
    if weights:
        for name, base in {id(base): (name, base) for name, base in weights}.values():
            yield name, Weight(base)
    elif "params" in own and "grads" in own:
        keys_are_names = isinstance(own["params"], dict)
        for k, array in list(_items(own["params"])):
            names = [name for name, value in own.items() if value is array]
            grad = partial(_gradient_at, own, k)
            if keys_are_names:
                if k in own["grads"]:
                    yield str(k), Attribute(layer, own["params"], k, grad)
            elif names:
                yield names[0], Attribute(layer, own, names[0], grad)
            else:
                yield f"params[{k}]", Attribute(layer, own["params"], k, grad)
    else:
        for name, value in list(own.items()):
            if f"d{name}" in own and is_real(value):
                yield name, Attribute(layer, own, name, partial(own.__getitem__, f"d{name}"))


def _gradient_at(own: dict[str, Any], key: Any) -> Any:
    return own["grads"][key]


def containers(owner: Any, depth: int = 4) -> list[Any]:
    """The attribute dictionaries and lists of an object and of the objects inside."""
    return [holder for _, _, holder in _named_containers(owner, depth)]


def named_arrays(owner: Any) -> Iterator[tuple[str, HostArray]]:
    """The float arrays of an object and of the objects inside, except those of Parameters.

    Returns
    -------
    iterator of (str, array)
        The name reads as in the object: ``"W"``, ``"first.W"``, ``"layers.0.W"``.
    """
    for path, one, holder in _named_containers(owner):
        if isinstance(one, Parameter):
            continue
        for key, value in list(_items(holder)):
            if is_real(value):
                yield f"{path}{key}", value


def _named_containers(owner: Any, depth: int = 4) -> list[tuple[str, Any, Any]]:
    """Path, object, and its dictionary or list."""
    found: dict[int, tuple[str, Any, Any]] = {}

    def walk(path: str, value: Any, depth: int) -> None:
        holder = value if isinstance(value, list | dict) else getattr(value, "__dict__", None)
        plain = isinstance(value, type | numpy.ndarray | numpy.random.Generator) or callable(value)
        if holder is None or plain or id(holder) in found or depth == 0:
            return
        found[id(holder)] = (path, value, holder)
        for key, inner in list(_items(holder)):
            walk(f"{path}{key}.", inner, depth - 1)

    walk("", owner, depth)
    return list(found.values())


def _items(holder: Any) -> Any:
    return holder.items() if isinstance(holder, dict) else enumerate(holder)


def is_real(value: Any) -> bool:
    """Whether it is an array of floating-point numbers."""
    return isinstance(value, numpy.ndarray) and value.dtype.kind == "f"
