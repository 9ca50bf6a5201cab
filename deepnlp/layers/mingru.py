r"""Does the gate of a recurrent layer have to look at the state? The least GRU's does not.

Take a GRU (``gru.py``), and let nothing but the input decide: no reset gate, no h_prev in the
update gate, no tanh around the new state. One step takes x (N, D) and h_prev (N, H). With the
weights Wx (D, 2H) and b (2H,), in two blocks z and n::

    z = sigmoid(x Wx_z + b_z)                           update gate (N, H): how much is new
    n = x Wx_n + b_n                                    new state
    h = (1 - z) * h_prev + z * n                        between the old and the new

The answer has two sides. What is gained: the last line is linear in h, number by number, so that
it is a scan over all steps (``scans.py``) with what is kept, f = 1 - z, and what is added, u = z n;
a GRU of the same size has three times the weights and a product with them at each step. And the
gradient passes a step by f alone. What is lost: whether to keep a number cannot depend on what has
been read so far, but through the layers below. Two such layers do what one alone cannot.
"""

from typing import Any

from deepnlp.backend import Array, xp
from deepnlp.backend.functions import sigmoid, sigmoid_grad, split_gates
from deepnlp.kernels import back_of, kernel
from deepnlp.layers.scans import TimeScan


@kernel
def mingru(a: Array) -> tuple[Array, Array, Array]:
    """Return f, u and z (T, N, H) of the scan h_t = f_t h_(t-1) + u_t, from a = x Wx + b."""
    a_z, n = split_gates(a, 2)
    z = sigmoid(a_z)  # update gate
    return 1 - z, z * n, z


@back_of(mingru)
def mingru_backward(df: Array, du: Array, z: Array, a: Array) -> Array:
    """Back through :func:`mingru`: da (T, N, 2H)."""
    _, n = split_gates(a, 2)
    # f = 1 - z and u = z * n
    dz = du * n - df
    dn = du * z
    # z = sigmoid(a_z), n = a_n
    return xp.concatenate([dz * sigmoid_grad(z), dn], axis=-1)


class TimeMinGRU(TimeScan):
    r"""The least gated recurrent unit over T steps: its gate does not look at the state.

    .. math::
        z_t &= \sigma(x_t W_{x,z} + b_z) \\
        h_t &= (1 - z_t) \odot h_{t-1} + z_t \odot (x_t W_{x,n} + b_n)

    Parameters
    ----------
    Wx : Parameter, View, or array (D, 2H)
        Blocks in the order z, n: update, new.
    b : Parameter or array (2H,)
    stateful : bool
        Whether a forward starts from the state the last one ended in.

    Notes
    -----
    ``forward(x, lengths=None)`` takes (N, T, D) and gives all states (N, T, H); it saves the gates
    and the states. ``backward(dhs, dh=None)`` gives dx and leaves ``dh0``. Feng et al. 2024,
    section 3.1, without the form in logarithms, which allows no state below 0.

    Raises
    ------
    ValueError
        If shapes do not fit, or a carried state has another batch size.

    Examples
    --------
    >>> layer = TimeMinGRU.init(3, 5)
    >>> layer.forward(xp.zeros((2, 4, 3), dtype="float32")).shape
    (2, 4, 5)
    """

    gates = "zn"
    _keeps = (0, -1)  # 1 - z keeps

    def __init__(self, Wx: Any, b: Any, stateful: bool = False) -> None:
        super().__init__(Wx, b, stateful)

    def inputs(self, a: Array) -> tuple[Array, Array, Any]:
        """Return those of :func:`mingru`."""
        f, u, z = mingru(a)
        return f, u, (z, a)

    def inputs_backward(self, df: Array, du: Array, saved: Any, of_outputs: Any) -> Array:
        """Go back through :func:`mingru`."""
        return mingru_backward(df, du, *saved)

    def gate_values(self, a: Array) -> dict[str, Array]:
        """Return z."""
        return {"z": sigmoid(split_gates(a, 2)[0])}
