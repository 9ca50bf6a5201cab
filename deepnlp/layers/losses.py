r"""How wrong is a prediction, and which way should its scores move?

Scores s (n, V) of V words at n places become probabilities; the loss is the mean, over the M places
with a target t (n,) that counts, of minus the logarithm of the target's probability::

    p = softmax(s)                                      probabilities (n, V)
    nll_n = -log p_n,t_n                                negative log-likelihood (n,)
          = log sum_j exp(s_nj) - s_n,t_n
    L = sum_n nll_n / M                                 over the n that count: a number

The answer is ``ds = (p - onehot(t)) / M``: predicted minus actual. Gradient descent raises the
target's score in proportion to 1 - p, and lowers each other score in proportion to its own
probability. The slope of the softmax, which is near zero where a prediction is confident, has
cancelled: a confident wrong prediction has a large gradient. That is why each loss is combined with
the function before it.

The file goes from the equations, :func:`softmax_nll` and :func:`softmax_nll_backward`, to the
layers: :class:`SoftmaxWithLoss` of given scores, :class:`AffineSoftmaxWithLoss` of the scores
x W + b of a language model, and :class:`SigmoidWithLoss` of answers yes or no. The first functions
have quick forms in ``kernels/fast.py`` and ``kernels/cuda/softmax.cu``.
"""

import math
from typing import Any

from deepnlp.backend import Array, check_ids, functions, xp
from deepnlp.backend.arrays import check_range
from deepnlp.backend.products import affine, product
from deepnlp.kernels import back_of, kernel, plain_form
from deepnlp.layer import Layer, keeping
from deepnlp.layers.dense import rows

IGNORED = -1  # the target that no loss counts, by default


@kernel
def softmax_nll(s: Array, b: Array | None, t: Array) -> tuple[Array, Any]:
    """Negative log-likelihood of a target under the softmax, row by row.

    -log softmax(s_n + b)[t_n] = log sum_j exp(s_nj + b_j) - (s_n,t_n + b_t_n), for scores s (n, V)
    without their bias b (V,) and ids t (n,). Gives the n losses and what is saved for
    :func:`softmax_nll_backward`, for which s is overwritten.
    """
    if b is not None:
        s += b
    s -= s.real.max(axis=1, keepdims=True)  # cancels, and nothing overflows
    s_t = s[xp.arange(len(t)), t]
    e = xp.exp(s, out=s)
    total = xp.sum(e, axis=1)
    return xp.log(total) - s_t, total


@back_of(softmax_nll)
def softmax_nll_backward(s: Array, t: Array, saved: Any, dnll: Array) -> Array:
    """Go back through :func:`softmax_nll`: ds_nj = dnll_n (p_nj - [j = t_n]).

    s is overwritten with p - onehot(t). Returned is the factor (n,) of each row, so that the
    gradient is ``factor[:, None] * s``; a product with ds can apply the factor to its other side.
    """
    total = saved
    s /= total[:, None]  # p = exp(s) / sum_j exp(s_j)
    s[xp.arange(len(t)), t] -= 1
    return dnll


@kernel
def affine_nll(x: Array, W: Array, b: Array | None, t: Array) -> Array:
    """:func:`softmax_nll` of the scores x W + b, (n, D) times (D, V), with nothing saved."""
    nll: Array = plain_form(softmax_nll)(x @ W, b, t)[0]
    return nll


