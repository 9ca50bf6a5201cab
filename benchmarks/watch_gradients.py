"""The cost of watching gradients: a training step without, with the hook unused, and with it.

Prints ratios of one run, rounds interleaved, so that a busy machine slows all of them alike:

    python -m benchmarks.watch_gradients
"""

from __future__ import annotations

import argparse
import statistics
import time
from typing import Any

import numpy as np

import deepnlp
from deepnlp.backend import asarray
from deepnlp.models import RNNLM
from deepnlp.optimizers import SGD, clip_gradients
from deepnlp.training.watching import GradientWatch


def main() -> None:
    """Time both and print the ratio for some intervals between looks."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cell", default="lstm", choices=["lstm", "gru", "rnn"])
    parser.add_argument("--vocab-size", type=int, default=5000)
    parser.add_argument("--hidden-size", type=int, default=128)
    parser.add_argument("--batch-size", type=int, default=20)
    parser.add_argument("--time-size", type=int, default=35)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()

    deepnlp.seed(0)
    V, H, N, T = (
        options.vocab_size, options.hidden_size, options.batch_size, options.time_size
    )  # fmt: skip
    model = RNNLM(V, H, H, cell=options.cell)
    optimizer = SGD(model.parameters(), lr=0.1)
    ids = np.random.default_rng(0).integers(0, V, size=N * T * 10)
    window = asarray(ids[: N * (T + 1)].reshape(N, T + 1))
    watch = GradientWatch(every=1, ids=ids, steps=T)

    def step() -> None:
        model.forward(window[:, :-1], window[:, 1:])
        model.zero_grad()
        model.backward()
        clip_gradients(model.parameters(), 0.25)
        optimizer.step()

    times: dict[str, list[float]] = {"step": [], "look": []}
    for turn in range(options.rounds + 2):
        for name, work in (("step", step), ("look", lambda: watch.after_backward(model, 0))):
            begin = time.perf_counter()
            work()
            if turn >= 2:  # the first ones warm up
                times[name].append(time.perf_counter() - begin)
    a_step, a_look = (statistics.median(times[name]) for name in ("step", "look"))
    unused = _cost_of_the_unused_hook(model, T)

    print(f"{options.cell}, V {V}, H {H}, N {N}, T {T}: a training step {1000 * a_step:.1f} ms")
    print(f"one look: {a_look / a_step:.2f} of a training step")
    for every in (10, 20, 50, 100, 200):
        print(f"watching every {every:3} updates: {a_look / a_step / every:+.1%}")
    print(f"not watching: {unused / a_step:+.5%} (a test `is not None` at each step of each layer)")


def _cost_of_the_unused_hook(model: RNNLM, T: int) -> float:
    """Seconds that the test for an observer takes in one backward pass."""
    layer: Any = model.layers[2]
    repeats = 100_000
    begin = time.perf_counter()
    for _ in range(repeats):
        if layer.watch is not None:
            raise RuntimeError("nobody should be watching")
    test = (time.perf_counter() - begin) / repeats
    begin = time.perf_counter()
    for _ in range(repeats):
        pass
    empty = (time.perf_counter() - begin) / repeats
    return (test - empty) * T * model.config()["layers"]


if __name__ == "__main__":
    main()
