"""Cells: what is left of a gradient after many steps, cell by cell and path by path.

An LSTM has two ways back in time. Through the memory cell the gradient is multiplied by the
forget gate alone: c_(t-1) to c_t by f_t. Through h it passes the gates and W_h at each step. A
GRU has the same two: z_t carries h over, and h enters the gates. Each path is measured with the
other one cut, and then both together, which is the gradient itself.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from deepnlp.backend import Array, HostArray, asarray, asnumpy, xp
from deepnlp.files.tables import table
from deepnlp.gradflow import gate_values
from deepnlp.layers import GRU, LSTM, RNN, TimeGRU
from deepnlp.lessons.experiments.drawing import Line, canvas_of, panel
from deepnlp.lessons.experiments.result import Result
from deepnlp.plots.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION, log_scale

Generator = np.random.Generator


class Cell(NamedTuple):
    """A one-step layer, its options, its colour, and what carries its memory: c, z or nothing."""

    kind: Any
    options: dict[str, Any]
    colour: str
    memory: str = ""

    @property
    def paths(self) -> tuple[str, ...]:
        """The ways back in time."""
        return ("both", "h", "memory") if self.memory else ("both",)

    def fresh(self, H: int, rng: Generator) -> Any:
        """A layer with H inputs and H units."""
        return self.kind.init(H, H, rng, "float64", **self.options)


CELLS = {
    "tanh RNN": Cell(RNN, {}, BLACK),
    "ReLU RNN": Cell(RNN, {"activation": "relu"}, GREY),
    "LSTM, forget bias 0": Cell(LSTM, {"forget_bias": 0.0}, ORANGE, "c"),
    "LSTM, forget bias 1": Cell(LSTM, {"forget_bias": 1.0}, VERMILLION, "c"),
    "GRU": Cell(GRU, {}, BLUE, "z"),
}
LEFT = "share of the gradient that is left"


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
        rows = [
            [
                cell,
                names.get(path, f"through {CELLS[cell].memory} alone"),
                *(f"{values[k]:.2g}" for k in self.config.shown),
            ]
            for cell, paths in self.shares.items()
            for path, values in paths.items()
        ]
        weights = [
            [f"{scale:g}", *(f"{share:.2g}" for share in shares)]
            for scale, shares in zip(self.config.scales, self.sweep.T, strict=True)
        ]
        steps = [f">after {k} steps" for k in self.config.shown]
        biases = [f">forget bias {bias:g}" for bias in self.config.forget_biases]
        return (
            f"{LEFT}\n\n{table(['cell', 'path', *steps], rows)}\n\n"
            "an LSTM with W_h = s randn / sqrt(H): what is left after "
            f"{self.config.sweep_steps} steps\n\n{table(['>s', *biases], weights)}"
        )

    def figure(self) -> Figure:
        """Left all cells over time, right the LSTM over the scale of W_h."""
        message = (
            "The gradient of an LSTM can vanish and explode, too: by its forget bias and the size "
            f"of $W_h$,\n{self.config.sweep_steps} steps leave from {_power(self.sweep.min())} to "
            f"{_power(self.sweep.max())} of it"
        )
        places = (0.06, 0.11, 0.35, 0.68), (0.665, 0.11, 0.235, 0.68)
        figure, (left, right) = canvas_of(message, (13.0, 5.8), *places)
        self._draw_cells(left)
        self._draw_sweep(right)
        return figure

    def _draw_cells(self, axes: Any) -> None:
        last = self.config.shown[-2]  # later shares are in the table: nobody tells them apart
        lines = []
        for name, paths in self.shares.items():
            cell = CELLS[name]
            for path in cell.paths[::2]:  # through h alone is told in the table
                way = "" if path == "both" else f", {cell.memory} alone"
                values = paths[path][: last + 1]
                text = f"{name}{way}: {_power(values[last])}"
                style = "-" if path == "both" else "--"
                lines.append(Line(np.arange(last + 1), values, cell.colour, text, style))
        low = min(float(paths["both"][last]) for paths in self.shares.values())
        top = max(float(v.max()) for paths in self.shares.values() for v in paths.values())
        log_scale(axes, low / 10, 10 * top, ticks=9)
        title = (
            "Five cells with equal, small weights (solid: by all paths). With\n"
            "ReLU, half of whose units are shut, the gradient fades fastest"
        )
        panel(
            axes, lines, title=title, height=0.06, xlim=(0, last), xlabel="steps back in time",
            ylabel=LEFT,
        )  # fmt: skip

    def _draw_sweep(self, axes: Any) -> None:
        colours = (ORANGE, VERMILLION, PURPLE, GREEN, SKY)
        lines = [
            Line(self.config.scales, values, colour, f"forget bias {bias:g}", "o-")
            for values, bias, colour in zip(
                self.sweep, self.config.forget_biases, colours, strict=False
            )
        ]
        axes.axhline(1.0, color=BLACK, lw=0.9)
        log_scale(axes, self.sweep.min() / 10, self.sweep.max() * 10, ticks=9)
        panel(
            axes, lines, title="The LSTM, by the size of $W_h$", height=0.06,
            xlim=(0, max(self.config.scales)), xlabel=r"scale $s$ of $W_h = s$ randn$/\sqrt{H}$",
            ylabel=f"share left after {self.config.sweep_steps} steps",
        )  # fmt: skip


def run(config: Config) -> Outcome:
    """Send a random gradient with respect to the last h back through every cell.

    Examples
    --------
    >>> small = Config(N=2, H=4, T=6, shown=(2, 6), scales=(1.0,), sweep_steps=5)
    >>> sorted(run(small).shares["GRU"])
    ['both', 'h', 'memory']
    """
    shares = {}
    xs, dh = _data(config, config.T)
    for name, cell in CELLS.items():
        layer = cell.fresh(config.H, np.random.default_rng(config.seed))
        shares[name] = {path: _share_left(cell, layer, xs, dh, path) for path in cell.paths}
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
            cell = Cell(LSTM, {"forget_bias": bias}, "", "c")
            layer = cell.fresh(config.H, rng)
            fresh = rng.standard_normal(layer.Wh.shape) / np.sqrt(config.H)
            layer.Wh.value = asarray(scale * fresh)
            left[b, s] = _share_left(cell, layer, xs, dh, "both")[-1]
    return left


def _share_left(cell: Cell, layer: Any, xs: list[Array], dh: Array, path: str) -> HostArray:
    """Norm of the gradient after 0 ... T steps back by one path, as a share, (T + 1,)."""
    norms = np.array([_norm(one) for one in _gradients(cell, layer, xs, dh, path)])
    return norms / norms[0]


def _norm(gradient: Array) -> float:
    """Frobenius norm, of numbers so small that their squares would be zero, too."""
    size = xp.abs(gradient).max()
    return float(size * xp.sqrt(xp.sum((gradient / size) ** 2)))


def _gradients(cell: Cell, layer: Any, xs: list[Array], dh: Array, path: str) -> list[Array]:
    """Gradients with respect to the state, h or (h, c), from the last step to before the first.

    By one path alone, the gradient is cut off from the other one at each step.
    """
    state, steps, zs = layer.start(len(dh)), [], []
    for x in xs:
        step = copy.copy(layer)  # the same weights, and what it saves is its own
        zs.append(_update_gate(layer, x, state[0]) if cell.memory == "z" else 0.0)
        after = step.forward(x, *state)
        state = after if isinstance(after, tuple) else (after,)
        steps.append(step)
    nothing = xp.zeros_like(dh)
    ds = [dh, nothing][: len(state)]
    if cell.memory == "c" and path == "memory":
        ds = [nothing, dh]
    gradients = [dh]
    for step, z in zip(reversed(steps), reversed(zs), strict=True):
        _, *back = step.backward(*ds)
        # h = (1 - z) n + z h_prev, or c = f c_prev + i g
        carried = [ds[0] * z] if cell.memory == "z" else [nothing, *back[1:]]
        others = [one - kept for one, kept in zip(back, carried, strict=False)]
        ds = {"both": back, "memory": carried, "h": others}[path]
        gradients.append(xp.concatenate(ds))
    return gradients


def _update_gate(layer: GRU, x: Array, h: Array) -> Array:
    return gate_values(TimeGRU(layer.Wx, layer.Wh, layer.b), x, h)["z"]


def _power(value: float) -> str:
    """A positive number as a power of ten, rounded."""
    return f"$10^{{{round(float(np.log10(asnumpy(value))))}}}$"
