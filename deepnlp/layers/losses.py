"""Losses, each joined with the function whose gradient it simplifies."""

from __future__ import annotations

from typing import Any

from deepnlp import functions
from deepnlp.backend import Array, check_ids, xp
from deepnlp.layer import Layer
from deepnlp.layers.dense import rows


class SoftmaxWithLoss(Layer):
    r"""Cross-entropy of the softmax, the mean over the targets that count.

    .. math::
        p_n = \mathrm{softmax}(s_n), \qquad
        L = -\frac{1}{M} \sum_{n:\, t_n \ne \mathrm{ignored}} \log p_{n, t_n}

    with M the number of targets that count.

    Parameters
    ----------
    ignore_id : int
        Targets with this id count neither in the sum nor in M.

    Notes
    -----
    ``forward(logits, targets)`` takes scores (..., V) and integers (...), gives a 0-d loss (in
    nats; zero if no target counts) and keeps the probabilities. Since
    log p_t = s_t - log sum_j exp(s_j), the gradient is ds = (p - onehot(t)) / M.

    Raises
    ------
    TypeError
        If the targets are not integers.
    ValueError
        If the shapes do not fit or a target is outside 0 ... V - 1 and not ``ignore_id``.

    Examples
    --------
    >>> loss = SoftmaxWithLoss()
    >>> round(float(loss.forward(xp.zeros((1, 4)), xp.asarray([2]))), 4)   # log 4
    1.3863
    >>> loss.backward()
    array([[ 0.25,  0.25, -0.75,  0.25]])
    """

    def __init__(self, ignore_id: int = -1) -> None:
        self.ignore_id = ignore_id

    def forward(self, logits: Array, targets: Array) -> Array:
        """L = mean of -log softmax(logits)[target]."""
        self._expect("logits", logits, "... V")
        self._expect("targets", targets, "...")
        if targets.dtype.kind not in "iu":
            raise TypeError(f"SoftmaxWithLoss: targets should be integers, got {targets.dtype}")
        if targets.shape != logits.shape[:-1]:
            raise ValueError(
                f"SoftmaxWithLoss: targets should have shape {tuple(logits.shape[:-1])}, that of "
                f"the logits without V, got {tuple(targets.shape)}"
            )
        s, t = rows(logits), targets.reshape(-1)
        counts = t != self.ignore_id
        t = xp.where(counts, t, 0)
        check_ids("SoftmaxWithLoss", t, s.shape[1], "targets")
        n = xp.arange(len(t))

        s = s - s.real.max(axis=1, keepdims=True)  # cancels in p, and nothing overflows
        s_t = s[n, t]
        e = xp.exp(s, out=s)
        total = xp.sum(e, axis=1)
        M = xp.maximum(xp.sum(counts), 1).astype(s.real.dtype)
        self._keep(e, total, t, counts, M, logits.shape)
        return xp.sum((xp.log(total) - s_t) * counts) / M

    def backward(self, dloss: Any = 1) -> Array:
        """ds = dloss (p - onehot(t)) / M, and zero where the target is ignored."""
        e, total, t, counts, M, shape = self._take()
        # L = sum_n (log sum_j exp s_nj - s_n,t) / M, over the n that count
        dnll = (counts * (dloss / M)).astype(e.dtype)
        ds = xp.multiply(e, (dnll / total)[:, None], out=e)  # p = e / total
        ds[xp.arange(len(t)), t] -= dnll
        return ds.reshape(shape)


class SigmoidWithLoss(Layer):
    r"""Binary cross-entropy of the sigmoid, the mean over all entries.

    .. math::
        L = -\frac{1}{M} \sum_m t_m \log \sigma(s_m) + (1 - t_m) \log (1 - \sigma(s_m))
          = \frac{1}{M} \sum_m \log(1 + e^{s_m}) - t_m s_m

    The second form never takes the logarithm of zero.

    ``forward(scores, targets)`` takes scores of any shape and labels 0 or 1 (or probabilities) of
    the same shape, and gives a 0-d loss in nats. The gradient is ds = (sigmoid(s) - t) / M.

    Raises
    ------
    ValueError
        If the shapes differ.

    Examples
    --------
    >>> loss = SigmoidWithLoss()
    >>> round(float(loss.forward(xp.zeros(2), xp.asarray([0, 1]))), 4)   # log 2
    0.6931
    >>> loss.backward()
    array([ 0.25, -0.25])
    """

    def forward(self, scores: Array, targets: Array) -> Array:
        """L = mean of log(1 + exp(s)) - t s."""
        self._expect("scores", scores, "...")
        self._expect("targets", targets, "...")
        if targets.shape != scores.shape:
            raise ValueError(
                f"SigmoidWithLoss: targets should have the shape of the scores, "
                f"{tuple(scores.shape)}, got {tuple(targets.shape)}"
            )
        t = targets.astype(scores.real.dtype)
        self._keep(scores, t)
        return xp.sum(functions.softplus(scores) - t * scores) / scores.size

    def backward(self, dloss: Any = 1) -> Array:
        """ds = dloss (sigmoid(s) - t) / M."""
        s, t = self._take()
        return ((functions.sigmoid(s) - t) * (dloss / s.size)).astype(s.dtype, copy=False)
