"""Checking a backward pass against numbers.

The gradient that ``backward`` gives is compared with one that needs nothing but ``forward``:

complex step (Squire and Trapp 1998)
    df/dx = Im f(x + i h) / h, with h = 1e-30. No difference is taken, so nothing cancels, and the
    result is exact to rounding, where f is analytic.
central differences
    df/dx = (4 D(h) - D(2h)) / 3, with D(h) = (f(x + h) - f(x - h)) / 2h and h = 1e-2 or less:
    right to about ten digits where f is smooth. Where D(h) and D(2h) disagree, f bends too much
    for this h or has a kink nearby (a ReLU's), and a smaller h steps around it.

The scalar f is a sum of all outputs, weighted at random: a plain sum would hide mistakes that
cancel (the gradient of a plain sum of softmax outputs is zero, whatever backward does).
"""

from __future__ import annotations

import copy
import inspect
import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy

from deepnlp.backend import Generator, asarray, asnumpy
from deepnlp.layer import Layer, no_backward
from deepnlp.layers.recurrent import OverTime
from deepnlp.parameter import Parameter, Transpose

METHODS = ("auto", "complex", "central")
TOLERANCES = {"complex": 1e-10, "central": 1e-6}

_COMPLEX_STEP = 1e-30
_CENTRAL_STEPS = (1e-2, 1e-3, 1e-4, 1e-5)
# A gradient this many times smaller than |f| is rounding: it counts as zero.
_NOISE = {"complex": 1e-15, "central": 1e-12}

HostArray = numpy.ndarray[Any, Any]


def numerical_gradient(f: Callable[[HostArray], Any], x: Any, method: str = "central") -> HostArray:
    r"""Gradient of a scalar function of an array, entry by entry.

    .. math::
        \frac{\partial f}{\partial x_k} = \frac{4 D_k(h) - D_k(2h)}{3}, \quad
        D_k(h) = \frac{f(x + h e_k) - f(x - h e_k)}{2h}
        \qquad\text{or}\qquad \frac{\mathrm{Im}\, f(x + i h e_k)}{h}

    Parameters
    ----------
    f : callable
        Takes a NumPy array of the shape of ``x``, returns a number.
    x : array_like
        Where; left as it is.
    method : {"central", "complex"}

    Returns
    -------
    numpy.ndarray of float64, the shape of ``x``

    Raises
    ------
    ValueError
        If the method is neither.

    Examples
    --------
    >>> import numpy as np
    >>> numerical_gradient(lambda x: (x ** 3).sum(), np.array([1.0, 2.0]), method="complex")
    array([ 3., 12.])
    """
    if method not in ("central", "complex"):
        raise ValueError(
            f"numerical_gradient: method should be 'central' or 'complex', got {method!r}"
        )
    x = asnumpy(x)
    gradient = numpy.zeros(x.shape)
    probe = x.astype("complex128" if method == "complex" else "float64")
    for index in numpy.ndindex(x.shape):
        here = probe[index]

        def along(step: complex, index: tuple[int, ...] = index, here: Any = here) -> Any:
            probe[index] = here + step
            return f(probe)

        if method == "complex":
            gradient[index] = numpy.imag(along(1j * _COMPLEX_STEP)) / _COMPLEX_STEP
        else:
            gradient[index] = _central_slope(along)
        probe[index] = here
    return gradient


def _central_slope(along: Callable[[float], Any]) -> float:
    """Slope at 0 of a function of one number, stepping around kinks."""
    for h in _CENTRAL_STEPS:
        above, below = along(h), along(-h)
        near = (above - below) / (2 * h)
        far = (along(2 * h) - along(-2 * h)) / (4 * h)
        rounding = 1e-15 * max(abs(above), abs(below)) / h
        if abs(near - far) <= 1e-5 * abs(near) + 10 * rounding:
            return float((4 * near - far) / 3)
    return float(near)


