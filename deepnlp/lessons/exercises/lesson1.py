"""A step of training, for exercise 1.11."""

from typing import Any

import numpy as np

from deepnlp.layer import Sequential
from deepnlp.layers import Affine, Sigmoid, SoftmaxWithLoss, Tanh


def after_steps(step: Any, x: Any, t: Any, steps: int) -> tuple[np.ndarray, Any]:
    """Return the weights of a fresh model after some steps, and the loss of the last one."""
    rng, loss = np.random.default_rng(7), None
    model = Sequential(
        Affine.init(2, 4, rng, "float64"), Tanh(), Affine.init(4, 3, rng, "float64"), Sigmoid()
    )
    for _ in range(steps):
        loss = step(model, SoftmaxWithLoss(), x, t, 0.5)
    return np.concatenate([np.asarray(p.value).ravel() for p in model.parameters()]), loss


def train_step(model: Any, loss: Any, x: Any, t: Any, lr: float, reset: bool = True) -> Any:
    """Return a step of training; without ``reset`` it adds to the gradients of the step before."""
    value = loss.forward(model.forward(x), t)
    if reset:
        model.zero_grad()
    model.backward(loss.backward())
    for parameter in model.parameters():
        parameter.value -= lr * parameter.grad
    return value
