"""One step of training, which the experiments share."""

import math
from typing import Any

from deepnlp.backend import Array, asarray
from deepnlp.layers import SoftmaxWithLoss
from deepnlp.optimizers import clip_gradients


def update(
    model: Any, optimizer: Any, inputs: Any, targets: Any, max_norm: float
) -> tuple[float, float]:
    """Learn from a batch; its loss, and the norm of the gradient before clipping."""
    loss = model.forward(asarray(inputs), asarray(targets))
    model.zero_grad()
    model.backward()
    norm = clip_gradients(model.parameters(), max_norm)
    optimizer.step()
    return float(loss), float(norm)


def fit(
    net: Any, optimizer: Any, inputs: Any, answers: Any, gradient: Any, max_norm: float = math.inf
) -> Array:
    """Learn from a batch by the gradient of a loss of scores and answers; the scores before it."""
    scores = net.forward(asarray(inputs))
    net.zero_grad()
    net.backward(gradient(scores, asarray(answers)))
    clip_gradients(net.parameters(), max_norm)
    optimizer.step()
    return scores


def gradient_of_choice(scores: Array, targets: Array) -> Array:
    """Return the gradient of the cross-entropy of the targets; those of -1 do not count."""
    loss = SoftmaxWithLoss()
    loss.forward(scores, targets)
    return loss.backward()
