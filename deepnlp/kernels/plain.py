"""The formulas of the kernels, each as it stands in a textbook: the reference for all faster forms.

What varies from step to step of a recurrent layer and is no matrix product is here, and so are
the softmax with its loss, dropout, and what an optimizer does to all weights. The matrix products
are the layers' business. Results are written into arrays that the caller brings, so that a form
can work without allocating; ``out[...] = formula`` is how the plain form does it.

**Backward through time in two parts.** Each gradient of a step is a factor known since the forward
pass times a gradient that arrives from later steps. The factors of all steps are found at once,
by ``*_slopes``; what is left for the loop, ``*_step_backward``, is a few products.

Row vectors throughout: arrays of one step are (N, H) and (N, G H) for G gates, those of all steps
(T, N, H) and (T, N, G H). Gates stand in the order i, f, g, o (LSTM) and r, z, n (GRU).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from deepnlp.backend import Array, asarray, philox_uint16, xp
from deepnlp.functions import relu, relu_grad, sigmoid, sigmoid_grad, tanh_grad

MASK_LEVELS = 1 << 16  # dropout compares integers of 16 bits


class Activation(NamedTuple):
    """A function and its derivative, the latter from the function's value."""

    function: Any
    grad: Any


def _tanh(x: Array) -> Array:
    return xp.tanh(x)


ACTIVATIONS = {"tanh": Activation(_tanh, tanh_grad), "relu": Activation(relu, relu_grad)}


def split_gates(a: Array, gates: int) -> list[Array]:
    """Equal blocks of the last axis, as views.

    Parameters
    ----------
    a : array (..., gates * H)
    gates : int

    Returns
    -------
    list of array (..., H)

    Examples
    --------
    >>> from deepnlp.backend import xp
    >>> [block.shape for block in split_gates(xp.zeros((5, 8)), 4)]
    [(5, 2), (5, 2), (5, 2), (5, 2)]
    """
    H = a.shape[-1] // gates
    return [a[..., k * H : (k + 1) * H] for k in range(gates)]


# --- RNN -------------------------------------------------------------------------------------


def rnn_step(a: Array, p: Array, h: Array, activation: str) -> None:
    r"""One step of the simple recurrent layer after its matrix products.

    .. math:: h = f(a + p)

    Parameters
    ----------
    a : array (N, H)
        The input's share, x Wx + b.
    p : array (N, H)
        The state's share, h_prev Wh.
    h : array (N, H)
        Written.
    activation : {"tanh", "relu"}
    """
    h[...] = ACTIVATIONS[activation].function(a + p)


def rnn_slopes(h: Array, da: Array, activation: str) -> None:
    """Derivative of h by the pre-activation, at all steps.

    Parameters
    ----------
    h : array (T, N, H)
    da : array (T, N, H)
        Written: f'(a).
    activation : {"tanh", "relu"}
    """
    da[...] = ACTIVATIONS[activation].grad(h)


def rnn_step_backward(dh_above: Array, dh_next: Array, da: Array) -> None:
    r"""Back through :func:`rnn_step`.

    .. math:: da = (dh_{above} + dh_{next}) \odot f'(a)

    Parameters
    ----------
    dh_above, dh_next : array (N, H)
        Gradients by h from the layer above and from the next step.
    da : array (N, H)
        From f'(a), as :func:`rnn_slopes` left it, to the gradient by the pre-activation.
    """
    da *= dh_above + dh_next


# --- LSTM ------------------------------------------------------------------------------------


def lstm_step(a: Array, p: Array, c_prev: Array, h: Array, c: Array, tanh_c: Array) -> None:
    r"""One step of the LSTM after its matrix products.

    .. math::
        i, f, o &= \sigma(a_i + p_i), \sigma(a_f + p_f), \sigma(a_o + p_o) \qquad
            g = \tanh(a_g + p_g) \\
        c &= f \odot c_{prev} + i \odot g \\
        h &= o \odot \tanh(c)

    Parameters
    ----------
    a : array (N, 4H)
        From the input's share, x Wx + b, to the gates i, f, g, o after their functions.
    p : array (N, 4H)
        The state's share, h_prev Wh.
    c_prev : array (N, H)
    h, c, tanh_c : array (N, H)
        Written.
    """
    i, f, g, o = split_gates(a, 4)
    p_i, p_f, p_g, p_o = split_gates(p, 4)
    i[...] = sigmoid(i + p_i)
    f[...] = sigmoid(f + p_f)
    g[...] = xp.tanh(g + p_g)
    o[...] = sigmoid(o + p_o)
    c[...] = f * c_prev + i * g
    tanh_c[...] = xp.tanh(c)
    h[...] = o * tanh_c


