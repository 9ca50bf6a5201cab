"""What recurrent layers share: their weights, the product with the input, the state over time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deepnlp.backend import Array, Generator, asarray, asnumpy, xp
from deepnlp.initialisers import fan_in_bound, uniform
from deepnlp.kernels import add_bias, sum_rows
from deepnlp.layer import Layer, expect
from deepnlp.parameter import Parameter, as_parameter


class Recurrent(Layer):
    """Weights of a recurrent layer with G gates: Wx (D, G H), Wh (H, G H), b (G H).

    Parameters
    ----------
    Wx, Wh, b : Parameter, its transpose, or array
        ``Wx=None``, where a layer allows it, adds the input as it is, with D = G H.

    Raises
    ------
    ValueError
        If the shapes do not fit each other.
    """

    _gates = 1

    def __init__(self, Wx: Any, Wh: Any, b: Any) -> None:
        owner, G = type(self).__name__, self._gates
        letters = "H" if G == 1 else f"{G}H"
        self.Wx = None if Wx is None else as_parameter(Wx, "Wx")
        self.Wh = as_parameter(Wh, "Wh")
        expect(owner, "Wh", self.Wh.value, f"H {letters}")
        self.H = self.Wh.shape[0]
        size = {letters: G * self.H}
        expect(owner, "Wh", self.Wh.value, f"H {letters}", **size)
        if self.Wx is not None:
            expect(owner, "Wx", self.Wx.value, f"D {letters}", **size)
        self.D = G * self.H if self.Wx is None else self.Wx.shape[0]
        self.b = as_parameter(b, "b")
        expect(owner, "b", self.b.value, letters, **size)

    @classmethod
    def _fresh_weights(
        cls, D: int, H: int, rng: Generator | None, dtype: Any
    ) -> tuple[Parameter, Parameter, Parameter]:
        """Wx and Wh from U(-1/sqrt(H), 1/sqrt(H)), b zero."""
        bound, width = fan_in_bound(H), cls._gates * H
        return (
            Parameter(uniform((D, width), bound, rng, dtype), "Wx"),
            Parameter(uniform((H, width), bound, rng, dtype), "Wh"),
            Parameter.zeros(width, dtype=dtype, name="b"),
        )

    def _input_product(self, x: Array) -> Array:
        """x Wx + b for the rows (n, D) of the input, all at once: (n, G H)."""
        if self.Wx is None:
            return x + self.b.value
        return add_bias(x @ self.Wx.value, self.b.value)

    def _input_product_backward(self, x: Array, da: Array) -> Array:
        """Back through :meth:`_input_product`: dWx and db are accumulated, dx is returned."""
        # a = x Wx + b
        self.b.accumulate(sum_rows(da))
        if self.Wx is None:
            return da.copy()  # da is where the layer works
        self.Wx.accumulate_product(x.T, da)
        return da @ self.Wx.value.T

    def _expect_step(self, x: Array, **states: Array) -> None:
        """Check the inputs of a one-step layer."""
        self._expect("x", x, "N D", D=self.D)
        for name, state in states.items():
            self._expect(name, state, "N H", N=x.shape[0], H=self.H)


class TimeRecurrent(Recurrent):
    """A recurrent layer unrolled over T steps, which may carry its state to the next call.

    Parameters
    ----------
    Wx, Wh, b : Parameter, its transpose, or array
    stateful : bool
        Whether a forward starts from the state the last one ended in (as truncated BPTT wants);
        otherwise it starts from zeros. Either way, :meth:`set_state` sets where the next forward
        starts.

    Attributes
    ----------
    h : array (N, H) or None
        The state after the last forward, or what :meth:`set_state` gave.
    dh0 : array (N, H) or None
        After backward: the gradient by the state the forward started from.
    watch : callable or None
        Who looks on, such as :mod:`deepnlp.gradflow`. Backward calls ``watch(t, x_t, h_prev, dh)``
        at each step, last step first, with the gradient by h_t; an LSTM adds ``c_prev`` and dc,
        the gradient by c_t from the steps after t. The arrays may only be read.
    """

    watch: Callable[..., None] | None = None
    _states: tuple[str, ...] = ("h",)
    h: Array | None
    c: Array | None = None  # only an LSTM has a memory cell
    dc0: Array | None = None

    def __init__(self, Wx: Any, Wh: Any, b: Any, stateful: bool = False) -> None:
        super().__init__(Wx, Wh, b)
        self.stateful = stateful
        self.dh0: Array | None = None
        self._reset_own_state()

    def advance(self, x: Array, states: tuple[Array, ...]) -> tuple[Array, ...]:
        """One step from given states, as generation takes it word by word.

        Nothing is checked, kept for a backward or carried to the next call.

        Parameters
        ----------
        x : array (N, D)
        states : tuple of array (N, H)
            h, and of an LSTM c: new arrays are returned, these stay as they are.

        Returns
        -------
        tuple of array (N, H)
            The states after the step.
        """
        raise TypeError(f"{type(self).__name__} has no advance")

    def start_states(self, N: int) -> tuple[Array, ...]:
        """States of zeros from which :meth:`advance` may start.

        Parameters
        ----------
        N : int

        Returns
        -------
        tuple of array (N, H)
            h, and of an LSTM c.
        """
        return tuple(xp.zeros((N, self.H), dtype=self.Wh.dtype) for _ in self._states)

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
            If a shape is another, or there is a c where the layer has no memory cell.
        """
        if c is not None and "c" not in self._states:
            raise ValueError(f"{type(self).__name__}: has no memory cell c, only h")
        self._expect("h", h, "N H", H=self.H)
        states = {"h": h, "c": xp.zeros_like(h) if c is None else c}
        if c is not None:
            self._expect("c", c, "N H", N=h.shape[0], H=self.H)
        self._give_state(**{name: states[name] for name in self._states})

    def _give_state(self, **states: Array) -> None:
        for name, state in states.items():
            setattr(self, name, state.copy())
        self._given = True

    def _start(self, N: int, dtype: Any) -> list[Array]:
        """The states a forward over a batch of N starts from."""
        if self.h is None or not (self.stateful or self._given):
            return [xp.zeros((N, self.H), dtype=dtype) for _ in self._states]
        states = [getattr(self, name) for name in self._states]
        for name, state in zip(self._states, states, strict=True):
            if state.shape[0] != N:
                raise ValueError(
                    f"{type(self).__name__}: the carried state {name} has N = {state.shape[0]} "
                    f"rows but x has N = {N}; call reset_state() before another batch size"
                )
        return states

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
        states = {name: getattr(self, name) for name in self._states}
        host = {name: None if h is None else asnumpy(h) for name, h in states.items()}
        return {**host, "given": int(self._given)}

    def _set_own_state(self, state: dict[str, Any]) -> None:
        for name in self._states:
            value = state[name]
            setattr(self, name, None if value is None else asarray(value).copy())
        self._given = bool(state["given"])

    def _cast_state(self, dtype: Any) -> None:
        for name in self._states:
            state = getattr(self, name)
            setattr(self, name, None if state is None else state.astype(dtype))


def time_first(x: Array) -> Array:
    """(N, T, D) as (T, N, D) in contiguous memory, so that each step is one block.

    Parameters
    ----------
    x : array (N, T, D)

    Returns
    -------
    array (T, N, D)

    Examples
    --------
    >>> time_first(xp.zeros((2, 3, 4))).shape
    (3, 2, 4)
    """
    return xp.ascontiguousarray(x.transpose(1, 0, 2))


def batch_first(x: Array) -> Array:
    """(T, N, H) seen as (N, T, H), without a copy.

    Parameters
    ----------
    x : array (T, N, H)

    Returns
    -------
    array (N, T, H)
    """
    return x.transpose(1, 0, 2)


def steps_as_rows(x: Array) -> Array:
    """(T, N, D) as the matrix (T N, D), without a copy.

    Parameters
    ----------
    x : array (T, N, D), contiguous

    Returns
    -------
    array (T N, D)
    """
    T, N, D = x.shape
    return x.reshape(T * N, D)