@dataclass
class Row:
    """One gradient of a report.

    Attributes
    ----------
    name : str
        What it is the gradient of: an input, a parameter, or an initial state such as ``h0``.
    error : float
        max |analytic - numeric| / max |numeric|, over the entries.
    index : tuple of int
        The entry that is furthest off.
    ok : bool
    analytic, numeric : numpy.ndarray
    causes : list
        Likely causes of a wrong gradient, the likeliest first.
    """

    name: str
    error: float
    index: tuple[int, ...]
    ok: bool
    analytic: HostArray = field(repr=False)
    numeric: HostArray = field(repr=False)
    causes: list[Any] = field(default_factory=list)


@dataclass
class Report:
    """What :func:`check_gradients` found: a table to read, an object to ask.

    Attributes
    ----------
    subject : str
        Name of the class that was checked.
    method : str
        ``"complex"`` or ``"central"``, as it was in the end.
    tolerance : float
    rows : list of Row
    """

    subject: str
    method: str
    tolerance: float
    rows: list[Row]

    @property
    def ok(self) -> bool:
        """Whether every gradient agrees."""
        return all(row.ok for row in self.rows)

    @property
    def error(self) -> float:
        """The largest error of all rows."""
        return max((row.error for row in self.rows), default=0.0)

    def __str__(self) -> str:
        width = max([8, *(len(row.name) for row in self.rows)])
        lines = [f"{self.subject}: {self.method} step, tolerance {self.tolerance:.0e}"]
        for row in self.rows:
            shape = " x ".join(map(str, row.numeric.shape)) or "number"
            verdict = "ok" if row.ok else f"WRONG at {list(row.index)}"
            lines.append(f"  {row.name:<{width}}  {shape:>12}  {row.error:8.1e}  {verdict}")
        return "\n".join(lines)


def check_gradients(
    layer: Any,
    *inputs: Any,
    method: str = "auto",
    rng: Generator | None = None,
    tolerance: float | None = None,
) -> Report:
    """Check every gradient that a backward gives: of inputs, parameters and initial states.

    The layer is copied and checked in float64, so that it is left as it was. Before each forward,
    hidden states and dropout counters are put back. Recurrent layers that carry no state yet
    start from a random one, so that ``h0`` and ``c0`` are checked too.

    Parameters
    ----------
    layer : Layer, model, or any object with ``forward`` and ``backward``
        A class of one's own keeps its gradients as Parameters, as two lists ``params`` and
        ``grads``, or as pairs of attributes ``W`` and ``dW``.
    *inputs : arrays
        What forward takes. Integers (ids, targets) have no gradient; nor has what forward calls
        ``targets``, ``labels`` or ``t``.
    method : {"auto", "complex", "central"}
        ``"auto"`` takes the complex step where it agrees with a central difference along one
        random direction, that is, where the forward is analytic.
    rng : numpy.random.Generator, optional
        For the weights of the outputs; a fixed one by default.
    tolerance : float, optional
        Largest error that is ok: 1e-10 for the complex step, 1e-6 for central differences.

    Returns
    -------
    Report

    Raises
    ------
    TypeError
        If the object has no forward or backward.
    ValueError
        If the method is unknown.

    Examples
    --------
    >>> from deepnlp.layers import Tanh
    >>> import numpy as np
    >>> print(check_gradients(Tanh(), np.array([[0.5, -1.0]])).ok)
    True
    """
    if method not in METHODS:
        raise ValueError(f"check_gradients: method should be one of {METHODS}, got {method!r}")
    for name in ("forward", "backward"):
        if not callable(getattr(layer, name, None)):
            raise TypeError(f"check_gradients: a {type(layer).__name__} has no {name}")
    rng = numpy.random.default_rng(0) if rng is None else rng
    subject = Subject(layer, inputs)
    subject.draw_states(rng)
    analytic = subject.analytic_gradients(rng)
    if method == "auto":
        method = "complex" if subject.is_analytic(rng) else "central"
    tolerance = TOLERANCES[method] if tolerance is None else tolerance
    noise = _NOISE[method] * subject.scale()
    rows = [
        compare(name, analytic[name], subject.numeric_gradient(name, method), tolerance, noise)
        for name in subject.variables
    ]
    return Report(type(layer).__name__, method, tolerance, rows)


