"""What the forms of the kernels are called with, on whatever backend is in use, and compared by."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

import deepnlp.models
import deepnlp.optimizers  # noqa: F401  every module that has a kernel
from deepnlp import kernels
from deepnlp.backend import asarray, asnumpy, xp
from deepnlp.layers import TimeGRU, TimeLSTM, TimeRNN

plain = SimpleNamespace(**{name: kernel.plain for name, kernel in kernels._KERNELS.items()})
"""The plain forms of all kernels, by their names."""

SIZES = [(1, 1, 1), (3, 5, 7), (2, 1, 33), (2, 3, 130)]
"""T, N, H."""

TOLERANCES = {"float64": 1e-12, "float32": 1e-5}


class Draw:
    """Random arrays of the backend in use, the same ones for the same seed."""

    def __init__(self, dtype: str, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.dtype = dtype

    def normal(self, *shape: int) -> Any:
        return asarray(self.rng.normal(size=shape).astype(self.dtype))

    def gate(self, *shape: int) -> Any:
        return asarray(self.rng.uniform(0.05, 0.95, shape).astype(self.dtype))

    def ids(self, n: int, V: int) -> Any:
        return asarray(self.rng.integers(0, V, n))


class DrawSteps(Draw):
    """Arrays of one step, (N, G H), and of all steps, (T, N, G H), for G blocks side by side."""

    def __init__(self, dtype: str, size: tuple[int, int, int]) -> None:
        super().__init__(dtype)
        self.T, self.N, self.H = size

    def one(self, G: int = 1) -> Any:
        return self.normal(self.N, G * self.H)

    def turned(self, G: int = 1) -> Any:
        """Of one step, as the transpose of an array in C order."""
        return self.normal(G * self.H, self.N).T

    def cut(self) -> Any:
        """Of one step, cut from the (N, T, H) of a layer."""
        return self.normal(self.N, self.T, self.H)[:, 0]

    def all(self, G: int = 1) -> Any:
        return self.normal(self.T, self.N, G * self.H)

    def last_block(self, G: int) -> Any:
        return self.all(G)[..., (G - 1) * self.H :]

    def gates(self, G: int) -> Any:
        return self.gate(self.N, G * self.H)

    def all_gates(self, G: int) -> Any:
        return self.gate(self.T, self.N, G * self.H)

    def bias(self, G: int) -> Any:
        return self.normal(G * self.H)


class Step(NamedTuple):
    """A function of a recurrent step, and how to make its arguments."""

    name: str
    arguments: Callable[[DrawSteps], list[Any]]


STEPS = {
    "rnn_step tanh": Step("rnn_step", lambda d: [d.one(), d.one(), d.one(), "tanh"]),
    "rnn_step relu": Step("rnn_step", lambda d: [d.one(), d.turned(), d.one(), "relu"]),
    "rnn_slopes tanh": Step("rnn_slopes", lambda d: [d.all(), d.all(), "tanh"]),
    "rnn_slopes relu": Step("rnn_slopes", lambda d: [d.all(), d.all(), "relu"]),
    "rnn_step_backward": Step("rnn_step_backward", lambda d: [d.one(), d.turned(), d.one()]),
    "lstm_step": Step(
        "lstm_step", lambda d: [d.one(4), d.one(4), d.one(), d.one(), d.one(), d.one()]
    ),
    "lstm_step turned": Step(
        "lstm_step", lambda d: [d.one(4), d.turned(4), d.one(), d.one(), d.one(), d.one()]
    ),
    "lstm_slopes": Step("lstm_slopes", lambda d: [d.all_gates(4), d.all(), d.all(), d.all(4)]),
    "lstm_step_backward": Step(
        "lstm_step_backward",
        lambda d: [d.cut(), d.turned(), d.one(), d.gates(4), d.one(), d.one(4)],
    ),
    "gru_gates": Step("gru_gates", lambda d: [d.one(3), d.one(2), d.one(), d.one()]),
    "gru_output": Step("gru_output", lambda d: [d.gates(3), d.turned(), d.one(), d.one()]),
    "gru_step": Step("gru_step", lambda d: [d.one(3), d.one(3), d.bias(3), d.one(), d.one()]),
    "gru_step without bh": Step(
        "gru_step", lambda d: [d.one(3), d.turned(3), None, d.one(), d.one()]
    ),
    "gru_slopes after": Step(
        "gru_slopes", lambda d: [d.all_gates(3), d.all(), d.last_block(3), d.all(3)]
    ),
    "gru_slopes before": Step("gru_slopes", lambda d: [d.all_gates(3), d.all(), None, d.all(3)]),
    "gru_output_backward": Step(
        "gru_output_backward", lambda d: [d.cut(), d.turned(), d.one(), d.gates(3), d.one(3)]
    ),
    "gru_gates_backward": Step(
        "gru_gates_backward", lambda d: [d.turned(), d.one(), d.gates(3), d.one(3)]
    ),
    "gru_step_backward": Step(
        "gru_step_backward",
        lambda d: [d.one(), d.turned(), d.one(), d.gates(3), d.one(3), d.one(3)],
    ),
}


def run_step(module: Any, label: str, dtype: str, size: tuple[int, int, int]) -> list[np.ndarray]:
    """All arrays of a step after a form of it has worked on them."""
    step = STEPS[label]
    arguments = step.arguments(DrawSteps(dtype, size))
    getattr(module, step.name)(*arguments)
    if step.name == "gru_step":  # of p, only the block n is promised
        p, H = arguments[1], size[2]
        arguments[1] = p[:, 2 * H :]
    return [asnumpy(a) for a in arguments if hasattr(a, "dtype")]


class Loop(NamedTuple):
    """A recurrent layer's loop: the cell, its gates, and the options of its kernels."""

    cell: str
    gates: int = 1
    activation: str = "tanh"
    reset_after: bool = False
    bh: bool = False


