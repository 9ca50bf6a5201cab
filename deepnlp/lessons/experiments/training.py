"""One step of training, which the experiments share."""

from __future__ import annotations

from typing import Any

from deepnlp.backend import asarray
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