@kernel
def rows_to_score(counts: Array) -> Any:
    """Return the index of the rows to score: all, since ignored targets count zero times.

    A quick form may leave out the rows that do not count, where their number is known to the host.
    """
    return slice(0, len(counts))


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
    nats; zero if no target counts) and saves the probabilities. Since
    log p_t = s_t - log sum_j exp(s_j), the gradient is ds = (p - onehot(t)) / M.
    ``losses(logits, targets)`` gives the loss of each target (...), zero where it is ignored, and
    saves nothing.

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

    def __init__(self, ignore_id: int = IGNORED) -> None:
        self.ignore_id = ignore_id

    def forward(self, logits: Array, targets: Array) -> Array:
        """L = mean of -log softmax(logits)[target]."""
        nll, counts, saved = self._nll(logits, targets)
        M = number_that_count(counts, nll)
        self.save_for_backward(*saved, counts, M, logits.shape)
        loss: Array = xp.sum(nll * counts) / M
        return loss

    def losses(self, logits: Array, targets: Array) -> Array:
        """-log softmax(logits)[target] for each target, zero where it is ignored."""
        nll, counts, _ = self._nll(logits, targets)
        return (nll * counts).reshape(targets.shape)

    def _nll(self, logits: Array, targets: Array) -> tuple[Array, Array, tuple[Array, Array, Any]]:
        """Return losses (n,), whether each counts (n,), and what backward needs."""
        self._expect("logits", logits, "... V", "floating-point numbers")
        t, counts = rows_that_count(self, targets, logits, logits.shape[-1])
        s = rows(logits).copy()  # the caller's array is not changed
        nll, saved = softmax_nll(s, None, t)
        return nll, counts, (s, t, saved)

    def backward(self, dloss: Any = 1) -> Array:
        """ds = dloss (p - onehot(t)) / M, and zero where the target is ignored."""
        s, t, saved, counts, M, shape = self.saved()
        # L = sum_n nll_n / M, over the n that count: each of them gets dloss / M, the others zero
        dnll = (counts * (dloss / M)).astype(s.dtype)
        # nll_n = log sum_j exp s_nj - s_n,t: ds = factor * s, row by row, where s is now p - onehot
        factor = softmax_nll_backward(s, t, saved, dnll)
        s *= factor[:, None]
        ds: Array = s.reshape(shape)
        return ds


