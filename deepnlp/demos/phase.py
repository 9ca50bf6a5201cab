"""Phase: how fast the gradient grows, over the scale of W_h, in a linear and in a tanh network.

Random matrices W_h = g randn(H, H) / sqrt(H) have a largest singular value near 2 g and a
spectral radius near g. In a linear network the gradient begins to grow where the spectral radius
passes 1; in a tanh network, where the derivative is below 1, a little later and much more slowly.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from deepnlp.backend import HostArray
from deepnlp.demos.result import Result, number_table
from deepnlp.plots import curves


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
        """Return the scale at which the median over the matrices passes 1.

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
        """Return lists and numbers, for JSON, with the scales at which each quantity passes 1."""
        return {**super().to_dict(), "passes_1_at": self._crossings()}

    def _crossings(self) -> dict[str, float]:
        values = {
            "largest_singular_value": self.largest,
            "spectral_radius": self.radius,
            "growth_linear": self.linear,
            "growth_tanh": self.tanh,
        }
        return {name: self.crossing(growth) for name, growth in values.items()}

    def table(self) -> str:
        """Tabulate medians by scale, and where each passes 1."""
        shown = np.unique(np.linspace(0, len(self.g) - 1, 11).astype(int))
        columns = [self.largest, self.radius, self.linear, self.tanh]
        rows = [[f"{self.g[k]:.2f}", *(np.median(of[k]) for of in columns)] for k in shown]
        rows.append(["above 1 from g =", *(f"{at:.2f}" for at in self._crossings().values())])
        headings = [">scale g", ">largest singular value", ">spectral radius"]
        headings += [">growth per step, linear", ">growth per step, tanh"]
        H = self.config.H
        return (
            f"{self.linear.size:,} random matrices W_h = g randn({H}, {H}) / sqrt({H}); medians\n\n"
            + number_table(headings, rows, ".3f")
        )

    def figure(self) -> Figure:
        """Draw growth per step over g, a dot for each matrix."""
        singular, radius = self.crossing(self.largest), self.crossing(self.radius)
        g, repeated = self.g.tolist(), np.repeat(self.g, self.config.matrices).tolist()
        values = {"linear": self.linear, "tanh": self.tanh}
        message = (
            f"A gradient grows once the spectral radius of $W_h$ passes 1 ($g$ = {radius:.2f}),\n"
            f"not where its largest singular value does ($g$ = {singular:.2f}); tanh slows it down"
        )
        return curves(
            {name: (g, np.median(of, axis=1).tolist()) for name, of in values.items()},
            title=message,
            xlabel="scale $g$ of $W_h = g$ randn$(H, H)/\\sqrt{H}$",
            ylabel="growth per step",
            levels={"stays as it is": 1.0},
            dots={name: (repeated, of.ravel().tolist()) for name, of in values.items()},
        )


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
    """Return the mean factor per step, over the way back from the last step to the first, (B,)."""
    T, B, _, H = slopes.shape
    dh = rng.standard_normal((B, 1, H))
    norms = np.empty((T, B))
    for t in reversed(range(T)):
        dh = (dh * slopes[t]) @ W_T
        norms[t] = np.linalg.norm(dh, axis=(1, 2))
    settled = T - 1 - T // 4  # the steps before only turn the gradient into its direction
    return (norms[0] / norms[settled]) ** (1 / settled)
