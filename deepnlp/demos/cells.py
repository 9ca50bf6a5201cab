"""Cells: what is left of a gradient after many steps, cell by cell and path by path.

An LSTM has two ways back in time. Through the memory cell the gradient is multiplied by the
forget gate alone: c_(t-1) to c_t by f_t. Through h it passes the gates and W_h at each step. A
GRU has the same two: z_t carries h over, and h enters the gates. Each path is measured with the
other one cut, and then both together, which is the gradient itself.
"""

import copy
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from deepnlp.backend import Array, HostArray, asarray, asnumpy, xp
from deepnlp.demos.result import Line, Result, canvas, lines_of, number_table, panel
from deepnlp.gradflow import gate_values
from deepnlp.layers import GRU, LSTM, RNN, TimeGRU
from deepnlp.plots.style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, SKY, VERMILLION, log_scale


class Cell(NamedTuple):
    """A one-step layer, its options, its colour, and what carries its memory: c, z or nothing."""

    kind: Any
    options: dict[str, Any]
    colour: str
    memory: str = ""


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
        """Return the shares after 10, 50 and 200 steps, then the LSTM by scale of W_h."""
        names = {"both": "the gradient, by all paths", "h": "through h alone"}
        shown = list(self.config.shown)
        rows = [
            [cell, names.get(path, f"through {CELLS[cell].memory} alone"), *values[shown]]
            for cell, paths in self.shares.items()
            for path, values in paths.items()
        ]
        steps = [f">after {k} steps" for k in shown]
        biases = [f">forget bias {bias:g}" for bias in self.config.forget_biases]
        sweep = zip(map("{:g}".format, self.config.scales), *self.sweep, strict=True)
        return (
            f"{LEFT}\n\n{number_table(['cell', 'path', *steps], rows, '.2g')}\n\n"
            "an LSTM with W_h = s randn / sqrt(H): what is left after "
            f"{self.config.sweep_steps} steps\n\n{number_table(['>s', *biases], sweep, '.2g')}"
        )

    def figure(self) -> Figure:
        """Draw all cells over time on the left, the LSTM over the scale of W_h on the right."""
        message = (
            "The gradient of an LSTM can vanish and explode, too: by its forget bias and the size "
            f"of $W_h$,\n{self.config.sweep_steps} steps leave from {_power(self.sweep.min())} to "
            f"{_power(self.sweep.max())} of it"
        )
        places = (0.06, 0.11, 0.35, 0.68), (0.665, 0.11, 0.235, 0.68)
        figure, (left, right) = canvas(message, (13.0, 5.8), *places)
        last = self.config.shown[-2]  # later shares are in the table: nobody tells them apart
        lines = []
        for name, paths in self.shares.items():
            for path, values in paths.items():
                if path != "h":  # told in the table
                    way = "" if path == "both" else f", {CELLS[name].memory} alone"
                    text = f"{name}{way}: {_power(values[last])}"
                    style = "-" if path == "both" else "--"
                    shown = np.arange(last + 1), values[: last + 1]
                    lines.append(Line(*shown, CELLS[name].colour, text, style))
        low = min(float(line.y[-1]) for line in lines)
        log_scale(left, low / 10, 10 * max(float(line.y.max()) for line in lines), ticks=9)
        title = (
            "Five cells with equal, small weights (solid: by all paths). With\n"
            "ReLU, half of whose units are shut, the gradient fades fastest"
        )
        panel(
            left, lines, title=title, height=0.06, xlim=(0, last), xlabel="steps back in time",
            ylabel=LEFT,
        )  # fmt: skip
        looks = [(colour, "o-") for colour in (ORANGE, VERMILLION, PURPLE, GREEN, SKY)]
        biases = [f"forget bias {bias:g}" for bias in self.config.forget_biases]
        lines = lines_of(self.config.scales, dict(zip(biases, self.sweep, strict=True)), looks)
        log_scale(right, self.sweep.min() / 10, self.sweep.max() * 10, ticks=9)
        panel(
            right, [Line((), 1.0, BLACK, width=0.9), *lines], height=0.06,
            title="The LSTM, by the size of $W_h$", xlim=(0, max(self.config.scales)),
            xlabel=r"scale $s$ of $W_h = s$ randn$/\sqrt{H}$",
            ylabel=f"share left after {self.config.sweep_steps} steps",
        )  # fmt: skip
        return figure


