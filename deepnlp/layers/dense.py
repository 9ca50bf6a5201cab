"""Matrix products: Affine, MatMul without a bias, and Affine at every step of time."""

import math
from typing import Any, Self

from deepnlp.backend import Array, Rng
from deepnlp.backend.functions import column_sums
from deepnlp.backend.initialisers import fan_in_bound, uniform
from deepnlp.backend.products import affine, product
from deepnlp.layer import Layer
from deepnlp.parameter import Parameter


def rows(x: Array) -> Array:
    """Return an array (..., D) as the matrix (n, D) of its rows; a view where the memory allows.

    >>> from deepnlp.backend import xp
    >>> rows(xp.zeros((2, 3, 4))).shape
    (6, 4)
    """
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


class Affine(Layer):
    r"""Affine map of the last axis.

    .. math:: y = x W + b

    Parameters
    ----------
    W : Parameter, View, or array (D, M)
        ``Affine(embed.W.T)`` ties the weight to an embedding's.
    b : Parameter or array (M,), optional
        No bias by default.

    Notes
    -----
    ``forward(x)`` takes (..., D), gives (..., M) and saves x. Over the n rows,
    y_nm = sum_d x_nd W_dm + b_m gives dx = dy W^T, dW = x^T dy and db = sum_n dy_n.

    Raises
    ------
    ValueError
        If W is no matrix, b does not fit it, or the last axis of x is not D.

    Examples
    --------
    >>> from deepnlp.backend import xp
    >>> layer = Affine([[1.0], [2.0]], [0.5])
    >>> layer.forward(xp.asarray([[1.0, 1.0]]))
    array([[3.5]])
    >>> layer.backward(xp.asarray([[1.0]]))
    array([[1., 2.]])
    """

    axes = "... D -> ... M"

    def __init__(self, W: Any, b: Any = None) -> None:
        self.W = self._weight("W", W, "D M")
        self.D, self.M = self.W.shape
        self.b = None if b is None else self._weight("b", b, "M", M=self.M)

    @classmethod
    def init(
        cls, D: int, M: int, rng: Rng = None, dtype: Any = "float32", bias: bool = True
    ) -> Self:
        """Draw fresh weights: W from U(-1/sqrt(D), 1/sqrt(D)), b zero.

        Parameters
        ----------
        D, M : int
            Sizes of input and output.
        rng : numpy.random.Generator, optional
        dtype : data-type
        bias : bool
            Whether there is a b.
        """
        W = uniform((D, M), fan_in_bound(D), rng, dtype)
        return cls(W, Parameter.zeros(M, dtype=dtype, name="b") if bias else None)

    def forward(self, x: Array) -> Array:
        """y = x W + b."""
        self.save_for_backward(x)
        y = affine(rows(x), self.W.value, None if self.b is None else self.b.value)
        return y.reshape(*x.shape[:-1], self.M)

    def backward(self, dy: Array) -> Array:
        """dx = dy W^T; dW = x^T dy; db = the sum of dy over its rows."""
        (x,) = self.saved()
        dy_rows = rows(dy)
        # y = x W + b
        if self.b is not None:
            self.b.accumulate(column_sums(dy_rows))
        self.W.accumulate_product(rows(x).T, dy_rows)
        return product(dy_rows, self.W.value.T).reshape(x.shape)


class MatMul(Affine):
    r"""Matrix product: an affine map without a bias.

    .. math:: y = x W

    Parameters
    ----------
    W : Parameter, View, or array (D, M)

    Notes
    -----
    ``forward(x)`` takes (..., D), gives (..., M) and saves x. With x as the matrix of its n rows,
    y_nm = sum_d x_nd W_dm gives dx = dy W^T and dW = x^T dy.

    Raises
    ------
    ValueError
        If W is no matrix or the last axis of x is not D.

    Examples
    --------
    >>> from deepnlp.backend import xp
    >>> MatMul([[1.0], [2.0]]).forward(xp.ones((3, 2))).shape
    (3, 1)
    """

    def __init__(self, W: Any) -> None:
        super().__init__(W)

    @classmethod
    def init(  # type: ignore[override]
        cls, D: int, M: int, rng: Rng = None, dtype: Any = "float32"
    ) -> Self:
        """Draw fresh weights from U(-1/sqrt(D), 1/sqrt(D)).

        Parameters
        ----------
        D, M : int
            Sizes of input and output.
        rng : numpy.random.Generator, optional
        dtype : data-type
        """
        return cls(uniform((D, M), fan_in_bound(D), rng, dtype))


class TimeAffine(Affine):
    r"""The same affine map at every step of time, as one matrix product of N T rows.

    .. math:: y_t = x_t W + b

    Parameters
    ----------
    W : Parameter, View, or array (D, M)
        ``TimeAffine(embed.W.T, b)`` is the tied output of a language model.
    b : Parameter or array (M,), optional
        No bias by default.

    Notes
    -----
    ``forward(x)`` takes (N, T, D), gives (N, T, M) and saves x. The gradients of W and b are sums
    over both N and T.

    Raises
    ------
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> from deepnlp.backend import xp
    >>> TimeAffine([[1.0], [2.0]]).forward(xp.ones((3, 4, 2))).shape
    (3, 4, 1)
    """

    axes = "N T D -> N T M"
