"""Cells: what is left of a gradient after many steps, cell by cell and path by path.

An LSTM has two ways back in time. Through the memory cell the gradient is multiplied by the
forget gate alone: c_(t-1) to c_t by f_t. Through h it passes the gates and W_h at each step. A
GRU has the same two: z_t carries h over, and h enters the gates. Each path is measured with the
other one cut, and then both together, which is the gradient itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from deepnlp.backend import Array, asarray, asnumpy, xp
from deepnlp.files.tables import table
from deepnlp.gradflow import gate_values
from deepnlp.layers import TimeGRU, TimeLSTM, TimeRNN
from deepnlp.layers.gru import GRU
from deepnlp.layers.lstm import LSTM
from deepnlp.layers.recurrent import TimeRecurrent
from deepnlp.layers.rnn import RNN
from deepnlp.lessons.experiments.result import Result
from deepnlp.plots.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    Label,
    label_in_margin,
    log_scale,
    plain,
)

HostArray = np.ndarray[Any, Any]
Generator = np.random.Generator

COLOURS = {
    "tanh RNN": BLACK,
    "ReLU RNN": GREY,
    "LSTM, forget bias 0": ORANGE,
    "LSTM, forget bias 1": VERMILLION,
    "GRU": BLUE,
}
LEFT = "share of the gradient that is left"
PATHS = ("both", "h", "memory")


@dataclass(frozen=True)
class Config:
    """Cells of H units with inputs of H normal numbers, N rows side by side, over T steps.

    All weights from U(-1/sqrt(H), 1/sqrt(H)). For the LSTM alone, W_h = s randn / sqrt(H) over
    ``scales``, back through ``sweep_steps`` steps.
    """

    seed: int = 0
    N: int = 8
    H: int = 64
    T: int = 200
    shown: tuple[int, ...] = (10, 50, 200)
    scales: tuple[float, ...] = (0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 8.0)
    forget_biases: tuple[float, ...] = (0.0, 1.0, 3.0)
    sweep_steps: int = 100


@dataclass(frozen=True)
class Outcome(Result):
    """Shares of the gradient that are left.

    ``shares`` holds, by cell and path (``both``, ``h``, ``memory``), the share after 0 to T steps,
    (T + 1,). ``sweep`` (forget biases, scales) is what an LSTM leaves after ``sweep_steps`` steps.
    """

    config: Config
    shares: dict[str, dict[str, HostArray]]
    sweep: HostArray

    def table(self) -> str:
        """The shares after 10, 50 and 200 steps, then the LSTM by scale of W_h."""
        names = {"both": "the gradient, by all paths", "h": "through h alone"}
        rows = []
        for cell, paths in self.shares.items():
            memory = "through z alone" if cell == "GRU" else "through c alone"
            for path, values in paths.items():
                left = [f"{values[k]:.2g}" for k in self.config.shown]
                rows.append([cell, {**names, "memory": memory}[path], *left])
        steps = [f">after {k} steps" for k in self.config.shown]
        weights = [
            [f"{scale:g}", *(f"{self.sweep[b, s]:.2g}" for b in range(len(self.sweep)))]
            for s, scale in enumerate(self.config.scales)
        ]
        biases = [f">forget bias {bias:g}" for bias in self.config.forget_biases]
        return (
            f"{LEFT}\n\n"
            + table(["cell", "path", *steps], rows)
            + "\n\nan LSTM with W_h = s randn / sqrt(H): what is left after "
            + f"{self.config.sweep_steps} steps\n\n"
            + table([">s", *biases], weights)
        )

    def figure(self) -> Figure:
        """Left all cells over time, right the LSTM over the scale of W_h."""
        figure = Figure(figsize=(13.0, 5.8), dpi=150)
        self._draw_cells(figure.add_axes((0.06, 0.11, 0.35, 0.68)))
        self._draw_sweep(figure.add_axes((0.665, 0.11, 0.235, 0.68)))
        forgets, explodes = self.sweep.min(), self.sweep.max()
        message = (
            "The gradient of an LSTM can vanish and explode, too: by its forget bias and the size "
            f"of $W_h$,\n{self.config.sweep_steps} steps leave from {_power(forgets)} to "
            f"{_power(explodes)} of it"
        )
        figure.text(0.06, 0.965, message, fontsize=12.5, weight="bold", va="top")
        return figure

    def _draw_cells(self, axes: Any) -> None:
        labels = []
        last = self.config.shown[-2]  # later shares are in the table: nobody tells them apart
        steps = np.arange(last + 1)
        low = min(float(paths["both"][last]) for paths in self.shares.values()) / 10
        for cell, paths in self.shares.items():
            for path, values in paths.items():
                if path == "h" and "memory" in paths:
                    continue  # told in the table: it would crowd the figure
                style = {"both": "-", "h": "-", "memory": "--"}[path]
                axes.plot(steps, values[: last + 1], style, color=COLOURS[cell], lw=1.9)
                way = {"both": "", "h": "", "memory": ", z alone" if cell == "GRU" else ", c alone"}
                text = f"{cell}{way[path]}: {_power(values[last])}"
                labels.append(Label(text, float(values[last]), COLOURS[cell]))
        top = max(float(v.max()) for paths in self.shares.values() for v in paths.values())
        log_scale(axes, low, 10 * top, ticks=9)
        axes.set(xlim=(0, last), xlabel="steps back in time", ylabel=LEFT)
        title = (
            "Five cells with equal, small weights (solid: by all paths). With\n"
            "ReLU, half of whose units are shut, the gradient fades fastest"
        )
        axes.set_title(title, loc="left", fontsize=10)
        plain(axes)
        label_in_margin(axes, labels, height=0.06, size=9)

    def _draw_sweep(self, axes: Any) -> None:
        labels = []
        colours = (ORANGE, VERMILLION, PURPLE, GREEN, SKY)
        for values, bias, colour in zip(
            self.sweep, self.config.forget_biases, colours, strict=False
        ):
            axes.plot(self.config.scales, values, "o-", color=colour, ms=4, lw=1.9)
            labels.append(Label(f"forget bias {bias:g}", float(values[-1]), colour))
        axes.axhline(1.0, color=BLACK, lw=0.9)
        log_scale(axes, self.sweep.min() / 10, self.sweep.max() * 10, ticks=9)
        axes.set(
            xlim=(0, max(self.config.scales)), xlabel=r"scale $s$ of $W_h = s$ randn$/\sqrt{H}$"
        )
        axes.set_ylabel(f"share left after {self.config.sweep_steps} steps")
        axes.set_title("The LSTM, by the size of $W_h$", loc="left", fontsize=10.5)
        plain(axes)
        label_in_margin(axes, labels, height=0.06, size=9)


def run(config: Config) -> Outcome:
    """Send a random gradient with respect to the last h back through every cell.

    Examples
    --------
    >>> small = Config(N=2, H=4, T=6, shown=(2, 6), scales=(1.0,), sweep_steps=5)
    >>> sorted(run(small).shares["GRU"])
    ['both', 'h', 'memory']
    """
    H, shares = config.H, {}
    makers: dict[str, Any] = {
        "tanh RNN": lambda rng: TimeRNN.init(H, H, rng, "float64"),
        "ReLU RNN": lambda rng: TimeRNN.init(H, H, rng, "float64", activation="relu"),
        "LSTM, forget bias 0": lambda rng: TimeLSTM.init(H, H, rng, "float64", forget_bias=0.0),
        "LSTM, forget bias 1": lambda rng: TimeLSTM.init(H, H, rng, "float64", forget_bias=1.0),
        "GRU": lambda rng: TimeGRU.init(H, H, rng, "float64"),
    }
    for name, make in makers.items():
        layer = make(np.random.default_rng(config.seed))
        xs, dh = _data(config, config.T)
        paths = ("both",) if isinstance(layer, TimeRNN) else PATHS
        shares[name] = {path: _share_left(layer, xs, dh, path) for path in paths}
    return Outcome(config, shares, _sweep(config))


def _data(config: Config, T: int) -> tuple[list[Array], Array]:
    """Inputs of T steps, each (N, H), and a gradient with respect to the last h (N, H)."""
    rng = np.random.default_rng(config.seed + 1)
    xs = asarray(rng.standard_normal((T, config.N, config.H)))
    return list(xs), asarray(rng.standard_normal((config.N, config.H)))


def _sweep(config: Config) -> HostArray:
    left = np.empty((len(config.forget_biases), len(config.scales)))
    xs, dh = _data(config, config.sweep_steps)
    for b, bias in enumerate(config.forget_biases):
        for s, scale in enumerate(config.scales):
            rng = np.random.default_rng(config.seed)
            layer = TimeLSTM.init(config.H, config.H, rng, "float64", forget_bias=bias)
            fresh = rng.standard_normal(layer.Wh.shape) / np.sqrt(config.H)
            layer.Wh.value = asarray(scale * fresh)
            left[b, s] = _share_left(layer, xs, dh, "both")[-1]
    return left


def _share_left(layer: TimeRecurrent, xs: list[Array], dh: Array, path: str) -> HostArray:
    """Norm of the gradient after 0 ... T steps back by one path, as a share, (T + 1,)."""
    back = _back_through_lstm if isinstance(layer, TimeLSTM) else _back_by_h
    gradients = back(layer, xs, dh, path)
    norms = np.array([_norm(one) for one in gradients])
    return norms / norms[0]


def _norm(gradient: Array) -> float:
    """Frobenius norm, of numbers so small that their squares would be zero, too."""
    size = xp.abs(gradient).max()
    return float(size * xp.sqrt(xp.sum((gradient / size) ** 2)))


def _back_by_h(layer: Any, xs: list[Array], dh: Array, path: str) -> list[Array]:
    """Gradients with respect to h; of a GRU through z h_prev alone, the gates alone, or both."""
    is_gru = isinstance(layer, TimeGRU)
    h, zs = xp.zeros_like(dh), []
    steps: list[Any] = []
    for x in xs:
        more = () if is_gru else (layer.activation,)
        steps.append((GRU if is_gru else RNN)(layer.Wx, layer.Wh, layer.b, *more))
        zs.append(gate_values(layer, x, h)["z"] if is_gru else 0.0)
        h = steps[-1].forward(x, h)
    gradients = [dh]
    for step, z in zip(reversed(steps), reversed(zs), strict=True):
        _, dh_prev = step.backward(dh)
        carried = dh * z  # h = (1 - z) n + z h_prev
        dh = {"both": dh_prev, "memory": carried, "h": dh_prev - carried}[path]
        gradients.append(dh)
    return gradients


def _back_through_lstm(layer: Any, xs: list[Array], dh: Array, path: str) -> list[Array]:
    """Gradients with respect to the state: through c alone, through h alone, or both (h and c)."""
    steps = [LSTM(layer.Wx, layer.Wh, layer.b) for _ in xs]
    h, c = xp.zeros_like(dh), xp.zeros_like(dh)
    for step, x in zip(steps, xs, strict=True):
        h, c = step.forward(x, h, c)
    nothing = xp.zeros_like(dh)
    dh, dc = (nothing, dh) if path == "memory" else (dh, nothing)
    gradients = [dh + dc]  # one of them is zero
    for step in reversed(steps):
        _, dh, dc = step.backward(dh, dc)
        if path == "memory":
            dh = nothing
        elif path == "h":
            dc = nothing
        gradients.append(xp.concatenate([dh, dc]))
    return gradients


def _power(value: float) -> str:
    """A positive number as a power of ten, rounded."""
    return f"$10^{{{round(float(np.log10(asnumpy(value))))}}}$"
