"""The gates of each cell, and the Jacobian of one step.

The Jacobian comes from the one-step layers: the backward of one unit vector per row returns one
row of the Jacobian each, so that the equations of a cell are written only once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from deepnlp.backend import Array, asnumpy, xp
from deepnlp.backend.functions import sigmoid, split_gates
from deepnlp.layers import GRU, LSTM, RNN, TimeGRU, TimeLSTM, TimeRNN
from deepnlp.layers.recurrent import TimeRecurrent

HostArray = np.ndarray[Any, Any]


def hidden_blocks(layer: TimeRecurrent) -> dict[str, HostArray]:
    """The square blocks of W_h, one per gate.

    Parameters
    ----------
    layer : TimeRNN, TimeLSTM or TimeGRU

    Returns
    -------
    dict of str to numpy.ndarray (H, H)
        ``{"Wh": ...}`` for an RNN, ``Wh_i, Wh_f, Wh_g, Wh_o`` for an LSTM, ``Wh_r, Wh_z, Wh_n``
        for a GRU.

    Examples
    --------
    >>> list(hidden_blocks(TimeGRU.init(3, 2)))
    ['Wh_r', 'Wh_z', 'Wh_n']
    """
    gates = _known(layer).gates
    names = [f"Wh_{gate}" for gate in gates] if len(gates) > 1 else ["Wh"]
    blocks = split_gates(asnumpy(layer.Wh.value), len(names))
    return dict(zip(names, blocks, strict=True))


def gate_values(layer: TimeRecurrent, x: Array, h_prev: Array) -> dict[str, Array]:
    """The gates of a step, numbers between 0 and 1.

    Parameters
    ----------
    layer : TimeRNN, TimeLSTM or TimeGRU
    x : array (n, D)
    h_prev : array (n, H)

    Returns
    -------
    dict of str to array (n, H)
        i, f, o of an LSTM; r, z of a GRU. An RNN has no gates: for tanh it is ``|h|``, near 1
        where the unit is saturated and lets no gradient through; for relu it is ``open``, 1 where
        the unit lets the gradient through and 0 where it does not.

    Examples
    --------
    >>> layer = TimeLSTM.init(3, 2, dtype="float64")
    >>> gates = gate_values(layer, xp.zeros((1, 3)), xp.zeros((1, 2)))
    >>> gates["f"].round(2)                    # sigmoid of the forget bias, 1
    array([[0.73, 0.73]])
    """
    a = _pre_activation(layer, x, h_prev)
    kind = _known(layer)
    if kind is TimeLSTM:
        i, f, _, o = split_gates(sigmoid(a), 4)
        return {"i": i, "f": f, "o": o}
    if kind is TimeGRU:
        r, z, _ = split_gates(sigmoid(a), 3)
        return {"r": r, "z": z}
    if getattr(layer, "activation", "tanh") == "relu":
        return {"open": (a > 0).astype(a.dtype)}
    return {"|h|": xp.abs(xp.tanh(a))}


def cell_gradient(
    layer: TimeRecurrent, x: Array, h_prev: Array, c_prev: Array, dh: Array, dc: Array
) -> Array:
    r"""The whole gradient with respect to the memory cell of an LSTM.

    .. math::
        \frac{dL}{dc_t} = \frac{dL}{dc_t}\Big|_{\text{from } c_{t+1}}
            + \frac{dL}{dh_t} \odot o_t \odot (1 - \tanh^2 c_t)

    Parameters
    ----------
    layer : TimeLSTM
    x : array (n, D)
    h_prev, c_prev : array (n, H)
    dh, dc : array (n, H)
        The gradients with respect to h_t, and to c_t from the steps after t.

    Returns
    -------
    array (n, H)
    """
    a_i, a_f, a_g, a_o = split_gates(_pre_activation(layer, x, h_prev), 4)
    c = sigmoid(a_f) * c_prev + sigmoid(a_i) * xp.tanh(a_g)
    return dc + dh * sigmoid(a_o) * (1 - xp.tanh(c) ** 2)


def step_jacobian(
    layer: TimeRecurrent, x: Array, h_prev: Array, c_prev: Array | None = None
) -> HostArray:
    r"""The Jacobian of one step with respect to the state before it, at one input.

    .. math:: J_{ij} = \frac{\partial s_{t, i}}{\partial s_{t-1, j}}, \qquad
        \frac{dL}{ds_{t-1}} = \frac{dL}{ds_t} J

    where the state s is h for an RNN and a GRU, and h and c side by side for an LSTM.

    Parameters
    ----------
    layer : TimeRNN, TimeLSTM or TimeGRU
    x : array (D,)
    h_prev : array (H,)
    c_prev : array (H,), optional
        For an LSTM.

    Returns
    -------
    numpy.ndarray of float64, (H, H) or (2H, 2H)

    Examples
    --------
    >>> layer = TimeRNN([[1.0]], Wh=[[0.5]], b=[0.0])
    >>> step_jacobian(layer, xp.zeros(1), xp.zeros(1))    # tanh'(0) Wh
    array([[0.5]])
    """
    step = _step_at(layer, x)
    S = layer.H if c_prev is None else 2 * layer.H
    rows = xp.eye(S, dtype="float64")  # the gradient of each output, one per row
    nothing = xp.zeros((S, 1), dtype="float64")  # the bias includes the input's term

    def repeated(state: Array) -> Array:
        return xp.ascontiguousarray(xp.broadcast_to(state.astype("float64"), (S, layer.H)))

    if isinstance(step, LSTM):
        dh, dc = rows[:, : layer.H], rows[:, layer.H :]
        step.forward(nothing, repeated(h_prev), repeated(c_prev))
        _, dh_prev, dc_prev = step.backward(dh, dc)
        return asnumpy(xp.concatenate([dh_prev, dc_prev], axis=1))
    step.forward(nothing, repeated(h_prev))
    _, dh_prev = step.backward(rows)
    return asnumpy(dh_prev)


def _step_at(layer: TimeRecurrent, x: Array) -> RNN | LSTM | GRU:
    """One step of a layer in float64, with its input held at x (D,): b + x Wx is the bias."""
    a = x + layer.b.value if layer.Wx is None else x @ layer.Wx.value + layer.b.value
    Wx = xp.zeros((1, a.shape[0]), dtype=a.dtype)
    Wh = layer.Wh.value
    step: RNN | LSTM | GRU
    if isinstance(layer, TimeLSTM):
        step = LSTM(Wx, Wh, a)
    elif isinstance(layer, TimeGRU):
        step = GRU(Wx, Wh, a, None if layer.bh is None else layer.bh.value, layer.reset_after)
    else:
        step = RNN(Wx, Wh, a, getattr(layer, "activation", "tanh"))
    step.astype("float64")
    return step


def _pre_activation(layer: TimeRecurrent, x: Array, h_prev: Array) -> Array:
    """x Wx + b + h_prev Wh (+ bh): the pre-activation of the gates, for n rows."""
    a = x if layer.Wx is None else x @ layer.Wx.value
    a = a + layer.b.value + h_prev @ layer.Wh.value
    if isinstance(layer, TimeGRU) and layer.bh is not None:
        a = a + layer.bh.value
    return a


def _known(layer: TimeRecurrent) -> type[TimeRecurrent]:
    for kind in (TimeRNN, TimeLSTM, TimeGRU):
        if isinstance(layer, kind):
            return kind
    raise TypeError(
        f"the microscope needs a TimeRNN, TimeLSTM or TimeGRU, got a {type(layer).__name__}"
    )