def lstm_slopes(gates: Array, c_prev: Array, tanh_c: Array, da: Array) -> None:
    r"""Factors of all steps that the gradients by h and c will be multiplied with.

    .. math::
        \frac{\partial c}{\partial a_i} = g\, i (1 - i), \quad
        \frac{\partial c}{\partial a_f} = c_{prev}\, f (1 - f), \quad
        \frac{\partial c}{\partial a_g} = i\, (1 - g^2), \quad
        \frac{\partial h}{\partial a_o} = \tanh(c)\, o (1 - o), \quad
        \frac{\partial h}{\partial c} = o\, (1 - \tanh^2 c)

    Parameters
    ----------
    gates : array (T, N, 4H)
    c_prev : array (T, N, H)
    tanh_c : array (T, N, H)
        From tanh(c) to dh/dc.
    da : array (T, N, 4H)
        Written: dc/da_i, dc/da_f, dc/da_g and dh/da_o, side by side.
    """
    i, f, g, o = split_gates(gates, 4)
    di, df, dg, do = split_gates(da, 4)
    di[...] = g * sigmoid_grad(i)
    df[...] = c_prev * sigmoid_grad(f)
    dg[...] = i * tanh_grad(g)
    do[...] = tanh_c * sigmoid_grad(o)
    tanh_c[...] = o * tanh_grad(tanh_c)


def lstm_step_backward(
    dh_above: Array, dh_next: Array, dc: Array, gates: Array, dh_dc: Array, da: Array
) -> None:
    r"""Back through :func:`lstm_step`.

    .. math::
        dh &= dh_{above} + dh_{next} \\
        dc &\leftarrow dc + dh \odot \partial h / \partial c \\
        da_i, da_f, da_g &= dc \odot \partial c / \partial a_{i, f, g} \qquad
            da_o = dh \odot \partial h / \partial a_o \\
        dc_{prev} &= dc \odot f

    Parameters
    ----------
    dh_above, dh_next : array (N, H)
        Gradients by h from the layer above and from the next step.
    dc : array (N, H)
        From the gradient by c of the next step to that by c_prev.
    gates : array (N, 4H)
    dh_dc : array (N, H)
    da : array (N, 4H)
        From the factors of :func:`lstm_slopes` to the gradient by the pre-activation.
    """
    f = split_gates(gates, 4)[1]
    da_i, da_f, da_g, da_o = split_gates(da, 4)
    # h = o * tanh(c)
    dh = dh_above + dh_next
    da_o *= dh
    dc += dh * dh_dc
    # c = f * c_prev + i * g
    da_i *= dc
    da_f *= dc
    da_g *= dc
    dc *= f


# --- GRU -------------------------------------------------------------------------------------


def gru_gates(a: Array, p: Array, h_prev: Array, u: Array) -> None:
    r"""Reset and update gate, where the reset gate acts before the product.

    .. math:: r, z = \sigma(a_r + p_r), \sigma(a_z + p_z), \qquad u = r \odot h_{prev}

    Parameters
    ----------
    a : array (N, 3H)
        The input's share; its blocks r and z become the gates.
    p : array (N, 2H)
        The state's share of both.
    h_prev : array (N, H)
    u : array (N, H)
        Written: what Wh_n is to multiply.
    """
    r, z, _ = split_gates(a, 3)
    p_r, p_z = split_gates(p, 2)
    r[...] = sigmoid(r + p_r)
    z[...] = sigmoid(z + p_z)
    u[...] = r * h_prev