LOOPS = {
    "rnn tanh": Loop("rnn"),
    "rnn relu": Loop("rnn", activation="relu"),
    "lstm": Loop("lstm", 4),
    "gru": Loop("gru", 3),
    "gru reset after": Loop("gru", 3, reset_after=True, bh=True),
    "gru reset after without bh": Loop("gru", 3, reset_after=True),
}


WAYS = [(False, False), (False, True), (True, False)]
"""Whether the sequences of a loop end early, and whether its steps are watched."""


def launches_of(loop: Loop, T: int, ended: bool = False, watched: bool = False) -> list[str]:
    """Kernels that forward and backward launch."""
    if loop.cell == "gru" and not loop.reset_after:
        forward = ["gru_gates", "gru_output"] * T
        return [*forward, "gru_slopes", *["gru_output_backward", "gru_gates_backward"] * T]
    cell = loop.cell
    forward, backward = [f"{cell}_step"] * T, [f"{cell}_step_backward"] * T
    if cell == "lstm" and not ended:  # all steps at once, where no single one is asked for
        forward = ["loop_lstm"]
        backward = backward if watched else ["loop_lstm_backward"]
    return [*forward, f"{cell}_slopes", *backward]


def run_loop(
    module: Any,
    loop: Loop,
    dtype: str,
    size: tuple[int, int, int],
    ended: bool = False,
    watched: bool = True,
) -> list[np.ndarray]:
    """All states, what the watch sees, and all gradients of a layer with a form's steps.

    Memory that is asked for is filled with NaN: whatever is not written shows.
    """
    T, N, H = size
    draw = DrawSteps(dtype, size)
    x, dhs = draw.normal(N, T, 2), draw.normal(N, T, H)
    Wx, Wh = draw.normal(2, loop.gates * H), draw.normal(H, loop.gates * H) / H**0.5
    b, bh = draw.bias(loop.gates), draw.bias(3) if loop.bh else None
    lengths = asarray(np.linspace(0, T, N).round().astype(int) if N > 1 else np.array([T // 2]))
    seen: list[np.ndarray] = []

    def watch(t: int, *arrays: Any) -> None:
        seen.extend([np.asarray(t), *(asnumpy(array).copy() for array in arrays)])

    def new(name: str, shape: tuple[int, ...], kind: Any) -> Any:
        return xp.full(shape, np.nan, dtype=kind)

    layer: Any
    if loop.cell == "rnn":
        layer, options = TimeRNN(Wx, Wh, b, loop.activation), (loop.activation,)
    elif loop.cell == "lstm":
        layer, options = TimeLSTM(Wx, Wh, b), ()
    else:
        layer = TimeGRU(Wx, Wh, b, bh, loop.reset_after)
        options = (bh, loop.reset_after)
    make = getattr(module, f"{loop.cell}_steps")
    layer._steps = lambda a, start: make(a, start, Wh, *options, new)
    layer.watch = watch if watched else None
    layer.set_state(*(draw.one() for _ in layer._states))
    y = layer.forward(x, lengths if ended else None)
    results = [y, *layer.state]
    results.append(layer.backward(dhs, *(draw.one() for _ in layer._states)))
    results += [*layer.dstate0, *(weight.grad for weight in layer.parameters())]
    return [*map(asnumpy, results), *seen]


def run_softmax(
    module: Any, dtype: str, n: int, V: int, bias: bool = True, scale: float = 3.0
) -> list[np.ndarray]:
    """Loss of each row, and the gradient by the scores."""
    draw = Draw(dtype)
    s, b, t = scale * draw.normal(n, V), draw.normal(V), draw.ids(n, V)
    dnll = draw.normal(n)
    b = b if bias else None
    nll, saved = module.softmax_nll(s, b, t)
    factor = module.softmax_nll_backward(s, t, saved, dnll)
    return [asnumpy(nll), asnumpy(factor[:, None] * s)]


MASKS = [((7, 11), (7, 11)), ((1,), (1,)), ((3, 5, 9), (3, 5, 9)), ((3, 5, 9), (3, 1, 9))]
MASKS += [((2, 1, 700), (2, 1, 700)), ((1, 4, 1100), (1, 1, 1100)), ((0, 3), (0, 3))]
"""Shape of x, and of the mask."""


def run_dropout(
    module: Any, dtype: str, shape: tuple[int, ...], mask_shape: tuple[int, ...], *of_mask: Any
) -> list[np.ndarray]:
    """Output, and the gradient by the input."""
    draw = Draw(dtype)
    x, dy = draw.normal(*shape), draw.normal(*shape)
    y, saved = module.dropout(x, mask_shape, *of_mask)
    return [asnumpy(y), asnumpy(module.dropout_backward(dy, saved))]


def assert_all_close(ours: list[np.ndarray], reference: list[np.ndarray], dtype: str) -> None:
    """Equal up to rounding, beside the largest number of each array."""
    assert len(ours) == len(reference)
    for a, e in zip(ours, reference, strict=True):
        assert a.dtype == e.dtype
        assert a.shape == e.shape
        scale = max(1.0, float(np.abs(e).max(initial=0.0)))
        assert math.isfinite(scale)
        np.testing.assert_allclose(a, e, rtol=0, atol=TOLERANCES[dtype] * scale)
