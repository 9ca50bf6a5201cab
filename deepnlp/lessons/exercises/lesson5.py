"""Recurrent layers in windows, and a model that writes, for the exercises of lesson 5."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from deepnlp.backend import HostArray, asarray, asnumpy
from deepnlp.layers import TimeRNN
from deepnlp.models import SimpleRNNLM
from deepnlp.training import BPTTBatches as BPTTBatches

Weights = tuple[HostArray, HostArray, HostArray]


def weights(D: int, H: int, seed: int) -> Weights:
    """Wx (D, H), Wh (H, H) and b (H,), asymmetric and not small."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(D, H)), 0.7 * rng.normal(size=(H, H)), rng.normal(size=H)


def truncated(
    weights: Weights,
    x: HostArray,
    dhs: HostArray,
    starts: Sequence[int],
    without: str = "",
    carry: str = "",
) -> dict[str, HostArray]:
    """Return gradients of a TimeRNN that stop at the starts of windows.

    These steps may be taken ``without`` the "state" before them, or the whole "step" be left out;
    without the "start" of zeros the last state stands before step 0. What the next step passes
    back, the ``carry``, may come "late", after the slope of the tanh, or "without Wh".
    """
    Wx, Wh, _ = weights
    h = asnumpy(TimeRNN(*weights).forward(asarray(x)))
    h_prev, da, dh = np.roll(h, 1, axis=1), np.zeros_like(h), np.zeros_like(h[:, 0])
    h_prev[:, 0] *= without == "start"
    for t in reversed(range(x.shape[1])):
        slope = 1 - h[:, t] ** 2
        da[:, t] = dhs[:, t] * slope + dh * (1 if carry == "late" else slope)
        dh = (t not in starts) * (da[:, t] if carry == "without Wh" else da[:, t] @ Wh.T)
    if without in ("state", "step"):
        (h_prev if without == "state" else da)[:, list(starts)] = 0
    dWx, dWh = (np.einsum("nti,ntj->ij", inputs, da) for inputs in (x, h_prev))
    return {"dx": da @ Wx.T, "dWx": dWx, "dWh": dWh, "db": da.sum(axis=(0, 1))}


def gradients(layer: Any, dx: Any) -> dict[str, Any]:
    """Return the gradients that a layer's backward returned and set."""
    return {"dx": dx, **{name: getattr(layer, name, None) for name in ("dWx", "dWh", "db")}}


class CountingLM(SimpleRNNLM):
    """A model that counts the ids it reads."""

    read = 0

    def logits(self, ids: Any) -> Any:
        """Return scores (N, T, V) of the next ids."""
        self.read += int(np.size(ids))
        return super().logits(asarray(ids))

    def step(self, ids: Any, state: Any = None) -> Any:
        """Return scores (N, V) after one id, and the state."""
        self.read += int(np.size(ids))
        return super().step(ids, state)


def dreamer() -> CountingLM:
    """Make a small model with large weights, whose likeliest words depend on the whole past."""
    rng = np.random.default_rng(512)
    model = CountingLM(vocab_size=12, embed_size=6, hidden_size=16, dtype="float64", rng=rng)
    for parameter in model.parameters():
        parameter.value[...] = asarray(rng.normal(size=parameter.shape)) * 0.7
    return model


def used(model: CountingLM) -> CountingLM:
    """Return the model with a state of something else, its count at zero."""
    model.reset_state()
    model.logits(asarray([[7, 2, 9]]))
    model.read = 0
    return model


def continued(
    model: SimpleRNNLM,
    prompt: list[int],
    length: int,
    reset: str = "once",
    again: bool = False,
    place: int = -1,
    best: Callable[[HostArray], Any] = np.argmax,
) -> list[int]:
    """Continue by the scores at a place of the last input: the new id, or all ids again.

    The state is reset "once", "never" or "always" before it reads.
    """
    text, unread = list(prompt), list(prompt)
    for k in range(length):
        if reset == "always" or (reset == "once" and k == 0):
            model.reset_state()
        scores = asnumpy(model.logits(asarray([unread])))[0, place]
        text.append(int(best(scores)))
        unread = text if again else text[-1:]
    return text[len(prompt) :]


def slid(weights: Weights, x: HostArray, dhs: HostArray, steps: int) -> dict[str, HostArray]:
    """Return gradients in which each loss goes back over a number of steps and no further."""
    T, total = x.shape[1], dict[str, Any]()
    for t in range(T):
        only_t = np.where(np.arange(T)[:, None] == t, dhs, 0)
        of_t = truncated(weights, x, only_t, [max(0, t - steps + 1)])
        total = {name: total.get(name, 0) + value for name, value in of_t.items()}
    return total
