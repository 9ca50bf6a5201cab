"""The steps of a cell through one sequence, with the arrays over time that they write.

The loop over time is in ``layers/recurrent.py``. It asks for the steps one by one, and knows
nothing of a cell but its :class:`Steps`: :class:`PlainSteps` from the equations of any cell, or for
an LSTM :class:`LSTMSteps`, which work in place.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from deepnlp.backend import Array, xp
from deepnlp.backend.products import product_with, product_with_transpose

States: TypeAlias = tuple[Array, ...]  # (h,), and of an LSTM (h, c)
New: TypeAlias = Callable[..., Array]  # new(name, shape, dtype) gives memory to work in


class Steps:
    """The steps of a cell through a sequence, as the loop over time calls them.

    Parameters
    ----------
    a : array (T, N, G H)
        x_t Wx + b for all steps. It may be overwritten.
    start : tuple of array (N, H)
        The states before the first step.
    weights : sequence
        What a step reads beside them: Wh, and what else the cell has.
    new : callable
        ``new(name, shape, dtype)`` gives memory.
    gradients : int or sequence of int
        How many arrays ``da`` holds; or how wide each is, where not all are as wide as a.

    Attributes
    ----------
    states : list of array (T + 1, N, H)
        h, and of an LSTM h and c. Number t is the state before step t.
    da : list of array (T, N, G H), or of those widths
        After the steps back: the gradients with respect to what each step adds up. The first is
        that with respect to a, the last that with respect to the product h Wh.
    """

    def __init__(
        self,
        a: Array,
        start: States,
        weights: Sequence[Any],
        new: New,
        gradients: int | Sequence[int] = 1,
    ) -> None:
        self.a, self.weights, self.new = a, weights, new
        T, N, width = a.shape
        self._widths = [width] * gradients if isinstance(gradients, int) else gradients
        self.states = []
        for number, first in enumerate(start):
            state = new(f"state{number}", (T + 1, N, first.shape[1]), a.dtype)
            state[0] = first
            self.states.append(state)

    def forward(self, t: int) -> None:
        """Step t: the states number t + 1 from a_t and the states number t."""
        raise NotImplementedError

    def forward_all(self) -> bool:
        """All steps at once, where there is a form for it: whether that was done."""
        return False

    def begin_backward(self) -> None:
        """Find memory for the gradients, and compute what needs no gradient of a later step."""
        T, N, _ = self.a.shape
        self.da = [
            self.new(f"da{number}", (T, N, width), self.a.dtype)
            for number, width in enumerate(self._widths)
        ]

    def over_time(self, number: int, width: int | None = None) -> Array:
        """The array (T, N, width) of a number among what each step saved, of all steps."""
        raise NotImplementedError

    def rows_over_time(self, number: int, width: int | None = None) -> Array:
        """The same as a matrix (T N, width)."""
        return steps_as_rows(self.over_time(number, width))

    def outputs(self) -> Array:
        """Return h of all steps, (T, N, H)."""
        return self.states[0][1:]

    def from_above(self, dhs: Array) -> Array:
        """Return the gradients with respect to the outputs, (T, N, H), in the type of the steps."""
        return dhs.astype(self.a.dtype, copy=False)

    def backward(self, t: int, dh_above: Array, dh_next: Array, *dc: Array) -> Any:
        """Step t back: da_t, and the gradients with respect to the states number t.

        h_(t+1) goes to the layer above and to the next step, so its gradient is dh_above + dh_next.
        Both dh_next and dc may be overwritten.
        """
        raise NotImplementedError

    def backward_all(self, dhs_above: Array, *final: Array) -> Any:
        """All steps back at once, where there is a form for it; else None.

        From dh_above of all steps and the gradients with respect to the final states, which may be
        overwritten, those with respect to the first.
        """
        return None


class StepsAround(Steps):
    """Steps that do more than those inside; so there is no form of the whole loop."""

    def __init__(self, inside: Steps) -> None:
        self.inside, self.a, self.states = inside, inside.a, inside.states

    def forward(self, t: int) -> None:
        """Step t of those inside."""
        self.inside.forward(t)

    def begin_backward(self) -> None:
        """Find memory for the gradients."""
        self.inside.begin_backward()
        self.da = self.inside.da

    def over_time(self, number: int, width: int | None = None) -> Array:
        """Return what those inside saved."""
        return self.inside.over_time(number, width)


class PlainSteps(Steps):
    """Steps from the two functions of a cell, with its ``weights``.

    ``step(a_t, *states, *weights)`` gives the states after the step, and what the step back needs.
    ``step_backward(*dstates, saved, *weights)`` gives da_t, as many arrays as there are gradients,
    and the gradients with respect to the states before the step.
    """

    def __init__(
        self,
        step: Callable[..., Any],
        step_backward: Callable[..., Any],
        a: Array,
        start: States,
        weights: Sequence[Any],
        new: New,
        gradients: int | Sequence[int] = 1,
    ) -> None:
        super().__init__(a, start, weights, new, gradients)
        self._step, self._step_backward = step, step_backward
        self._saved: list[Any] = [None] * len(a)

    def forward(self, t: int) -> None:
        """Step t by the equations."""
        before = [state[t] for state in self.states]
        after, self._saved[t] = self._step(self.a[t], *before, *self.weights)
        for state, value in zip(self.states, after):
            state[t + 1] = value

    def backward(self, t: int, dh_above: Array, dh_next: Array, *dc: Array) -> Any:
        """Step t back by the equations."""
        da, before = self._step_backward(dh_above + dh_next, *dc, self._saved[t], *self.weights)
        for array, value in zip(self.da, da):
            array[t] = value
        return before

    def over_time(self, number: int, width: int | None = None) -> Array:
        """The array (N, width) of this number among those that each step saved, of all steps.

        It is as wide as the first state where no width is given.
        """
        T, N, _ = self.a.shape
        width = self.states[0].shape[2] if width is None else width
        array = self.new(f"saved{number}", (T, N, width), self.a.dtype)
        for t, saved in enumerate(self._saved):
            array[t] = saved[number]
        return array


class ElementWise(NamedTuple):
    """The element-wise parts of an LSTM's step, which write in place.

    ``step(a, p, c_prev, h, c, tanh_c)`` makes gates of a + p, in a, and writes h, c and tanh(c).
    ``slopes(gates, c_prev, tanh_c, da)`` writes the factors dc/da_i, dc/da_f, dc/da_g and dh/da_o
    of all steps into da, and dh/dc over tanh(c).
    ``step_backward(dh_above, dh_next, dc, gates, dh_dc, da)`` makes gradients of these factors, and
    dc_prev of dc.
    """

    step: Callable[..., None]
    slopes: Callable[..., None]
    step_backward: Callable[..., None]


class LSTMSteps(Steps):
    """Steps of an LSTM that work in place.

    Each gradient of a step is a factor known since the forward pass times a gradient that arrives
    from later steps. The factors of all steps (the slopes) are computed together before the first
    step back, which is left with a few products.
    """

    def __init__(self, parts: ElementWise, a: Array, start: States, Wh: Array, new: New) -> None:
        super().__init__(a, start, (Wh,), new)
        T, (N, H) = len(a), start[0].shape
        self._parts = parts
        self._tanh_c = new("tanh_c", (T, N, H), a.dtype)
        self._p = xp.empty((N, 4 * H), dtype=a.dtype)
        self._times_Wh = product_with(Wh, N)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state of a copy: all but the product, which belongs to the forward."""
        return {name: value for name, value in vars(self).items() if name != "_times_Wh"}

    def forward(self, t: int) -> None:
        """The product h Wh, then all that is element-wise; a_t becomes the gates."""
        h, c = self.states
        self._times_Wh(h[t], self._p)
        self._parts.step(self.a[t], self._p, c[t], h[t + 1], c[t + 1], self._tanh_c[t])

    def begin_backward(self) -> None:
        """The slopes of all steps, in da and over tanh(c)."""
        super().begin_backward()
        self._parts.slopes(self.a, self.states[1][:-1], self._tanh_c, self.da[0])
        self._times_Wh_T = product_with_transpose(self.weights[0], self.a.shape[1], self.a.dtype)

    def backward(self, t: int, dh_above: Array, dh_next: Array, *dc: Array) -> Any:
        """All that is element-wise, then the product da Wh^T."""
        da, (dc_prev,) = self.da[0][t], dc
        self._parts.step_backward(dh_above, dh_next, dc_prev, self.a[t], self._tanh_c[t], da)
        return self._times_Wh_T(da), dc_prev


def steps_as_rows(x: Array) -> Array:
    """(T, N, D) as the matrix (T N, D), without a copy."""
    T, N, D = x.shape
    return x.reshape(T * N, D)
