"""Backwards that take labels in the place of a gradient, and the costs to which these belong.

``AL, caches = model_forward(X, parameters)`` and ``grads = model_backward(AL, Y, caches)`` leave
the cost between them unsaid: it is a function of their module, or one of the customary ones.
"""

import inspect
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy

from deepnlp.gradcheck.names import ANSWERS, COST
from deepnlp.gradcheck.walking import HostArray


class Cost(NamedTuple):
    """A scalar function of outputs and labels.

    Attributes
    ----------
    name : str
        Of the argument of backward that takes the labels.
    labels : array
    title : str
    function : callable
        Takes the outputs and the labels.
    """

    name: str
    labels: HostArray
    title: str
    function: Callable[[Any, Any], Any]


def costs_of(backward: Any, name: str, y: HostArray, given: Any) -> list[Cost]:
    """The costs of outputs ``y`` whose gradients a backward may give, the likeliest first.

    Parameters
    ----------
    backward : function
    name : str
        Of its argument that takes labels.
    y : array
    given : array, optional
        The labels; without them some are drawn.
    """
    costs = list(_of_module(backward)) or list(_customary(y))
    labels = list(_labels_like(y)) if given is None else [numpy.asarray(given)]
    return [Cost(name, t, title, cost) for t in labels for title, cost in costs]


def _of_module(backward: Any) -> Iterator[tuple[str, Any]]:
    """The functions of two arguments beside a backward that are called costs or losses."""
    for title, function in getattr(inspect.unwrap(backward), "__globals__", {}).items():
        if not inspect.isfunction(function) or not COST.search(title) or "backward" in title:
            continue
        taken = [p.name for p in inspect.signature(function).parameters.values()
                 if p.default is p.empty]  # fmt: skip
        if len(taken) == 2:
            is_first = ANSWERS.fullmatch(taken[0]) and not ANSWERS.fullmatch(taken[1])
            yield title, _with_labels(function, bool(is_first))


def _with_labels(function: Any, is_first: bool) -> Any:
    """A cost as a function of outputs and labels; of what it gives, the first is the cost."""

    def cost(y: Any, labels: Any) -> Any:
        value = function(labels, y) if is_first else function(y, labels)
        return numpy.squeeze(value[0] if isinstance(value, tuple) else value)

    return cost


def _customary(y: HostArray) -> Iterator[tuple[str, Any]]:
    """Cross entropies of probabilities and of scores, squares; as sums, and as means."""
    terms = {"squared errors": _squares, "half squared errors": _half_squares}
    if ((y > 0) & (y < 1)).all():
        terms = {"cross entropies": _entropies, **terms}
    elif y.ndim > 1:
        terms["cross entropies of scores"] = _entropies_of_scores
    for title, function in terms.items():
        for count in dict.fromkeys([y.shape[-1] if y.ndim else 1, *y.shape[:1], y.size, 1]):
            told = f"the sum of the {title}" + (f" / {count}" if count > 1 else "")
            yield told, lambda y, t, f=function, n=count: f(y, t) / n


def _squares(y: Any, t: Any) -> Any:
    return ((y - t) ** 2).sum()


def _half_squares(y: Any, t: Any) -> Any:
    return 0.5 * _squares(y, t)


def _entropies(y: Any, t: Any) -> Any:
    """Those of classes, where probabilities add up to 1, and else of truth values."""
    if t.dtype.kind in "iu":
        return -numpy.log(y[numpy.arange(len(t)), t]).sum()
    is_of_classes = _axis_of_classes(y) is not None
    return -(t * numpy.log(y) + (0 if is_of_classes else (1 - t) * numpy.log(1 - y))).sum()


def _entropies_of_scores(y: Any, t: Any) -> Any:
    return _entropies(numpy.exp(y) / numpy.exp(y).sum(axis=-1, keepdims=True), t)


def _axis_of_classes(y: HostArray) -> int | None:
    """The axis along which outputs are probabilities that add up to 1."""
    axes = (axis for axis in reversed(range(y.ndim)) if y.shape[axis] > 1)
    return next((axis for axis in axes if numpy.allclose(y.sum(axis=axis), 1)), None)


def _labels_like(y: HostArray) -> Iterator[HostArray]:
    """Labels for outputs: of classes, truth values or numbers."""
    rng = numpy.random.default_rng(5)
    axis = _axis_of_classes(y)
    if axis is None and ((y > 0) & (y < 1)).all():
        yield numpy.asarray(numpy.arange(y.size).reshape(y.shape) % 2, dtype="float64")
    elif axis is None:
        yield numpy.asarray(rng.normal(size=y.shape))
    if y.ndim == 2:
        axis = -1 if axis is None else axis
        ids = rng.integers(0, y.shape[axis], size=y.size // y.shape[axis])
        one_hot = numpy.eye(y.shape[axis])[ids]
        yield one_hot.T if axis == 0 else one_hot
        yield ids
