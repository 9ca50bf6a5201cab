"""deepnlp: does memory grow over hours of training, generating and evaluating? It should not.

The three works take turns until the time is over. After each turn the memory of the process is
read, and that of Python's objects (tracemalloc). The first tenth of the turns is not counted, in
which caches and workspaces are filled. What counts then is how much the second half of the turns
holds more than the first, by the medians.
"""

from __future__ import annotations

import gc
import time
import tracemalloc
from itertools import cycle, islice
from typing import Any

import numpy as np

import deepnlp
from benchmarks.contestant import Answer
from benchmarks.memory import MB, host_mb
from benchmarks.settings import Spec
from deepnlp.backend import asarray
from deepnlp.evaluation import perplexity
from deepnlp.generation import generate_ids
from deepnlp.models import RNNLM, RegularisedRNNLM
from deepnlp.optimizers import Adam, clip_gradients
from deepnlp.training import BPTTBatches

STEPS, WORDS, READ = 20, 100, 2_000  # of a turn
LEAST_TURNS = 20
QUICK_TURNS = 8


def run(spec: Spec) -> Answer:
    """Report the work that was done and the memory that was held.

    Parameters
    ----------
    spec : Spec
        Sizes V, N, T, H, and the number of ``seconds_in_all``.
    """
    V, N, T, H = spec.model
    deepnlp.seed(0)
    ids = np.random.default_rng(0).integers(0, V, size=max(READ, 50 * N * T))
    model = RegularisedRNNLM(V, H, H, dropout=0.3, weight_drop=0.2, embed_dropout=0.1)
    optimizer = Adam(model.parameters(), lr=0.001)
    windows = cycle(BPTTBatches(ids, N, T))
    seconds = spec.number("seconds_in_all")
    held: list[float] = []
    objects: list[float] = []
    tracemalloc.start()
    begun = time.monotonic()
    least = LEAST_TURNS if seconds else QUICK_TURNS
    while time.monotonic() - begun < seconds or len(held) < least:
        turn(model, optimizer, windows, ids, len(held))
        gc.collect()
        held.append(host_mb())
        objects.append(tracemalloc.get_traced_memory()[0] / MB)
    tracemalloc.stop()
    turns = len(held)
    return {
        "soak": {
            "minutes": (time.monotonic() - begun) / 60,
            "steps": turns * STEPS,
            "generated": turns * WORDS,
            "evaluated": turns * READ,
            "held_mb": held[-1],
            "grown_mb": grown(held),
            "objects_mb": objects[-1],
            "objects_grown_mb": grown(objects),
        }
    }


def turn(model: RNNLM, optimizer: Any, windows: Any, ids: Any, seed: int) -> None:
    """Some training steps, some generated words, some evaluated ones."""
    for x, t in islice(windows, STEPS):
        model.forward(asarray(x), asarray(t))
        model.zero_grad()
        model.backward()
        clip_gradients(model.parameters(), max_norm=0.25)
        optimizer.step()
    for _ in generate_ids(model, [1], WORDS, seed=seed):
        pass
    perplexity(model, ids[:READ])


def grown(held: list[float]) -> float:
    """How much the second half of the turns holds more than the first, by the medians."""
    counted = held[len(held) // 10 :]
    half = len(counted) // 2
    return float(np.median(counted[half:]) - np.median(counted[:half]))
