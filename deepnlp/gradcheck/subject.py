"""An object under test: its variables by name, its forward as a scalar function of them."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy

from deepnlp.backend import Generator, asarray, asnumpy
from deepnlp.gradcheck.carried import Carried
from deepnlp.gradcheck.numeric import HostArray, numerical_gradient
from deepnlp.gradcheck.variables import (
    Attribute,
    Input,
    State,
    Variable,
    containers,
    find_parameters,
    is_real,
    named_arrays,
)
from deepnlp.layer import Layer, no_backward
from deepnlp.layers.recurrent import TimeRecurrent
from deepnlp.parameter import Parameter

LABELS = ("targets", "labels", "t")
"""Names of inputs that have no gradient."""


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
        self.name = type(layer).__name__
        self.layer = copy.deepcopy(layer)
        self.is_ours = isinstance(self.layer, Layer)
        if self.is_ours:
            self.layer.astype("float64")
        else:
            _widen(self.layer)
        self.inputs = [_as_double(value) for value in inputs]
        self.input_names = _input_names(self.layer, len(self.inputs))
        self.variables: dict[str, Variable] = {}
        self.weights: list[Any] = []
        self._snapshot = self.layer.snapshot() if self.is_ours else None
        self._carried = None if self.is_ours else Carried(self.layer, self._call_forward)
        self.in_single = False  # whether an output is in float32, whatever goes in
        self.changed: list[str] = []  # arrays of the caller that were changed in place
        for position, name in enumerate(self.input_names):
            if is_real(self.inputs[position]) and name not in LABELS:
                self.variables[name] = Input(self.inputs, position)

    # --- Analytic ---------------------------------------------------------------------------

    def draw_states(self, rng: Generator) -> None:
        """Give recurrent layers that carry no state a random one, and list all states."""
        if not self.is_ours:
            return
        named = [
            (p, one) for p, one in self.layer._named_layers() if isinstance(one, TimeRecurrent)
        ]
        if not named:
            return
        given: list[
            TimeRecurrent
        ] = []  # layers that the forward itself gives a state, as an encoder a decoder
        for _, one in named:
            one.set_state = _noting(one, given)  # type: ignore[method-assign]
        self.forward()
        for _, one in named:
            del one.set_state
        named = [(path, one) for path, one in named if one not in given]
        found = {path: tuple(one.h.shape) for path, one in named if one.h is not None}
        self.layer.restore(self._snapshot)
        for path, one in named:
            if path not in found:
                continue
            if one.h is None or not (one.stateful or one._given):
                one.set_state(*(asarray(rng.normal(size=found[path])) for _ in one._states))
        self._snapshot = self.layer.snapshot()
        for path, one in named:
            for state in one._states if path in found else ():
                key = f"{path}.{state}" if path else state
                self.variables[f"{key}0"] = State(self._snapshot, key, one)

    def draw_weights(self, rng: Generator) -> None:
        """Weight the outputs at random; all by 1 if backward takes no gradient."""
        outputs = self.forward()
        if any(y.dtype.kind not in "fiub" for y in outputs):
            raise TypeError(
                f"check_gradients: {self.name}.forward should return an array of numbers, or "
                "several; does it end in a return?"
            )
        self.in_single = any(y.dtype == numpy.float32 for y in outputs)
        takes_gradients = len(inspect.signature(self.layer.backward).parameters) > 0
        self.weights = [
            rng.normal(size=numpy.shape(y)) if takes_gradients else numpy.ones(()) for y in outputs
        ]

    def analytic_gradients(self) -> dict[str, HostArray]:
        """One forward, one backward: the gradient of every variable."""
        self.restore()
        self.zero_grad()
        given = self._given_inputs()
        outputs = self._as_tuple(self.layer.forward(*given))
        self._note_changes(given, self.inputs, self.input_names, "forward")
        kept = [numpy.array(asnumpy(y)) for y in outputs]
        dys = self._output_gradients()
        returned = self._backward(dys)
        names = [f"dy{k}" if len(dys) > 1 else "dy" for k in range(len(dys))]
        self._note_changes(given, self.inputs, self.input_names, "backward")
        self._note_changes(dys, self.weights, names, "backward")
        outputs_named = [f"output {k}" for k in range(len(kept))]
        self._note_changes(outputs, kept, outputs_named, "backward")
        for name, variable in find_parameters(self.layer):
            self.variables[name] = variable
        self._hand_over(self._as_tuple(returned))
        return self.read_gradients()

    def _hand_over(self, returned: tuple[Any, ...]) -> None:
        """What backward returned, to the inputs it belongs to."""
        inputs = [v for v in self.variables.values() if isinstance(v, Input)]
        # One for each input, such as (None, dx) for (ids, x); or one for each that has a gradient.
        if len(returned) == len(self.inputs):
            returned = tuple(returned[variable.position] for variable in inputs)
        for variable, dx in zip(inputs, returned, strict=False):
            variable.gradient = dx

    def read_gradients(self) -> dict[str, HostArray]:
        """The gradients as they stand now, copied."""
        return {name: _as_host(v.grad(), v.get()) for name, v in self.variables.items()}

    def pass_again(self, times: int = 1) -> None:
        """Forward and backward once more (or more often), without forgetting gradients."""
        for _ in range(times):
            self.restore()
            self.layer.forward(*self._given_inputs())
            self._backward(self._output_gradients())

    def backward_again(self) -> bool:
        """Whether a backward without a forward before it is refused."""
        try:
            self._backward(self._output_gradients())
        except Exception as error:
            return isinstance(error, RuntimeError) or not self.is_ours
        return False

    def earlier_output_is_kept(self) -> bool:
        """Whether an output stays what it was while another forward runs."""
        self.restore()
        outputs = self._as_tuple(self.layer.forward(*self._given_inputs()))
        kept = [numpy.array(asnumpy(y)) for y in outputs]
        other = [1.5 * v + 0.25 if is_real(v) else v for v in self._given_inputs()]
        self.layer.forward(*other)
        return all(numpy.array_equal(asnumpy(y), k, equal_nan=True) for y, k in zip(outputs, kept))

    def zero_grad(self) -> None:
        """Set all gradients to zero, in whatever form they are held."""
        if self.is_ours:
            self.layer.zero_grad()
            return
        for holder in containers(self.layer):
            if isinstance(holder, list):
                continue
            for name, value in holder.items():
                if isinstance(value, Parameter):
                    value.zero_grad()
                elif name == "grads" and isinstance(value, list | dict):
                    for grad in value.values() if isinstance(value, dict) else value:
                        if isinstance(grad, numpy.ndarray):
                            grad[...] = 0
                elif name.startswith("d") and name[1:] in holder and is_real(value):
                    value[...] = 0

    def _backward(self, dys: list[Any]) -> Any:
        takes_gradients = len(inspect.signature(self.layer.backward).parameters) > 0
        return self.layer.backward(*dys) if takes_gradients else self.layer.backward()

    def _output_gradients(self) -> list[Any]:
        # A number goes back as a number, an array as an array of the backend.
        return [float(w) if w.ndim == 0 else asarray(w.copy()) for w in self.weights]

    def _note_changes(self, now: Any, before: Any, names: list[str], by: str) -> None:
        for value, original, name in zip(now, before, names, strict=False):
            text = f"{name} by {by}"
            if not isinstance(original, numpy.ndarray) or original.ndim == 0:
                continue
            if any(told.startswith(f"{name} by") for told in self.changed):
                continue
            if not numpy.array_equal(asnumpy(value), original, equal_nan=True):
                self.changed.append(text)

    # --- Numeric ----------------------------------------------------------------------------

    def numeric_gradient(self, name: str, method: str) -> HostArray:
        """Gradient of the weighted sum of the outputs with respect to one variable, by forwards."""
        variable = self.variables[name]
        original = variable.get()

        def f(value: HostArray) -> Any:
            variable.set(value)
            return self.loss()

        with self._in_numbers(method), warnings.catch_warnings():
            # A complex number that lands in a real buffer loses its derivative.
            warnings.simplefilter("error", numpy.exceptions.ComplexWarning)
            return numerical_gradient(f, original, method, self.rounding)

    def slope(self, directions: dict[str, HostArray], method: str) -> float:
        """Derivative of the weighted sum along one direction in several variables."""
        originals = {name: self.variables[name].get() for name in directions}

        def along(s: HostArray) -> Any:
            for name, direction in directions.items():
                self.variables[name].set(originals[name] + s * direction)
            return self.loss()

        with self._in_numbers(method):
            return float(numerical_gradient(along, numpy.zeros(()), method, self.rounding))

    def random_directions(self, rng: Generator) -> dict[str, HostArray]:
        """A random direction in every variable."""
        return {name: rng.normal(size=numpy.shape(v.get())) for name, v in self.variables.items()}

    def is_analytic(self, rng: Generator) -> bool:
        """Whether the complex step agrees with a central difference along a random direction."""
        directions = self.random_directions(rng)
        slopes = {}
        for method in ("central", "complex"):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                try:
                    slopes[method] = self.slope(directions, method)
                except (TypeError, ValueError, Warning):
                    return False
        difference = abs(slopes["complex"] - slopes["central"])
        return bool(difference <= 1e-4 * max(abs(slopes["central"]), 1e-4 * self.scale()))

    @property
    def rounding(self) -> float:
        """Relative error of the outputs."""
        return 1e-6 if self.in_single else 1e-15

    def loss(self) -> Any:
        """Sum of all outputs times their weights."""
        return sum((w * y).sum() for w, y in zip(self.weights, self.forward(), strict=True))

    def forward(self) -> list[HostArray]:
        """Outputs on the host, from the state that was carried at the start."""
        self.restore()
        with no_backward():
            return [asnumpy(y) for y in self._as_tuple(self._call_forward())]

    def raw_forward(self) -> tuple[Any, ...]:
        """Outputs as they come, from the state that was carried at the start."""
        self.restore()
        with no_backward():
            return self._as_tuple(self._call_forward())

    def scale(self) -> float:
        """Size of the numbers that the weighted sum adds up."""
        terms = zip(self.weights, self.forward(), strict=True)
        return max((float(numpy.abs(w * y).sum()) for w, y in terms), default=0.0)

    def rounding_of_slopes(self, name: str) -> float:
        """The rounding error of an analytic gradient where a function is saturated.

        A backward computes 1 - y^2 from a y near 1: right to an absolute eps, however small the
        result is. That error is weighted by dy and multiplied by the other variables.
        """
        others = [v.get() for other, v in self.variables.items() if other != name]
        largest = max((float(numpy.abs(v).max(initial=1.0)) for v in others), default=1.0)
        weighted = sum(float(numpy.abs(w).sum()) for w in self.weights)
        return 100 * float(numpy.finfo("float64").eps) * max(weighted * largest, self.scale())

    def without_gradient(self) -> list[str]:
        """Names of the float arrays that change the outputs, and have no gradient beside them."""
        known = {id(v.array) for v in self.variables.values() if isinstance(v, Attribute)}
        before = self.forward()
        found = []
        for name, array in named_arrays(self.layer):
            if id(array) in known or not array.flags.writeable:
                continue
            known.add(id(array))
            original = array.copy()
            array *= 1.25
            array += 0.125
            try:
                after = self.forward()
            except Exception:  # with other numbers in it, it may be of no use to the forward
                after = before
            array[...] = original
            if not all(map(numpy.array_equal, after, before)):
                found.append(name)
        return found

    def restore(self) -> None:
        """Put back hidden states, counters and random generators."""
        if self.is_ours:
            self.layer.restore(self._snapshot)
        elif self._carried is not None:
            self._carried.restore()

    # --- Helpers ----------------------------------------------------------------------------

    def _call_forward(self) -> Any:
        return self.layer.forward(*self._given_inputs())

    def _given_inputs(self) -> list[Any]:
        """Copies, because a forward may change its arguments."""
        return [
            asarray(value.copy()) if isinstance(value, numpy.ndarray) else value
            for value in self.inputs
        ]

    @staticmethod
    def _as_tuple(outputs: Any) -> tuple[Any, ...]:
        return outputs if isinstance(outputs, tuple) else (outputs,)

    @contextmanager
    def _in_numbers(self, method: str) -> Iterator[None]:
        """Turn every variable to complex numbers where they are needed; put all back after.

        Every one: a buffer may take its dtype from any of them.
        """
        originals = {name: variable.get() for name, variable in self.variables.items()}
        try:
            if method == "complex":
                if self.is_ours:
                    self.layer.astype("complex128")
                for name, variable in self.variables.items():
                    variable.set(originals[name].astype("complex128"))
            yield
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", numpy.exceptions.ComplexWarning)
                if self.is_ours:
                    self.layer.astype("float64")
            for name, variable in self.variables.items():
                variable.set(originals[name])


def _noting(layer: TimeRecurrent, called: list[TimeRecurrent]) -> Callable[..., None]:
    """The set_state of a layer, which notes in a list that it was called."""
    set_state = layer.set_state

    def noting(*state: Any) -> None:
        called.append(layer)
        set_state(*state)

    return noting


def _input_names(layer: Any, count: int) -> list[str]:
    """Names of the inputs, from forward's signature."""
    parameters = inspect.signature(layer.forward).parameters.values()
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    names = [p.name for p in parameters if p.kind in positional]
    return names[:count] + [f"input {k}" for k in range(len(names), count)]


def _widen(layer: Any) -> None:
    """Turn the float32 arrays of an object into float64, each array once."""
    wide: dict[int, tuple[Any, Any]] = {}
    for holder in containers(layer):
        for key, value in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
            if isinstance(value, Parameter):
                value.astype("float64")
            elif is_real(value) and value.dtype != numpy.float64:
                pair = wide.setdefault(id(value), (value, value.astype("float64")))
                holder[key] = pair[1]


def _as_double(value: Any) -> Any:
    """Inputs live on the host; floating-point ones in float64. Other values stay as they are."""
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
