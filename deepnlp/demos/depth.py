"""Depth: what is left of a gradient, and of words, in a deep stack of Transformer blocks.

Random vectors go up through blocks with fresh weights, and a random gradient comes back down: with
the norm before each part, with the norm after each sum, and without the roads past the parts. Each
norm divides by the size of what it gets, so that the gradient keeps about its size even without
roads. What dies there are the differences between the positions of a text: attention is an average,
and averages of averages become equal (Dong, Cordonnier and Loukas 2021).
"""

from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from deepnlp.backend import HostArray, asarray, xp
from deepnlp.demos.result import Result, canvas, lines_of, number_table, panel
from deepnlp.layer import Layer, Sequential
from deepnlp.layers import TransformerBlock
from deepnlp.plots.style import BLUE, GREY, VERMILLION, log_scale

LOOKS = {"norm first": (BLUE, "-"), "norm last": (VERMILLION, "--"), "no roads": (GREY, ":")}


@dataclass(frozen=True)
class Config:
    """N texts of T vectors (D,) through ``blocks`` blocks; the mean of so many ``stacks``.

    Fresh matrices are multiplied by ``scale``: sqrt(3) gives their entries the variance 1 / n, with
    n the fan-in.
    """

    seed: int = 0
    stacks: int = 5
    blocks: int = 24
    N: int = 4
    T: int = 16
    D: int = 32
    heads: int = 4
    scale: float = 3**0.5


@dataclass(frozen=True)
class Outcome(Result):
    """After 0, 1, ... blocks, (blocks + 1,), by arrangement.

    ``apart`` is the share of x that is left without its mean over the positions, ``gradients`` the
    norm of dL/dx as a multiple of that above the last block; both are geometric means.
    """

    config: Config
    apart: dict[str, HostArray]
    gradients: dict[str, HostArray]

    def table(self) -> str:
        """Return both after a few of the blocks."""
        last, both = self.config.blocks, {"positions": self.apart, "dL/dx": self.gradients}
        columns = {f">{what}, {name}": of[name] for what, of in both.items() for name in of}
        places = sorted({0, 1, 2, last // 4, last // 2, last})
        rows = [[str(k), *(values[k] for values in columns.values())] for k in places]
        note = "positions: the share of x in which they differ; dL/dx: norm, times that at the top"
        return f"{note}\n\n{number_table(['>blocks', *columns], rows, '.2g')}"

    def figure(self) -> Figure:
        """Draw the positions on the left, the gradient on the right."""
        ends = ", ".join(f"{of[-1]:.2g} with {name}" for name, of in self.apart.items())
        blocks = self.config.blocks
        message = f"Words are lost without roads, not the gradient: after {blocks} blocks positions"
        message += f"\ndiffer in a share of x of {ends}"
        places = (0.07, 0.12, 0.31, 0.66), (0.57, 0.12, 0.31, 0.66)
        figure, both = canvas(message, (12.0, 4.8), *places)
        passed = np.arange(blocks + 1)
        ylabels = "positions differ, share of $x$", r"$\Vert dL/dx \Vert$, times that at the top"
        for axes, ylabel, of in zip(both, ylabels, (self.apart, self.gradients), strict=True):
            every = np.concatenate(list(of.values()))
            log_scale(axes, min(every.min() / 2, 0.1), max(2 * every.max(), 10.0))
            lines, xlabel = lines_of(passed, of, LOOKS.values()), "blocks passed, from below"
            panel(axes, lines, xlim=(0, passed[-1]), xlabel=xlabel, ylabel=ylabel)
        return figure


def run(config: Config) -> Outcome:
    """Send random vectors up and a random gradient down, through fresh stacks of each arrangement.

    Examples
    --------
    >>> outcome = run(Config(stacks=1, blocks=6, N=2, T=4, D=8, heads=2))
    >>> bool(outcome.apart["no roads"][-1] < outcome.apart["norm first"][-1])
    True
    """
    apart, gradients = {}, {}
    for name in LOOKS:
        measured = [_through(config, name, number) for number in range(config.stacks)]
        apart[name], gradients[name] = np.exp(np.mean(np.log(measured), axis=0))
    return Outcome(config, apart, gradients)


def _through(config: Config, name: str, number: int) -> tuple[HostArray, HostArray]:
    """Return how far positions are apart, and the norm of the gradient, after 0, 1, ... blocks."""
    rng = np.random.default_rng([config.seed, number])
    blocks = [_block(config, name, rng) for _ in range(config.blocks)]
    xs, dxs = ([asarray(rng.standard_normal((config.N, config.T, config.D)))] for _ in range(2))
    for block in blocks:
        xs.append(block.forward(xs[-1]))
    for block in reversed(blocks):
        dxs.insert(0, block.backward(dxs[0]))
    apart = [x - x.mean(axis=1, keepdims=True) for x in xs]
    left, size, norms = ([float(xp.linalg.norm(x)) for x in of] for of in (apart, xs, dxs))
    return np.divide(left, size), np.divide(norms, norms[-1])


def _block(config: Config, name: str, rng: np.random.Generator) -> Layer:
    """Make a fresh block in float64; without roads its parts alone, the norms before them."""
    norm = "post" if name == "norm last" else "pre"
    sizes = config.D, config.heads
    block = TransformerBlock.init(*sizes, causal=True, norm=norm, rng=rng, dtype="float64")
    for parameter in block.parameters():
        if parameter.value.ndim == 2:
            parameter.value *= config.scale
    if name != "no roads":
        return block
    first, second = block.attention, block.feed_forward
    return Sequential(first.norm, first.layer, second.norm, second.layer)
