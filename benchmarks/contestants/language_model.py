"""deepnlp: a training step and an evaluation pass of the tied two-layer LSTM language model."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import Any

import deepnlp
from benchmarks.contestant import Answer
from benchmarks.contestants.windows import random_windows
from benchmarks.memory import Growth
from benchmarks.settings import Sizes, Spec
from benchmarks.timing import median_ms
from deepnlp.backend import asarray
from deepnlp.models import RNNLM
from deepnlp.optimizers import SGD, clip_gradients


class Training:
    """A model, its optimizer and its text; the state is carried from window to window.

    Attributes
    ----------
    model : RNNLM
    clip, update : callable
        Clipping and the optimizer's step, where a profile can take their place.

    Examples
    --------
    >>> training = Training(Sizes(V=9, N=2, T=3, H=4))
    >>> 2 < training.step() < 3            # log 9 is 2.2
    True
    """

    def __init__(self, sizes: Sizes, cell: str = "lstm") -> None:
        V, N, T, H = sizes
        deepnlp.seed(0)
        self.windows = cycle(random_windows(V, N, T))
        self.model = RNNLM(V, H, H, cell=cell, dropout=0.5)
        self.parameters = self.model.parameters()
        self.clip: Callable[..., Any] = clip_gradients
        self.update: Callable[[], None] = SGD(self.parameters, lr=1.0).step

    def step(self) -> float:
        """Learn from the next window.

        Returns
        -------
        float
            The loss.
        """
        ids, targets = next(self.windows)
        loss = self.model.forward(asarray(ids), asarray(targets))
        self.model.zero_grad()
        self.model.backward()
        self.clip(self.parameters, max_norm=0.25)
        self.update()
        return float(loss)

    def evaluate(self) -> float:
        """Loss of the next window, with nothing kept."""
        ids, targets = next(self.windows)
        with deepnlp.no_backward():
            return float(self.model.forward(asarray(ids), asarray(targets)))


def run(spec: Spec) -> Answer:
    """Time of a step and of an evaluation pass, and what training needs of memory.

    Parameters
    ----------
    spec : Spec
        Sizes V, N, T, H; ``evaluate=False`` for the training step alone.
    """
    growth = Growth()
    training = Training(spec.model)
    step = {"train_ms": median_ms(training.step, spec)}
    step["memory_mb"] = growth.mb()
    if spec.options.get("evaluate", True):
        training.model.eval()
        step["eval_ms"] = median_ms(training.evaluate, spec)
    return {"step": step}
