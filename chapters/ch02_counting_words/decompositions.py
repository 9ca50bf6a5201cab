"""The exact truncated decomposition and a randomised one, on a PPMI matrix.

The randomised algorithm (Halko, Martinsson and Tropp 2011) multiplies the matrix with a few more
random vectors than it wants axes, improves them by power iterations, and decomposes what is left.
It is fast where the singular values fall off quickly. Those of a PPMI matrix do not.

    python chapters/ch02_counting_words/decompositions.py

Data: the Penn Treebank (datasets/README.md).
Time: 20 seconds of one core.
Expect: the exact decomposition takes 4.0 seconds. Without power iterations (0.3 seconds) the values
come out too small by 39 % (the median over 100 axes). With 7 iterations (2.7 seconds) the worst is
still too small by 3.7 %, with 15 (5.6 seconds) by 1.3 %.
"""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deepnlp.backend.threads import one_blas_thread
from deepnlp.datasets import load_corpus
from deepnlp.files.tables import table
from deepnlp.lessons.script import config_from_arguments
from deepnlp.plots import curves
from deepnlp.vectors.counting import cooccurrence, ppmi, truncated_svd


@dataclass(frozen=True)
class Config:
    """Options of the comparison."""

    corpus: str = "ptb"
    window: int = 5
    size: int = 100
    oversampling: int = 10
    iterations: str = "0,2,4,7,15"
    tokens: int = 0  # of the training text; 0 for all
    out: str = "runs/ch02"


QUICK = Config(corpus="pydocs", size=8, iterations="0,2", tokens=5_000)


def main(config: Config) -> dict[str, float]:
    """Decompose one matrix in both ways; returns the largest error of a value by iterations."""
    corpus = load_corpus(config.corpus)
    counts = cooccurrence(
        corpus.train[: config.tokens or None],
        len(corpus.vocab),
        config.window,
        sentence_end=corpus.vocab.eos_id,
    )
    M = ppmi(counts, smoothing=0.75)
    begun = time.perf_counter()
    _, exact, _ = truncated_svd(M, config.size)
    seconds = time.perf_counter() - begun
    lines: dict[str, Any] = {"exact": (np.arange(1, config.size + 1), exact)}
    rows, errors = [["ARPACK", f"{seconds:.1f}", "", ""]], {}
    for iterations in config.iterations.split(","):
        begun = time.perf_counter()
        values = randomised(M, config.size, int(iterations), config.oversampling)
        seconds = time.perf_counter() - begun
        wrong = 1 - values / exact
        errors[iterations] = float(wrong.max())
        name = f"{iterations} iterations"
        rows.append([name, f"{seconds:.1f}", f"{np.median(wrong):.1%}", f"{wrong.max():.1%}"])
        lines[name] = (np.arange(1, config.size + 1), values)
    print(table(["", ">seconds", ">median too small by", ">worst"], rows))
    path = Path(config.out) / "decompositions.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    curves(
        lines,
        title="The singular values of PPMI fall slowly: random projections miss them",
        xlabel="number of the axis",
        ylabel="singular value",
        logy=True,
        path=path,
    )
    print(f"figure: {path}")
    return errors


def randomised(M: Any, size: int, iterations: int, oversampling: int) -> np.ndarray:
    """The largest singular values by random projection and power iterations."""
    with one_blas_thread():
        Q = np.random.default_rng(0).standard_normal((M.shape[1], size + oversampling))
        Q, _ = np.linalg.qr(M @ Q)
        for _ in range(iterations):
            Q, _ = np.linalg.qr(M.T @ Q)
            Q, _ = np.linalg.qr(M @ Q)
        return np.linalg.svd((M.T @ Q).T, compute_uv=False)[:size]


if __name__ == "__main__":
    main(config_from_arguments(Config, __doc__))
