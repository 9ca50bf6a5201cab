"""Negative sampling: a word's score against a few words instead of all V."""

from __future__ import annotations

from typing import Any

from deepnlp import functions
from deepnlp.backend import Array, check_ids, xp
from deepnlp.layer import Layer, expect
from deepnlp.layers.losses import IGNORED
from deepnlp.parameter import as_parameter


class EmbeddingDot(Layer):
    r"""Scores of chosen words: inner products of h with the rows of W for some ids.

    .. math:: s_{nbk} = h_{nb} \cdot W_{id_{nk}}

    It is the product h W^T of which only the columns of the K ids are computed.

    Parameters
    ----------
    W : Parameter, View, or array (V, D)
        One row per word.

    Notes
    -----
    ``forward(h, ids)`` takes h (N, B, D) and integers (N, K), and gives s (N, B, K): the B rows of
    a group n share its ids. Without the axis B each row has ids of its own: (N, D) and (N, K) give
    (N, K), and (N, D) and (N,) give (N,). Saved are h, the ids and the rows y = W[ids] (N, K, D).
    For a group s = h y^T is a product of matrices, and so are both gradients: dh = ds y and
    dy = ds^T h. dW stays sparse where nothing else is added to it.

    Raises
    ------
    TypeError
        If the ids are not integers.
    ValueError
        If the shapes do not fit, or an id is outside 0 ... V - 1.

    Examples
    --------
    >>> dot = EmbeddingDot([[1.0, 0.0], [0.0, 2.0], [3.0, 3.0]])
    >>> dot.forward(xp.asarray([[5.0, 7.0]]), xp.asarray([[1, 2]]))
    array([[14., 36.]])
    >>> dot.backward(xp.asarray([[1.0, 0.0]]))
    array([[0., 2.]])
    >>> dot.W.grad
    array([[0., 0.],
           [5., 7.],
           [0., 0.]])
    """

    def __init__(self, W: Any) -> None:
        self.W = as_parameter(W, "W")
        expect(type(self).__name__, "W", self.W.value, "V D")

    def forward(self, h: Array, ids: Array) -> Array:
        """s = h y^T with y = W[ids], group by group."""
        owner, (V, D) = type(self).__name__, self.W.shape
        self._expect("h", h, "...")
        self._expect("h", h, "N D" if h.ndim < 3 else "N B D", D=D)
        self._expect("ids", ids, "...")
        self._expect("ids", ids, "N" if ids.ndim < 2 else "N K", N=h.shape[0])
        if ids.dtype.kind not in "iu":
            raise TypeError(f"{owner}: ids should be integers, got {ids.dtype}")
        check_ids(owner, ids, V)
        N = h.shape[0]
        B, K = h.shape[1] if h.ndim == 3 else 1, ids.shape[1] if ids.ndim == 2 else 1
        h_groups, y = h.reshape(N, B, D), self.W.value[ids].reshape(N, K, D)
        self.save_for_backward(h_groups, ids, y, h.shape)
        return (h_groups @ y.transpose(0, 2, 1)).reshape(*h.shape[:-1], *ids.shape[1:])

    def backward(self, ds: Array) -> Array:
        """dh = ds y, and dW[id] += ds^T h for every id."""
        h, ids, y, shape = self.saved()
        N, B, D = h.shape
        K = y.shape[1]
        letters = f"{'N B' if len(shape) == 3 else 'N'}{' K' if ids.ndim == 2 else ''}"
        self._expect_exactly("ds", ds, letters, (*shape[:-1], *ids.shape[1:]))
        ds = ds.reshape(N, B, K)
        # s = h y^T: dy = ds^T h, dh = ds y
        dy = ds.transpose(0, 2, 1) @ h
        dh = (ds @ y).reshape(shape)
        # y_nk = W[id_nk]: row id_nk collects dy_nk
        self.W.accumulate_rows(ids.reshape(-1), dy.reshape(-1, D))
        return dh