def gru_output(a: Array, p_n: Array, h_prev: Array, h: Array) -> None:
    r"""New state of the GRU.

    .. math:: n = \tanh(a_n + p_n), \qquad h = (1 - z) \odot n + z \odot h_{prev}

    Parameters
    ----------
    a : array (N, 3H)
        r, z and the input's share of n, which becomes n.
    p_n : array (N, H)
        The state's share of n.
    h_prev : array (N, H)
    h : array (N, H)
        Written.
    """
    _, z, n = split_gates(a, 3)
    n[...] = xp.tanh(n + p_n)
    h[...] = n + z * (h_prev - n)


def gru_step(a: Array, p: Array, bh: Array | None, h_prev: Array, h: Array) -> None:
    r"""One step of the GRU whose reset gate acts after the product.

    .. math::
        p &\leftarrow p + b_h \\
        r, z &= \sigma(a_r + p_r), \sigma(a_z + p_z) \qquad n = \tanh(a_n + r \odot p_n) \\
        h &= (1 - z) \odot n + z \odot h_{prev}

    Parameters
    ----------
    a : array (N, 3H)
        From the input's share to the gates r, z, n.
    p : array (N, 3H)
        From h_prev Wh to h_prev Wh + bh; later only its block n is asked for.
    bh : array (3H,) or None
    h_prev : array (N, H)
    h : array (N, H)
        Written.
    """
    if bh is not None:
        p += bh
    r, z, n = split_gates(a, 3)
    p_r, p_z, p_n = split_gates(p, 3)
    r[...] = sigmoid(r + p_r)
    z[...] = sigmoid(z + p_z)
    n[...] = xp.tanh(n + r * p_n)
    h[...] = n + z * (h_prev - n)


def gru_slopes(gates: Array, h_prev: Array, p_n: Array | None, da: Array) -> None:
    r"""Factors of all steps that the gradients by h will be multiplied with.

    .. math::
        \frac{\partial h}{\partial a_z} = (h_{prev} - n)\, z (1 - z), \quad
        \frac{\partial h}{\partial a_n} = (1 - z) (1 - n^2), \quad
        \frac{\partial h}{\partial a_r} = \frac{\partial h}{\partial a_n} p_n\, r (1 - r)

    Where the reset gate acts before the product, the last is instead that of u = r h_prev:
    h_prev r (1 - r).

    Parameters
    ----------
    gates : array (T, N, 3H)
    h_prev : array (T, N, H)
    p_n : array (T, N, H) or None
        What r multiplied after the product; None where it acts before.
    da : array (T, N, 3H)
        Written.
    """
    r, z, n = split_gates(gates, 3)
    dr, dz, dn = split_gates(da, 3)
    dz[...] = (h_prev - n) * sigmoid_grad(z)
    dn[...] = (1 - z) * tanh_grad(n)
    dr[...] = (h_prev if p_n is None else dn * p_n) * sigmoid_grad(r)


def gru_output_backward(
    dh_above: Array, dh_next: Array, carry: Array, gates: Array, da: Array
) -> None:
    r"""Back through :func:`gru_output`.

    .. math::
        dh &= dh_{above} + dh_{next} + carry \\
        da_z, da_n &= dh \odot \partial h / \partial a_{z, n} \\
        carry &\leftarrow dh \odot z

    Parameters
    ----------
    dh_above, dh_next : array (N, H)
        Gradients by h from the layer above and, by way of Wh, from the next step.
    carry : array (N, H)
        From the gradient that passed the next step's gates straight to h, to that by h_prev.
    gates : array (N, 3H)
    da : array (N, 3H)
        Its blocks z and n go from factors to gradients.
    """
    _, z, _ = split_gates(gates, 3)
    _, da_z, da_n = split_gates(da, 3)
    dh = dh_above + dh_next + carry
    da_z *= dh
    da_n *= dh
    carry[...] = dh * z


def gru_gates_backward(du: Array, carry: Array, gates: Array, da: Array) -> None:
    r"""Back through :func:`gru_gates`.

    .. math:: da_r = du \odot \partial u / \partial a_r, \qquad carry \leftarrow carry + du \odot r

    Parameters
    ----------
    du : array (N, H)
    carry : array (N, H)
        Added to.
    gates : array (N, 3H)
    da : array (N, 3H)
        Its block r goes from factor to gradient.
    """
    r = split_gates(gates, 3)[0]
    da_r = split_gates(da, 3)[0]
    da_r *= du
    carry += du * r


