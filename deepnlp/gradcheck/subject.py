"""Code under test: its variables by name, and the gradients that its backward gives."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from typing import Any

import numpy

from deepnlp.backend import Generator, asarray, asnumpy
from deepnlp.gradcheck.conventions import read_code
from deepnlp.gradcheck.function import Function
from deepnlp.gradcheck.gradients import Held, held_arrays, held_views, kept_gradient
from deepnlp.gradcheck.returned import hand_over, parts
from deepnlp.gradcheck.states import draw_states
from deepnlp.gradcheck.variables import Attribute, Input, Weight
from deepnlp.gradcheck.walking import HostArray, is_real

LABELS = ("targets", "target", "labels", "label", "t", "ts", "y_true", "one_hot", "onehot")
"""Names of inputs that have no gradient."""


class Subject(Function):
    """Code under test: its variables by name, and the gradients that its backward gives.

    Parameters
    ----------
    layer : object with ``forward`` and ``backward``, or another form of the two
        Copied.
    inputs : tuple
        What forward takes by position.
    named : dict, optional
        What it takes by name.
    constants : collection of str
        Names of arrays that have no gradient.

    Attributes
    ----------
    missing : list of Held
        Weights for which no gradient was found.
    not_checked : dict of str to str
        What has no gradient, and the reason.
    changed : list of str
        Arrays of the caller that were changed in place.
    returns_nothing : bool
        Whether backward returned None, though an input has a gradient.
    """

    def __init__(
        self,
        layer: Any,
        inputs: tuple[Any, ...],
        named: dict[str, Any] | None = None,
        constants: Collection[str] = (),
    ) -> None:
        super().__init__(read_code(layer), inputs, named or {})
        self.constants = constants
        self.missing: list[Held] = []
        self.not_checked: dict[str, str] = {}
        self.changed: list[str] = []
        self.returns_nothing = self._is_sorted = False
        self._returnable: list[Attribute] = []  # weights whose gradient backward returns
        self._without: list[Held] = []  # arrays that have none
        self._held = [h for h in held_arrays(self.layer) if not self._is_carried(h)]
        self._parameters = {name: Weight(base) for name, base in held_views(self.layer)}
        self._expect_constants()
        for position, (name, value) in enumerate(zip(self.input_names, self.inputs, strict=True)):
            self._add_input(position, name, value)

    def _is_carried(self, held: Held) -> bool:
        is_input = held.name in self.input_names
        return is_input or (self._carried is not None and self._carried.holds(*held[1:3]))

    def _expect_constants(self) -> None:
        known = [*self.input_names, *(held.name for held in self._held)]
        keys = [*known, *(str(held.key) for held in self._held)]
        if strange := [name for name in self.constants if name not in keys]:
            raise ValueError(
                f"check_gradients: constants should be names of arrays, got {strange[0]!r}; there "
                f"are {', '.join(known)}"
            )

    def _add_input(self, position: int, name: str, value: Any) -> None:
        if is_real(value) and name not in LABELS and name not in self.constants:
            self.variables[name] = Input(self.inputs, position, name)
        elif isinstance(value, numpy.ndarray):
            kinds = {"i": "integers", "u": "integers", "b": "truth values"}
            of_floats = "a constant" if name in self.constants else "labels"
            self.not_checked[name] = kinds.get(value.dtype.kind, of_floats)

    # --- Backwards --------------------------------------------------------------------------

    def draw_states(self, rng: Generator) -> None:
        """Give recurrent layers that carry no state a random one, and list all states."""
        if self.is_ours:
            draw_states(self, rng)

    def analytic_gradients(self) -> dict[str, HostArray]:
        """One forward, one backward: the gradient of every variable."""
        if self._is_sorted:
            self._hand_over(self._pass())
            return self.read_gradients()
        self._sort(self._first_pass())
        found = self.read_gradients()
        for held in self._without:  # forwards, which may touch gradients, so after the reading
            self._look_at(held)
        return found

    def gradients_for(self, weights: list[Any]) -> dict[str, HostArray]:
        """The gradient of every variable, for other gradients with respect to the outputs."""
        own, self.weights = self.weights, weights
        try:
            return self.analytic_gradients()
        finally:
            self.weights = own

    def read_gradients(self) -> dict[str, HostArray]:
        """The gradients as they stand now, copied."""
        return {name: self._as_host(name, v.grad(), v.get()) for name, v in self.variables.items()}

    def _first_pass(self) -> Any:
        """The first backward, which shows how it takes its gradients."""
        weights, errors, usable = self.weights, [], []
        for way in self.caller.ways:
            self.caller.use(way)
            self.weights = weights[: self.caller.count_of_outputs]
            try:
                returned = self._pass()
            except Exception as error:
                errors.append(error)
                continue
            if len(self.caller.ways) == 1 or self._fits(returned):
                return returned
            usable.append(way)
        if not usable:
            raise errors[0]
        self.caller.use(usable[0])
        self.weights = weights[: self.caller.count_of_outputs]
        return self._pass()

    def _pass(self) -> Any:
        """One forward and one backward, noting what they change in place."""
        self.restore()
        self.zero_grad()
        given = self.fresh_inputs()
        outputs = self.caller.forward(given)
        self._note_changes(given, self.inputs, self.input_names, "forward")
        kept = [numpy.array(asnumpy(y)) for y in outputs]
        dys = self._output_gradients()
        returned = self._backward(dys)
        names = [f"dy{k}" if len(dys) > 1 else "dy" for k in range(len(dys))]
        self._note_changes(given, self.inputs, self.input_names, "backward")
        self._note_changes(dys, self.weights, names, "backward")
        self._note_changes(outputs, kept, [f"output {k}" for k in range(len(kept))], "backward")
        return returned

    def pass_again(self, times: int = 1) -> None:
        """Forward and backward once more (or more often), without forgetting gradients."""
        for _ in range(times):
            self.restore()
            self.caller.forward(self.fresh_inputs())
            self._backward(self._output_gradients())

    def backward_again(self) -> bool:
        """Whether a backward without a forward before it is refused."""
        try:
            self._backward(self._output_gradients())
        except Exception as error:
            return isinstance(error, RuntimeError) or not self.is_ours
        return False

    def _backward(self, dys: list[Any]) -> Any:
        self._is_updated = True
        return self.caller.backward(dys)

    def _output_gradients(self) -> list[Any]:
        # A number goes back as a number, an array as an array of the backend.
        return [float(w) if w.ndim == 0 else asarray(w.copy()) for w in self.weights]

    def earlier_output_is_kept(self) -> bool:
        """Whether an output stays what it was while another forward runs."""
        self.restore()
        outputs = self.caller.forward(self.fresh_inputs())
        kept = [numpy.array(asnumpy(y)) for y in outputs]
        other = [
            1.5 * value + 0.25 if name in self.variables else value
            for name, value in zip(self.input_names, self.fresh_inputs(), strict=True)
        ]
        with contextlib.suppress(Exception), numpy.errstate(all="ignore"):
            self.caller.forward(other)
        same = zip(outputs, kept, strict=True)
        return all(numpy.array_equal(asnumpy(y), k, equal_nan=True) for y, k in same)

    def zero_grad(self) -> None:
        """Set all gradients to zero, in whatever form they are held."""
        if self.is_ours:
            self.layer.zero_grad()
            return
        for weight in self._parameters.values():
            weight.parameter.zero_grad()
        for held in self._held:
            gradient = held.gradient()
            if isinstance(gradient, numpy.ndarray) and gradient.flags.writeable:
                gradient[...] = 0

    def _note_changes(self, now: Any, before: Any, names: list[str], by: str) -> None:
        for value, original, name in zip(now, before, names, strict=False):
            if not isinstance(original, numpy.ndarray) or original.ndim == 0:
                continue
            if any(told.startswith(f"{name} by") for told in self.changed):
                continue
            if not numpy.array_equal(
                asnumpy(value), original, equal_nan=original.dtype.kind == "f"
            ):
                self.changed.append(f"{name} by {by}")

    # --- Which gradient belongs to what -------------------------------------------------------

    def _sort(self, returned: Any) -> None:
        """Tell the weights that have a gradient after backward from the other arrays."""
        self._is_sorted = True
        self.variables |= self._parameters
        for held in self._held:
            own = held.gradient() is not None
            if own and held.is_float and not self._is_constant(held):
                self.variables[held.name] = Attribute(self.layer, held)
        without = [h for h in self._held if h.is_array and h.name not in self.variables]
        self._returnable = [Attribute(self.layer, h) for h in without if h.is_float]
        self._hand_over(returned)
        self._returnable = [v for v in self._returnable if v.returned is not None]
        self.variables |= {v.held.name: v for v in self._returnable}
        self._without = [h for h in without if h.name not in self.variables]
        for name, variable in list(self.variables.items()):
            if isinstance(variable, Input) and variable.returned is None:
                is_label = name == "y" and all(w.ndim == 0 for w in self.weights)
                if is_label or "mask" in name.lower():
                    self.not_checked[name] = "labels" if is_label else "a constant"
                    del self.variables[name]

    def _hand_over(self, returned: Any) -> None:
        """What backward returned, to the inputs and weights it belongs to."""
        inputs = [v for v in self.variables.values() if isinstance(v, Input)]
        shape = inputs[0].get().shape if len(inputs) == 1 else None
        given = parts(returned, self.caller.code.backward, shape)
        hand_over(given, inputs, len(self.inputs), self._returnable)
        self.returns_nothing = all(value is None for _, value in given)
        for variable in inputs:
            if variable.returned is None:
                variable.returned = kept_gradient(self.layer, variable.key)

    def _fits(self, returned: Any) -> bool:
        """Whether what backward returned can be gradients, the first one of the first input."""
        inputs = [v for v in self.variables.values() if isinstance(v, Input)]
        given = parts(returned, None, None)
        if not inputs or not given:
            return True
        as_many = len(given) <= len(self.inputs) + len(self._held)
        return as_many and numpy.shape(given[0][1]) == inputs[0].get().shape

    def _is_constant(self, held: Held) -> bool:
        return held.name in self.constants or str(held.key) in self.constants

    def _look_at(self, held: Held) -> None:
        """An array without a gradient: a constant, or a weight whose gradient is missing."""
        if not self._influences(held):
            return
        if not held.is_float:
            self.not_checked[held.name] = "integers"
        elif self._is_constant(held) or held.is_constant:
            self.not_checked[held.name] = "a constant"
        else:
            self.missing.append(held)

    def _influences(self, held: Held) -> bool:
        """Whether the outputs change with an array."""
        array = held.value
        if not array.flags.writeable:
            return held.is_float
        before, original = self.forward(), array.copy()
        array[...] = 1.25 * array + 0.125 if held.is_float else array + 1
        try:
            with numpy.errstate(all="ignore"):
                after = self.forward()
        except Exception:  # with other numbers in it, it may be of no use to the forward
            after = before if held.is_float else []
        array[...] = original
        if len(after) != len(before):
            return True
        same = zip(after, before, strict=True)
        return not all(numpy.array_equal(a, b, equal_nan=True) for a, b in same)

    def _as_host(self, name: str, grad: Any, like: HostArray) -> HostArray:
        """A gradient as a float64 host array; zeros where there is none."""
        if grad is None:
            return numpy.zeros_like(like)
        try:
            return numpy.array(numpy.real(asnumpy(grad)), dtype="float64")
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"check_gradients: {self.caller.title('backward')} gave a {type(grad).__name__} "
                f"for the gradient of {name}; d{name} should be an array of shape {like.shape}"
            ) from error
