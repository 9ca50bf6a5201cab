"""Cells with other gates, for the exercises of lesson 6."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from deepnlp.backend import HostArray
from deepnlp.backend.functions import sigmoid
from deepnlp.gradcheck import CAUSES
from deepnlp.gradcheck.causes import GATES_SWAPPED
from deepnlp.layers import LSTM, TimeLSTM
from deepnlp.lessons.exercises.values import close
from deepnlp.lessons.exercises.verdict import Verdict


def run_cell(
    Wx: HostArray,
    Wh: HostArray,
    b: HostArray,
    x: HostArray,
    new: Callable[..., Any] = np.tanh,
    keep: Callable[..., Any] = lambda i, f, g, c: f * c + i * g,
    tell: Callable[..., Any] = lambda o, c: o * np.tanh(c),
    carry: float = 1.0,
) -> HostArray:
    """The states (N, T, H) of an LSTM in which a part is another."""
    h = c = np.zeros((len(x), Wh.shape[0]))
    states = []
    for t in range(x.shape[1]):
        i, f, g, o = np.split(x[:, t] @ Wx + carry * h @ Wh + b, 4, axis=1)
        c = keep(sigmoid(i), sigmoid(f), new(g), c)
        h = tell(sigmoid(o), c)
        states.append(h)
    return np.stack(states, axis=1)


def order_of_gates(got: Any, Wx: HostArray, Wh: HostArray, b: HostArray, x: HostArray) -> str:
    """The order of gates with which an LSTM gives these states, if it is another order."""
    H = Wh.shape[0]
    for order in ("fiog", "ifog", "figo", "iogf", "ofgi", "gfio", "fgio", "igfo"):
        columns = np.concatenate([np.arange(H) + H * order.index(gate) for gate in "ifgo"])
        if close(got, TimeLSTM(Wx[:, columns], Wh[:, columns], b[columns]).forward(x)):
            return ", ".join(order)
    return ""


def has_crossed_factors(
    verdict: Verdict, answer: Any, weights: tuple[HostArray, HostArray, HostArray], x: HostArray
) -> bool:
    """Whether i and g have each other's factor: di = dc i in place of dc g, and dg = dc g."""
    if verdict.diagnosis not in CAUSES or verdict.diagnosis == GATES_SWAPPED:
        return False  # not the numbers alone, or named already
    x, layer = x[:, :1], answer(*weights)  # of one step
    layer.backward(np.ones_like(layer.forward(x.copy())))
    Wx, _, b = weights
    i, _, g, o = np.split(x[:, 0] @ Wx + b, 4, axis=1)
    i, g, o = sigmoid(i), np.tanh(g), sigmoid(o)
    u = np.tanh(i * g)
    dc = o * (1 - u**2)
    zero, do = np.zeros_like(dc), u * o * (1 - o)
    da = np.concatenate([dc * i * i * (1 - i), zero, dc * g * (1 - g**2), do], axis=1)
    return close(layer.dWx, x[:, 0].T @ da)


def waited(b: HostArray, steps: int) -> tuple[float, float]:
    """The memory of a cell of one unit with these biases alone, and its loudest state."""
    cell, h, c, loudest = LSTM(np.zeros((1, 4)), np.zeros((1, 4)), b), *np.zeros((2, 1, 1)), 0.0
    for _ in range(steps):
        h, c = cell.forward(np.zeros((1, 1)), h, c)
        loudest = max(loudest, abs(float(h[0, 0])))
    return float(c[0, 0]), loudest


def gates_of_gru(
    x: HostArray, h_prev: HostArray, Wx: HostArray, Wh: HostArray, b: HostArray
) -> tuple[HostArray, HostArray, HostArray]:
    """r, z and the new content n, each (N, H)."""
    (ar, az, an), (Ur, Uz, Un) = np.split(x @ Wx + b, 3, axis=1), np.split(Wh, 3, axis=1)
    r, z = sigmoid(ar + h_prev @ Ur), sigmoid(az + h_prev @ Uz)
    return r, z, np.tanh(an + (r * h_prev) @ Un)
