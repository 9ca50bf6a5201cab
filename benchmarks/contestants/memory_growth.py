"""deepnlp: does memory grow with the length of the text? It should not.

Counted from after a short run of the same work, with the ids of the long text in memory already.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np

import deepnlp
from benchmarks.contestant import Answer
from benchmarks.memory import Growth
from benchmarks.settings import Spec
from deepnlp.backend import asarray
from deepnlp.evaluation import perplexity
from deepnlp.generation import generate_ids
from deepnlp.models import RNNLM
from deepnlp.optimizers import SGD, clip_gradients
from deepnlp.training import BPTTBatches

SHORT = 1000


def _evaluate(model: RNNLM, ids: Any, spec: Spec) -> None:
    """Perplexity of the whole text."""
    perplexity(model, ids, batch_size=spec.model.N)


def _train(model: RNNLM, ids: Any, spec: Spec) -> None:
    """A few training steps somewhere in the text."""
    optimizer = SGD(model.parameters(), lr=1.0)
    model.reset_state()
    for x, t in islice(
        BPTTBatches(ids, batch_size=spec.model.N, time_size=spec.model.T), spec.warmup
    ):
        model.forward(asarray(x), asarray(t))
        model.zero_grad()
        model.backward()
        clip_gradients(model.parameters(), max_norm=0.25)
        optimizer.step()


def _generate(model: RNNLM, ids: Any, spec: Spec) -> None:
    """Sample as many words as the text has."""
    for _ in generate_ids(model, [1], len(ids), seed=0):
        pass


WORKS: dict[str, Callable[[RNNLM, Any, Spec], None]] = {
    "perplexity": _evaluate,
    "training": _train,
    "generation": _generate,
}


def run(spec: Spec) -> Answer:
    """Memory grown by a work on a text of a given length.

    Parameters
    ----------
    spec : Spec
        Sizes V, N, T, H, the ``work`` by name and the ``length`` of the text.
    """
    (V, _, _, H), length = spec.model, spec.number("length")
    work = WORKS[spec.options["work"]]
    deepnlp.seed(0)
    model = RNNLM(V, H, H)
    rng = np.random.default_rng(0)
    ids, short = (rng.integers(0, V, size=n) for n in (length, min(SHORT, length)))
    work(model, short, spec)
    growth = Growth()
    work(model, ids, spec)
    return {"step": {"memory_mb": growth.mb()}}