class NegativeSamplingLoss(Layer):
    r"""Binary cross-entropy of a word's score against those of negatives, the mean over pairs.

    .. math::
        L = -\frac{1}{M} \sum_{n} \Bigl( \log \sigma(h_n \cdot W_{t_n})
            + \sum_{k} \log \sigma(-h_n \cdot W_{z_{nk}}) \Bigr)

    h_n and its target t_n are a *pair*, M is the number of pairs, and the z_nk are words drawn from
    a noise distribution, the negatives. A negative that equals the target of a pair does not count
    for it.

    Parameters
    ----------
    W : Parameter, View, or array (V, D)
        Vectors of the words to be predicted.
    negatives : float, optional
        The number m of negatives for which the K that are drawn stand: each has weight m / K. By
        default m = K, as in the equation.

    Notes
    -----
    ``forward(h, targets, negatives)`` takes h (N, D), integers (N,) and (N, K), and gives a 0-d
    loss in nats. Where drawing and looking up K negatives for every pair takes too long, the B rows
    of a group share them: h (N, B, D), targets (N, B), negatives (N, K). A target of -1 does not
    count.

    A row may have several targets, or none: ``forward(h, targets, negatives, pairs)`` takes the
    targets (N, J) of a group, and 0 or 1 in pairs (N, B, J), a_nbj = 1 where row b goes with target
    j. Then

    .. math::
        L = \frac{1}{M} \Bigl( \sum_{nbj} a_{nbj} \, \mathrm{softplus}(-s_{nbj})
            + \sum_{nbk} c_{nbk} \, \mathrm{softplus}(s'_{nbk}) \Bigr), \qquad
        c_{nbk} = \frac{m}{K} \sum_j a_{nbj} [t_{nj} \ne z_{nk}]

    with s of the targets, s' of the negatives and M = sum a: a negative counts once for each pair
    of its row. This is the general form; with one target for each row, a = 1.

    Mikolov et al. 2013, eq. (4).

    Raises
    ------
    TypeError
        If targets or negatives are not integers.
    ValueError
        If the shapes do not fit, an id is outside 0 ... V - 1 (and no -1 among the targets), or m
        is not positive.

    Examples
    --------
    >>> loss = NegativeSamplingLoss(xp.zeros((4, 2)))
    >>> h, t, z = xp.ones((1, 2)), xp.asarray([2]), xp.asarray([[0, 1]])
    >>> round(float(loss.forward(h, t, z)), 4)   # 3 log 2
    2.0794
    >>> loss.backward()
    array([[0., 0.]])
    >>> loss.W.grad
    array([[ 0.5,  0.5],
           [ 0.5,  0.5],
           [-0.5, -0.5],
           [ 0. ,  0. ]])
    """

    def __init__(self, W: Any, negatives: float | None = None) -> None:
        self.W = as_parameter(W, "W")
        if negatives is not None and not negatives > 0:
            raise ValueError(f"{type(self).__name__}: negatives should be above 0, got {negatives}")
        self.negatives = negatives
        self.of_targets, self.of_negatives = EmbeddingDot(self.W), EmbeddingDot(self.W)

    def forward(
        self, h: Array, targets: Array, negatives: Array, pairs: Array | None = None
    ) -> Array:
        """L = mean over pairs of softplus(-s) + sum of softplus(s')."""
        self._check(h, targets, negatives, pairs)
        counts = targets != IGNORED
        t, real = xp.where(counts, targets, 0), h.real.dtype
        share = (self.negatives or negatives.shape[1]) / negatives.shape[1]  # m / K
        # a: whether a pair counts; c: for how many pairs a negative counts, times m / K
        if pairs is None:
            s = self.of_targets.forward(h.reshape(-1, h.shape[-1]), t.reshape(-1)).reshape(t.shape)
            a = counts.astype(real)
            other = t[..., None] != (negatives if h.ndim == 2 else negatives[:, None, :])
            c = share * (a[..., None] * other)
        else:
            s = self.of_targets.forward(h, t)
            a = pairs.astype(real) * counts[:, None, :]
            other = t[:, :, None] != negatives[:, None, :]
            c = share * (a @ other.astype(real))
        s_z = self.of_negatives.forward(h, negatives)
        M = xp.maximum(xp.sum(a), 1)
        self.save_for_backward(s, s_z, a, c, M)
        return (xp.sum(a * functions.softplus(-s)) + xp.sum(c * functions.softplus(s_z))) / M

    def backward(self, dloss: Any = 1) -> Array:
        """dh from targets and negatives: ds = a (sigmoid(s) - 1) / M, ds' = c sigmoid(s') / M."""
        s, s_z, a, c, M = self.saved()
        # L = (sum a softplus(-s) + sum c softplus(s')) / M, and softplus' = sigmoid
        ds = (-dloss / M * a * functions.sigmoid(-s)).astype(s.dtype, copy=False)
        ds_z = (dloss / M * c * functions.sigmoid(s_z)).astype(s.dtype, copy=False)
        # s = h W[t], s' = h W[z]: h collects the gradients of both
        dh = self.of_negatives.backward(ds_z)
        of_targets = ds if ds.ndim == 3 else ds.reshape(-1)
        return dh + self.of_targets.backward(of_targets).reshape(dh.shape)

    def _check(self, h: Array, targets: Array, negatives: Array, pairs: Array | None) -> None:
        """The shapes, and the types of the ids; their range is checked when they are looked up."""
        D = self.W.shape[1]
        self._expect("h", h, "...")
        self._expect("h", h, "N D" if h.ndim < 3 and pairs is None else "N B D", D=D)
        N, *B = h.shape[:-1]
        self._expect("negatives", negatives, "N K", N=N)
        if pairs is None:
            self._expect("targets", targets, "N B" if B else "N", N=N, **({"B": B[0]} if B else {}))
        else:
            self._expect("targets", targets, "N J", N=N)
            self._expect("pairs", pairs, "N B J", N=N, B=B[0], J=targets.shape[1])
        for what, ids in (("targets", targets), ("negatives", negatives)):
            if ids.dtype.kind not in "iu":
                raise TypeError(
                    f"{type(self).__name__}: {what} should be integers, got {ids.dtype}"
                )