def run(config: Config) -> Outcome:
    """Send a random gradient with respect to the last h back through every cell.

    Examples
    --------
    >>> small = Config(N=2, H=4, T=6, shown=(2, 6), scales=(1.0,), sweep_steps=5)
    >>> sorted(run(small).shares["GRU"])
    ['both', 'h', 'memory']
    """
    shares = {}
    data = _data(config, config.T)
    for name, cell in CELLS.items():
        layer = _layer(config, cell.kind, **cell.options)
        paths = ("both", "h", "memory") if cell.memory else ("both",)
        shares[name] = {path: _share_left(layer, *data, path) for path in paths}
    sweep = np.empty((len(config.forget_biases), len(config.scales)))
    data = _data(config, config.sweep_steps)
    for place in np.ndindex(sweep.shape):
        bias, scale = config.forget_biases[place[0]], config.scales[place[1]]
        layer = _layer(config, LSTM, scale, forget_bias=bias)
        sweep[place] = _share_left(layer, *data)[-1]
    return Outcome(config, shares, sweep)


def _data(config: Config, T: int) -> tuple[list[Array], Array]:
    """Return inputs of T steps, each (N, H), and a gradient with respect to the last h (N, H)."""
    rng = np.random.default_rng(config.seed + 1)
    xs = asarray(rng.standard_normal((T, config.N, config.H)))
    return list(xs), asarray(rng.standard_normal((config.N, config.H)))


def _layer(config: Config, kind: Any, scale: float | None = None, **options: Any) -> Any:
    """Make a layer with H inputs and units; with a scale, W_h = scale randn / sqrt(H)."""
    rng = np.random.default_rng(config.seed)
    layer = kind.init(config.H, config.H, rng, "float64", **options)
    if scale is not None:
        fresh = rng.standard_normal(layer.Wh.shape) / np.sqrt(config.H)
        layer.Wh.value = asarray(scale * fresh)
    return layer


def _share_left(layer: Any, xs: list[Array], dh: Array, path: str = "both") -> HostArray:
    """Return the share of the gradient's norm left after 0 ... T steps back by one path."""
    norms = np.array([_norm(gradient) for gradient in _gradients(layer, xs, dh, path)])
    return norms / norms[0]


def _norm(gradient: Array) -> float:
    """Return the Frobenius norm, of numbers so small that their squares would be zero, too."""
    size = xp.abs(gradient).max()
    return float(size * xp.sqrt(xp.sum((gradient / size) ** 2)))


def _gradients(layer: Any, xs: list[Array], dh: Array, path: str) -> list[Array]:
    """Return the gradients with respect to the state after each step, the last step first.

    By one path alone, the gradient is cut off from the other one at each step.
    """
    state, steps = layer.start(len(dh)), []
    for x in xs:
        step = copy.copy(layer)  # the same weights, and what it saves is its own
        steps.append((step, x, state[0]))
        after = step.forward(x, *state)
        state = after if isinstance(after, tuple) else (after,)
    nothing = xp.zeros_like(dh)
    ds = [dh, nothing][: len(state)]
    if len(state) > 1 and path == "memory":
        ds = [nothing, dh]
    gradients = [dh]
    for step, x, h_prev in reversed(steps):
        _, *back = step.backward(*ds)
        if path != "both":  # h = (1 - z) n + z h_prev, or c = f c_prev + i g
            carried = [nothing, *back[1:]]
            if isinstance(layer, GRU):
                gates = gate_values(TimeGRU(layer.Wx, layer.Wh, layer.b), x, h_prev)
                carried = [ds[0] * gates["z"]]
            others = [whole - kept for whole, kept in zip(back, carried, strict=True)]
            back = carried if path == "memory" else others
        ds = back
        gradients.append(xp.concatenate(ds))
    return gradients


def _power(value: float) -> str:
    """Return a positive number as a power of ten, rounded."""
    return f"$10^{{{round(float(np.log10(asnumpy(xp.asarray(value)))))}}}$"
