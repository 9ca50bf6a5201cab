"""Negative sampling: a word's score against a few words instead of all V."""

from typing import Any

from deepnlp.backend import Array, check_ids, check_number, functions, table_rows, xp
from deepnlp.layer import Layer
from deepnlp.layers.dense import rows
from deepnlp.layers.losses import IGNORED


def dots(h: Array, y: Array) -> Array:
    """Inner products of the rows of each group: s (N, B, K) from h (N, B, D) and y (N, K, D)."""
    return h @ y.transpose(0, 2, 1)


def dots_backward(ds: Array, h: Array, y: Array, dy: Array) -> Array:
    """Go back through :func:`dots`: dh (N, B, D); dy (N, K, D) is written."""
    # s = h y^T: dy = ds^T h, dh = ds y; of one row or one id these are outer products
    ds_T, (_, B, K) = ds.transpose(0, 2, 1), ds.shape
    (xp.multiply if B == 1 else xp.matmul)(ds_T, h, out=dy)
    return ds * y if K == 1 else ds @ y


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
        self.W = self._weight("W", W, "V D")

    def forward(self, h: Array, ids: Array) -> Array:
        """s = h y^T with y = W[ids], group by group."""
        V, D = self.W.shape
        self._expect("h", h, "N B D" if getattr(h, "ndim", 2) > 2 else "N D", D=D)
        letters = "N K" if getattr(ids, "ndim", 1) > 1 else "N"
        self._expect("ids", ids, letters, "integers", N=h.shape[0])
        check_ids(type(self).__name__, ids, V)
        N = h.shape[0]
        B, K = h.shape[1] if h.ndim == 3 else 1, ids.shape[1] if ids.ndim == 2 else 1
        h_groups, y = h.reshape(N, B, D), table_rows(self.W.value, ids).reshape(N, K, D)
        self.save_for_backward(h_groups, ids, y, h.shape)
        return dots(h_groups, y).reshape(*h.shape[:-1], *ids.shape[1:])

    def backward(self, ds: Array) -> Array:
        """dh = ds y, and dW[id] += ds^T h for every id."""
        h, ids, y, shape = self.saved()
        self._expect_exactly("ds", ds, "...", (*shape[:-1], *ids.shape[1:]))
        dy = xp.empty_like(y)
        dh = dots_backward(ds.reshape(*h.shape[:2], y.shape[1]), h, y, dy)
        # y_nk = W[id_nk]: row id_nk collects dy_nk
        self.W.accumulate_rows(ids.reshape(-1), rows(dy))
        return dh.reshape(shape)


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
        self.W = self._weight("W", W, "V D")
        if negatives is not None:
            check_number(f"{type(self).__name__}: negatives", negatives, above=0)
        self.negatives = negatives

    def forward(
        self, h: Array, targets: Array, negatives: Array, pairs: Array | None = None
    ) -> Array:
        """L = mean over pairs of softplus(-s) + sum of softplus(s')."""
        self._check(h, targets, negatives, pairs)
        a, c = self._weights(targets, negatives, pairs, h.real.dtype)
        t, D = xp.where(targets != IGNORED, targets, 0), h.shape[-1]
        for what, ids in (("targets", t), ("negatives", negatives)):
            check_ids(type(self).__name__, ids, self.W.shape[0], what)
        h_z = h if h.ndim == 3 else h[:, None]
        # the targets are those of a group; without pairs each row is a group, with one target
        h_t = h_z
        if pairs is None:
            h_t, t, a = h.reshape(t.size, 1, D), t.reshape(-1, 1), a.reshape(-1, 1, 1)
        y = table_rows(self.W.value, t)
        z = table_rows(self.W.value, negatives)
        s, s_z = dots(h_t, y), dots(h_z, z)
        M = xp.maximum(xp.sum(a), 1)
        self.save_for_backward((h_t, y, s, a, t), (h_z, z, s_z, c, negatives), M, h.shape)
        L: Array = (xp.sum(a * functions.softplus(-s)) + xp.sum(c * functions.softplus(s_z))) / M
        return L

    def backward(self, dloss: Any = 1) -> Array:
        """dh from targets and negatives: ds = a (sigmoid(s) - 1) / M, ds' = c sigmoid(s') / M."""
        (h_t, y, s, a, t), (h, z, s_z, c, negatives), M, shape = self.saved()
        # L = (sum a softplus(-s) + sum c softplus(s')) / M, and softplus' = sigmoid
        ds = (-dloss / M * a * functions.sigmoid(-s)).astype(s.dtype, copy=False)
        ds_z = (dloss / M * c * functions.sigmoid(s_z)).astype(s.dtype, copy=False)
        # s = h y^T, s' = h z^T: h collects the gradients of both
        dy_dz = xp.empty((t.size + negatives.size, shape[-1]), dtype=s.dtype)
        dh = dots_backward(ds_z, h, z, dy_dz[t.size :].reshape(z.shape)).reshape(shape)
        dh += dots_backward(ds, h_t, y, dy_dz[: t.size].reshape(y.shape)).reshape(shape)
        # y = W[t], z = W[negatives]: a word's row collects the gradients of both
        ids = xp.concatenate([t.reshape(-1), negatives.reshape(-1)])
        self.W.accumulate_rows(ids, dy_dz)
        return dh

    def _weights(
        self, targets: Array, negatives: Array, pairs: Array | None, dtype: Any
    ) -> tuple[Array, Array]:
        """Return weights a of targets (N, B), or pairs (N, B, J), and c of negatives (N, B, K)."""
        share = (self.negatives or negatives.shape[1]) / negatives.shape[1]  # m / K
        counts = (targets != IGNORED).astype(dtype)
        targets = targets if targets.ndim == 2 else targets[:, None]
        other = targets[:, :, None] != negatives[:, None, :]
        if pairs is None:
            return counts, share * (counts.reshape(targets.shape)[:, :, None] * other)
        a = pairs.astype(dtype) * counts[:, None, :]
        return a, share * (a @ other.astype(dtype))

    def _check(self, h: Array, targets: Array, negatives: Array, pairs: Array | None) -> None:
        """Check shapes and types of the ids; their range is checked when they are looked up."""
        D = self.W.shape[1]
        letters = "N D" if pairs is None and getattr(h, "ndim", 2) < 3 else "N B D"
        self._expect("h", h, letters, "floating-point numbers", D=D)
        N, *B = h.shape[:-1]
        self._expect("negatives", negatives, "N K", "integers", N=N)
        if not negatives.shape[1]:
            raise ValueError(f"{type(self).__name__}: K should be 1 or more, got no negatives")
        letters = "N J" if pairs is not None else "N B" if B else "N"
        self._expect("targets", targets, letters, "integers", N=N, **dict(zip("B", B)))
        if pairs is not None:
            self._expect("pairs", pairs, "N B J", N=N, B=B[0], J=targets.shape[1])
