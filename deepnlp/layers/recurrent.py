"""The base of recurrent layers: weights, the loop over time, and the state between calls.

The loop over time stands here once, in the forward and the backward of :class:`TimeRecurrent`. A
cell (``rnn.py``, ``lstm.py``, ``gru.py``, ``deep.py``) is what happens at one step and one step
back: two functions, which :meth:`Recurrent.formula` names. :class:`OneStep` is a layer of one step
of them, :class:`TimeRecurrent` one of T steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Any, Self

from deepnlp.backend import Array, Rng, asarray, asnumpy, check_shape, xp
from deepnlp.backend.functions import column_sums
from deepnlp.backend.initialisers import drawn, fan_in_bound
from deepnlp.backend.ownership import claim
from deepnlp.backend.products import affine, product
from deepnlp.backend.threads import one_blas_thread
from deepnlp.kernels import Kernel
from deepnlp.kernels.steps import PlainSteps, States, Steps, StepsAround, steps_as_rows
from deepnlp.layer import Layer, no_backward
from deepnlp.layers.lengths import EndedSteps, past_end
from deepnlp.parameter import Parameter


class Recurrent(Layer):
    """Weights of a recurrent layer: Wx (D, G H), Wh (H, G H), b (G H), in G blocks of columns.

    ``Wx=None``, where a layer allows it, adds the input as it is, with D = G H.

    Attributes
    ----------
    gates : str
        A letter for each block, in their order: ``"ifgo"`` for an LSTM.
    products : dict of str to int
        Gates whose block of Wh does not multiply h_prev, and which number it multiplies of what a
        step saves: ``{"n": 0}`` for a GRU.
    init_options : tuple of str
        Options of :meth:`init` beside the sizes, which a model may pass on.
    loop : Kernel or None
        The steps through a sequence, where there is a quick form of them.
    """

    gates = "h"
    H: int
    products: Mapping[str, int] = MappingProxyType({})
    loop: Kernel[..., Steps] | None = None
    init_options: tuple[str, ...] = ()
    _gradients: int | Sequence[int] = 1  # arrays that a step back gives first: see Steps
    _states: tuple[str, ...] = ("h",)

    def __init__(self, Wx: Any, Wh: Any, b: Any) -> None:
        G = len(self.gates)
        letters = "H" if G == 1 else f"{G}H"
        Wh = self._weight("Wh", Wh, f"H {letters}")
        self.H = Wh.shape[0]
        size = {letters: G * self.H}
        no_Wx = Wx is None and G == 1
        self.Wx = None if no_Wx else self._weight("Wx", Wx, f"D {letters}", **size)
        self.Wh = self._weight("Wh", Wh, f"H {letters}", **size)
        self.D = G * self.H if self.Wx is None else self.Wx.shape[0]
        self.b = self._weight("b", b, letters, **size)

    @classmethod
    def init(
        cls,
        D: int,
        H: int,
        rng: Rng = None,
        dtype: Any = "float32",
        *,
        scheme: str = "uniform",
        **options: Any,
    ) -> Self:
        """Draw fresh weights: Wx and Wh from U(-1/sqrt(H), 1/sqrt(H)), b zero.

        Parameters
        ----------
        D, H : int
            Sizes of input and state.
        rng : numpy.random.Generator, optional
        dtype : data-type
        scheme : {"uniform", "book"}
            Book: matrices from N(0, 1) / sqrt(fan-in).
        **options
            Other arguments of the constructor, such as ``stateful``; ``input_matrix=False`` leaves
            out Wx.
        """
        bound, width = fan_in_bound(H), len(cls.gates) * H
        Wx = None
        if options.pop("input_matrix", True):
            Wx = Parameter(drawn(scheme, (D, width), bound, rng, dtype), "Wx")
        Wh = Parameter(drawn(scheme, (H, width), bound, rng, dtype), "Wh")
        return cls(Wx, Wh, Parameter.zeros(width, dtype=dtype, name="b"), **options)

    def formula(self) -> tuple[Callable[..., Any], Callable[..., Any], Sequence[Any]]:
        """Return the step of the cell, the step back, and the weights that both read.

        ``step(a, *states, *weights)`` takes a = x Wx + b (N, G H) and the states before, and gives
        the states after it and what the step back needs, each in a tuple.
        ``step_backward(*dstates, saved, *weights)`` gives da, in a tuple too, and the gradients
        with respect to the states before the step.
        """
        raise TypeError(f"{type(self).__name__} has no formula")

    def _accumulate_recurrent(
        self, h_prev: Array, da: Sequence[Array], saved: Callable[..., Array]
    ) -> None:
        """Accumulate the gradients of the recurrent weights, from the rows of one step or of all.

        ``saved(k)`` gives the rows of number k of what the steps saved.
        """
        # a = x Wx + h_prev Wh + b
        if not self.products:
            self.Wh.accumulate_product(h_prev.T, da[-1])
            return
        # or, for some gates, a = x Wx + u Wh + b
        dWh, end = [], 0
        for number, gates in groupby(self.gates, self.products.get):
            start, end = end, end + len([*gates]) * self.H
            left = h_prev if number is None else saved(number)
            dWh.append(product(left.T, da[-1][:, start:end]))
        self.Wh.accumulate(xp.concatenate(dWh, axis=1))

    @property
    def state_size(self) -> int:
        """Numbers of a state: H, where the output is the state."""
        return self.H

    def _expect_state(self, name: str, state: Any, **sizes: Any) -> None:
        """Check a state (N, H), or its gradient; (N, M) where a state is not an output."""
        letter = "H" if self.state_size == self.H else "M"
        sizes[letter] = self.state_size
        self._expect(name, state, f"N {letter}", **sizes)

    def start(self, N: int) -> States:
        """Return a state of zeros: (h,), and of an LSTM (h, c), each (N, H)."""
        check_shape((N,))
        dtype = xp.result_type(*(weight.dtype for weight in self.parameters()))
        return tuple(xp.zeros((N, self.state_size), dtype=dtype) for _ in self._states)

    def step(self, x: Array, state: Any = None) -> tuple[Array, Any]:
        """Compute one step from a given state: (N, D) to h (N, H) and the state after it.

        Nothing is saved for a backward or carried to the next call.
        """
        with no_backward():
            after = self.forward(x, *(self.start(len(x)) if state is None else state))
        after = after if isinstance(after, tuple) else (after,)
        return after[0], after

    _general_start, _general_step = start, step

    def _input_product(self, x: Array) -> Array:
        """x Wx + b for the rows (n, D) of the input, all at once: (n, G H).

        In the wider number type of this sum and of Wh, to which h Wh is added.
        """
        a = x + self.b.value if self.Wx is None else affine(x, self.Wx.value, self.b.value)
        return a.astype(xp.result_type(a.dtype, self.Wh.dtype), copy=False)

    def _input_product_backward(self, x: Array, da: Array) -> Array:
        """Go back through :meth:`_input_product`: dWx and db are accumulated, dx is returned."""
        # a = x Wx + b
        self.b.accumulate(column_sums(da))
        if self.Wx is None:
            return da.copy()  # da is memory of the layer
        self.Wx.accumulate_product(x.T, da)
        return product(da, self.Wx.value.T)

    def _expect_step(self, x: Array, **states: Array) -> None:
        """Check the inputs of a one-step layer."""
        self._expect("x", x, "N D", D=self.D)
        for name, state in states.items():
            self._expect_state(name, state, N=x.shape[0])


class OneStep(Recurrent):
    """A recurrent layer of one step: from x (N, D) and the states before to those after it."""

    def _forward(self, x: Array, *states: Array) -> States:
        """Return the new states."""
        self._expect_step(x, **{f"{name}_prev": s for name, s in zip(self._states, states)})
        step, _, weights = self.formula()
        after: States
        after, saved = step(self._input_product(x), *states, *weights)
        self.save_for_backward(x, states[0], saved)
        return after

    def _backward(self, *dstates: Array) -> tuple[Array, ...]:
        """dx and the gradients with respect to the states before; those of the weights add up."""
        x, h_prev, saved = self.saved()
        for name, gradient in zip(self._states, dstates):
            self._expect_state(f"d{name}", gradient, N=x.shape[0])
        _, step_backward, weights = self.formula()
        da, before = step_backward(*dstates, saved, *weights)
        # a = x Wx + h_prev Wh + b: x and h_prev each have a row of their own; the N rows share the
        # weights, whose gradients are sums over them
        self._accumulate_recurrent(h_prev, da, lambda number, *_: saved[number])  # dWh
        return self._input_product_backward(x, da[0]), *before  # with dWx and db


class TimeRecurrent(Recurrent):
    """A recurrent layer over T steps, which carries its state from one call to the next.

    The loop over time is here. A subclass names its states and gives the steps of its cell.

    Parameters
    ----------
    Wx, Wh, b : Parameter, View, or array
    stateful : bool
        Whether a forward starts from the state the last one ended in (as in truncated BPTT);
        otherwise it starts from zeros. Either way, :meth:`set_state` sets where the next forward
        starts.

    Attributes
    ----------
    h : array (N, H) or None
        The state after the last forward, or what :meth:`set_state` gave. With lengths, row n is
        the state at the end of sequence n.
    dh0 : array (N, H) or None
        After backward: the gradient with respect to the state the forward started from.
    shows_state : bool
        Whether the output is the state h.
    watch : callable or None
        An observer, such as :mod:`deepnlp.gradflow`. Backward calls ``watch(t, x_t, h_prev, dh)``
        at each step, last step first, with the gradient with respect to h_t; an LSTM adds
        ``c_prev`` and dc, the gradient with respect to c_t from the steps after t. The arrays may
        only be read.
    """

    shows_state = True
    watch: Callable[..., None] | None = None
    h: Array | None
    c: Array | None = None  # only an LSTM has a memory cell
    dc0: Array | None = None

    def __init__(self, Wx: Any, Wh: Any, b: Any, stateful: bool = False) -> None:
        super().__init__(Wx, Wh, b)
        self.stateful = stateful
        self.dh0: Array | None = None
        self._reset_own_state()

    # --- The loop over time -------------------------------------------------------------------

    def forward(self, x: Array, lengths: Any = None) -> Array:
        """Return all states h_1 ... h_T from all inputs x_1 ... x_T.

        Parameters
        ----------
        x : array (N, T, D)
        lengths : sequence of int (N,), optional
            Steps of each sequence; T by default. Past its end a sequence holds its state, its
            outputs are zero, and x has no influence.

        Returns
        -------
        array (N, T, H)
        """
        self._expect("x", x, "N T D", D=self.D)
        x, ended = self._until_end(time_first(x), lengths)
        T, N, _ = x.shape
        a = self._input_product(steps_as_rows(x))  # of all steps at once
        steps = self._steps(a.reshape(T, N, a.shape[1]), self._start(N, a.dtype))
        steps = steps if ended is None else EndedSteps(steps, ended)
        with one_blas_thread():
            if not steps.forward_all():  # a quick form of the whole loop
                for t in range(T):
                    steps.forward(t)
        self.save_for_backward(x, steps)
        self._finish(*(state[T] for state in steps.states))
        return batch_first(steps.outputs()).copy()  # the saved states stay as they are

    def backward(self, dhs: Array, dh: Array | None = None, dc: Array | None = None) -> Array:
        """Backpropagation through time, last step first.

        Parameters
        ----------
        dhs : array (N, T, H)
            Gradients with respect to all outputs.
        dh, dc : array (N, H), optional
            Gradients with respect to the final state, such as a decoder's ``dh0`` and ``dc0``
            where it started from the state of this layer; dc of an LSTM only.

        Returns
        -------
        array (N, T, D)
            dx. The gradients with respect to the first state are left in ``dh0`` and ``dc0``.
        """
        x, steps = self.saved()
        T, N, _ = x.shape
        self._expect("dhs", dhs, "N T H", N=N, T=T, H=self.H)
        dhs = steps.from_above(time_first(dhs))
        # with respect to the states after step t: what comes back from the steps that follow it
        dstates = self._final_gradients(N, steps.a.dtype, dh, dc)
        steps = steps if self.watch is None else WatchedSteps(steps, self.watch, x)
        with one_blas_thread():
            steps.begin_backward()
            first = steps.backward_all(dhs, *dstates)  # a quick form of the whole loop
            if first is None:
                for t in reversed(range(T)):
                    # the state h goes to the layer above, dhs[t], and to the next step: a sum
                    dstates = steps.backward(t, dhs[t], *dstates)
        self._keep_first(dstates if first is None else first)
        h_prev, da = steps.states[0][:-1], [*map(steps_as_rows, steps.da)]
        self._accumulate_recurrent(steps_as_rows(h_prev), da, steps.rows_over_time)
        # a = x Wx + b, all steps at once
        dx = self._input_product_backward(steps_as_rows(x), da[0])
        return batch_first(dx.reshape(T, N, self.D))

    def _until_end(self, x: Array, lengths: Any) -> tuple[Array, Array | None]:
        """x (T, N, D) with zeros past the ends, and where that is (T, N, 1); None for nowhere."""
        if lengths is None:
            return x, None
        T, N, _ = x.shape
        ended = past_end(type(self).__name__, lengths, N, T).T[..., None]
        return xp.where(
            ended, 0, x
        ), ended  # what x holds past the end, even NaN, is without effect

    def _keep_first(self, dstates: States) -> None:
        """Leave the gradients with respect to the first states in ``dh0`` and ``dc0``."""
        for name, gradient in zip(self._states, dstates):
            setattr(self, f"d{name}0", gradient)

    def _steps(self, a: Array, start: States) -> Steps:
        """Return the steps of this cell from a = x Wx + b (T, N, G H), which they may overwrite."""
        step, step_backward, weights = self.formula()
        if self.loop is not None and self.loop.formula.holds(step, step_backward):
            return self.loop(a, start, *weights, self._workspace)
        cell = step, step_backward, a, start, weights, self._workspace
        return PlainSteps(*cell, self._gradients)

    def step(self, x: Array, state: Any = None) -> tuple[Array, Any]:
        """Compute one step from a given state: (N, D) to h (N, H) and the state after it.

        Nothing is saved for a backward or carried to the next call.
        """
        state = self.start(len(x)) if state is None else state
        self._expect_step(x, **dict(zip(self._states, state)))
        with no_backward(), one_blas_thread():
            steps = self._steps(self._input_product(x)[None], state)
            steps.forward(0)
        after = tuple(both[1] for both in steps.states)
        return after[0], after

    def _general_step(self, x: Array, state: Any = None) -> tuple[Array, Any]:
        """The step of a class with a forward of its own: that forward, for one step of time."""
        twin = self.twin()
        twin.set_state(*(self.start(len(x)) if state is None else state))
        with no_backward():
            y = twin.forward(x[:, None])
        return y[:, 0], twin.state

    def _final_gradients(self, N: int, dtype: Any, dh: Array | None, dc: Array | None) -> States:
        """Return gradients with respect to the final state: zeros where none are given."""
        final = {name: xp.zeros((N, self.state_size), dtype=dtype) for name in self._states}
        for name, gradient in self._by_name("d", N, dh, dc).items():
            final[name] += gradient
        return tuple(final.values())

    def _by_name(self, prefix: str, N: int, h: Any, c: Any) -> dict[str, Array]:
        """Return the states, or their gradients, that are given, (N, H) each."""
        given = {name: array for name, array in (("h", h), ("c", c)) if array is not None}
        if not given.keys() <= set(self._states):
            raise ValueError(f"{type(self).__name__}: has no memory cell c, only h")
        for name, array in given.items():
            self._expect_state(prefix + name, array, N=N)
        return given

    # --- The state between calls ---------------------------------------------------------------

    @property
    def state(self) -> States:
        """(h,), and of an LSTM (h, c): what ``set_state`` of another layer takes."""
        return tuple(getattr(self, name) for name in self._states)

    @property
    def dstate0(self) -> States:
        """(dh0,), and of an LSTM (dh0, dc0): what ``backward`` of another layer takes."""
        return tuple(getattr(self, f"d{name}0") for name in self._states)

    @property
    def top(self) -> TimeRecurrent:
        """This layer: of a stack, the one whose states are the outputs."""
        return self

    def first_h(self, N: int, dtype: Any) -> Array:
        """Return the state h (N, H) from which the next forward over a batch of N starts."""
        return self._start(N, dtype)[0]

    def keep_state(self) -> None:
        """Let the next forward start from the state that the last one ended in."""
        self._given = True

    def set_state(self, h: Array, c: Array | None = None) -> None:
        """Set the state from which the next forward starts.

        Parameters
        ----------
        h : array (N, H)
        c : array (N, H), optional
            Of an LSTM only; zeros by default.

        Raises
        ------
        ValueError
            If a shape is wrong, or there is a c where the layer has no memory cell.
        """
        self._expect_state("h", h)
        given = self._by_name("", len(h), h, c)
        for name in self._states:
            setattr(self, name, given.get(name, xp.zeros_like(h)).copy())
        self._given = True

    def _start(self, N: int, dtype: Any) -> States:
        """Return the states a forward over a batch of N starts from."""
        claim(self, "forward")  # it ends in a state that it carries
        if self.h is None or not (self.stateful or self._given):
            return tuple(xp.zeros((N, self.state_size), dtype=dtype) for _ in self._states)
        for name, state in zip(self._states, self.state, strict=True):
            if state.shape[0] != N:
                raise ValueError(
                    f"{type(self).__name__}: the carried state {name} has N = {state.shape[0]} "
                    f"rows but x has N = {N}; call reset_state() before another batch size"
                )
        return self.state

    def _finish(self, *states: Array) -> None:
        """Remember the states a forward ended in."""
        for name, state in zip(self._states, states, strict=True):
            setattr(self, name, state.copy())
        self._given = False

    def _reset_own_state(self) -> None:
        for name in self._states:
            setattr(self, name, None)
        self._given = False

    def _own_state(self) -> dict[str, Any]:
        host = [None if state is None else asnumpy(state) for state in self.state]
        return {**dict(zip(self._states, host)), "given": int(self._given)}

    def _check_own_state(self, state: dict[str, Any]) -> None:
        arrays = [state[name] for name in self._states if state[name] is not None]
        shapes = [tuple(getattr(array, "shape", ())) for array in arrays]
        fit = all(len(shape) == 2 and shape == (shapes[0][0], self.state_size) for shape in shapes)
        if state["given"] not in (0, 1) or len(arrays) not in (0, len(self._states)) or not fit:
            raise ValueError(
                f"{type(self).__name__}: a carried state should have all of {self._states}, "
                f"or none, and each should have shape (N, H) with H = {self.state_size}, "
                f"got {shapes}"
            )

    def _set_own_state(self, state: dict[str, Any]) -> None:
        for name in self._states:
            value = state[name]
            setattr(self, name, None if value is None else asarray(value).copy())
        self._given = bool(state["given"])

    def _cast_state(self, dtype: Any) -> None:
        for name in self._states:
            state = getattr(self, name)
            setattr(self, name, None if state is None else state.astype(dtype))


class WatchedSteps(StepsAround):
    """Steps whose way back is observed: see :attr:`TimeRecurrent.watch`."""

    def __init__(self, inside: Steps, watch: Callable[..., None], x: Array) -> None:
        super().__init__(inside)
        self.watch, self.x = watch, x

    def backward(self, t: int, dh_above: Array, dh_next: Array, *dc: Array) -> Any:
        """Show the observer step t, then go back through it."""
        h_prev, *c_prev = (state[t] for state in self.states)
        later = [gradient.copy() for gradient in dc]  # a step may overwrite them
        self.watch(t, self.x[t], h_prev, dh_above + dh_next, *c_prev, *later)
        return self.inside.backward(t, dh_above, dh_next, *dc)


def time_first(x: Array) -> Array:
    """(N, T, D) as (T, N, D) in contiguous memory, so that each step is one block."""
    return xp.ascontiguousarray(x.transpose(1, 0, 2))


def batch_first(x: Array) -> Array:
    """(T, N, H) seen as (N, T, H), without a copy."""
    return x.transpose(1, 0, 2)
