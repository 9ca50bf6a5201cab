r"""How does attention, which reads a set, know in which order the words stand?

Each place t is told apart by numbers of its own. They are added to the word's vector,
``y_t = x_t + P_t``, with P learnt (:class:`PositionalEmbedding`) or made of sines
(:class:`SinusoidalPositions`), or queries and keys are turned by an angle that grows with t
(:class:`RotaryPositions`), so that their inner product depends on the distance alone.
"""

from typing import Any, Self

from deepnlp.backend import Array, Rng, asarray, check_ids, check_number, xp
from deepnlp.backend.initialisers import normal
from deepnlp.layer import Layer
from deepnlp.parameter import Parameter


class Positions(Layer):
    """The base of all kinds: the places of a forward, and steps whose state is the place."""

    D: int

    def at(self, x: Array, t: Array) -> Array:
        """y (..., D) from x (..., D) at places t, of the shape (...) or one that broadcasts."""
        raise NotImplementedError

    def forward(self, x: Array) -> Array:
        """y at the places 0, 1, ... of the last axis but one."""
        t = xp.arange(x.shape[-2])
        self.save_for_backward(t)
        return self.at(x, t)

    def backward(self, dy: Array) -> Array:
        """dx = dy, where something is added: a sum passes its gradient on."""
        self.saved()
        return dy

    def start(self, N: int) -> Array:
        """Return the place (N,) of the next step of each sequence: the first."""
        return xp.zeros(N, dtype="int64")

    def step(self, x: Array, state: Array | None = None) -> tuple[Array, Array]:
        """y (N, D) at the place of each sequence, and the next place."""
        self._expect("x", x, "N D", D=self.D)
        t = self.start(len(x)) if state is None else state
        return self.at(x, t), t + 1


class PositionalEmbedding(Positions):
    r"""A learnt vector for each place, added to what stands there.

    .. math:: y_t = x_t + P_t, \qquad dx_t = dy_t, \qquad dP_t = \sum_n dy_{nt}

    Parameters
    ----------
    P : Parameter, View, or array (C, D)
        A row for each of C places.

    Notes
    -----
    ``forward(x)`` takes (N, T, D) with T at most C, gives (N, T, D) and saves T. The state of a
    step is the place (N,) of each sequence. Gehring et al. 2017, section 3.1; GPT-2.

    Raises
    ------
    ValueError
        If P is no matrix, x does not fit it, or there are more than C places.

    Examples
    --------
    >>> positions = PositionalEmbedding([[1.0], [2.0]])
    >>> positions.forward(xp.zeros((1, 2, 1))).tolist()
    [[[1.0], [2.0]]]
    """

    axes = "N T D"

    def __init__(self, P: Any) -> None:
        self.P = self._weight("P", P, "C D")
        self.C, self.D = self.P.shape
        for base in self.P.bases:
            base.looked_up = True

    @classmethod
    def init(cls, C: int, D: int, rng: Rng = None, dtype: Any = "float32") -> Self:
        """Draw fresh weights from N(0, 0.02^2) for C places and D numbers each.

        Parameters
        ----------
        C, D : int
        rng : numpy.random.Generator, optional
        dtype : data-type
        """
        return cls(Parameter(normal((C, D), 0.02, rng, dtype), "P"))

    def at(self, x: Array, t: Array) -> Array:
        """y = x + P_t."""
        check_ids(type(self).__name__, t, self.C, "places")
        return x + self.P.value[t]

    def backward(self, dy: Array) -> Array:
        """dx = dy; dP_t = the sum of dy_t over the sequences."""
        (t,) = self.saved()
        # y_nt = x_nt + P_t: a row of P is added in all N sequences
        dP = dy.sum(axis=0)
        if len(t) == self.C:
            self.P.accumulate(dP)
        else:
            self.P.accumulate_rows(t, dP)
        return dy


