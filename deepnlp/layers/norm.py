"""Normalisation over the last axis."""

from __future__ import annotations

from typing import Any

from deepnlp.backend import Array, check_number, xp
from deepnlp.backend.functions import column_sums
from deepnlp.layer import Layer
from deepnlp.layers.dense import rows
from deepnlp.parameter import Parameter


class RMSNorm(Layer):
    r"""Every vector divided by the root of its mean square, and scaled by a gain.

    .. math::
        n = \frac{x}{\sqrt{\frac{1}{D} \sum_j x_j^2 + \epsilon}}, \qquad y = g \odot n

    Parameters
    ----------
    g : Parameter or array (D,)
        Gain of each entry.
    eps : float
        Larger than 0, so that a vector of zeros stays one.

    Notes
    -----
    ``forward(x)`` takes (..., D), gives (..., D) and saves n and the factor r = n / x, one for each
    vector. Each entry of x moves its own n and, through r, all others:
    dx = r (dn - n mean(dn * n)), with dn = g dy. Zhang and Sennrich 2019, eq. 4.

    Raises
    ------
    ValueError
        If g is no vector, eps is not larger than 0, or the last axis of x is not D.

    Examples
    --------
    >>> norm = RMSNorm([1.0, 1.0])
    >>> norm.forward(xp.asarray([[3.0, 4.0]])).round(3)
    array([[0.849, 1.131]])
    """

    axes = "... D"

    def __init__(self, g: Any, eps: float = 1e-6) -> None:
        self.g = self._weight("g", g, "D")
        check_number(f"{type(self).__name__}: eps", eps, above=0)
        (self.D,) = self.g.shape
        self.eps = eps

    @classmethod
    def init(cls, D: int, dtype: Any = "float32") -> RMSNorm:
        """A gain of one for each of D entries."""
        return cls(Parameter(xp.ones(D, dtype=dtype), "g"))

    def forward(self, x: Array) -> Array:
        """y = g n, with n = x r and r = 1 / sqrt(mean(x^2) + eps)."""
        r = 1 / xp.sqrt((x * x).mean(axis=-1, keepdims=True) + self.eps)  # (..., 1)
        n = x * r
        self.save_for_backward(n, r)
        return self.g.value * n

    def backward(self, dy: Array) -> Array:
        """dx = r (dn - n mean(dn * n)), with dn = g dy; dg = the sum of dy * n over the vectors."""
        n, r = self.saved()
        # y = g n
        self.g.accumulate(column_sums(rows(dy * n)))
        dn = self.g.value * dy
        # n = x r, and r = (mean(x^2) + eps)^(-1/2) gives dr/dx = -r^2 n / D
        return r * (dn - n * (dn * n).mean(axis=-1, keepdims=True))
