"""Attention with a small network for its score: additive, and concat, which is the same."""

from typing import Any, Self

from deepnlp.backend import Array, Rng, check_shape, xp
from deepnlp.backend.functions import tanh_grad
from deepnlp.backend.initialisers import fan_in_bound, uniform
from deepnlp.backend.products import product
from deepnlp.layers.attention import Attention
from deepnlp.layers.dense import MatMul, rows
from deepnlp.parameter import Parameter
from deepnlp.views import Rows


class AdditiveAttention(Attention):
    r"""Attention by a layer of A units that sees a query and a place of the memory.

    .. math::
        e_{ts} = v \cdot \tanh(q_t W_q + m_s W_m), \qquad a_t = \mathrm{softmax}(e_t), \qquad
        c_t = \sum_s a_{ts} m_s

    Parameters
    ----------
    Wq : Parameter, View, or array (Hq, A)
    Wm : Parameter, View, or array (H, A)
    v : Parameter or array (A,)

    Attributes
    ----------
    weights : array (N, T, S) or None
        a of the last forward.

    Notes
    -----
    ``forward(query, memory, lengths=None)`` takes (N, T, Hq) and (N, S, H) and gives the contexts
    (N, T, H). ``backward(dcontext)`` gives ``(dquery, dmemory)``. All pairs of a step and a place
    need N T S A numbers, while the inner product of :class:`DotAttention` needs N T S. Bahdanau,
    Cho and Bengio 2015, eq. 5 and 6 and appendix A.1.2; there the query is the state of the decoder
    before the step.

    Raises
    ------
    ValueError
        If shapes do not fit, or a length is not from 0 to S.

    Examples
    --------
    >>> attention = AdditiveAttention.init(4, 6, 5)
    >>> query, memory = xp.ones((2, 3, 4), "float32"), xp.ones((2, 5, 6), "float32")
    >>> attention.forward(query, memory, lengths=[5, 1]).shape
    (2, 3, 6)
    """

    def __init__(self, Wq: Any, Wm: Any, v: Any) -> None:
        self.query = MatMul(Wq)
        self.key = MatMul(self._weight("Wm", Wm, "H A", A=self.query.M))
        self.v = self._weight("v", v, "A", A=self.query.M)

    @classmethod
    def init(cls, Hq: int, H: int, A: int, rng: Rng = None, dtype: Any = "float32") -> Self:
        """Draw fresh weights: Wq, Wm and v from U(-1/sqrt(n), 1/sqrt(n)), with n inputs each.

        Parameters
        ----------
        Hq, H, A : int
            Sizes of query, memory and the layer between.
        rng : numpy.random.Generator, optional
        dtype : data-type
        """
        shapes = (Hq, A), (H, A), (A,)
        return cls(*(uniform(shape, fan_in_bound(shape[0]), rng, dtype) for shape in shapes))

    def _scores(self, query: Array, keys: Array) -> tuple[Array, Any]:
        """e_ts = v . u_ts, with u_ts = tanh(q_t Wq + k_s) and the keys k_s = m_s Wm (N, S, A)."""
        self._expect("query", query, "N T Hq", Hq=self.query.D)
        u = xp.tanh(self.query.forward(query)[:, :, None] + keys[:, None])  # (N, T, S, A)
        return product(rows(u), self.v.value[:, None]).reshape(u.shape[:3]), u

    def _scores_backward(self, dscores: Array, saved: Any) -> tuple[Array, Array]:
        u = saved
        # e_ts = v . u_ts
        self.v.accumulate(product(dscores.reshape(1, -1), rows(u))[0])
        du = dscores[..., None] * self.v.value
        # u_ts = tanh(p_t + k_s): p_t enters all places s, and k_s all steps t
        da = du * tanh_grad(u)
        dp, dkeys = xp.sum(da, axis=2), xp.sum(da, axis=1)
        # p_t = q_t Wq
        return self.query.backward(dp), dkeys


class ConcatAttention(AdditiveAttention):
    r"""Attention by a layer of A units on a query and a place of the memory, side by side.

    .. math::
        e_{ts} = v \cdot \tanh([q_t, m_s] W), \qquad a_t = \mathrm{softmax}(e_t), \qquad
        c_t = \sum_s a_{ts} m_s

    Since [q, m] W = q W_q + m W_m, with W_q the first Hq rows of W and W_m the others, it is
    :class:`AdditiveAttention` with the two matrices in one. What sets the models of Bahdanau et al.
    and of Luong et al. apart is not the score but the query: the state before the step, or after.

    Parameters
    ----------
    W : Parameter, View, or array (Hq + H, A)
    v : Parameter or array (A,)
    Hq : int
        Size of a query.

    Attributes
    ----------
    weights : array (N, T, S) or None
        a of the last forward.

    Notes
    -----
    ``forward(query, memory, lengths=None)`` takes (N, T, Hq) and (N, S, H) and gives the contexts
    (N, T, H). ``backward(dcontext)`` gives ``(dquery, dmemory)``. Luong, Pham and Manning 2015,
    section 3.1, score "concat".

    Raises
    ------
    ValueError
        If shapes do not fit, or a length is not from 0 to S.

    Examples
    --------
    >>> attention = ConcatAttention.init(4, 6, 5)
    >>> [(name, p.shape) for name, p in attention.named_parameters()]
    [('W', (10, 5)), ('v', (5,))]
    """

    def __init__(self, W: Any, v: Any, Hq: int) -> None:
        self.W = self._weight("W", W, "Hq+H A")
        super().__init__(Rows(self.W, stop=Hq), Rows(self.W, start=Hq), v)

    @classmethod
    def init(cls, Hq: int, H: int, A: int, rng: Rng = None, dtype: Any = "float32") -> Self:
        """Draw fresh weights: W and v from U(-1/sqrt(n), 1/sqrt(n)), with n inputs each.

        Parameters
        ----------
        Hq, H, A : int
            Sizes of query, memory and the layer between.
        rng : numpy.random.Generator, optional
        dtype : data-type
        """
        check_shape((Hq, H, A))
        W = Parameter(uniform((Hq + H, A), fan_in_bound(Hq + H), rng, dtype), "W")
        return cls(W, uniform((A,), fan_in_bound(A), rng, dtype), Hq)