def gru_step_backward(
    dh_above: Array, dh_next: Array, carry: Array, gates: Array, da: Array, dp: Array
) -> None:
    r"""Back through :func:`gru_step`.

    .. math::
        dh &= dh_{above} + dh_{next} + carry \\
        da_r, da_z, da_n &= dh \odot \partial h / \partial a_{r, z, n} \\
        dp_r, dp_z, dp_n &= da_r, da_z, da_n \odot r \\
        carry &\leftarrow dh \odot z

    Parameters
    ----------
    dh_above, dh_next : array (N, H)
        Gradients by h from the layer above and, by way of Wh, from the next step.
    carry : array (N, H)
        From the gradient that passed the next step's gates straight to h, to that by h_prev.
    gates : array (N, 3H)
    da : array (N, 3H)
        From the factors of :func:`gru_slopes` to the gradient by the input's share.
    dp : array (N, 3H)
        Written: the gradient by the state's share.
    """
    r, z, _ = split_gates(gates, 3)
    dh = dh_above + dh_next + carry
    for block in split_gates(da, 3):
        block *= dh
    dp[...] = da
    split_gates(dp, 3)[2][...] *= r
    carry[...] = dh * z


# --- Softmax with its loss -------------------------------------------------------------------


def softmax_nll(s: Array, b: Array | None, t: Array) -> tuple[Array, Array]:
    r"""Negative log-likelihood of a target under the softmax, row by row.

    .. math:: L_n = -\log \mathrm{softmax}(s_n + b)_{t_n} = \log \sum_j e^{s_{nj} + b_j}
                    - (s_{n t_n} + b_{t_n})

    Parameters
    ----------
    s : array (n, V)
        Scores before the bias. Overwritten: backward knows what with.
    b : array (V,) or None
    t : array of int (n,)
        From 0 to V - 1.

    Returns
    -------
    nll : array (n,)
    kept : array (n,)
        For :func:`softmax_nll_backward`, together with s.
    """
    if b is not None:
        s += b
    s -= s.real.max(axis=1, keepdims=True)  # cancels, and nothing overflows
    s_t = s[xp.arange(len(t)), t]
    e = xp.exp(s, out=s)
    total = xp.sum(e, axis=1)
    return xp.log(total) - s_t, total


def softmax_nll_backward(s: Array, b: Array | None, t: Array, kept: Array, dnll: Array) -> Array:
    r"""Back through :func:`softmax_nll`.

    .. math:: ds_{nj} = (p_{nj} - [j = t_n])\, dL_n

    Parameters
    ----------
    s : array (n, V)
        As the forward left it; becomes the gradient by the scores, but for a factor of each row.
    b, t : array (V,) or None, array of int (n,)
        What the forward was given.
    kept : array (n,)
        What it returned.
    dnll : array (n,)
        Gradient by each row's loss.

    Returns
    -------
    factor : array (n,)
        ds is factor times s, row by row. A product with ds costs less when the factor goes into
        the other operand, which is smaller.
    """
    total = kept
    s /= total[:, None]  # p = e / total
    s[xp.arange(len(t)), t] -= 1
    return dnll


# --- Dropout ---------------------------------------------------------------------------------


def dropout(
    x: Array, mask_shape: tuple[int, ...], key: int, call: int, p: float
) -> tuple[Array, Any]:
    r"""Zero entries at random, and scale the others up.

    .. math:: y = \frac{m}{1 - p} \odot x, \qquad m = [u \ge \mathrm{round}(2^{16} p)]

    where u are integers of 16 bits, a pure function of (key, call): entry j of the mask takes
    number j of :func:`deepnlp.backend.philox_uint16`.

    Parameters
    ----------
    x : array
    mask_shape : tuple of int
        Broadcast to that of x.
    key, call : int
    p : float
        Probability of being zeroed.

    Returns
    -------
    y : array of x's shape
    kept : Any
        For :func:`dropout_backward`.
    """
    bits = philox_uint16(key, call, math.prod(mask_shape)).reshape(mask_shape)
    kept = asarray(bits >= round(p * MASK_LEVELS))
    scaled_mask = kept.astype(x.real.dtype) * (1 / (1 - p))
    return x * scaled_mask, scaled_mask


