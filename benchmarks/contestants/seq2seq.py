"""deepnlp: a training step of a Seq2Seq on random pairs of texts."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import deepnlp
from benchmarks.contestant import Answer
from benchmarks.contestants.windows import random_pairs
from benchmarks.memory import Growth
from benchmarks.settings import Spec
from benchmarks.timing import median_ms
from deepnlp.backend import asarray
from deepnlp.models import Seq2Seq
from deepnlp.optimizers import Adam, clip_gradients

LR, MAX_NORM = 1e-3, 5.0


def fresh_model(spec: Spec) -> Seq2Seq:
    """The model of a spec: sizes V and H, and the options in ``model``."""
    V, _, _, H = spec.model
    deepnlp.seed(0)
    return Seq2Seq(V, V, H, H, **spec.options["model"])


def run(spec: Spec) -> Answer:
    """Time of a step, and what training needs of memory.

    Parameters
    ----------
    spec : Spec
        Sizes V, N, T, H, and the options of the model.
    """
    V, N, T, _ = spec.model
    batches = random_pairs(V, N, T)
    turns = cycle(batches)
    growth = Growth()
    model = fresh_model(spec)
    parameters = model.parameters()
    optimizer = Adam(parameters, lr=LR)

    def step() -> float:
        batch: Any = map(asarray, next(turns))
        loss = model.forward(*batch)
        model.zero_grad()
        model.backward()
        clip_gradients(parameters, MAX_NORM)
        optimizer.step()
        return float(loss)

    ms = median_ms(step, spec)
    return {"step": {**times(ms, batches), "memory_mb": growth.mb()}}


def times(ms: float, batches: list[Any]) -> dict[str, float]:
    """Milliseconds of a step, and target tokens per second."""
    tokens = sum(int((targets >= 0).sum()) for *_, targets in batches) / len(batches)
    return {"train_ms": ms, "tokens_per_s": 1000 * tokens / ms}
