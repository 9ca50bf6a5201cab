"""deepnlp: the time of one sampled token, each fed back to give the next."""

from __future__ import annotations

import deepnlp
from benchmarks.contestant import Answer
from benchmarks.settings import Spec
from benchmarks.timing import MOST_REPETITIONS, median_ms
from deepnlp import generation
from deepnlp.models import RNNLM


def run(spec: Spec) -> Answer:
    """Time per step of generation at temperature 1.

    Parameters
    ----------
    spec : Spec
        Sizes V, H and the batch B.
    """
    (V, _, _, H), B = spec.model, spec.number("B")
    deepnlp.seed(0)
    model = RNNLM(V, H, H)
    length = spec.warmup + MOST_REPETITIONS
    if B == 1:
        ids = generation.generate_ids(model, [1], length, seed=0)
        return {"step": {"token_ms": median_ms(lambda: next(ids), spec)}}
    batches = generation.generate_batch(model, [[1]] * B, length, seed=0)
    return {"step": {"token_ms": median_ms(lambda: next(batches), spec)}}