def compare(
    name: str, analytic: HostArray, numeric: HostArray, tolerance: float, noise: float = 0.0
) -> Row:
    """One row: how far two gradients are apart, relative to the largest numeric entry.

    Parameters
    ----------
    name : str
    analytic, numeric : numpy.ndarray of one shape
    tolerance : float
        Largest error that is ok.
    noise : float
        Rounding: where both gradients stay below it, they are zero.

    Returns
    -------
    Row
    """
    if analytic.shape != numeric.shape:
        return Row(name, math.inf, (), False, analytic, numeric)
    if numeric.size == 0:
        return Row(name, 0.0, (), True, analytic, numeric)
    difference = numpy.abs(analytic - numeric)
    difference = numpy.where(numpy.isnan(difference), math.inf, difference)
    worst = numpy.unravel_index(int(difference.argmax()), difference.shape)
    index = tuple(int(i) for i in worst)
    largest, scale = float(difference[index]), float(numpy.abs(numeric).max())
    if max(largest, scale) <= noise:
        return Row(name, 0.0, index, True, analytic, numeric)
    error = largest / scale if scale > 0 else math.inf
    return Row(name, error, index, error <= tolerance, analytic, numeric)


class Subject:
    """An object under test: its variables by name, its forward as a scalar function of them.

    Parameters
    ----------
    layer : object with ``forward`` and ``backward``
        Copied.
    inputs : tuple
        What forward takes.
    """

    def __init__(self, layer: Any, inputs: tuple[Any, ...]) -> None:
        self.layer = copy.deepcopy(layer)
        if isinstance(self.layer, Layer):
            self.layer.astype("float64")
        self.inputs = [_as_double(value) for value in inputs]
        self.variables: dict[str, Variable] = {}
        self.weights: list[Any] = []
        self._snapshot = self._take_snapshot()
        for position, name in enumerate(_input_names(self.layer, len(self.inputs))):
            if _is_real(self.inputs[position]) and name not in ("targets", "labels", "t"):
                self.variables[name] = _Input(self, position)

    # --- Analytic ---------------------------------------------------------------------------

    def draw_states(self, rng: Generator) -> None:
        """Give recurrent layers that carry no state a random one, and list all states."""
        if not isinstance(self.layer, Layer):
            return
        named = [(p, one) for p, one in self.layer._named_layers() if isinstance(one, OverTime)]
        if not named:
            return
        self.forward()
        found = {path: tuple(one.h.shape) for path, one in named if one.h is not None}
        self.layer.restore(self._snapshot)
        for path, one in named:
            if path not in found:
                continue
            if one.h is None or not (one.stateful or one._given):
                states = {s: asarray(rng.normal(size=found[path])) for s in one._states}
                one._give_state(**states)
        self._snapshot = self._take_snapshot()
        for path, one in named:
            for state in one._states if path in found else ():
                key = f"{path}.{state}" if path else state
                self.variables[f"{key}0"] = _State(self._snapshot, key, one)

    def analytic_gradients(self, rng: Generator) -> dict[str, HostArray]:
        """One forward, one backward with random weights: the gradient of every variable."""
        outputs = self.forward()
        takes_gradients = len(inspect.signature(self.layer.backward).parameters) > 0
        self.weights = [
            rng.normal(size=numpy.shape(y)) if takes_gradients else numpy.ones(()) for y in outputs
        ]
        self._restore()
        if isinstance(self.layer, Layer):
            self.layer.zero_grad()
        elif hasattr(self.layer, "grads"):
            for grad in self.layer.grads:
                grad[...] = 0
        self._call_forward()
        # A number goes back as a number, an array as an array of the backend.
        dys = [float(w) if w.ndim == 0 else asarray(w) for w in self.weights]
        returned = self.layer.backward(*dys) if takes_gradients else self.layer.backward()
        self._list_parameters()
        returned = returned if isinstance(returned, tuple) else (returned,)
        inputs = [v for v in self.variables.values() if isinstance(v, _Input)]
        for variable, dx in zip(inputs, returned, strict=False):
            variable.gradient = dx
        return {name: _as_host(v.grad(), v.get()) for name, v in self.variables.items()}

    def _list_parameters(self) -> None:
        for name, parameter in _find_parameters(self.layer):
            self.variables[name] = parameter

    # --- Numeric ----------------------------------------------------------------------------

    def numeric_gradient(self, name: str, method: str) -> HostArray:
        """Gradient of the weighted sum of the outputs by one variable, from forwards alone."""
        variable = self.variables[name]
        original = variable.get()

        def f(value: HostArray) -> Any:
            variable.set(value)
            return self.loss()

        with self._in_numbers(method), warnings.catch_warnings():
            # A complex number that lands in a real buffer loses its derivative.
            warnings.simplefilter("error", numpy.exceptions.ComplexWarning)
            try:
                return numerical_gradient(f, original, method)
            finally:
                variable.set(original)

    def loss(self) -> Any:
        """Sum of all outputs times their weights."""
        return sum((w * y).sum() for w, y in zip(self.weights, self.forward(), strict=True))

    def forward(self) -> list[HostArray]:
        """Outputs on the host, from the state that was carried at the start."""
        self._restore()
        with no_backward():
            outputs = self._call_forward()
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        return [asnumpy(y) for y in outputs]

    def scale(self) -> float:
        """Size of the numbers that the weighted sum adds up."""
        terms = zip(self.weights, self.forward(), strict=True)
        return max((float(numpy.abs(w * y).sum()) for w, y in terms), default=0.0)

    def is_analytic(self, rng: Generator) -> bool:
        """Whether the complex step agrees with a central difference along a random direction."""
        directions = {
            name: rng.normal(size=numpy.shape(v.get())) for name, v in self.variables.items()
        }
        originals = {name: v.get() for name, v in self.variables.items()}

        def along(s: HostArray) -> Any:
            for name, variable in self.variables.items():
                variable.set(originals[name] + s * directions[name])
            return self.loss()

        slopes = {}
        for method in ("central", "complex"):
            with self._in_numbers(method), warnings.catch_warnings():
                warnings.simplefilter("error")
                try:
                    slopes[method] = float(numerical_gradient(along, numpy.zeros(()), method))
                except (TypeError, ValueError, Warning):
                    return False
                finally:
                    for name, variable in self.variables.items():
                        variable.set(originals[name])
        difference = abs(slopes["complex"] - slopes["central"])
        return difference <= 1e-4 * max(abs(slopes["central"]), 1e-4 * self.scale())

    # --- Helpers ----------------------------------------------------------------------------

    def _call_forward(self) -> Any:
        given = [
            asarray(value) if isinstance(value, numpy.ndarray) else value for value in self.inputs
        ]
        return self.layer.forward(*given)

    @contextmanager
    def _in_numbers(self, method: str) -> Iterator[None]:
        """Turn a layer of ours to complex numbers and back."""
        if not (isinstance(self.layer, Layer) and method == "complex"):
            yield
            return
        self.layer.astype("complex128")
        try:
            yield
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", numpy.exceptions.ComplexWarning)
                self.layer.astype("float64")

    def _take_snapshot(self) -> Any:
        return self.layer.snapshot() if isinstance(self.layer, Layer) else None

    def _restore(self) -> None:
        if isinstance(self.layer, Layer):
            self.layer.restore(self._snapshot)


