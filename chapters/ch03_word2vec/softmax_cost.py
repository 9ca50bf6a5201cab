"""What the softmax costs as the vocabulary grows.

One step of CBOW, forward and backward, for vocabularies up to a hundred thousand words: the time
of the lookup with its backward, and of the output with the softmax and their backward. Times are
the shortest of some steps.

    python chapters/ch03_word2vec/softmax_cost.py

Data: random words.
Time: about 4 seconds on one core.
Expect: the time of the lookup stays the same within a factor of two or three; that of the output
grows in proportion to V and takes more than 95 % of a step from 30,000 words on.
"""

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deepnlp.backend import asarray
from deepnlp.files.tables import table
from deepnlp.layers import Affine, Embedding, SoftmaxWithLoss
from deepnlp.lessons.script import config_from_arguments
from deepnlp.plots import curves


@dataclass
class Config:
    """Sizes of a step, and the vocabularies."""

    N: int = 100
    C: int = 10
    D: int = 100
    vocabularies: str = "1000,3000,10000,30000,100000"
    repeats: int = 10
    out: str = "runs/ch03"


QUICK = Config(N=10, D=4, vocabularies="100,300", repeats=2)


def main(config: Config) -> list[tuple[float, float]]:
    """Time, print, draw; returns seconds of the lookup and of the output by vocabulary."""
    sizes = [int(size) for size in config.vocabularies.split(",")]
    times = [step_times(V, config) for V in sizes]
    rows = [
        [
            f"{V:,}",
            f"{1000 * lookup:.2f}",
            f"{1000 * output:.2f}",
            f"{output / (lookup + output):.1%}",
        ]
        for V, (lookup, output) in zip(sizes, times, strict=True)
    ]
    print(table([">V", ">lookup, ms", ">output, ms", ">share of the output"], rows))
    lookups, outputs = (1000 * np.array(times)).T
    folder = Path(config.out)
    folder.mkdir(parents=True, exist_ok=True)
    curves(
        {"output": (sizes, outputs), "lookup": (sizes, lookups)},
        title=f"{sizes[-1] / sizes[0]:.0f} times the words: the output takes "
        f"{outputs[-1] / outputs[0]:.0f} times as long,\nthe lookup "
        f"{lookups[-1] / lookups[0]:.1f} times",
        xlabel="V, words in the vocabulary",
        ylabel=f"ms per step of {config.N} windows",
        logx=True,
        logy=True,
        path=folder / "softmax_cost.png",
    )
    print(f"figure in {folder}")
    return times


def step_times(V: int, config: Config) -> tuple[float, float]:
    """Seconds of the lookup and of the output in one step, forward and backward."""
    rng = np.random.default_rng(0)
    embed, loss = Embedding.init(V, config.D, rng), SoftmaxWithLoss()
    output = Affine.init(config.D, V, rng)
    ids = asarray(rng.integers(V, size=(config.N, config.C)))
    targets = asarray(rng.integers(V, size=config.N))
    dx = asarray(rng.standard_normal((config.N, config.C, config.D), "float32"))
    times = []
    for _ in range(config.repeats + 1):  # the first one warms up
        start = time.perf_counter()
        h = embed.forward(ids).mean(axis=1)
        embed.zero_grad()
        embed.backward(dx)
        middle = time.perf_counter()
        float(loss.forward(output.forward(h), targets))
        output.zero_grad()
        output.backward(loss.backward())
        times.append((middle - start, time.perf_counter() - middle))
    lookup, out = np.array(times[1:]).min(axis=0)
    return float(lookup), float(out)


if __name__ == "__main__":
    main(config_from_arguments(Config, __doc__))
