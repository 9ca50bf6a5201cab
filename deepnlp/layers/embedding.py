"""How does a word, which is only a number in a list, get a vector that can be learnt?

A word's id is the number of its row in a matrix W (V, D). For ids (...), such as (N, T)::

    y = W[id]                                           (..., D)

which is onehot(id) W, without the product. The answer is ``dW[id] += dy``: the row that was looked
up gets the gradient, once for each time that the word occurs, and all other rows get none. So the
gradient is kept as those few rows and their ids, and an optimizer may leave the rest of W alone.

:class:`Embedding` is the look-up, :class:`EmbeddingDropout` one in which some words are left out
while training. Ids have no gradient.
"""

from typing import Any, Self

from deepnlp.backend import Array, Rng, check_ids, table_rows
from deepnlp.backend.initialisers import uniform
from deepnlp.layer import Layer
from deepnlp.layers.dense import rows
from deepnlp.layers.dropout import Dropout


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

    axes = "-> ... D"

    def __init__(self, W: Any) -> None:
        self.W = self._weight("W", W, "V D")
        for base in self.W.bases:
            base.looked_up = True

    @classmethod
    def init(
        cls,
        V: int,
        D: int,
        rng: Rng = None,
        dtype: Any = "float32",
        bound: float = 0.1,
        **options: Any,
    ) -> Self:
        """Draw fresh weights from U(-bound, bound).

        Parameters
        ----------
        V, D : int
            Number of words, size of their vectors.
        rng : numpy.random.Generator, optional
        dtype : data-type
        bound : float
        **options
            Other arguments of the constructor.
        """
        return cls(uniform((V, D), bound, rng, dtype), **options)

    def forward(self, ids: Array) -> Array:
        """y = W[ids]."""
        self._expect("ids", ids, "...", "integers")
        check_ids("Embedding", ids, self.W.shape[0])
        self.save_for_backward(ids)
        return table_rows(self.W.value, ids)

    def backward(self, dy: Array) -> None:
        """dW[id] += dy, for every id."""
        (ids,) = self.saved()
        # y_k = W[ids_k]: row ids_k collects dy_k, and of a word that occurs again the sum
        self.W.accumulate_rows(ids.reshape(-1), rows(dy))


class EmbeddingDropout(Embedding):
    r"""Embedding with dropout of whole words: while training, some rows of W are read as zero.

    .. math:: y = m_{id} W_{id}, \qquad m_v \in \{0, \tfrac{1}{1 - p}\} \text{ for each word } v

    A word that is left out is left out wherever it occurs in the batch. The mask belongs to the
    look-up: W itself stays whole, as for an output that is tied to it.

    Parameters
    ----------
    W : Parameter, View, or array (V, D)
    p : float
        Probability that a word is left out, 0 <= p < 1.
    rng : numpy.random.Generator, optional
        As in :class:`Dropout`; there is a fresh mask for each forward.

    Notes
    -----
    ``forward`` and ``backward`` are those of :class:`Embedding`, with dW_id += m_id dy. Gal and
    Ghahramani 2016, section 4; Merity, Keskar and Socher 2018, section 4.3.

    Raises
    ------
    ValueError
        If p is outside [0, 1), or W is not a matrix.

    Examples
    --------
    >>> from deepnlp.backend import xp
    >>> import deepnlp
    >>> deepnlp.seed(3)
    >>> embed = EmbeddingDropout(xp.ones((6, 1)), p=0.5)
    >>> embed.forward(xp.asarray([0, 1, 2, 3, 4, 5, 0, 1]))[:, 0]
    array([0., 0., 2., 2., 2., 2., 0., 0.])
    """

    def __init__(self, W: Any, p: float, rng: Rng = None) -> None:
        super().__init__(W)
        self.noise = Dropout(p, rng)

    def forward(self, ids: Array) -> Array:
        """y = m[ids] W[ids]."""
        y = super().forward(ids)
        mask = self.noise.mask((self.W.shape[0], 1), self.W.dtype)
        factor = None if mask is None else table_rows(mask, ids)  # (..., 1)
        self.save_for_backward(ids, factor)
        return y if factor is None else factor * y

    def backward(self, dy: Array) -> None:
        """dW[id] += m[id] dy, for every id."""
        ids, factor = self.saved()
        # y_k = m[ids_k] W[ids_k]: row ids_k collects m[ids_k] dy_k
        dy = dy if factor is None else factor * dy
        self.W.accumulate_rows(ids.reshape(-1), rows(dy))
