"""The element-wise part of one recurrent step, forward and backward, each formula in one place.

The matrix products are the layers' business: here the pre-activation ``a`` is given, and the
gradient by it, ``da``, is the result. One-step layers and the layers over time call the same
functions, so that they cannot differ. Whatever a backward needs besides its gradients is what its
forward returned as ``kept``.

Row vectors throughout: a is (N, H) for the RNN, (N, 4H) for the LSTM with its gates in the order
i, f, g, o, and (N, 3H) for the GRU in the order r, z, n.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from deepnlp.backend import Array, xp
from deepnlp.functions import relu, relu_grad, sigmoid, sigmoid_grad, tanh_grad


class Activation(NamedTuple):
    """A function and its derivative, the latter from the function's value."""

    function: Any
    grad: Any


def _tanh(x: Array) -> Array:
    return xp.tanh(x)


ACTIVATIONS = {"tanh": Activation(_tanh, tanh_grad), "relu": Activation(relu, relu_grad)}


def lstm_step(a: Array, c_prev: Array) -> tuple[Array, Array, tuple[Array, Array]]:
    r"""One step of the LSTM after its matrix products.

    .. math::
        i, f, o &= \sigma(a_i), \sigma(a_f), \sigma(a_o) \qquad g = \tanh(a_g) \\
        c &= f \odot c_{prev} + i \odot g \\
        h &= o \odot \tanh(c)

    Parameters
    ----------
    a : array (N, 4H)
        x Wx + h_prev Wh + b, in the order i, f, g, o.
    c_prev : array (N, H)

    Returns
    -------
    h, c : array (N, H)
    kept : tuple
        The gates (N, 4H) after their functions, and tanh(c) (N, H).
    """
    H = c_prev.shape[1]
    gates = sigmoid(a)
    gates[:, 2 * H : 3 * H] = xp.tanh(a[:, 2 * H : 3 * H])
    i, f, g, o = split_gates(gates, 4)
    c = f * c_prev + i * g
    tanh_c = xp.tanh(c)
    h = o * tanh_c
    return h, c, (gates, tanh_c)


def lstm_step_backward(
    dh: Array, dc: Array, c_prev: Array, kept: tuple[Array, Array], da: Array
) -> Array:
    """Back through :func:`lstm_step`.

    Parameters
    ----------
    dh, dc : array (N, H)
        Gradients of the loss by h and by c, from everything that came after.
    c_prev : array (N, H)
    kept : tuple
        What the forward returned.
    da : array (N, 4H)
        Written: the gradient by the pre-activation.

    Returns
    -------
    dc_prev : array (N, H)
    """
    gates, tanh_c = kept
    i, f, g, o = split_gates(gates, 4)
    da_i, da_f, da_g, da_o = split_gates(da, 4)
    # h = o * tanh(c)
    do = dh * tanh_c
    dc = dc + dh * o * tanh_grad(tanh_c)
    # c = f * c_prev + i * g
    df, di, dg = dc * c_prev, dc * g, dc * i
    # i, f, o = sigmoid(a_i), sigmoid(a_f), sigmoid(a_o); g = tanh(a_g)
    da_i[...] = di * sigmoid_grad(i)
    da_f[...] = df * sigmoid_grad(f)
    da_g[...] = dg * tanh_grad(g)
    da_o[...] = do * sigmoid_grad(o)
    return dc * f


def gru_gates(a: Array) -> tuple[Array, Array]:
    r"""Reset and update gate of the GRU: r, z = sigmoid(a_r), sigmoid(a_z).

    Parameters
    ----------
    a : array (N, 2H)

    Returns
    -------
    r, z : array (N, H)
    """
    r, z = split_gates(sigmoid(a), 2)
    return r, z


def gru_gates_backward(dr: Array, dz: Array, r: Array, z: Array, da: Array) -> None:
    """Back through :func:`gru_gates`.

    Parameters
    ----------
    dr, dz, r, z : array (N, H)
    da : array (N, 2H)
        Written: the gradient by the pre-activation.
    """
    da_r, da_z = split_gates(da, 2)
    da_r[...] = dr * sigmoid_grad(r)
    da_z[...] = dz * sigmoid_grad(z)


def gru_output(n: Array, z: Array, h_prev: Array) -> Array:
    r"""New state of the GRU: h = (1 - z) n + z h_prev.

    Parameters
    ----------
    n, z, h_prev : array (N, H)

    Returns
    -------
    h : array (N, H)
    """
    return n + z * (h_prev - n)


def gru_output_backward(dh: Array, n: Array, z: Array, h_prev: Array) -> tuple[Array, Array, Array]:
    """Back through :func:`gru_output` and the tanh that made n.

    Parameters
    ----------
    dh, n, z, h_prev : array (N, H)

    Returns
    -------
    da_n, dz, dh_prev : array (N, H)
        The last is the share of dh that passes z straight to h_prev.
    """
    # h = (1 - z) n + z h_prev
    dz = dh * (h_prev - n)
    dh_prev = dh * z
    dn = dh - dh_prev
    # n = tanh(a_n)
    return dn * tanh_grad(n), dz, dh_prev


def split_gates(a: Array, gates: int) -> list[Array]:
    """Equal blocks of columns, as views.

    Parameters
    ----------
    a : array (N, gates * H)
    gates : int

    Returns
    -------
    list of array (N, H)

    Examples
    --------
    >>> from deepnlp.backend import xp
    >>> [block.shape for block in split_gates(xp.zeros((5, 8)), 4)]
    [(5, 2), (5, 2), (5, 2), (5, 2)]
    """
    H = a.shape[1] // gates
    return [a[:, k * H : (k + 1) * H] for k in range(gates)]
