"""Central differences along random directions, which need nothing of the package."""

from copy import deepcopy
from inspect import signature
from typing import Any

import numpy as np

NOT_CHECKED = {"t", "ts", "labels", "targets"}
DIRECTIONS = 3
STEP = 1e-5


class _Context:
    """What a function with a context keeps its values in."""

    def save_for_backward(self, *values: Any) -> None:
        self.saved_tensors = values


class _Layer:
    """Functions in the forms that learners bring, as one object with forward and backward."""

    def __init__(self, given: Any) -> None:
        self.forward_of, self.backward_of = given if isinstance(given, tuple) else (given, None)

    @property
    def names(self) -> list[str]:
        """The names of forward's inputs."""
        of = self.forward_of
        return [n for n in signature(getattr(of, "forward", of)).parameters if n != "ctx"]

    def forward(self, *inputs: Any) -> Any:
        """The outputs; what backward needs is kept."""
        if isinstance(self.forward_of, type):
            self.kept = _Context()
            return self.forward_of.forward(self.kept, *inputs)
        y, self.kept = self.forward_of(*inputs)
        return y

    def backward(self, dy: Any) -> Any:
        """The gradients of the inputs."""
        if isinstance(self.forward_of, type):
            return self.forward_of.backward(self.kept, dy)
        if self.backward_of is not None:
            return self.backward_of(dy, self.kept)
        kept = self.kept if isinstance(self.kept, tuple) else (self.kept,)
        return tuple(dy * g for g in kept)


def is_float(a: Any) -> bool:
    """An array that has a gradient."""
    return isinstance(a, np.ndarray) and a.dtype.kind == "f"


def parameters(layer: Any) -> dict[str, np.ndarray]:
    """The weights of a layer that has none of its gradients yet: lists, dicts or attributes."""
    if isinstance(layer, _Layer):
        return {}
    held = vars(layer)
    if isinstance(held.get("params"), list):
        return {f"params[{i}]": p for i, p in enumerate(held["params"])}
    if isinstance(held.get("params"), dict):
        return dict(held["params"])
    return {name: a for name, a in held.items() if is_float(a) and not name.startswith("d")}


def gradient_of(layer: Any, name: str) -> np.ndarray:
    """The gradient of a weight after backward."""
    if name.startswith("params["):
        return layer.grads[int(name[7:-1])]
    if hasattr(layer, "grads"):
        return layer.grads[name if name in layer.grads else "d" + name]
    found = [n for n in ("d" + name, "grad_" + name, name + "_grad") if hasattr(layer, n)]
    return getattr(layer, found[0])


def errors(layer: Any, inputs: tuple[Any, ...], rng: np.random.Generator) -> dict[str, float]:
    """The relative error of each gradient, over a few random directions."""
    inputs = tuple(deepcopy(inputs))
    if isinstance(layer, tuple | type) or not hasattr(layer, "forward"):
        layer = _Layer(layer)
        names = layer.names
    else:
        names = list(signature(layer.forward).parameters)
    ran = deepcopy(layer)
    y = np.asarray(ran.forward(*inputs))
    dy = rng.normal(size=y.shape)
    returned = ran.backward(dy if dy.ndim else float(dy))
    returned = returned if isinstance(returned, tuple) else (returned,)

    def loss() -> float:
        return float((np.asarray(deepcopy(layer).forward(*inputs)) * dy).sum())

    checked = [
        n for n, a in zip(names, inputs, strict=True) if n not in NOT_CHECKED and is_float(a)
    ]
    analytic = dict(zip(checked, returned, strict=False))
    places = {n: a for n, a in zip(names, inputs, strict=True) if n in checked}
    for name, weight in parameters(layer).items():
        places[name] = weight
        analytic[name] = gradient_of(ran, name)
    return {
        name: _error(np.asarray(analytic[name]), place, loss, rng) for name, place in places.items()
    }


def _error(analytic: np.ndarray, place: np.ndarray, loss: Any, rng: np.random.Generator) -> float:
    """|analytic - numeric| / |numeric| of the slopes along random directions."""
    if analytic.shape != place.shape:
        return float("inf")
    exact, found = [], []
    start = place.copy()
    for _ in range(DIRECTIONS):
        direction = rng.normal(size=place.shape)
        direction /= np.sqrt((direction**2).sum())
        place[...] = start + STEP * direction
        up = loss()
        place[...] = start - STEP * direction
        down = loss()
        place[...] = start
        found.append((up - down) / (2 * STEP))
        exact.append((analytic * direction).sum())
    difference = float(np.linalg.norm(np.array(exact) - np.array(found)))
    return difference / max(float(np.linalg.norm(found)), 1e-6)
