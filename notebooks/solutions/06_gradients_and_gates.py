"""Solutions of lesson 6; the builder folds each below its exercise."""

import numpy as np

from deepnlp.backend.functions import sigmoid
from deepnlp.lessons.exercises import check

# %%
# Solution 6.1
# A is a shear: its eigenvalues stand on the diagonal, 0.5 and 0.5. B and C turn by an angle and
# stretch by 1.1 and 0.9; their eigenvalues are complex, of just that size.
check("6.1", {"A": "vanishes", "B": "grows", "C": "vanishes"})

# %%
# Solution 6.2
# r^20 = 1.8
check("6.2", 1.8 ** (1 / 20))


# %%
# Solution 6.3
def clip_solution(grads, max_norm):
    norm = np.sqrt(sum(np.sum(g**2) for g in grads))
    scale = min(1.0, max_norm / (norm + 1e-6))
    return [g * scale for g in grads], norm


check("6.3", clip_solution)


# %%
# Solution 6.4
class MyLSTMSolution:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b

    def forward(self, x):
        h = c = np.zeros((len(x), len(self.Wh)))
        self.kept, hs = [], []
        for t in range(x.shape[1]):
            h_prev, c_prev = h, c
            a = np.split(x[:, t] @ self.Wx + h @ self.Wh + self.b, 4, axis=1)
            i, f, g, o = sigmoid(a[0]), sigmoid(a[1]), np.tanh(a[2]), sigmoid(a[3])
            c = f * c_prev + i * g
            u = np.tanh(c)
            h = o * u
            self.kept.append((x[:, t], h_prev, c_prev, i, f, g, o, u))
            hs.append(h)
        return np.stack(hs, axis=1)

    def backward(self, dhs):
        self.dWx, self.dWh = np.zeros_like(self.Wx), np.zeros_like(self.Wh)
        self.db, dh_next, dc_next, dxs = np.zeros_like(self.b), 0.0, 0.0, []
        for t in reversed(range(dhs.shape[1])):
            x, h_prev, c_prev, i, f, g, o, u = self.kept[t]
            dh = dhs[:, t] + dh_next  # from above and from the next step
            dc = dc_next + dh * o * (1 - u**2)  # h = o tanh(c)
            d = dc * g * i * (1 - i), dc * c_prev * f * (1 - f), dc * i * (1 - g**2)
            da = np.concatenate([*d, dh * u * o * (1 - o)], axis=1)
            self.dWx += x.T @ da
            self.dWh += h_prev.T @ da
            self.db += da.sum(axis=0)
            dxs.append(da @ self.Wx.T)
            dh_next, dc_next = da @ self.Wh.T, dc * f
        return np.stack(dxs[::-1], axis=1)


check("6.4", MyLSTMSolution)

# %%
# Solution 6.5
# i and f wide open, g near 1, o shut. sigmoid(12) = 0.999994, tanh(3) = 0.995.
check("6.5", [12.0, 12.0, 3.0, -12.0])


# %%
# Solution 6.6
# f^n = 1/2, and sigmoid(b) = f is solved by b = log(f / (1 - f)). For large n it is about
# log(n / log 2): the logarithm of the distance (Tallec and Ollivier 2018).
def forget_bias_solution(n):
    f = 0.5 ** (1 / n)
    return np.log(f / (1 - f))


check("6.6", forget_bias_solution)


# %%
# Solution 6.7
def along_c_solution(f, dc):
    return dc * np.cumprod(f[::-1], axis=0)[::-1]  # dc_{t-1} = dc_t f_t, from the last step on


check("6.7", along_c_solution)


# %%
# Solution 6.8
def gru_step_solution(x, h_prev, Wx, Wh, b):
    H = h_prev.shape[1]
    ax = x @ Wx + b
    r, z = np.split(sigmoid(ax[:, : 2 * H] + h_prev @ Wh[:, : 2 * H]), 2, axis=1)
    n = np.tanh(ax[:, 2 * H :] + (r * h_prev) @ Wh[:, 2 * H :])
    return (1 - z) * n + z * h_prev


check("6.8", gru_step_solution)
