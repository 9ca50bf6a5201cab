"""The augmented loss: close to the words that resemble the target, not only to the target."""

from typing import Any

from deepnlp.backend import Array, check_number, table_rows, xp
from deepnlp.backend.functions import column_sums, log_softmax
from deepnlp.backend.products import affine, product
from deepnlp.layer import Layer
from deepnlp.layers.dense import rows
from deepnlp.layers.losses import IGNORED, number_that_count, rows_that_count


class AugmentedLoss(Layer):
    r"""Distance of a prediction from the words that resemble the target.

    .. math::
        q_n = \mathrm{softmax}(E_{t_n} E^T / \tau), \qquad
        p_n = \mathrm{softmax}((x_n W + b) / \tau), \\
        L = \gamma \tau \, \frac{1}{M} \sum_n \mathrm{KL}(q_n \,\|\, p_n), \qquad
        \mathrm{KL}(q \,\|\, p) = \sum_j q_j (\log q_j - \log p_j)

    The distribution q gives a word the more, the more its vector resembles that of the target
    word t_n. A model is trained with the sum of this term and the cross-entropy
    (:class:`AffineSoftmaxWithLoss` with the same W and b). A high temperature tau makes both
    distributions flat, so that all words have a say.

    Parameters
    ----------
    W : Parameter, View, or array (D, V)
        The output weight.
    b : Parameter or array (V,), or None
    E : Parameter, View, or array (V, K)
        Word vectors. With a tied output W is E, transposed.
    gamma : float
        0 or more.
    temperature : float
        tau, above 0.

    Notes
    -----
    ``forward(x, targets)`` takes (..., D) and integers (...), and gives a 0-d loss in nats. With
    s = x W + b and z = E_t E^T the gradients are ds = w (p - q), dz = w q (log q - log p - KL),
    where w = gamma / M. The vectors E receive theirs from both factors of z. Inan, Khosravi and
    Socher 2017, section 3, with alpha = gamma tau.

    Raises
    ------
    TypeError
        If the targets are not integers.
    ValueError
        If gamma or the temperature is out of its range, shapes do not fit, or a target is outside
        0 ... V - 1 and not -1, which does not count.

    Examples
    --------
    >>> E = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]           # the first two words mean the same
    >>> loss = AugmentedLoss(xp.asarray(E).T, None, E, gamma=1.0, temperature=1.0)
    >>> float(loss.forward(xp.asarray(E[:1]), xp.asarray([1])))   # predicts what resembles it
    0.0
    """

    axes = "... D ->"
    ignore_id = IGNORED

    def __init__(
        self,
        W: Any,
        b: Any,
        E: Any,
        gamma: float,
        temperature: float = 20.0,
    ) -> None:
        self.W = self._weight("W", W, "D V")
        self.D, V = self.W.shape
        self.b = None if b is None else self._weight("b", b, "V", V=V)
        self.E = self._weight("E", E, "V K", V=V)
        check_number("AugmentedLoss: gamma", gamma, low=0)
        check_number("AugmentedLoss: temperature", temperature, above=0)
        self.gamma, self.temperature = gamma, temperature

    def forward(self, x: Array, targets: Array) -> Array:
        """L = gamma tau mean(KL(q || p))."""
        t, counts = rows_that_count(self, targets, x, self.W.shape[1])
        tau, E = self.temperature, self.E.value
        s = affine(rows(x), self.W.value, None if self.b is None else self.b.value)
        u = table_rows(E, t)
        log_p = log_softmax(s / tau)
        log_q = log_softmax(product(u, E.T) / tau)
        q, g = xp.exp(log_q), log_q - log_p
        kl = xp.sum(q * g, axis=1)
        M = number_that_count(counts, x)
        self.save_for_backward(x, t, counts, u, xp.exp(log_p), q, g, kl, M)
        loss: Array = self.gamma * tau * xp.sum(kl * counts) / M
        return loss

    def backward(self, dloss: Any = 1) -> Array:
        """dx, through p; dE, through q; dW and db."""
        x, t, counts, u, p, q, g, kl, M = self.saved()
        # L = gamma tau / M sum_n KL_n; the scores are divided by tau: w = gamma / M
        w = (counts * (dloss * self.gamma / M)).astype(p.dtype)[:, None]
        # KL = sum_j q_j g_j with g = log q - log p
        ds = w * (p - q)
        dz = w * q * (g - kl[:, None])
        # z_n = E_(t_n) E^T
        self.E.accumulate_product(dz.T, u)
        self.E.accumulate_rows(t, product(dz, self.E.value))
        # s = x W + b
        if self.b is not None:
            self.b.accumulate(column_sums(ds))
        self.W.accumulate_product(rows(x).T, ds)
        return product(ds, self.W.value.T).reshape(x.shape)
