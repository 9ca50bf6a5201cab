"""The steps of the CUDA kernels as formulas, in place: a reference for the tests alone.

Each gradient of a step is a factor known since the forward pass times a gradient that arrives
from later steps. ``*_slopes`` finds the factors of all steps, ``*_step_backward`` uses them.
"""

from __future__ import annotations

from deepnlp.backend import Array, xp
from deepnlp.backend.functions import relu, relu_grad, sigmoid, sigmoid_grad, split_gates, tanh_grad

# --- RNN -------------------------------------------------------------------------------------


def rnn_step(a: Array, p: Array, h: Array, activation: str) -> None:
    """h = f(a + p)."""
    h[...] = xp.tanh(a + p) if activation == "tanh" else relu(a + p)


def rnn_slopes(h: Array, da: Array, activation: str) -> None:
    """da = f'(a), from the values h."""
    da[...] = tanh_grad(h) if activation == "tanh" else relu_grad(h)


def rnn_step_backward(dh_above: Array, dh_next: Array, da: Array) -> None:
    """From f'(a) to the gradient with respect to a."""
    da *= dh_above + dh_next


# --- LSTM ------------------------------------------------------------------------------------


def lstm_step(a: Array, p: Array, c_prev: Array, h: Array, c: Array, tanh_c: Array) -> None:
    """a becomes the gates i, f, g, o; h, c and tanh(c) are written."""
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
    """dc/da_i, dc/da_f, dc/da_g and dh/da_o into da; dh/dc over tanh(c)."""
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
    """From the factors in da to gradients, and from dc to dc_prev."""
    f = split_gates(gates, 4)[1]
    da_i, da_f, da_g, da_o = split_gates(da, 4)
    dh = dh_above + dh_next
    da_o *= dh
    dc += dh * dh_dc
    da_i *= dc
    da_f *= dc
    da_g *= dc
    dc *= f


# --- GRU -------------------------------------------------------------------------------------


def gru_gates(a: Array, p: Array, h_prev: Array, u: Array) -> None:
    """r and z into a, u = r h_prev: the reset gate acts before the product."""
    r, z, _ = split_gates(a, 3)
    p_r, p_z = split_gates(p, 2)
    r[...] = sigmoid(r + p_r)
    z[...] = sigmoid(z + p_z)
    u[...] = r * h_prev


def gru_output(a: Array, p_n: Array, h_prev: Array, h: Array) -> None:
    """n into a, h = (1 - z) n + z h_prev."""
    _, z, n = split_gates(a, 3)
    n[...] = xp.tanh(n + p_n)
    h[...] = n + z * (h_prev - n)


def gru_step(a: Array, p: Array, bh: Array | None, h_prev: Array, h: Array) -> None:
    """a becomes r, z, n; p becomes p + bh: the reset gate acts after the product."""
    if bh is not None:
        p += bh
    r, z, n = split_gates(a, 3)
    p_r, p_z, p_n = split_gates(p, 3)
    r[...] = sigmoid(r + p_r)
    z[...] = sigmoid(z + p_z)
    n[...] = xp.tanh(n + r * p_n)
    h[...] = n + z * (h_prev - n)


def gru_slopes(gates: Array, h_prev: Array, p_n: Array | None, da: Array) -> None:
    """dh/da_r (or du/da_r where there is no p_n), dh/da_z and dh/da_n into da."""
    r, z, n = split_gates(gates, 3)
    dr, dz, dn = split_gates(da, 3)
    dz[...] = (h_prev - n) * sigmoid_grad(z)
    dn[...] = (1 - z) * tanh_grad(n)
    dr[...] = (h_prev if p_n is None else dn * p_n) * sigmoid_grad(r)


def gru_output_backward(
    dh_above: Array, dh_next: Array, dh_prev: Array, gates: Array, da: Array
) -> None:
    """Blocks z and n of da become gradients; dh_prev is the part that comes past the gates."""
    _, z, _ = split_gates(gates, 3)
    _, da_z, da_n = split_gates(da, 3)
    dh = dh_above + dh_next
    da_z *= dh
    da_n *= dh
    dh_prev[...] = dh * z


def gru_gates_backward(du: Array, dh_prev: Array, gates: Array, da: Array) -> None:
    """Block r of da becomes a gradient; dh_prev is added to."""
    r = split_gates(gates, 3)[0]
    da_r = split_gates(da, 3)[0]
    da_r *= du
    dh_prev += du * r


def gru_step_backward(
    dh_above: Array, dh_next: Array, dh_prev: Array, gates: Array, da: Array, dp: Array
) -> None:
    """da becomes a gradient, dp that of the products, dh_prev the part past the gates."""
    r, z, _ = split_gates(gates, 3)
    dh = dh_above + dh_next
    for block in split_gates(da, 3):
        block *= dh
    dp[...] = da
    split_gates(dp, 3)[2][...] *= r
    dh_prev[...] = dh * z
