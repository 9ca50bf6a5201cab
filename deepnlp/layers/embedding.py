"""Embedding: a row of a matrix for every id."""

from __future__ import annotations

from typing import Any

from deepnlp.backend import Array, Generator, check_ids, xp
from deepnlp.initialisers import uniform
from deepnlp.layer import Layer, expect
from deepnlp.parameter import as_parameter


class Embedding(Layer):
    r"""Row of W for every id: the product of a one-hot vector and W, without the product.

    .. math:: y = W_{id}

    Parameters
    ----------
    W : Parameter, View, or array (V, D)
        One row per word.

    Notes
    -----
    ``forward(ids)`` takes integers of any shape (...), gives (..., D) and saves the ids.
    ``backward`` adds each row of dy to the row of dW that was looked up, repeated ids included; dW
    stays sparse where nothing else is added to it. It returns None, since ids have no gradient.
    Mikolov et al. 2010; eq. (1) of Gulordava, Aina and Boleda 2018.

    Raises
    ------
    TypeError
        If the ids are not integers.
    ValueError
        If W is not a matrix, or an id is outside 0 ... V - 1.

    Examples
    --------
    >>> from deepnlp.backend import xp
    >>> embed = Embedding([[0.0, 1.0], [2.0, 3.0]])
    >>> embed.forward(xp.asarray([1, 1]))
    array([[2., 3.],
           [2., 3.]])
    >>> embed.backward(xp.ones((2, 2)))
    >>> embed.W.grad
    array([[0., 0.],
           [2., 2.]])
    """

    def __init__(self, W: Any) -> None:
        self.W = as_parameter(W, "W")
        expect(type(self).__name__, "W", self.W.value, "V D")

    @classmethod
    def init(
        cls,
        V: int,
        D: int,
        rng: Generator | None = None,
        dtype: Any = "float32",
        bound: float = 0.1,
    ) -> Embedding:
        """Fresh weights from U(-bound, bound).

        Parameters
        ----------
        V, D : int
            Number of words, size of their vectors.
        rng : numpy.random.Generator, optional
        dtype : data-type
        bound : float

        Returns
        -------
        Embedding
        """
        return cls(uniform((V, D), bound, rng, dtype))

    def forward(self, ids: Array) -> Array:
        """y = W[ids]."""
        self._expect("ids", ids, "...")
        if ids.dtype.kind not in "iu":
            raise TypeError(f"Embedding: ids should be integers, got {ids.dtype}")
        check_ids("Embedding", ids, self.W.shape[0])
        self.save_for_backward(ids)
        return xp.take(self.W.value, ids, axis=0)

    def backward(self, dy: Array) -> None:
        """dW[id] += dy, for every id."""
        (ids,) = self.saved()
        D = self.W.shape[1]
        self._expect_exactly("dy", dy, "... D", (*ids.shape, D))
        # y_k = W[ids_k]: row ids_k collects dy_k
        self.W.accumulate_rows(ids.reshape(-1), dy.reshape(-1, D))