class SinusoidalPositions(Positions):
    r"""A fixed vector for each place, of sines and cosines, added to what stands there.

    .. math::
        y_t = x_t + P_t, \qquad P_{t, 2i} = \sin(t / 10000^{2i/D}), \qquad
        P_{t, 2i+1} = \cos(t / 10000^{2i/D})

    Parameters
    ----------
    D : int
        Size of the vectors.

    Notes
    -----
    ``forward(x)`` takes (N, T, D), with any T, and gives (N, T, D). The gradient passes unchanged,
    and there is nothing to learn. The state of a step is the place (N,) of each sequence. Vaswani
    et al. 2017, section 3.5.

    Raises
    ------
    ValueError
        If x is not (N, T, D).

    Examples
    --------
    >>> SinusoidalPositions(2).forward(xp.zeros((1, 2, 2))).round(3).tolist()
    [[[0.0, 1.0], [0.841, 0.54]]]
    """

    axes = "N T D"

    def __init__(self, D: int) -> None:
        check_number(f"{type(self).__name__}: D", D, whole=True, low=1)
        self.D = D

    def at(self, x: Array, t: Array) -> Array:
        """y = x + P_t, with sines in the even columns and cosines in the odd ones."""
        angles = t[:, None] * 10000.0 ** (-2 * xp.arange((self.D + 1) // 2) / self.D)
        P = xp.stack([xp.sin(angles), xp.cos(angles)], axis=2).reshape(len(t), 2 * angles.shape[1])
        y: Array = x + P[:, : self.D].astype(x.real.dtype)
        return y


class RotaryPositions(Positions):
    r"""Pairs of numbers turned by an angle that grows with the place.

    .. math::
        \begin{pmatrix} y_{ti} \\ y_{t, i+m} \end{pmatrix} =
        \begin{pmatrix} \cos t\theta_i & -\sin t\theta_i \\ \sin t\theta_i & \cos t\theta_i
        \end{pmatrix} \begin{pmatrix} x_{ti} \\ x_{t, i+m} \end{pmatrix}, \qquad
        \theta_i = \mathrm{base}^{-2i/D}, \qquad m = D / 2

    Where queries and keys are so turned, the inner product of those at places t and s depends on
    what they were and on t - s.

    Parameters
    ----------
    D : int
        Size of the vectors, even: for attention that of a head.
    base : float
        A larger one turns more slowly.

    Notes
    -----
    ``forward(x)`` takes (..., T, D) and gives the same shape. A rotation is an orthogonal map, so
    the gradient is turned back: by minus the angle. Su et al. 2021, eq. 34, with i and i + m in a
    pair, as in LLaMA.

    Raises
    ------
    ValueError
        If D is odd, or the last axis of x is not D.

    Examples
    --------
    >>> RotaryPositions(2).forward(xp.asarray([[1.0, 0.0], [1.0, 0.0]])).round(3)
    array([[1.   , 0.   ],
           [0.54 , 0.841]])
    """

    axes = "... T D"

    def __init__(self, D: int, base: float = 10000.0) -> None:
        check_number(f"{type(self).__name__}: D", D, whole=True, low=2)
        if D % 2:
            raise ValueError(f"{type(self).__name__}: D should be even, got {D}")
        check_number(f"{type(self).__name__}: base", base, above=0)
        self.D, self.base = D, base

    def backward(self, dy: Array) -> Array:
        """dx_t = R_t^T dy_t, the rotation by minus the angle."""
        (t,) = self.saved()
        return self.at(dy, -t)

    def at(self, x: Array, t: Array) -> Array:
        """Turn the vectors x (..., D) by t steps, of the shape (...) or one that broadcasts."""
        m = self.D // 2
        angles = t[..., None] * self.base ** (-2 * asarray(range(m)) / self.D)
        dtype = x.real.dtype if x.dtype.kind in "fc" else angles.dtype
        cos, sin = (f(angles).astype(dtype) for f in (xp.cos, xp.sin))
        a, b = x[..., :m], x[..., m:]
        return xp.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)
