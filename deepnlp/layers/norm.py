"""Normalisation over the last axis."""

from __future__ import annotations

from typing import Any

from deepnlp.backend import Array, check_number, xp
from deepnlp.backend.functions import column_sums
from deepnlp.kernels import back_of, kernel
from deepnlp.layer import Layer
from deepnlp.layers.dense import rows
from deepnlp.parameter import Parameter


@kernel
def layer_norm(x: Array, g: Array, b: Array | None, eps: float) -> tuple[Array, Any]:
    """y = g n + b, with n = (x - mean(x)) r and r = 1 / sqrt(var(x) + eps); and n and r."""
    centred = x - x.mean(axis=-1, keepdims=True)
    r = 1 / xp.sqrt((centred * centred).mean(axis=-1, keepdims=True) + eps)  # (..., 1)
    n = centred * r
    return (g * n if b is None else g * n + b), (n, r)


@back_of(layer_norm)
def layer_norm_backward(dy: Array, g: Array, saved: Any) -> tuple[Array, Array]:
    """dx = r (dn - mean(dn) - n mean(dn n)), with dn = g dy; and dg, the sum of dy n."""
    n, r = saved
    # y = g n + b
    dg = column_sums(rows(dy * n))
    dn = g * dy
    # n = (x - mean(x)) r: x moves its own n, by way of the mean all n alike, and by way of r,
    # with dr/dx = -r^2 n / D, all n in proportion to themselves
    mean, slope = (a.mean(axis=-1, keepdims=True) for a in (dn, dn * n))
    return r * (dn - mean - n * slope), dg


class LayerNorm(Layer):
    r"""Every vector with its mean subtracted, divided by its standard deviation, and scaled.

    .. math::
        \mu = \frac{1}{D} \sum_j x_j, \qquad
        n = \frac{x - \mu}{\sqrt{\frac{1}{D} \sum_j (x_j - \mu)^2 + \epsilon}}, \qquad
        y = g \odot n + b

    Parameters
    ----------
    g : Parameter or array (D,)
        Gain of each entry.
    b : Parameter or array (D,), optional
        No bias by default.
    eps : float
        Larger than 0, so that equal entries become zeros.

    Notes
    -----
    ``forward(x)`` takes (..., D), gives (..., D) and saves n and the factor r = n / (x - mu), one
    for each vector. An entry of x moves its own n and, through mu and r, all others:
    dx = r (dn - mean(dn) - n mean(dn * n)), with dn = g dy. Ba, Kiros and Hinton 2016, eq. 4.

    Raises
    ------
    ValueError
        If g is no vector, b does not fit it, eps is not larger than 0, or the last axis of x is
        not D.

    Examples
    --------
    >>> norm = LayerNorm([1.0, 1.0, 1.0])
    >>> norm.forward(xp.asarray([[1.0, 2.0, 3.0]])).round(3)
    array([[-1.225,  0.   ,  1.225]])
    """

    axes = "... D"

    def __init__(self, g: Any, b: Any = None, eps: float = 1e-5) -> None:
        self.g = self._weight("g", g, "D")
        (self.D,) = self.g.shape
        self.b = None if b is None else self._weight("b", b, "D", D=self.D)
        check_number(f"{type(self).__name__}: eps", eps, above=0)
        self.eps = eps

    @classmethod
    def init(cls, D: int, bias: bool = True, dtype: Any = "float32") -> LayerNorm:
        """Return a gain of one, and a bias of zero, for each of D entries."""
        check_number(f"{cls.__name__}: D", D, whole=True, low=1)
        b = Parameter.zeros(D, dtype=dtype, name="b") if bias else None
        return cls(Parameter(xp.ones(D, dtype=dtype), "g"), b)

    def forward(self, x: Array) -> Array:
        """y = g n + b, with n = (x - mean(x)) r and r = 1 / sqrt(var(x) + eps)."""
        b = None if self.b is None else self.b.value
        y, saved = layer_norm(x, self.g.value, b, self.eps)
        self.save_for_backward(saved)
        return y

    def backward(self, dy: Array) -> Array:
        """dx = r (dn - mean(dn) - n mean(dn * n)), dn = g dy; dg = sum of dy n, db = sum of dy."""
        (saved,) = self.saved()
        dx, dg = layer_norm_backward(dy, self.g.value, saved)
        self.g.accumulate(dg)
        if self.b is not None:
            self.b.accumulate(column_sums(rows(dy)))
        return dx


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
        """Return a gain of one for each of D entries."""
        check_number(f"{cls.__name__}: D", D, whole=True, low=1)
        return cls(Parameter(xp.ones(D, dtype=dtype), "g"))

    def forward(self, x: Array) -> Array:
        """y = g n, with n = x r and r = 1 / sqrt(mean(x^2) + eps)."""
        r = 1 / xp.sqrt((x * x).mean(axis=-1, keepdims=True) + self.eps)  # (..., 1)
        n = x * r
        self.save_for_backward(n, r)
        y: Array = self.g.value * n
        return y

    def backward(self, dy: Array) -> Array:
        """dx = r (dn - n mean(dn * n)), with dn = g dy; dg = the sum of dy * n over the vectors."""
        n, r = self.saved()
        # y = g n
        self.g.accumulate(column_sums(rows(dy * n)))
        dn = self.g.value * dy
        # n = x r, and r = (mean(x^2) + eps)^(-1/2) gives dr/dx = -r^2 n / D
        dx: Array = r * (dn - n * (dn * n).mean(axis=-1, keepdims=True))
        return dx
