"""deepnlp: a training step of a GPT, and text from it with and without keys and values kept."""

from __future__ import annotations

import time
from itertools import cycle

import deepnlp
from benchmarks.contestant import Answer
from benchmarks.contestants.windows import random_windows
from benchmarks.memory import Growth
from benchmarks.settings import Spec
from benchmarks.timing import median_ms
from deepnlp.backend import asarray, asnumpy, xp
from deepnlp.models import GPT
from deepnlp.optimizers import AdamW, clip_gradients


def run(spec: Spec) -> Answer:
    """Time of a step, what training needs of memory, and the time of a token that is written.

    Parameters
    ----------
    spec : Spec
        Sizes V, N, T, D, layers, heads and length.
    """
    deepnlp.seed(0)
    V, N, T, D, layers, heads, length = (
        spec.number(name) for name in ("V", "N", "T", "D", "layers", "heads", "length")
    )
    growth = Growth()
    windows = cycle(random_windows(V, N, T))
    model = GPT(V, D, layers, heads=heads, context=max(T, length), bias=False)
    parameters = model.parameters()
    optimizer = AdamW(parameters, lr=1e-3, betas=(0.9, 0.99), weight_decay=0.1, decay="matrices")

    def step() -> float:
        ids, targets = next(windows)
        loss = model.forward(asarray(ids), asarray(targets))
        model.zero_grad()
        model.backward()
        clip_gradients(parameters, max_norm=1.0)
        optimizer.step()
        return float(loss)

    answer = {"train_ms": median_ms(step, spec), "memory_mb": growth.mb()}
    model.eval()

    def kept() -> None:
        ids, state = asarray([1]), model.start(1)
        for _ in range(length):
            scores, state = model.step(ids, state)
            ids = asarray([int(asnumpy(xp.argmax(scores)))])

    def anew() -> None:
        text = [1]
        for _ in range(length):
            text.append(int(asnumpy(xp.argmax(model.logits(asarray([text]))[0, -1]))))

    for name, work in (("kept_ms", kept), ("anew_ms", anew)):
        work()
        began = time.perf_counter()
        work()
        answer[name] = 1000 * (time.perf_counter() - began) / length
    return {"step": answer}
