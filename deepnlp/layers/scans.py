r"""A recurrent layer whose gates do not look at the state: what becomes of it?

The state then depends on itself linearly, number by number, and all that is not the state is known
before the first step::

    h_t = a_t * h_(t-1) + b_t          a_t: what is kept, b_t: what is new, from x_t alone

No product with a matrix stands between two steps. The gates of all steps are one product with the
inputs, and what is left of the loop over time, :func:`scan`, is two element-wise operations a step.
They need not even follow each other: steps 1 to L and L + 1 to 2 L can be computed side by side,
since what the first steps hand on is multiplied by a_(L+1) ... a_t and added. The quick form works
in such blocks where a step is small (``kernels/fast.py``), and on a GPU all steps are one launch.

The way back is a scan from the last step to the first. h_t goes to the layer above, with the
gradient dy_t, and to the next step, which multiplies it by a_(t+1)::

    dh_t = dy_t + a_(t+1) * dh_(t+1),        da_t = dh_t * h_(t-1),        db_t = dh_t

Nothing divides by a gate or takes its logarithm, so a gate may be 0, and products of many gates
may underflow: the gradients stay those of the equation.

:class:`TimeScan` is a recurrent layer made of it. A cell (``mingru.py``, ``minlstm.py``,
``state_space.py``) says what a and b are, and what is shown of the state.
"""

from collections.abc import Sequence
from typing import Any, Self

from deepnlp.backend import Array, Rng, xp
from deepnlp.backend.initialisers import drawn, fan_in_bound
from deepnlp.backend.products import affine
from deepnlp.backend.threads import one_blas_thread
from deepnlp.kernels import back_of, kernel
from deepnlp.kernels.steps import States, steps_as_rows
from deepnlp.layer import no_backward
from deepnlp.layers.lstm import check_forget_bias
from deepnlp.layers.recurrent import TimeRecurrent, batch_first, time_first
from deepnlp.parameter import Parameter


@kernel
def scan(a: Array, b: Array, h_0: Array) -> Array:
    r"""All states of a linear recurrence.

    .. math:: h_t = a_t \odot h_{t-1} + b_t, \qquad t = 1 \dots T

    Parameters
    ----------
    a, b : array (T, N, ...)
        Of the axes of a the last ones may be of size 1.
    h_0 : array (N, ...)

    Returns
    -------
    array (T + 1, N, ...)
        h_0 ... h_T.

    Examples
    --------
    >>> a, b = xp.full((3, 1), 0.5), xp.ones((3, 1))
    >>> scan(a, b, xp.zeros(1)).ravel()
    array([0.  , 1.  , 1.5 , 1.75])
    """
    h = xp.empty((len(b) + 1, *h_0.shape), xp.result_type(a.dtype, b.dtype, h_0.dtype))
    h[0] = h_0
    for t in range(len(b)):
        h[t + 1] = a[t] * h[t] + b[t]
    return h


@back_of(scan)
def scan_backward(a: Array, dy: Array, dh: Array) -> Array:
    r"""The gradients with respect to all states, over all ways from each of them.

    .. math:: dh_t = dy_t + a_{t+1} \odot dh_{t+1}, \qquad t = T \dots 0

    with dy_0 = 0 and :math:`a_{T+1} = 1`. Those with respect to a and b follow:
    :math:`da_t = dh_t \odot h_{t-1}` and :math:`db_t = dh_t`.

    Parameters
    ----------
    a, dy : array (T, N, ...)
        dy are the gradients with respect to h_1 ... h_T from above.
    dh : array (N, ...)
        From what reads the last state later.

    Returns
    -------
    array (T + 1, N, ...)
        With respect to h_0 ... h_T.

    Examples
    --------
    >>> scan_backward(xp.full((2, 1), 0.5), xp.ones((2, 1)), xp.zeros(1)).ravel()
    array([0.75, 1.5 , 1.  ])
    """
    g = xp.empty((len(dy) + 1, *dh.shape), xp.result_type(a.dtype, dy.dtype, dh.dtype))
    g[-1] = dh
    for t in reversed(range(len(dy))):
        g[t + 1] += dy[t]  # h_(t+1) is shown, and is the state before the next step
        g[t] = a[t] * g[t + 1]  # h_(t+1) = a h_t + b
    return g


@kernel
def linear_attention(
    q: Array, k: Array, v: Array, f: Array, S_0: Array
) -> tuple[Array, Array, Any]:
    """Return y (T, N, heads, e), the last S, and all S, from q, k (T, N, heads, d) and v (..., e).

    The decay f is (T, N, heads, d), or of size 1 in its last axis; S_0 (N, heads, d, e).
    """
    S = scan(f[..., None], k[..., None] * v[..., None, :], S_0)
    return (q[..., None, :] @ S[1:])[..., 0, :], S[-1], S


