"""Central differences of our own for a layer of the collection, whatever the checker says.

``errors(layer, inputs)`` gives, for each float array that the outputs depend on, how far the
layer's gradient is from the numeric one, relative to the largest entry. Nothing of
``deepnlp.gradcheck`` is used here.
"""

from collections.abc import Callable, Iterator
from inspect import signature
from types import SimpleNamespace
from typing import Any

import numpy as np

STEP = 1e-5
MISSING = float("inf")
Arrays = dict[str, np.ndarray]


def is_float(value: Any) -> bool:
    """Whether a value is an array of floats that may be changed (others are data)."""
    return isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.flags.writeable


def as_tuple(value: Any) -> tuple[Any, ...]:
    """Several values as a tuple, one as a tuple of one."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def weighted(outputs: tuple[Any, ...], dys: list[np.ndarray]) -> float:
    """The sum of all outputs, each entry times its dy."""
    return sum(float((np.asarray(y) * dy).sum()) for y, dy in zip(outputs, dys, strict=True))


def numeric(loss: Callable[[], float], array: np.ndarray, step: float = STEP) -> np.ndarray:
    """The gradient of a loss with respect to an array that is changed in place."""
    gradient = np.zeros(array.shape)
    for index in np.ndindex(array.shape):
        kept = array[index]
        array[index] = kept + step
        above = loss()
        array[index] = kept - step
        below = loss()
        array[index] = kept
        gradient[index] = (above - below) / (2 * step)
    return gradient


def distance(given: Any, expected: np.ndarray) -> float:
    """The largest difference, relative to the largest entry; inf for one of another shape."""
    if given is None:
        return MISSING
    given = np.asarray(given)
    if given.shape != expected.shape:
        return MISSING
    return float(np.abs(given - expected).max() / max(1e-8, np.abs(expected).max()))


def arrays_of(inputs: tuple[Any, ...], names: list[str]) -> Arrays:
    """The float arrays among the inputs."""
    return {n: a for n, a in zip(names, inputs, strict=False) if is_float(a)}


def parameters_of(function: Any) -> list[str]:
    """The names of a function's arguments."""
    return list(signature(function).parameters)


def in_order(inputs: tuple[Any, ...], names: list[str], gradients: Any) -> dict[str, Any]:
    """Gradients that come in the order of the float inputs (those of labels, masks left out)."""
    floats = [n for n, a in zip(names, inputs, strict=False) if is_float(a)]
    given = as_tuple(gradients)
    if len(given) == len(inputs) > len(floats):
        return {n: g for n, a, g in zip(names, inputs, given, strict=True) if is_float(a)}
    return {n: g for n, g in zip(floats, given, strict=False) if g is not None}


def _weights(layer: Any) -> Iterator[tuple[str, np.ndarray, Callable[[], Any]]]:
    """Name, array and a way to its gradient, for each weight of an object."""
    held = dict(vars(layer))
    params, grads = held.pop("params", None), held.pop("grads", None)
    if isinstance(params, dict):
        for key, array in params.items():
            yield key, array, lambda key=key: layer.grads.get(key, layer.grads.get(f"d{key}"))
    elif isinstance(params, list):
        for k, array in enumerate(params):
            yield f"params[{k}]", array, lambda k=k: grads[k]
    for name, value in held.items():
        if is_float(value) and hasattr(layer, f"d{name}"):
            yield name, value, lambda name=name: getattr(layer, f"d{name}")
        elif hasattr(value, "grad"):
            array = value.value if hasattr(value, "value") else value.data
            yield name, array, lambda value=value: value.grad


def of_object(layer: Any, inputs: tuple[Any, ...], rng: np.random.Generator) -> dict[str, float]:
    """The errors of an object with forward and backward."""
    names = parameters_of(layer.forward)
    outputs = as_tuple(layer.forward(*inputs))
    scalar = len(outputs) == 1 and np.ndim(outputs[0]) == 0
    dys = [np.ones(()) if scalar else rng.normal(size=np.shape(y)) for y in outputs]
    back = layer.backward() if scalar else layer.backward(*[dy.copy() for dy in dys])
    given = in_order(inputs, names, back)
    weights = list(_weights(layer))
    kept = {name: np.copy(get()) if get() is not None else None for name, _, get in weights}

    def loss() -> float:
        return weighted(as_tuple(layer.forward(*inputs)), dys)

    arrays = arrays_of(inputs, names)
    found = {n: distance(given[n], numeric(loss, arrays[n])) for n in arrays if n in given}
    for name, array, _ in weights:
        found[name] = distance(kept[name], numeric(loss, array))
    return found


def of_pair(
    forward: Any, backward: Any, inputs: tuple[Any, ...], rng: np.random.Generator
) -> dict[str, float]:
    """The errors of two functions with a cache."""
    names = parameters_of(forward)
    *outputs, cache = forward(*inputs)
    dys = [rng.normal(size=np.shape(y)) for y in outputs]
    given = in_order(inputs, names, backward(*[dy.copy() for dy in dys], cache))

    def loss() -> float:
        return weighted(tuple(forward(*inputs)[:-1]), dys)

    return {
        n: distance(given.get(n), numeric(loss, a)) for n, a in arrays_of(inputs, names).items()
    }


def of_context(layer: Any, inputs: tuple[Any, ...], rng: np.random.Generator) -> dict[str, float]:
    """The errors of a class of static functions with a context."""

    def context() -> Any:
        ctx = SimpleNamespace()
        ctx.save_for_backward = lambda *values: vars(ctx).update(saved_tensors=values)
        return ctx

    names = parameters_of(layer.forward)[1:]
    ctx = context()
    outputs = as_tuple(layer.forward(ctx, *inputs))
    dys = [rng.normal(size=np.shape(y)) for y in outputs]
    given = in_order(inputs, names, layer.backward(ctx, *[dy.copy() for dy in dys]))

    def loss() -> float:
        return weighted(as_tuple(layer.forward(context(), *inputs)), dys)

    return {
        n: distance(given.get(n), numeric(loss, a)) for n, a in arrays_of(inputs, names).items()
    }


def of_function(
    function: Any, inputs: tuple[Any, ...], rng: np.random.Generator
) -> dict[str, float]:
    """The errors of a function that returns a loss and gradients, or outputs and a closure."""
    names = parameters_of(function)
    *outputs, last = as_tuple(function(*inputs))
    if callable(last):
        dys = [rng.normal(size=np.shape(y)) for y in outputs]
        given = in_order(inputs, names, last(*[dy.copy() for dy in dys]))

        def loss() -> float:
            return weighted(tuple(function(*inputs)[:-1]), dys)

    else:
        result = function(*inputs)
        back = result[1] if len(result) == 2 else tuple(result[1:])
        if isinstance(back, dict):
            given = {n: back.get(n, back.get(f"d{n}")) for n in names}
        else:
            given = in_order(inputs, names, back)

        def loss() -> float:
            return float(function(*inputs)[0])

    arrays = arrays_of(inputs, names)
    return {n: distance(given[n], numeric(loss, arrays[n])) for n in arrays if n in given}


def errors(layer: Any, inputs: tuple[Any, ...], seed: int = 5) -> dict[str, float]:
    """The error of each gradient of a layer in one of the collection's forms."""
    rng = np.random.default_rng(seed)
    if isinstance(layer, tuple):
        return of_pair(*layer, inputs, rng)
    if isinstance(layer, type):
        return of_context(layer, inputs, rng)
    if hasattr(layer, "forward"):
        return of_object(layer, inputs, rng)
    return of_function(layer, inputs, rng)
