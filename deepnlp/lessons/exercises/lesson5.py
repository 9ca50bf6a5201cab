"""Recurrent layers in windows, and a model that writes, for the exercises of lesson 5."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from deepnlp.backend import HostArray, asarray, asnumpy
from deepnlp.layers import TimeRNN
from deepnlp.models import SimpleRNNLM
from deepnlp.training import BPTTBatches

Weights = tuple[HostArray, HostArray, HostArray]


def weights(D: int, H: int, seed: int) -> Weights:
    """Wx (D, H), Wh (H, H) and b (H,), asymmetric and not small."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(D, H)), 0.7 * rng.normal(size=(H, H)), rng.normal(size=H)


def windows(ids: HostArray, N: int, T: int) -> list[HostArray]:
    """The inputs (N, T) of all windows."""
    return [x for x, _ in BPTTBatches(ids, N, T)]


def all_equal(arrays: list[HostArray], others: list[HostArray]) -> bool:
    """Whether these are the same arrays in the same order."""
    return len(arrays) == len(others) and all(map(np.array_equal, arrays, others))


def in_windows(
    weights: Weights, x: HostArray, dhs: HostArray, starts: Sequence[int]
) -> dict[str, HostArray]:
    """States and gradients of a TimeRNN in windows with carried state."""
    layer = TimeRNN(*weights, stateful=True)
    h, dx = [], []
    for start, stop in pairwise([*starts, x.shape[1]]):
        h.append(asnumpy(layer.forward(asarray(x[:, start:stop]))))
        dx.append(asnumpy(layer.backward(asarray(dhs[:, start:stop]))))
    gradients = {f"d{name}": asnumpy(p.grad) for name, p in layer.named_parameters()}
    return {"h": np.concatenate(h, axis=1), "dx": np.concatenate(dx, axis=1), **gradients}


def without_state(
    weights: Weights, x: HostArray, dhs: HostArray, window: int, whole_step: bool
) -> dict[str, HostArray]:
    """The truncated gradient without what the states at the borders give to dWh, or the steps."""
    T = x.shape[1]
    right = in_windows(weights, x, dhs, range(0, T, window))
    Wx, Wh, _ = weights
    da = right["dx"] @ np.linalg.pinv(Wx.T)  # dx = da Wx^T, which can be undone as D > H
    lost = np.zeros_like(Wh)
    for t in range(window, T, window):
        lost += right["h"][:, t - 1].T @ da[:, t]
    gradients = {**right, "dWh": right["dWh"] - lost}
    if whole_step:
        first = da[:, ::window]
        gradients["dWx"] = right["dWx"] - np.einsum("ntd,nth->dh", x[:, ::window], first)
        gradients["db"] = right["db"] - first.sum(axis=(0, 1))
        gradients["dx"] = np.where((np.arange(T) % window == 0)[:, None], 0.0, right["dx"])
    return gradients


class CountingLM(SimpleRNNLM):
    """A model that counts the ids it reads."""

    read = 0

    def logits(self, ids: Any) -> Any:
        """Scores (N, T, V) of the next ids."""
        self.read += int(np.size(ids))
        return super().logits(asarray(ids))

    def step(self, ids: Any, state: Any = None) -> Any:
        """Scores (N, V) after one id, and the state."""
        self.read += int(np.size(ids))
        return super().step(ids, state)


def dreamer() -> CountingLM:
    """A small model with large random weights, whose likeliest words depend on the whole past."""
    rng = np.random.default_rng(512)
    model = CountingLM(vocab_size=12, embed_size=6, hidden_size=16, dtype="float64", rng=rng)
    for parameter in model.parameters():
        parameter.value[...] = asarray(rng.normal(size=parameter.shape)) * 0.7
    return model


def used(model: CountingLM) -> CountingLM:
    """The model with a state of something else, its count at zero."""
    model.reset_state()
    model.logits(asarray([[7, 2, 9]]))
    model.read = 0
    return model


def continued(
    model: SimpleRNNLM,
    prompt: list[int],
    length: int,
    reset: bool = True,
    again: bool = False,
    place: int = -1,
    best: Callable[[HostArray], Any] = np.argmax,
) -> list[int]:
    """A continuation by the scores at a place of what was read last: the new id, or all again."""
    if reset:
        model.reset_state()
    text, unread = list(prompt), list(prompt)
    for _ in range(length):
        scores = asnumpy(model.logits(asarray([unread])))[0, place]
        text.append(int(best(scores)))
        unread = text if again else text[-1:]
    return text[len(prompt) :]


def forgetting(model: SimpleRNNLM, prompt: list[int], length: int) -> list[int]:
    """A continuation with a new state for each word."""
    text = continued(model, prompt, 1)
    while len(text) < length:
        text += continued(model, text[-1:], 1)
    return text
