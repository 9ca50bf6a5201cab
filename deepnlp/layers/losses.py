"""Losses, each joined with the function whose gradient it simplifies."""

from __future__ import annotations

from typing import Any

from deepnlp import functions
from deepnlp.backend import Array, check_ids, xp
from deepnlp.kernels import softmax_nll, softmax_nll_backward
from deepnlp.layer import Layer, expect, keeping
from deepnlp.layers.dense import rows
from deepnlp.parameter import as_parameter

ROWS_AT_ONCE = 1024  # of scores, where no backward follows: enough to keep a matrix product busy


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
        owner = type(self).__name__
        t, counts = _rows_that_count(
            owner, targets, logits.shape[:-1], logits.shape[-1], self.ignore_id
        )
        s = rows(logits).copy()  # the caller's stay as they are
        nll, kept = softmax_nll(s, None, t)
        M = _number(counts, s)
        self.save_for_backward(s, t, counts, kept, M, logits.shape)
        return xp.sum(nll * counts) / M

    def backward(self, dloss: Any = 1) -> Array:
        """ds = dloss (p - onehot(t)) / M, and zero where the target is ignored."""
        s, t, counts, kept, M, shape = self.saved()
        # L = sum_n nll_n / M, over the n that count
        dnll = (counts * (dloss / M)).astype(s.dtype)
        # nll_n = log sum_j exp s_nj - s_n,t
        factor = softmax_nll_backward(s, None, t, kept, dnll)
        s *= factor[:, None]
        return s.reshape(shape)


class AffineSoftmaxWithLoss(Layer):
    r"""An affine map and the cross-entropy of its softmax in one: the scores are never a result.

    .. math::
        s_n = x_n W + b, \qquad
        L = -\frac{1}{M} \sum_{n:\, t_n \ne \mathrm{ignored}} \log \mathrm{softmax}(s_n)_{t_n}

    with M the number of targets that count. It equals :class:`Affine` followed by
    :class:`SoftmaxWithLoss`. Since nobody is given the scores, n V numbers that are most of a
    language model's memory, they become probabilities and then gradients where they lie; and where
    no backward will follow, as in evaluation, only so many rows of them are made at a time.

    Parameters
    ----------
    W : Parameter, its transpose, or array (D, V)
    b : Parameter or array (V,), optional
        No bias by default.
    ignore_id : int
        Targets with this id count neither in the sum nor in M.

    Notes
    -----
    ``forward(x, targets)`` takes (..., D) and integers (...), gives a 0-d loss in nats (zero if no
    target counts) and keeps x and the scores. With ds = (p - onehot(t)) / M, the gradients are
    those of :class:`Affine`: dx = ds W^T, dW = x^T ds, db = sum_n ds_n.

    Raises
    ------
    TypeError
        If the targets are not integers.
    ValueError
        If the shapes do not fit or a target is outside 0 ... V - 1 and not ``ignore_id``.

    Examples
    --------
    >>> output = AffineSoftmaxWithLoss(xp.zeros((3, 4)))
    >>> round(float(output.forward(xp.ones((1, 3)), xp.asarray([2]))), 4)   # log 4
    1.3863
    >>> output.backward()
    array([[0., 0., 0.]])
    >>> output.W.grad[0]
    array([ 0.25,  0.25, -0.75,  0.25])
    """

    def __init__(self, W: Any, b: Any = None, ignore_id: int = -1) -> None:
        self.W = as_parameter(W, "W")
        self.b = None if b is None else as_parameter(b, "b")
        self.ignore_id = ignore_id
        owner = type(self).__name__
        expect(owner, "W", self.W.value, "D V")
        if self.b is not None:
            expect(owner, "b", self.b.value, "V", V=self.W.shape[1])

    def forward(self, x: Array, targets: Array) -> Array:
        """L = mean of -log softmax(x W + b)[target]."""
        D, V = self.W.shape
        self._expect("x", x, "... D", D=D)
        self._expect("targets", targets, "...")
        t, counts = _rows_that_count(type(self).__name__, targets, x.shape[:-1], V, self.ignore_id)
        x_rows, W = rows(x), self.W.value
        b = None if self.b is None else self.b.value
        dtype = xp.result_type(x.dtype, W.dtype)
        M = _number(counts, x)
        if keeping():
            # s (n, V), for the n rows of x
            s = xp.matmul(x_rows, W, out=self._workspace("s", (len(t), V), dtype))
            nll, kept = softmax_nll(s, b, t)
            self.save_for_backward(x, s, t, counts, kept, M)
        else:
            starts = range(0, max(len(t), 1), ROWS_AT_ONCE)
            parts = [slice(k, k + ROWS_AT_ONCE) for k in starts]
            nll = xp.concatenate([softmax_nll(x_rows[n] @ W, b, t[n])[0] for n in parts])
        return xp.sum(nll * counts) / M

    def backward(self, dloss: Any = 1) -> Array:
        """dx = ds W^T, with ds = dloss (p - onehot(t)) / M, zero where the target is ignored."""
        x, s, t, counts, kept, M = self.saved()
        # L = sum_n nll_n / M, over the n that count
        dnll = (counts * (dloss / M)).astype(s.dtype)
        # nll_n = log sum_j exp s_nj - s_n,t
        b = None if self.b is None else self.b.value
        factor = softmax_nll_backward(s, b, t, kept, dnll)  # (n,): ds = factor * s, row by row
        # s = x W + b: db = sum_n ds_n, dW = x^T ds, dx = ds W^T
        if self.b is not None:
            self.b.accumulate(factor @ s)
        self.W.accumulate_product((factor[:, None] * rows(x)).T, s)
        dx = s @ self.W.value.T
        dx *= factor[:, None]
        return dx.reshape(x.shape)


def _rows_that_count(
    owner: str, targets: Array, shape: tuple[int, ...], V: int, ignore_id: int
) -> tuple[Array, Array]:
    """Targets (n,), zero where ignored, and whether each counts (n,)."""
    if targets.dtype.kind not in "iu":
        raise TypeError(f"{owner}: targets should be integers, got {targets.dtype}")
    if targets.shape != shape:
        raise ValueError(
            f"{owner}: targets should have shape {tuple(shape)}, one for each row of scores, got "
            f"{tuple(targets.shape)}"
        )
    t = targets.reshape(-1)
    counts = t != ignore_id
    t = xp.where(counts, t, 0)
    check_ids(owner, t, V, "targets")
    return t, counts


def _number(counts: Array, x: Array) -> Array:
    """M, the number of targets that count, or 1 where none does."""
    return xp.maximum(xp.sum(counts), 1).astype(x.real.dtype)


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
        self.save_for_backward(scores, t)
        return xp.sum(functions.softplus(scores) - t * scores) / scores.size

    def backward(self, dloss: Any = 1) -> Array:
        """ds = dloss (sigmoid(s) - t) / M."""
        s, t = self.saved()
        return ((functions.sigmoid(s) - t) * (dloss / s.size)).astype(s.dtype, copy=False)
