r"""How does attention learn where to look, when nothing says where the right place is?

At each step t a query q_t (N, T, Hq) reads a memory m (N, S, H), such as the states of an encoder.
It gets an average of the memory, in which a place s has the more weight the better it fits::

    e_ts = score(q_t, m_s)                              scores (N, T, S)
    a_t = softmax(e_t)                                  weights (N, T, S), zero in the padding
    c_t = sum_s a_ts m_s                                contexts (N, T, H)

The answer is the gradient of a score. The context hands da_ts = dc_t . m_s to a weight, and the
softmax makes ``de_ts = a_ts (da_ts - sum_s' a_ts' da_ts')`` of it: a place whose content would
lower the loss more than the average that was read gets a higher score, the others a lower one.

The file goes from what all kinds share, :class:`Attention`, to the score: :class:`DotAttention` by
an inner product, :class:`GeneralAttention` by one with a matrix between. The scores by a small
network are in ``additive_attention.py``, and the softmax in ``backend/functions.py``.
"""

from collections.abc import Callable
from typing import Any, Self

from deepnlp.backend import Array, Rng, check_number, xp
from deepnlp.backend.functions import masked_softmax, softmax_grad
from deepnlp.backend.initialisers import fan_in_bound, uniform
from deepnlp.backend.products import batched_product
from deepnlp.layer import Layer
from deepnlp.layers.dense import MatMul
from deepnlp.layers.lengths import past_end
from deepnlp.parameter import Parameter, as_parameter


class Attention(Layer):
    r"""The base of all kinds of attention: everything but the score of a query and a place.

    .. math::
        e_{ts} &= \mathrm{score}(q_t, m_s) \\
        a_{ts} &= \frac{\exp e_{ts}}{\sum_{s'} \exp e_{ts'}} \\
        c_t &= \sum_s a_{ts} m_s

    A subclass writes the score and its backward. What the score needs of the memory alone, its
    *keys*, is computed once, however many steps then ask for it: ``forward`` is ``project``
    followed by ``attend``, and a decoder with a loop calls ``attend`` at each step.

    Attributes
    ----------
    weights : array (N, T, S) or None
        a of the last forward: zero in the padding, and each row sums to one.
    """

    weights: Array | None = None
    key: MatMul | None = None  # makes keys of a memory; where there is none, it is its own keys

    def forward(self, query: Array, memory: Array, lengths: Any = None) -> Array:
        """Return the context c of every query.

        Parameters
        ----------
        query : array (N, T, Hq)
        memory : array (N, S, H)
        lengths : sequence of int (N,), optional
            Places of each memory that count; S by default. The others have no influence. Where none
            counts, the context is zero.

        Returns
        -------
        array (N, T, H)
        """
        memory, padding = self.without_padding(memory, lengths)
        return self.attend(query, self.project(memory), memory, padding)

    def backward(self, dcontext: Array) -> tuple[Array, Array]:
        """dquery (N, T, Hq) and dmemory (N, S, H)."""
        dquery, dkeys, dmemory = self.attend_backward(dcontext)
        # the memory is averaged, and it is what the keys are computed from
        return dquery, dmemory + self.project_backward(dkeys)

    def without_padding(self, memory: Array, lengths: Any) -> tuple[Array, Array | None]:
        """Return the memory with zeros for its padding, and its places (N, 1, S) or None."""
        self._expect("memory", memory, "N S H")
        if lengths is None:
            return memory, None
        padding = past_end(type(self).__name__, lengths, *memory.shape[:2])
        return xp.where(padding[..., None], 0, memory), padding[:, None]

    def attend(self, query: Array, keys: Array, memory: Array, padding: Array | None) -> Array:
        """Compute the context (N, T, H) from queries (N, T, Hq), keys and the memory."""
        self._expect("query", query, "N T Hq", N=memory.shape[0])
        scores, saved = self._scores(query, keys)  # (N, T, S)
        weights = masked_softmax(scores, padding)
        context = batched_product(weights, memory)
        self.save_for_backward(memory, weights, saved, context.shape)
        self.weights = weights
        return context

    def attend_backward(self, dcontext: Array) -> tuple[Array, Array, Array]:
        """dquery, dkeys and dmemory, the last without what comes by way of the keys."""
        memory, weights, saved, shape = self.saved()
        self._expect_exactly("dcontext", dcontext, "N T H", shape)
        # context_t = sum_s weights_ts memory_s: the gradient of a factor is dcontext_t times the
        # other factor, summed over what that factor was used for
        dweights = batched_product(dcontext, memory.swapaxes(1, 2))
        dmemory = batched_product(weights.swapaxes(1, 2), dcontext)
        # weights_t = softmax(scores_t): a score gains where its weight does better than the average
        dscores = softmax_grad(dweights, weights)
        # scores_ts = score(query_t, keys_s): by the kind of attention
        dquery, dkeys = self._scores_backward(dscores, saved)
        return dquery, dkeys, dmemory

    # --- The score, by kind ---------------------------------------------------------------------

    def project(self, memory: Array) -> Array:
        """Return the keys (N, S, ...) of a memory (N, S, H)."""
        if self.key is None:
            return memory
        self._expect("memory", memory, "N S H", H=self.key.D)
        return self.key.forward(memory)

    def project_backward(self, dkeys: Array) -> Array:
        """Return the gradient of the memory by way of the keys; that of the keys' W accumulates."""
        return dkeys if self.key is None else self.key.backward(dkeys)

    # (query, keys) -> scores (N, T, S), and what the score's backward needs
    _scores: Callable[[Array, Array], tuple[Array, Any]]
    # (dscores, what it needs) -> dquery, dkeys
    _scores_backward: Callable[[Array, Any], tuple[Array, Array]]