def dropout_backward(dy: Array, kept: Any) -> Array:
    """Back through :func:`dropout`: what was zeroed gets no gradient.

    Parameters
    ----------
    dy : array
    kept : Any
        What the forward returned.

    Returns
    -------
    array of dy's shape
    """
    return dy * kept


# --- Sums ------------------------------------------------------------------------------------


def add_bias(a: Array, b: Array) -> Array:
    """a + b, in the memory of a where its number type can hold the sum.

    Parameters
    ----------
    a : array (n, M)
        A fresh one: it may be changed.
    b : array (M,)

    Returns
    -------
    array (n, M)

    Examples
    --------
    >>> add_bias(xp.zeros((1, 2)), xp.asarray([1.0, 2.0]))
    array([[1., 2.]])
    """
    if a.dtype != b.dtype and xp.result_type(a.dtype, b.dtype) != a.dtype:
        return a + b
    a += b
    return a


def sum_rows(a: Array) -> Array:
    """Sum of the rows of a matrix, as the gradient of a bias is.

    Parameters
    ----------
    a : array (n, M)

    Returns
    -------
    array (M,)
    """
    return xp.sum(a, axis=0)


def add_rows(table: Array, ids: Array, rows: Array) -> None:
    """Add row k of ``rows`` to row ``ids[k]`` of ``table``, in place; repeated ids add up.

    ``table[ids] += rows`` would keep only the last row of each repeated id.

    Parameters
    ----------
    table : array (V, D)
        Changed in place.
    ids : array of int (n,)
    rows : array (n, D)

    Examples
    --------
    >>> from deepnlp.backend import xp
    >>> table = xp.zeros((3, 2))
    >>> add_rows(table, xp.asarray([1, 1]), xp.asarray([[1.0, 2.0], [3.0, 4.0]]))
    >>> table[1]
    array([4., 6.])
    """
    xp.add.at(table, ids, rows)


# --- All weights at once ---------------------------------------------------------------------


def clip_all(gradients: Sequence[Array], max_norm: float) -> Array:
    r"""Scale all gradients together so that their norm is at most ``max_norm``.

    .. math::
        n = \Bigl(\sum_W \sum_{ij} g_{W,ij}^2\Bigr)^{1/2}, \qquad
        g \leftarrow g \cdot \min\Bigl(1, \frac{\mathrm{max\_norm}}{n + 10^{-6}}\Bigr)

    Parameters
    ----------
    gradients : sequence of array
        Changed in place.
    max_norm : float
        Positive; infinity to measure only.

    Returns
    -------
    0-d array
        The norm n before clipping, as float64.
    """
    norm = xp.sqrt(sum((xp.vdot(g, g) for g in gradients), start=xp.zeros(())))
    if math.isfinite(max_norm):
        scale = xp.minimum(1, max_norm / (norm + 1e-6))
        for g in gradients:
            g *= scale.astype(g.dtype)
    return norm


class Update(NamedTuple):
    """One weight that an optimizer is to change.

    Attributes
    ----------
    W, g : array
        The weight, changed in place, and the gradient by it.
    kept : dict of str to array
        What the optimizer keeps for the weight, changed in place.
    scalars : dict of str to float
        The other letters of the formula.
    """

    W: Array
    g: Array
    kept: Mapping[str, Array]
    scalars: Mapping[str, float]


def update_all(rule: str, formula: Callable[..., None], updates: Sequence[Update]) -> None:
    """Change all weights by an optimizer's formula.

    Parameters
    ----------
    rule : str
        Name of the optimizer, by which a form may know a kernel of its own for it.
    formula : callable
        ``formula(W, g, **kept, **scalars)`` changes W and what is kept, element by element.
    updates : sequence of Update
    """
    for W, g, kept, scalars in updates:
        formula(W, g, **kept, **scalars)