class Variable:
    """Something the outputs depend on: its value can be set, its analytic gradient read."""

    def get(self) -> HostArray:
        """Value on the host, in float64."""
        raise TypeError(f"{type(self).__name__} has no get")

    def set(self, value: HostArray) -> None:
        """Put another value in place for the next forward."""
        raise TypeError(f"{type(self).__name__} has no set")

    def grad(self) -> Any:
        """Gradient after backward; None where there is none."""
        raise TypeError(f"{type(self).__name__} has no grad")


class _Input(Variable):
    """An array that forward takes."""

    def __init__(self, subject: Subject, position: int) -> None:
        self.subject, self.position = subject, position
        self.gradient: Any = None  # what backward returned for it

    def get(self) -> HostArray:
        return numpy.array(self.subject.inputs[self.position])

    def set(self, value: HostArray) -> None:
        self.subject.inputs[self.position] = value

    def grad(self) -> Any:
        return self.gradient


class _State(Variable):
    """The state a recurrent layer starts from; it lives in the snapshot that is put back."""

    def __init__(self, snapshot: dict[str, Any], key: str, layer: OverTime) -> None:
        self.snapshot, self.key, self.layer = snapshot, key, layer

    def get(self) -> HostArray:
        return numpy.array(self.snapshot[self.key], dtype="float64")

    def set(self, value: HostArray) -> None:
        self.snapshot[self.key] = value

    def grad(self) -> Any:
        return getattr(self.layer, f"d{self.key.rpartition('.')[2]}0")


