"""The machine's limits: a large matrix product, and a copy of much memory."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

from benchmarks.contestant import Answer
from benchmarks.settings import Spec
from benchmarks.timing import median_ms
from deepnlp import backend
from deepnlp.backend import xp
from deepnlp.backend.initialisers import uniform


def run(spec: Spec) -> Answer:
    """Float32 operations and bytes a second; a copy reads and writes each byte.

    Parameters
    ----------
    spec : Spec
        ``n``: rows of the square matrices; ``copy_mb``: size of what is copied.
    """
    n, megabytes = spec.number("n"), spec.number("copy_mb")
    A, B = uniform((n, n), 1.0), uniform((n, n), 1.0)
    C = xp.zeros_like(A)
    product_ms = median_ms(lambda: xp.matmul(A, B, out=C), spec)

    numbers = megabytes * 2**20 // 4
    source, target = xp.ones(numbers, dtype="float32"), xp.zeros(numbers, dtype="float32")
    hands = spec.threads if backend.name() == "numpy" else 1
    ends = [numbers * k // hands for k in range(hands + 1)]
    parts = [slice(begin, end) for begin, end in pairwise(ends)]

    def copy(part: slice) -> None:
        xp.copyto(target[part], source[part])

    with ThreadPoolExecutor(hands) as pool:
        copy_ms = median_ms(lambda: list(pool.map(copy, parts)), spec)
    return {
        "peak": {
            "gflops": 2 * n**3 / (product_ms * 1e6),
            "gbytes": 2 * source.nbytes / (copy_ms * 1e6),
        }
    }
