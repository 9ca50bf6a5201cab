"""A cell of one's own, as a user writes it: the minimal gated unit of Zhou et al. 2016."""

from deepnlp.backend import xp
from deepnlp.backend.functions import sigmoid, sigmoid_grad, split_gates, tanh_grad
from deepnlp.layers.recurrent import TimeRecurrent


def mgu_step(a, h_prev, Wh):
    a_f, a_n = split_gates(a, 2)
    Wh_f, Wh_n = split_gates(Wh, 2)
    f = sigmoid(a_f + h_prev @ Wh_f)  # how much is new
    u = f * h_prev
    n = xp.tanh(a_n + u @ Wh_n)  # new state
    h = (1 - f) * h_prev + f * n
    return (h,), (u, h_prev, f, n)


def mgu_step_backward(dh, saved, Wh):
    _, h_prev, f, n = saved
    Wh_f, Wh_n = split_gates(Wh, 2)
    # h = (1 - f) * h_prev + f * n
    da_n = dh * f * tanh_grad(n)
    # n = tanh(a_n + u Wh_n) and u = f * h_prev
    du = da_n @ Wh_n.T
    df = dh * (n - h_prev) + du * h_prev
    # f = sigmoid(a_f + h_prev Wh_f): h_prev went three ways
    da_f = df * sigmoid_grad(f)
    dh_prev = dh * (1 - f) + du * f + da_f @ Wh_f.T
    return (xp.concatenate([da_f, da_n], axis=1),), (dh_prev,)


class MGU(TimeRecurrent):
    gates, products = "fn", {"n": 0}  # Wh_n multiplies number 0 of what is saved

    def formula(self):
        return mgu_step, mgu_step_backward, (self.Wh.value,)