class AffineSoftmaxWithLoss(Layer):
    r"""The output of a language model: an affine map, its softmax and the cross-entropy in one.

    .. math::
        s_n = x_n W + b, \qquad
        L = -\frac{1}{M} \sum_{n:\, t_n \ne \mathrm{ignored}} \log \mathrm{softmax}(s_n)_{t_n}

    with M the number of targets that count. It equals :class:`Affine` followed by
    :class:`SoftmaxWithLoss`. The n V scores are most of a language model's memory. Here they become
    probabilities and then gradients in place, and on the host there are none of ignored targets.
    Where no backward follows, as in evaluation, they are computed a block at a time and never all
    held.

    Parameters
    ----------
    W : Parameter, View, or array (D, V)
    b : Parameter or array (V,), optional
        No bias by default.
    ignore_id : int
        Targets with this id count neither in the sum nor in M.

    Notes
    -----
    ``forward(x, targets)`` takes (..., D) and integers (...), gives a 0-d loss in nats (zero if no
    target counts) and saves x and the scores. With ds = (p - onehot(t)) / M, the gradients are
    those of :class:`Affine`: dx = ds W^T, dW = x^T ds, db = sum_n ds_n. ``losses(x, targets)``
    gives the loss of each target (...), zero where it is ignored, and ``scores(x)`` gives x W + b
    (..., V); both save nothing.

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

    def __init__(self, W: Any, b: Any = None, ignore_id: int = IGNORED) -> None:
        self.W = self._weight("W", W, "D V")
        self.b = None if b is None else self._weight("b", b, "V", V=self.W.shape[1])
        self.ignore_id = ignore_id

    def scores(self, x: Array) -> Array:
        """s = x W + b."""
        self._expect("x", x, "... D", D=self.W.shape[0])
        s = affine(rows(x), self.W.value, None if self.b is None else self.b.value)
        return s.reshape(*x.shape[:-1], s.shape[1])

    def losses(self, x: Array, targets: Array) -> Array:
        """-log softmax(x W + b)[target] for each target, zero where it is ignored."""
        t, counts = self._targets(x, targets)
        b = None if self.b is None else self.b.value
        losses: Array = affine_nll(rows(x), self.W.value, b, t) * counts
        return losses.reshape(targets.shape)

    def forward(self, x: Array, targets: Array) -> Array:
        """L = mean of -log softmax(x W + b)[target]."""
        t, counts = self._targets(x, targets)
        M = number_that_count(counts, x)
        scored = rows_to_score(counts)
        x_n, t, counts = rows(x)[scored], t[scored], counts[scored]
        W, b = self.W.value, None if self.b is None else self.b.value
        if not keeping():
            loss: Array = xp.sum(affine_nll(x_n, W, b, t) * counts) / M
            return loss
        # s (n, V), for n rows of x
        s = self._workspace("s", (len(t), W.shape[1]), xp.result_type(x.dtype, W.dtype))
        nll, saved = softmax_nll(product(x_n, W, out=s), b, t)
        self.save_for_backward(x_n, s, t, counts, saved, M, scored, x.shape)
        loss = xp.sum(nll * counts) / M
        return loss

    def backward(self, dloss: Any = 1) -> Array:
        """dx = ds W^T, with ds = dloss (p - onehot(t)) / M, zero where the target is ignored."""
        x_n, s, t, counts, saved, M, scored, shape = self.saved()
        # L = sum_n nll_n / M, over the n that count
        dnll = (counts * (dloss / M)).astype(s.dtype)
        # nll_n = log sum_j exp s_nj - s_n,t
        factor = softmax_nll_backward(s, t, saved, dnll)  # (n,): ds = factor * s, row by row
        # s = x W + b: the rows share b and W, whose gradients are sums over them, db = sum_n ds_n
        # and dW = x^T ds; x went forward by W, its gradient comes back by the transpose, ds W^T
        if self.b is not None:
            self.b.accumulate(product(factor[None, :], s)[0])
        self.W.accumulate_product((factor[:, None] * x_n).T, s)
        dx_n = product(s, self.W.value.T)
        dx_n *= factor[:, None]
        if dx_n.size == math.prod(shape):
            return dx_n.reshape(shape)
        dx = xp.zeros(shape, dtype=dx_n.dtype)
        rows(dx)[scored] = dx_n
        return dx

    def _targets(self, x: Array, targets: Array) -> tuple[Array, Array]:
        """Return targets (n,), zero where ignored, and whether each counts (n,)."""
        D, V = self.W.shape
        self._expect("x", x, "... D", "floating-point numbers", D=D)
        return rows_that_count(self, targets, x, V)


def rows_that_count(loss: Any, targets: Array, x: Array, V: int) -> tuple[Array, Array]:
    """Return the targets (n,) of the rows of x, zero where ignored, and which count (n,)."""
    loss._expect("targets", targets, "...", "integers")
    loss._expect_exactly("targets", targets, "...", x.shape[:-1])
    t = targets.reshape(-1)
    counts = t != loss.ignore_id
    t = xp.where(counts, t, 0)
    check_ids(type(loss).__name__, t, V, "targets")
    return t, counts


def number_that_count(counts: Array, x: Array) -> Array:
    """M, the number of targets that count, or 1 where none does."""
    M: Array = xp.maximum(xp.sum(counts), 1)
    return M.astype(x.real.dtype)


class SigmoidWithLoss(Layer):
    r"""Binary cross-entropy of the sigmoid, the mean over all entries.

    .. math::
        L = -\frac{1}{M} \sum_m t_m \log \sigma(s_m) + (1 - t_m) \log (1 - \sigma(s_m))
          = \frac{1}{M} \sum_m \log(1 + e^{s_m}) - t_m s_m

    The second form never takes the logarithm of zero.

    ``forward(scores, targets)`` takes scores of any shape and labels 0 or 1 (or probabilities) of
    the same shape, and gives a 0-d loss in nats, zero if there are none. The gradient is
    ds = (sigmoid(s) - t) / M.

    Raises
    ------
    ValueError
        If the shapes differ, or on the host a target is not from 0 to 1.

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
        self._expect("scores", scores, "...", "floating-point numbers")
        self._expect_exactly("targets", targets, "...", scores.shape)
        if targets.dtype.kind == "c":
            raise TypeError(f"SigmoidWithLoss: targets should be real, got {targets.dtype}")
        t = targets.astype(scores.real.dtype)
        check_range("SigmoidWithLoss", "targets", t, 0, 1)
        self.save_for_backward(scores, t)
        loss: Array = xp.sum(functions.softplus(scores) - t * scores) / max(1, scores.size)
        return loss

    def backward(self, dloss: Any = 1) -> Array:
        """ds = dloss (sigmoid(s) - t) / M."""
        s, t = self.saved()
        ds: Array = (functions.sigmoid(s) - t) * (dloss / max(1, s.size))
        return ds.astype(s.dtype, copy=False)
