"""Phase: how fast the gradient grows, over the scale of W_h, in a linear and in a tanh network.

Random matrices W_h = g randn(H, H) / sqrt(H) have a largest singular value near 2 g and a
spectral radius near g. In a linear network the gradient begins to grow where the spectral radius
passes 1; in a tanh network, where the derivative is below 1, a little later and much more slowly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from deepnlp.backend import HostArray
from deepnlp.files.tables import table
from deepnlp.lessons.experiments.drawing import Line, canvas_of, panel
from deepnlp.lessons.experiments.result import Result
from deepnlp.plots.style import BLACK, BLUE, GREY, VERMILLION


@dataclass(frozen=True)
class Config:
    """``matrices`` random W_h of H units at each of ``scales`` scales g from low to high.

    A gradient goes back ``T`` steps; the tanh network runs forward as many before, with noise of
    standard deviation ``noise`` as its input.
    """

    seed: int = 0
    H: int = 32
    T: int = 60
    low: float = 0.2
    high: float = 2.2
    scales: int = 41
    matrices: int = 60
    noise: float = 0.1


@dataclass(frozen=True)
class Outcome(Result):
    """By scale g: growth of the gradient per step (scales, matrices), and the spectra.

    ``linear`` and ``tanh`` are the factors per step; ``largest`` and ``radius`` (scales, matrices)
    are largest singular value and spectral radius of each W_h.
    """

    config: Config
    g: HostArray
    linear: HostArray
    tanh: HostArray
    largest: HostArray
    radius: HostArray

    def crossing(self, values: HostArray) -> float:
        """The scale at which the median over the matrices passes 1.

        Returns
        -------
        float
            Not a number where it does not pass.
        """
        median = np.median(values, axis=1)
        above = np.flatnonzero((median[1:] >= 1) & (median[:-1] < 1))
        if not len(above):
            return float("nan")
        k = int(above[0])
        part = (1 - median[k]) / (median[k + 1] - median[k])
        return float(self.g[k] + part * (self.g[k + 1] - self.g[k]))

    def to_dict(self) -> dict[str, Any]:
        """Lists and numbers, for JSON, with the scales at which each quantity passes 1."""
        return {**super().to_dict(), "passes_1_at": self._crossings()}

    def _crossings(self) -> dict[str, float]:
        values = {
            "largest_singular_value": self.largest,
            "spectral_radius": self.radius,
            "growth_linear": self.linear,
            "growth_tanh": self.tanh,
        }
        return {name: self.crossing(one) for name, one in values.items()}

    def table(self) -> str:
        """Medians by scale, and where each passes 1."""
        shown = np.unique(np.linspace(0, len(self.g) - 1, 11).astype(int))
        columns = [self.largest, self.radius, self.linear, self.tanh]
        rows = [
            [f"{self.g[k]:.2f}", *(f"{np.median(values[k]):.3f}" for values in columns)]
            for k in shown
        ]
        headings = [">scale g", ">largest singular value", ">spectral radius"]
        headings += [">growth per step, linear", ">growth per step, tanh"]
        passes = [f"{at:.2f}" for at in self._crossings().values()]
        count = self.linear.size
        return (
            f"{count:,} random matrices W_h = g randn({self.config.H}, {self.config.H}) / "
            f"sqrt({self.config.H}); medians\n\n"
            + table(headings, [*rows, ["above 1 from g =", *passes]])
        )

    def figure(self) -> Figure:
        """Growth per step over g, a point for each matrix, with the two lines."""
        singular, radius = self.crossing(self.largest), self.crossing(self.radius)
        message = (
            f"A gradient grows once the spectral radius of $W_h$ passes 1 ($g$ = {radius:.2f}),\n"
            f"not where its largest singular value does ($g$ = {singular:.2f}); tanh slows it down"
        )
        figure, (axes,) = canvas_of(message, (9.5, 5.6), (0.08, 0.11, 0.70, 0.72))
        lines = []
        kinds = ((self.linear, "linear", VERMILLION, "^"), (self.tanh, "tanh", BLUE, "o"))
        for values, name, colour, marker in kinds:
            x = np.repeat(self.g, values.shape[1])
            axes.plot(x, values.ravel(), marker, color=colour, ms=2.5, alpha=0.16, mew=0)
            median = np.median(values, axis=1)
            lines.append(Line(self.g, median, colour, f"{name}: {median[-1]:.2f} per step"))
        axes.axhline(1.0, color=BLACK, lw=0.9)
        top = 1.02 * float(np.quantile(self.linear[-1], 0.98))
        for at, text, dash in (
            (singular, "largest singular\nvalue passes 1", "--"),
            (radius, "spectral radius\npasses 1", "-."),
        ):
            if np.isfinite(at):
                axes.axvline(at, color=GREY, lw=1.3, ls=dash)
                axes.text(at + 0.02, 0.97 * top, text, color=GREY, va="top", fontsize=9.5)
        panel(
            axes, lines, xlim=(self.g[0], self.g[-1]), ylim=(0, top),
            xlabel="scale $g$ of $W_h = g$ randn$(H, H)/\\sqrt{H}$",
            ylabel="growth of the gradient, factor per step",
        )  # fmt: skip
        return figure


def run(config: Config) -> Outcome:
    """Send a random gradient back through T steps of each network.

    Examples
    --------
    >>> outcome = run(Config(H=8, T=10, scales=5, matrices=3))
    >>> outcome.tanh.shape
    (5, 3)
    """
    rng = np.random.default_rng(config.seed)
    g = np.linspace(config.low, config.high, config.scales)
    H, M = config.H, config.matrices
    W = g[:, None, None, None] * rng.standard_normal((len(g), M, H, H)) / np.sqrt(H)
    W = W.reshape(-1, H, H)  # every matrix of every scale, in one batch
    slopes = _slopes(W, config, rng)
    W_T = np.ascontiguousarray(W.transpose(0, 2, 1))
    shape = (len(g), M)
    return Outcome(
        config=config,
        g=g,
        linear=_growth(W_T, np.ones_like(slopes), rng).reshape(shape),
        tanh=_growth(W_T, slopes, rng).reshape(shape),
        largest=np.linalg.svd(W, compute_uv=False)[:, 0].reshape(shape),
        radius=np.abs(np.linalg.eigvals(W)).max(axis=1).reshape(shape),
    )


def _slopes(W: HostArray, config: Config, rng: np.random.Generator) -> HostArray:
    """tanh' at T steps of h_t = tanh(h_(t-1) W + noise), (T, B, 1, H), after as many to settle."""
    B, H, T = len(W), config.H, config.T
    h = rng.standard_normal((B, 1, H))
    slopes = np.empty((T, B, 1, H))
    for t in range(-T, T):
        h = np.tanh(h @ W + config.noise * rng.standard_normal((B, 1, H)))
        if t >= 0:
            slopes[t] = 1 - h**2
    return slopes


def _growth(W_T: HostArray, slopes: HostArray, rng: np.random.Generator) -> HostArray:
    """The mean factor per step, over the way back from the last step to the first, (B,)."""
    T, B, _, H = slopes.shape
    dh = rng.standard_normal((B, 1, H))
    norms = np.empty((T, B))
    for t in reversed(range(T)):
        dh = (dh * slopes[t]) @ W_T
        norms[t] = np.linalg.norm(dh, axis=(1, 2))
    settled = T - 1 - T // 4  # the steps before only turn the gradient into its direction
    return (norms[0] / norms[settled]) ** (1 / settled)
