"""deepnlp: how far a training in float32 drifts from the same training in float64.

Both start from the same weights, read the same windows and drop out the same units. Two things are
measured: the error of one step, whose loss and gradient are computed in float64 again from the
weights and the state of float32; and how far the two have come apart in the end.
"""

from __future__ import annotations

from itertools import cycle, islice
from typing import Any

import numpy as np

import deepnlp
from benchmarks.contestant import Answer
from benchmarks.settings import Spec
from deepnlp.backend import asarray, asnumpy
from deepnlp.checkpoint import get_parameters, set_parameters
from deepnlp.datasets import load_corpus
from deepnlp.evaluation import perplexity
from deepnlp.models import RNNLM
from deepnlp.optimizers import SGD, Adam, clip_gradients
from deepnlp.training import BPTTBatches

OPTIMIZERS: dict[str, Any] = {
    "SGD": lambda parameters: SGD(parameters, lr=2.0),
    "Adam": lambda parameters: Adam(parameters, lr=0.003),
}
PROBES = 50  # steps that are computed again
VALID = 20_000  # ids of the validation split, at most


def run(spec: Spec) -> Answer:
    """Errors by optimizer.

    Parameters
    ----------
    spec : Spec
        Sizes V, N, T, H, and ``length``, the number of steps.

    Returns
    -------
    dict
        ``step_loss`` and ``step_gradient``: the largest relative error of one step. ``loss``: the
        largest difference of the mean loss of a fiftieth of the steps. ``perplexity``: that of the
        validation split in the end. ``weights``: the norm of the difference of all weights. All
        are relative.
    """
    V, N, T, _ = spec.model
    deepnlp.seed(0)
    if V >= 1000:
        corpus = load_corpus("pydocs", vocab_size=V)
        train, valid = corpus.train, corpus.valid[:VALID]
    else:  # whether it runs
        train, valid = np.random.default_rng(0).integers(0, V, size=(2, 20 * N * T))
    return {name: compare(name, train, valid, spec) for name in OPTIMIZERS}


def compare(name: str, train: Any, valid: Any, spec: Spec) -> dict[str, float]:
    """Train twice, and measure."""
    (V, N, T, H), length = spec.model, spec.number("length")
    one, other, probe = (RNNLM(V, H, H, 1, dropout=0.2, dtype=t) for t in TYPES)
    for model in (other, probe):
        set_parameters(model, get_parameters(one))
        model.restore(one.snapshot())
    optimizers = [OPTIMIZERS[name](model.parameters()) for model in (one, other)]
    windows = islice(cycle(BPTTBatches(train, N, T)), length)
    losses, errors, every = [], [], max(1, length // PROBES)
    for step, (ids, targets) in enumerate(windows):
        x, t = asarray(ids), asarray(targets)
        if step % every == 0:
            set_parameters(probe, get_parameters(one))
            probe.restore(widened(one.snapshot()))
            probed = gradient(probe, x, t)
        pair = [gradient(model, x, t) for model in (one, other)]
        if step % every == 0:
            errors.append([apart(a, b) for a, b in zip(pair[0], probed, strict=True)])
        losses.append([loss for loss, _ in pair])
        for model, optimizer in zip((one, other), optimizers, strict=True):
            clip_gradients(model.parameters(), max_norm=0.25)
            optimizer.step()
    means = np.array([part.mean(axis=0) for part in np.array_split(np.array(losses), PROBES)])
    step_loss, step_gradient = np.array(errors).max(axis=0)
    last = [perplexity(model, valid, batch_size=N) for model in (one, other)]
    weights = [
        np.concatenate([w.ravel() for w in get_parameters(m).values()]) for m in (one, other)
    ]
    return {
        "step_loss": float(step_loss),
        "step_gradient": float(step_gradient),
        "loss": float(np.abs(means[:, 0] / means[:, 1] - 1).max()),
        "perplexity": abs(last[0] / last[1] - 1),
        "weights": apart(*weights),
        "reached": last[1],
    }


TYPES = ("float32", "float64", "float64")


def gradient(model: RNNLM, ids: Any, targets: Any) -> tuple[float, Any]:
    """The loss of a window, and all gradients in a row."""
    loss = float(model.forward(ids, targets))
    model.zero_grad()
    model.backward()
    found = [asnumpy(p.grad).ravel().astype("float64") for p in model.parameters()]
    return loss, np.concatenate(found)


def widened(snapshot: dict[str, Any]) -> dict[str, Any]:
    """Return the state that a layer carries, in float64."""
    return {
        name: x.astype("float64") if getattr(x, "dtype", None) == np.float32 else x
        for name, x in snapshot.items()
    }


def apart(a: Any, b: Any) -> float:
    """The norm of a difference by the norm of the second."""
    a, b = (np.asarray(x, dtype="float64") for x in (a, b))
    return float(np.linalg.norm(a - b) / np.linalg.norm(b))
