r"""Can a recurrent layer have more memory than outputs, and choose what it keeps?

A state space layer gives each of its H channels S numbers of memory, which fade at different
speeds: the channel's input v is added to all of them, and what is shown is a weighted sum. In the
selective one the input decides how long a step is, what is written and what is read. With
the weights Wx (D, 2H + 2S) and b, in blocks v, delta, B, C, and the rates A = exp(A_log) (H, S)::

    delta = log(1 + exp(x Wx_delta + b_delta))          length of the step (N, H)
    v, B, C = x Wx_v + b_v, x Wx_B + b_B, x Wx_C + b_C  input (N, H); what writes and reads (N, S)
    f = exp(-delta A)                                   what is kept (N, H, S)
    h = f * h_prev + (delta * v) B                      memory (N, H, S)
    y = sum_s h C + skip * v                            output (N, H)

A long step, delta A large, forgets and writes; a step of length 0 leaves the memory as it is. The
answer is that f, which decides what is forgotten, is a function of x, and that the numbers of
a channel forget at S rates, so that some of them remember long.
"""

import math
from itertools import pairwise
from typing import Any, Self

from deepnlp.backend import Array, Rng, asarray, host_generator, xp
from deepnlp.backend.functions import sigmoid, softplus
from deepnlp.layers.scans import TimeScan

SHORTEST, LONGEST = 1e-3, 1e-1  # steps that fresh weights take


class TimeStateSpace(TimeScan):
    r"""A selective state space over T steps, with a diagonal matrix of transition.

    .. math::
        \Delta_t &= \log(1 + \exp(x_t W_{x,\Delta} + b_\Delta)) \\
        h_t &= \exp(-\Delta_t A) \odot h_{t-1} + (\Delta_t \odot v_t) B_t^T \\
        y_t &= h_t C_t + \mathrm{skip} \odot v_t

    with v, B and C linear in x. The memory h is (N, H, S), the output (N, H).

    Parameters
    ----------
    Wx : Parameter, View, or array (D, 2H + 2S)
        Blocks in the order v, delta, B, C.
    b : Parameter or array (2H + 2S,)
    A_log : Parameter or array (H, S)
        Logarithms of the rates A.
    skip : Parameter or array (H,)
    stateful : bool
        Whether a forward starts from the state the last one ended in.

    Notes
    -----
    ``forward(x, lengths=None)`` takes (N, T, D) and gives (N, T, H); the state ``h`` is (N, H S).
    ``backward(dhs, dh=None)`` gives dx and leaves ``dh0``. Gu, Goel and Ré 2022 (S4D: diagonal);
    Gu and Dao 2023, algorithm 2 (Mamba: selective), without the convolution and the gate around it.

    Raises
    ------
    ValueError
        If shapes do not fit, or a carried state has another batch size.

    Examples
    --------
    >>> layer = TimeStateSpace.init(3, 5, size=4)
    >>> layer.forward(xp.zeros((2, 4, 3), dtype="float32")).shape, layer.h.shape
    ((2, 4, 5), (2, 20))
    """

    gates = "vd"
    shows_state = False
    init_options = ("size",)

    def __init__(self, Wx: Any, b: Any, A_log: Any, skip: Any, stateful: bool = False) -> None:
        A_log = self._weight("A_log", A_log, "H S")
        self.size: int = A_log.shape[1]
        super().__init__(Wx, b, stateful, "2H+2S", 2 * self.size)
        self.A_log = self._weight("A_log", A_log, "H S", H=self.H)
        self.skip = self._weight("skip", skip, "H", H=self.H)

    @property
    def state_size(self) -> int:
        """Numbers of a state: H times the size of each channel's memory."""
        return self.H * self.size

    @classmethod
    def init(  # type: ignore[override]
        cls,
        D: int,
        H: int,
        rng: Rng = None,
        dtype: Any = "float32",
        size: int = 16,
        **options: Any,
    ) -> Self:
        """Fresh weights: Wx from U(-1/sqrt(D), 1/sqrt(D)), rates 1 ... S, steps of 0.001 to 0.1.

        Parameters
        ----------
        D, H : int
            Sizes of input and output.
        rng : numpy.random.Generator, optional
        dtype : data-type
        size : int
            S, numbers of memory of a channel.
        **options
            ``scheme``, and other arguments of the constructor, such as ``stateful``.
        """
        rng = host_generator(rng)
        steps = asarray(rng.uniform(math.log(SHORTEST), math.log(LONGEST), H))
        rates = xp.broadcast_to(xp.log(xp.arange(1.0, size + 1)), (H, size))
        options |= {"A_log": rates.astype(dtype), "skip": xp.ones(H, dtype)}
        layer = cls._fresh(D, 2 * H + 2 * size, rng, dtype, **options)
        layer.b.value[H : 2 * H] = xp.log(xp.expm1(xp.exp(steps)))  # delta is such a step
        return layer

    def _parts(self, a: Array) -> list[Array]:
        """v and delta before its function (T, N, H), B and C (T, N, S)."""
        H, S = self.H, self.size
        ends = [0, H, 2 * H, 2 * H + S, 2 * H + 2 * S]
        return [a[..., start:end] for start, end in pairwise(ends)]

    def inputs(self, a: Array) -> tuple[Array, Array, Any]:
        """Return f and u (T, N, H, S) of the scan."""
        v, a_delta, B, _ = self._parts(a)
        delta = softplus(a_delta)
        f = xp.exp(-delta[..., None] * xp.exp(self.A_log.value))
        u = (delta * v)[..., None] * B[..., None, :]
        return f, u, (a, delta, f)

    def outputs(self, h: Array, saved: Any) -> Array:
        """Return y = sum_s h C + skip * v."""
        v, _, _, C = self._parts(saved[0])
        y: Array = (h @ C[..., None])[..., 0] + self.skip.value * v
        return y

    def outputs_backward(self, dy: Array, h: Array, saved: Any) -> tuple[Array, Any]:
        """Return dh (T, N, H, S), and dv and dC."""
        v, _, _, C = self._parts(saved[0])
        # y = sum_s h C + skip * v
        self.skip.accumulate(xp.sum(dy * v, axis=(0, 1)))
        dC = (dy[..., None, :] @ h)[..., 0, :]
        return dy[..., None] * C[..., None, :], (dy * self.skip.value, dC)

    def inputs_backward(self, df: Array, du: Array, saved: Any, of_outputs: Any) -> Array:
        """Return da (T, N, 2H + 2S); the gradient of A_log accumulates."""
        (a, delta, f), (dv, dC) = saved, of_outputs
        v, a_delta, B, _ = self._parts(a)
        A = xp.exp(self.A_log.value)
        # u = (delta * v) B: an outer product
        dw = (du @ B[..., None])[..., 0]
        dB = ((delta * v)[..., None, :] @ du)[..., 0, :]
        # f = exp(-delta A), A = exp(A_log): the slope of exp is what it gives
        dp = -df * f
        ddelta = dw * v + xp.sum(dp * A, axis=-1)
        self.A_log.accumulate(xp.sum(dp * delta[..., None], axis=(0, 1)) * A)
        # delta = log(1 + exp(a_delta)), whose slope is the sigmoid; v is shown too
        return xp.concatenate([dv + dw * delta, ddelta * sigmoid(a_delta), dB, dC], axis=-1)

    def gate_values(self, a: Array) -> dict[str, Array]:
        """Return f, of the numbers of all channels (n, H S)."""
        f = self.inputs(a[None])[0]
        return {"f": f.reshape(len(a), self.state_size)}