class _Weight(Variable):
    """A Parameter, or a reading of one."""

    def __init__(self, parameter: Parameter) -> None:
        self.parameter = parameter

    def get(self) -> HostArray:
        return numpy.array(asnumpy(self.parameter.value))

    def set(self, value: HostArray) -> None:
        self.parameter.value = asarray(value)

    def grad(self) -> Any:
        return self.parameter.grad


class _Attribute(Variable):
    """An array held as an attribute or in a list ``params``, its gradient beside it.

    A float value is written into the array, for other lists may hold the same one; a complex one
    needs an array of its own.
    """

    def __init__(self, holder: Any, where: Any, grad: Callable[[], Any]) -> None:
        self.holder, self.where, self.grad_of = holder, where, grad
        self.array = self._current()

    def _current(self) -> Any:
        return self.holder[self.where]

    def get(self) -> HostArray:
        return numpy.array(self.array, dtype="float64")

    def set(self, value: HostArray) -> None:
        if not numpy.iscomplexobj(value):
            self.array[...] = value
            value = self.array
        old = self._current()
        for holder in self._holders():
            for key, held in list(_items(holder)):
                if held is old:
                    holder[key] = value

    def grad(self) -> Any:
        return self.grad_of()

    def _holders(self) -> list[Any]:
        lists = [v for v in _values(self.holder) if isinstance(v, list)]
        return [self.holder, *lists]


def _items(holder: Any) -> Any:
    return holder.items() if isinstance(holder, dict) else enumerate(holder)


def _values(holder: Any) -> Any:
    return holder.values() if isinstance(holder, dict) else holder


def _find_parameters(layer: Any) -> Iterator[tuple[str, Variable]]:
    """The parameters of an object, however it keeps them."""
    if isinstance(layer, Layer):
        for name, parameter in layer.named_parameters():
            if parameter.trainable:
                yield name, _Weight(parameter)
        return
    own = vars(layer)
    weights = [(n, v.base) for n, v in own.items() if isinstance(v, Parameter | Transpose)]
    if weights:
        for name, base in {id(base): (name, base) for name, base in weights}.values():
            yield name, _Weight(base)
    elif "params" in own and "grads" in own:
        for k, array in enumerate(own["params"]):
            names = [name for name, value in own.items() if value is array]
            grad = partial(own["grads"].__getitem__, k)
            if names:
                yield names[0], _Attribute(own, names[0], grad)
            else:
                yield f"params[{k}]", _Attribute(own["params"], k, grad)
    else:
        for name, value in list(own.items()):
            if f"d{name}" in own and _is_real(value):
                yield name, _Attribute(own, name, partial(own.__getitem__, f"d{name}"))


def _input_names(layer: Any, count: int) -> list[str]:
    """Names of the inputs, from forward's signature."""
    parameters = inspect.signature(layer.forward).parameters.values()
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [p.name for p in parameters if p.kind in positional]
    return names[:count] + [f"input {k}" for k in range(len(names), count)]


def _is_real(value: Any) -> bool:
    return isinstance(value, numpy.ndarray) and value.dtype.kind == "f"


def _as_double(value: Any) -> Any:
    """Inputs live on the host; floating-point ones in float64. What is no array stays."""
    if isinstance(value, list):
        value = numpy.asarray(value)
    if not hasattr(value, "dtype"):
        return value
    value = asnumpy(value)
    return numpy.array(value, dtype="float64" if value.dtype.kind == "f" else value.dtype)


def _as_host(grad: Any, like: HostArray) -> HostArray:
    """A gradient as a float64 host array; zeros where there is none."""
    if grad is None:
        return numpy.zeros_like(like)
    return numpy.array(asnumpy(grad), dtype="float64")
