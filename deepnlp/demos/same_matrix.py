"""Exploding and vanishing: the two experiments of chapter 6, and what decides between them.

A gradient goes back through 20 products with the same W_h. The book (K. Saito, "Deep Learning
from Scratch 2", 6.1.3) looks at the largest singular value of W_h. It bounds one step; what many
steps make of a gradient is decided by the spectral radius, which can be below 1 all the same.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from deepnlp.backend import HostArray
from deepnlp.demos.result import Line, Result, canvas, number_table, panel
from deepnlp.gradflow.spectra import Spectrum, spectrum
from deepnlp.plots.labels import BEHIND
from deepnlp.plots.style import BLACK, BLUE, GREY, VERMILLION


@dataclass(frozen=True)
class Config:
    """The book's experiment: N rows, H units, T steps, W_h = scale * randn(H, H) from a seed.

    ``matrices`` random ones of the same kind are tried beside it.
    """

    scale: float = 1.0
    seed: int = 3
    N: int = 2
    H: int = 3
    T: int = 20
    matrices: int = 2000


@dataclass(frozen=True)
class Outcome(Result):
    """Norms (T,) after each product, the spectrum of W_h, and the same of many random matrices.

    ``largest`` and ``radius`` (matrices,) are largest singular value and spectral radius,
    ``growth`` (matrices,) is what T products made of a gradient of ones.
    """

    config: Config
    norms: HostArray
    weights: Spectrum
    largest: HostArray
    radius: HostArray
    growth: HostArray

    @property
    def start(self) -> float:
        """The norm before the first product."""
        return float(np.sqrt(self.config.N * self.config.H) / self.config.N)

    @property
    def stretching(self) -> HostArray:
        """Which of the random matrices have a singular value above 1, (matrices,) bool."""
        return self.largest > 1

    @property
    def share_of_false_alarms(self) -> float:
        """Share of the matrices with a singular value above 1 whose spectral radius is below 1."""
        return float(np.mean(self.radius[self.stretching] < 1))

    def to_dict(self) -> dict[str, Any]:
        """Return lists and numbers, for JSON: all that the table says."""
        return {
            **super().to_dict(),
            "share_with_singular_value_above_1": float(np.mean(self.stretching)),
            "share_of_those_with_radius_below_1": self.share_of_false_alarms,
        }

    def table(self) -> str:
        """Tabulate norms beside both predictions, and the shares among the random matrices."""
        config, alarms = self.config, self.stretching
        steps = [t for t in (1, 2, 3, 5, 10, 15, 20, 50, 100) if t < config.T]
        rows = [(str(t), self.norms[t - 1], *self._predicted(t)) for t in [*steps, config.T]]
        headings = [">step", ">norm", ">if each step were the largest sv", ">the spectral radius"]
        return (
            f"W_h = {config.scale:g} randn({config.H}, {config.H}), seed {config.seed}: "
            f"largest singular value {self.weights.largest:.4f}, "
            f"spectral radius {self.weights.spectral_radius:.4f}\n\n"
            f"{number_table(headings, rows, '.6g')}\n\n"
            f"of {config.matrices:,} random matrices of this scale {alarms.mean():.0%} have a "
            "singular value above 1;\n"
            f"of those {self.share_of_false_alarms:.0%} have a spectral radius below 1, and in "
            f"{np.mean(self.growth[alarms] < 1):.0%} the gradient was smaller after {config.T} "
            "steps"
        )

    def _predicted(self, t: Any) -> tuple[Any, Any]:
        """Return the norm if each step were the largest singular value, or the spectral radius."""
        sigma, rho = self.weights.largest, self.weights.spectral_radius
        return self.start * sigma**t, self.start * rho**t

    def figure(self) -> Figure:
        """Draw the book's experiment above, the random matrices below."""
        places = (0.11, 0.56, 0.6, 0.29), (0.11, 0.07, 0.6, 0.36)
        figure, (above, below) = canvas(self._message(), (7.4, 8.4), *places)
        steps = np.arange(self.config.T + 1)
        bound, predicted = self._predicted(steps)
        sigma, rho = self.weights.largest, self.weights.spectral_radius
        measured = np.array([self.start, *self.norms])
        text = f"measured: {measured[-1]:.3g}\nafter {steps[-1]}"
        lines = [
            Line(steps, bound, GREY, f"largest singular value\n{sigma:.2f} at every step", "--"),
            Line(steps, predicted, BLACK, f"spectral radius\n{rho:.2f} at every step", ":"),
            Line(steps, measured, BLUE, text, "o-"),
        ]
        above.xaxis.set_major_locator(MaxNLocator(integer=True))
        above.set_yscale("log")
        panel(
            above, lines, title="The experiment of chapter 6", height=0.16, xlim=(0, steps[-1]),
            xlabel="products with $W_h^T$", ylabel=r"norm of the gradient, $\Vert dh \Vert / N$",
        )  # fmt: skip
        self._draw_matrices(below)
        return figure

    def _message(self) -> str:
        sigma, rho = self.weights.largest, self.weights.spectral_radius
        because = f"because the spectral radius of $W_h$ is {rho:.2f}"
        value = f"its largest singular value, {sigma:.2f}, would predict a much faster growth"
        if self.norms[-1] > self.start:
            return f"The gradient explodes {because};\n{value}"
        although = f"\nalthough its largest singular value is {sigma:.2f}, above 1"
        return f"The gradient vanishes {because}" + (although if sigma > 1 else "")

    def _draw_matrices(self, axes: Any) -> None:
        this = self.weights.largest, self.weights.spectral_radius
        grew = self.growth > 1
        for which, colour, marker in ((~grew, BLUE, "o"), (grew, VERMILLION, "^")):
            x, y = self.largest[which], self.radius[which]
            axes.plot(x, y, marker, color=colour, ms=3, alpha=0.45, mew=0)
        axes.plot(*this, "*", color=BLACK, ms=13, mec="white")
        axes.axvline(1, color=BLACK, lw=0.9)
        title = (
            f"{self.config.matrices:,} others: {self.stretching.mean():.0%} have a singular value\n"
            f"above 1; {self.share_of_false_alarms:.0%} of those a spectral radius below 1"
        )
        panel(
            axes, [Line((), 1.0, BLACK, width=0.9)], title=title,
            xlim=(0, 1.04 * self.largest.max()), ylim=(0, 1.12 * self.radius.max()),
            xlabel="largest singular value of $W_h$", ylabel="spectral radius of $W_h$",
        )  # fmt: skip
        look: dict[str, Any] = {"fontsize": 9.5, "weight": "bold", "bbox": BEHIND}
        place = {"transform": axes.transAxes, **look}
        axes.text(0.02, 0.96, f"grew in {self.config.T} steps", color=VERMILLION, va="top", **place)
        axes.text(0.98, 0.03, f"shrank in {self.config.T} steps", color=BLUE, ha="right", **place)
        axes.annotate("this $W_h$", this, xytext=(11, -4), textcoords="offset points", **look)


def run(config: Config) -> Outcome:
    """Multiply a gradient of ones by W_h^T, T times; then by many other random matrices.

    Examples
    --------
    >>> norms = run(Config(scale=0.5, matrices=10)).norms
    >>> f"{norms[0]:.6f} after one step, {norms[19]:.6e} after 20"
    '1.234203 after one step, 2.379376e-04 after 20'
    """
    random = np.random.RandomState(config.seed)  # the generator of the book
    Wh = random.randn(config.H, config.H) * config.scale
    dh = np.ones((config.N, config.H))
    norms = []
    for _ in range(config.T):
        dh = dh @ Wh.T
        norms.append(np.sqrt(np.sum(dh**2)) / config.N)

    others = random.randn(config.matrices, config.H, config.H) * config.scale
    v = np.ones((config.matrices, 1, config.H))
    for _ in range(config.T):
        v = v @ others.transpose(0, 2, 1)
    return Outcome(
        config=config,
        norms=np.array(norms),
        weights=spectrum(Wh),
        largest=np.linalg.svd(others, compute_uv=False)[:, 0],
        radius=np.abs(np.linalg.eigvals(others)).max(axis=1),
        growth=np.linalg.norm(v, axis=(1, 2)) / np.sqrt(config.H),
    )
