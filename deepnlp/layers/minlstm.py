r"""An LSTM whose gates do not look at its state: what is left? Two gates that share one whole.

Take an LSTM (``lstm.py``), let the gates see the input alone, leave out the output gate and both
tanh, and let what is kept and what is new add up to 1, so that the state neither grows nor fades.
With the weights Wx (D, 3H) and b (3H,), in three blocks f, i, n::

    f, i = sigmoid(x Wx_f + b_f), sigmoid(x Wx_i + b_i)  forget gate and input gate (N, H)
    n    = x Wx_n + b_n                                  new state
    h    = f / (f + i) * h_prev + i / (f + i) * n        between the old and the new

Both gates may be as good as shut, and 0 / 0 is nothing to divide. Their quotient is better behaved:
with s(x) = log(1 + exp(x)), log f = -s(-a_f) and log i = -s(-a_i), so that ::

    f / (f + i) = sigmoid(log f - log i) = sigmoid(s(-a_i) - s(-a_f))

and s is never in trouble. The answer: it is a :mod:`~deepnlp.layers.mingru` with another way to
say how much is new.
"""

from typing import Any

from deepnlp.backend import Array, xp
from deepnlp.backend.functions import sigmoid, sigmoid_grad, softplus, split_gates
from deepnlp.layers.scans import TimeScan


def minlstm(a: Array) -> tuple[Array, Array, Array]:
    """Return f / (f + i), u and i / (f + i) (T, N, H), from a = x Wx + b."""
    a_f, a_i, n = split_gates(a, 3)
    d = softplus(-a_i) - softplus(-a_f)  # log f - log i
    kept, new = sigmoid(d), sigmoid(-d)
    return kept, new * n, new


def minlstm_backward(dkept: Array, du: Array, new: Array, a: Array) -> Array:
    """Back through :func:`minlstm`: da (T, N, 3H)."""
    a_f, a_i, n = split_gates(a, 3)
    # u = new * n
    dnew = du * n
    # kept = sigmoid(d) and new = sigmoid(-d)
    dd = (dkept - dnew) * sigmoid_grad(new)
    # d = s(-a_i) - s(-a_f), and the slope of s is the sigmoid
    da_f, da_i = dd * sigmoid(-a_f), -dd * sigmoid(-a_i)
    return xp.concatenate([da_f, da_i, du * new], axis=-1)


class TimeMinLSTM(TimeScan):
    r"""The least LSTM over T steps: two gates that do not look at the state and add up to 1.

    .. math::
        f_t, i_t &= \sigma(x_t W_{x,f} + b_f), \sigma(x_t W_{x,i} + b_i) \\
        h_t &= \frac{f_t}{f_t + i_t} \odot h_{t-1}
            + \frac{i_t}{f_t + i_t} \odot (x_t W_{x,n} + b_n)

    Parameters
    ----------
    Wx : Parameter, View, or array (D, 3H)
        Blocks in the order f, i, n: forget, input, new.
    b : Parameter or array (3H,)
    stateful : bool
        Whether a forward starts from the state the last one ended in.

    Notes
    -----
    ``forward(x, lengths=None)`` takes (N, T, D) and gives all states (N, T, H); it saves the gates
    and the states. ``backward(dhs, dh=None)`` gives dx and leaves ``dh0``. There is no memory cell
    beside the state. Feng et al. 2024, section 3.2.

    Raises
    ------
    ValueError
        If shapes do not fit, or a carried state has another batch size.

    Examples
    --------
    >>> layer = TimeMinLSTM.init(3, 5)
    >>> layer.forward(xp.zeros((2, 4, 3), dtype="float32")).shape
    (2, 4, 5)
    """

    gates = "fin"

    def __init__(self, Wx: Any, b: Any, stateful: bool = False) -> None:
        super().__init__(Wx, b, stateful)

    def inputs(self, a: Array) -> tuple[Array, Array, Any]:
        """Return those of :func:`minlstm`."""
        kept, u, new = minlstm(a)
        return kept, u, (new, a)

    def inputs_backward(self, df: Array, du: Array, saved: Any, of_outputs: Any) -> Array:
        """Go back through :func:`minlstm`."""
        return minlstm_backward(df, du, *saved)

    def gate_values(self, a: Array) -> dict[str, Array]:
        """Return f and i."""
        f, i, _ = split_gates(a, 3)
        return {"f": sigmoid(f), "i": sigmoid(i)}