class DotAttention(Attention):
    r"""Attention by the inner product of a query and a place of the memory.

    .. math::
        e_{ts} = \alpha\, q_t \cdot m_s, \qquad a_t = \mathrm{softmax}(e_t), \qquad
        c_t = \sum_s a_{ts} m_s

    It has no weights, and needs a query and a memory of one size.

    Parameters
    ----------
    scale : float
        The factor alpha of every score. With 1 / sqrt(H) the scores of independent numbers have the
        variance of their product, whatever H is (Vaswani et al. 2017, section 3.2.1).

    Attributes
    ----------
    weights : array (N, T, S) or None
        a of the last forward.

    Notes
    -----
    ``forward(query, memory, lengths=None)`` takes (N, T, H) and (N, S, H) and gives the contexts
    (N, T, H). ``backward(dcontext)`` gives ``(dquery, dmemory)``. With da_ts = dc_t . m_s and
    de_ts = a_ts (da_ts - sum_s' da_ts' a_ts'): dq_t = alpha sum_s de_ts m_s and
    dm_s = sum_t a_ts dc_t + alpha sum_t de_ts q_t. Luong, Pham and Manning 2015, eq. 7 with the
    score "dot" of section 3.1.

    Raises
    ------
    ValueError
        If shapes do not fit, or a length is not from 0 to S.

    Examples
    --------
    >>> attention = DotAttention()
    >>> memory = xp.asarray([[[9.0, 0.0], [0.0, 9.0], [5.0, 5.0]]])
    >>> attention.forward(xp.asarray([[[1.0, 0.0]]]), memory, lengths=[2]).round(2)
    array([[[9., 0.]]])
    >>> attention.weights.round(2)
    array([[[1., 0., 0.]]])
    """

    def __init__(self, scale: float = 1.0) -> None:
        check_number(f"{type(self).__name__}: scale", scale, above=0)
        self.scale = scale

    def _scores(self, query: Array, keys: Array) -> tuple[Array, Any]:
        """e_ts = alpha q_t . k_s."""
        self._expect("query", query, "N T H", H=keys.shape[2])
        query = self.scale * query
        return batched_product(query, keys.swapaxes(1, 2)), (query, keys)

    def _scores_backward(self, dscores: Array, saved: Any) -> tuple[Array, Array]:
        query, keys = saved
        # e_ts = (alpha q_t) . k_s: a query gets the keys of all places, a key all scaled queries
        dquery = self.scale * batched_product(dscores, keys)
        dkeys = batched_product(dscores.swapaxes(1, 2), query)
        return dquery, dkeys


class GeneralAttention(DotAttention):
    r"""Attention by the inner product of a query and a linear map of the memory.

    .. math::
        e_{ts} = \alpha\, q_t W m_s^T, \qquad a_t = \mathrm{softmax}(e_t), \qquad
        c_t = \sum_s a_{ts} m_s

    It is :class:`DotAttention` with the keys m W^T in place of the memory.

    Parameters
    ----------
    W : Parameter, View, or array (Hq, H)
    scale : float
        The factor alpha of every score.

    Attributes
    ----------
    weights : array (N, T, S) or None
        a of the last forward.

    Notes
    -----
    ``forward(query, memory, lengths=None)`` takes (N, T, Hq) and (N, S, H) and gives the contexts
    (N, T, H). ``backward(dcontext)`` gives ``(dquery, dmemory)``. Luong, Pham and Manning 2015,
    section 3.1, score "general".

    Raises
    ------
    ValueError
        If shapes do not fit, or a length is not from 0 to S.

    Examples
    --------
    >>> attention = GeneralAttention.init(4, 6)
    >>> query, memory = xp.ones((2, 3, 4), "float32"), xp.ones((2, 5, 6), "float32")
    >>> attention.forward(query, memory, lengths=[5, 1]).shape
    (2, 3, 6)
    """

    def __init__(self, W: Any, scale: float = 1.0) -> None:
        super().__init__(scale)
        self.key = MatMul(as_parameter(W, "W").T)  # the keys are m W^T (N, S, Hq)

    @classmethod
    def init(
        cls, Hq: int, H: int, rng: Rng = None, dtype: Any = "float32", scale: float = 1.0
    ) -> Self:
        """Draw fresh weights from U(-1/sqrt(H), 1/sqrt(H)).

        Parameters
        ----------
        Hq, H : int
            Sizes of query and memory.
        rng : numpy.random.Generator, optional
        dtype : data-type
        scale : float
            The factor of every score.
        """
        return cls(Parameter(uniform((Hq, H), fan_in_bound(H), rng, dtype), "W"), scale)