@back_of(linear_attention)
def linear_attention_backward(
    dy: Array, dS: Array, S: Any, q: Array, k: Array, v: Array, f: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """Return dq, dk, dv, df, and the gradients with respect to S_0 ... S_T; of the quick form S_0.

    ``dS`` is the gradient with respect to the last S, from what reads it later.
    """
    # y = q S
    dq = (S[1:] @ dy[..., None])[..., 0]
    g = scan_backward(f[..., None], q[..., None] * dy[..., None, :], dS)
    # S_t = f S_(t-1) + k^T v: an outer product, and each f multiplies a row
    dk = (g[1:] @ v[..., None])[..., 0]
    dv = (k[..., None, :] @ g[1:])[..., 0, :]
    df = xp.sum(g[1:] * S[:-1], axis=-1)
    return dq, dk, dv, df if f.shape == q.shape else df.sum(axis=-1, keepdims=True), g


def summed_to(x: Array, like: Array) -> Array:
    """The sums of x over the axes that are of size 1 in another array.

    >>> summed_to(xp.ones((2, 3)), xp.ones((2, 1)))
    array([[3.],
           [3.]])
    """
    axes = tuple(k for k, size in enumerate(like.shape) if size != x.shape[k])
    return xp.sum(x, axis=axes, keepdims=True) if axes else x


def where_ended(ended: Array | None, value: float, x: Array) -> Array:
    """Put a value where a sequence has ended, by ``ended`` (T, N, 1), into x (T, N, ...)."""
    if ended is None:
        return x
    return xp.where(ended.reshape(*ended.shape[:2], *[1] * (x.ndim - 2)), value, x)


class TimeScan(TimeRecurrent):
    """A recurrent layer over time whose state is linear in itself: h_t = f_t h_(t-1) + u_t.

    A subclass gives ``inputs(a)``, which makes f and u, each (T, N, ...), of a = x Wx + b, and
    ``inputs_backward``; and, where its output is not the state, ``outputs`` and
    ``outputs_backward``. There is no Wh. All else is as in :class:`TimeRecurrent`.

    Attributes
    ----------
    state_size : int
        Numbers of a state: h is (N, state_size), and that is H where the output is the state.
    """

    Wh: Any = None
    Wx: Any
    init_options: tuple[str, ...] = ("forget_bias",)
    _keeps = (0, 1)  # number of the gate that keeps, and -1 where it does so when it is shut

    def __init__(
        self, Wx: Any, b: Any, stateful: bool = False, letters: str = "", others: int = 0
    ) -> None:
        letters, G = letters or f"{len(self.gates)}H", len(self.gates)
        b = self._weight("b", b, letters)
        self.H = (b.shape[0] - others) // G  # each gate has H columns, and there are some others
        size = {letters: G * self.H + others}
        self.Wx = self._weight("Wx", Wx, f"D {letters}", **size)
        self.b = self._weight("b", b, letters, **size)
        self.D, self.stateful, self.dh0 = self.Wx.shape[0], stateful, None
        self._reset_own_state()

    @classmethod
    def init(
        cls,
        D: int,
        H: int,
        rng: Rng = None,
        dtype: Any = "float32",
        forget_bias: float | None = None,
        *,
        scheme: str = "uniform",
        **options: Any,
    ) -> Self:
        """Fresh weights: Wx from U(-1/sqrt(D), 1/sqrt(D)), b zero but for the gate that keeps.

        Parameters
        ----------
        D, H : int
            Sizes of input and state.
        rng : numpy.random.Generator, optional
        dtype : data-type
        forget_bias : float, optional
            With 1, the default, about 0.73 of a number stays at a step of a :class:`TimeMinGRU`.
        scheme : {"uniform", "book"}
            Book: matrices from N(0, 1) / sqrt(fan-in).
        **options
            Other arguments of the constructor, such as ``stateful``.
        """
        layer = cls._fresh(D, len(cls.gates) * H, rng, dtype, scheme, **options)
        gate, sign = cls._keeps
        layer._open(gate * H, (gate + 1) * H, forget_bias, sign)
        return layer

    @classmethod
    def _fresh(
        cls, D: int, width: int, rng: Rng, dtype: Any, scheme: str = "uniform", **options: Any
    ) -> Self:
        """A layer with Wx (D, width) drawn and b zero."""
        Wx = Parameter(drawn(scheme, (D, width), fan_in_bound(D), rng, dtype), "Wx")
        return cls(Wx, Parameter.zeros(width, dtype=dtype, name="b"), **options)

    def inputs(self, a: Array) -> tuple[Array, Array, Any]:
        """Make f, u, and what the way back needs, of a (T, N, W)."""
        raise NotImplementedError

    def inputs_backward(self, df: Array, du: Array, saved: Any, of_outputs: Any) -> Array:
        """Return da (T, N, W), with what :meth:`outputs_backward` gave beside dh."""
        raise NotImplementedError

    def outputs(self, h: Array, saved: Any) -> Array:
        """Return y (T, N, H), what is shown of the states (T, N, ...)."""
        return h

    def outputs_backward(self, dy: Array, h: Array, saved: Any) -> tuple[Array, Any]:
        """Return the gradients with respect to the states, and others for the inputs."""
        return dy, None

    def gate_values(self, a: Array) -> dict[str, Array]:
        """Return the gates (n, ...) by their letters, numbers from 0 to 1, of a (n, W)."""
        return {}

    # --- All steps ----------------------------------------------------------------------------

    def scanned(self, a: Array, start: Array, ended: Array | None) -> tuple[Array, Array, Any]:
        """Return y (T, N, H), the last state (N, M) and what the way back needs."""
        f, u, saved = self.inputs(a)
        f, u = where_ended(ended, 1, f), where_ended(ended, 0, u)  # past its end h stays
        h = scan(f, u, start.reshape(u.shape[1:]))
        return self.outputs(h[1:], saved), h[-1].reshape(start.shape), (f, h, saved)

    def scanned_backward(
        self, dy: Array, dh: Array, kept: Any, ended: Array | None
    ) -> tuple[Array, Array, Array]:
        """Return da (T, N, W); the gradients with respect to h_0 ... h_T (T + 1, N, M); the h."""
        f, h, saved = kept
        # y shows h
        dh_above, of_outputs = self.outputs_backward(dy, h[1:], saved)
        g = scan_backward(f, dh_above, dh.reshape(h.shape[1:]))
        # h_t = f_t h_(t-1) + u_t
        df, du = summed_to(g[1:] * h[:-1], f), g[1:]
        df, du = where_ended(ended, 0, df), where_ended(ended, 0, du)
        da = self.inputs_backward(df, du, saved, of_outputs)
        return da, g.reshape(len(g), *dh.shape), h

    def forward(self, x: Array, lengths: Any = None) -> Array:
        """All outputs y_1 ... y_T (N, T, H) from all inputs, as :meth:`TimeRecurrent.forward`."""
        self._expect("x", x, "N T D", D=self.D)
        x, ended = self._until_end(time_first(x), lengths)
        T, N, _ = x.shape
        a = self._input_product(steps_as_rows(x))
        (start,) = self._start(N, a.dtype)
        with one_blas_thread():
            y, last, kept = self.scanned(a.reshape(T, N, a.shape[1]), start, ended)
        self.save_for_backward(x, kept, ended, y.dtype)
        self._finish(last)
        return batch_first(where_ended(ended, 0, y)).copy()

    def backward(self, dhs: Array, dh: Array | None = None, dc: Array | None = None) -> Array:
        """dx (N, T, D) from the gradients of all outputs, as :meth:`TimeRecurrent.backward`."""
        x, kept, ended, dtype = self.saved()
        T, N, _ = x.shape
        self._expect("dhs", dhs, "N T H", N=N, T=T, H=self.H)
        dy = where_ended(ended, 0, time_first(dhs).astype(dtype, copy=False))
        (dlast,) = self._final_gradients(N, dtype, dh, dc)
        with one_blas_thread():
            da, g, h = self.scanned_backward(dy, dlast, kept, ended)
        self.dh0 = g[0].copy()
        if self.watch is not None:
            h = h.reshape(T + 1, N, self.state_size)
            for t in reversed(range(T)):
                self.watch(t, x[t], h[t], g[t + 1])
        # a = x Wx + b, all steps at once
        dx = self._input_product_backward(steps_as_rows(x), steps_as_rows(da))
        return batch_first(dx.reshape(T, N, self.D))

    def step(self, x: Array, state: Any = None) -> tuple[Array, Any]:
        """One step from a given state: (N, D) to y (N, H) and the state after it."""
        (start,) = self.start(len(x)) if state is None else state
        self._expect_step(x, h=start)
        with no_backward(), one_blas_thread():
            y, last, _ = self.scanned(self._input_product(x)[None], start, None)
        return y[0], (last,)

    def formula(self) -> tuple[Any, Any, Sequence[Any]]:
        """Return one step and the step back, for who looks at one: a scan over one step."""

        def step(a: Array, h_prev: Array) -> tuple[States, Any]:
            _, h, kept = self.scanned(a[None], h_prev, None)
            return (h,), kept

        def step_backward(dh: Array, kept: Any) -> tuple[States, States]:
            dy = xp.zeros((1, len(dh), self.H), dh.dtype)
            da, g, _ = self.scanned_backward(dy, dh, kept, None)
            return (da[0],), (g[0],)

        return step, step_backward, ()

    # --- Weights and the state ----------------------------------------------------------------

    def _input_product(self, x: Array) -> Array:
        """x Wx + b for the rows (n, D) of the input: (n, W)."""
        return affine(x, self.Wx.value, self.b.value)

    def _open(self, start: int, stop: int, forget_bias: float | None, sign: int = 1) -> None:
        """Let the gate whose biases stand from ``start`` to ``stop`` keep the state at first."""
        bias = 1.0 if forget_bias is None else forget_bias
        check_forget_bias(type(self).__name__, bias)
        self.b.value[start:stop] = sign * bias
