"""Solutions of lesson 5; the builder folds each below its exercise."""

import numpy as np

from deepnlp.lessons.exercises import check


# %%
# Solution 5.1
def perplexity_solution(log_p):
    return np.exp(-np.mean(log_p))


check("5.1", perplexity_solution)

# %%
# Solution 5.2
number_solution = 8  # 2 bits and 4 bits in turn: 3 bits on average, 2 to the 3rd
check("5.2", number_solution)


# %%
# Solution 5.3
class RNNSolution:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b

    def forward(self, x, h_prev):
        self.x, self.h_prev = x, h_prev
        self.h = np.tanh(x @ self.Wx + h_prev @ self.Wh + self.b)
        return self.h

    def backward(self, dh):
        da = dh * (1 - self.h**2)
        self.dWx = self.x.T @ da
        self.dWh = self.h_prev.T @ da
        self.db = da.sum(axis=0)
        return da @ self.Wx.T, da @ self.Wh.T


check("5.3", RNNSolution)


# %%
# Solution 5.4
class TimeRNNSolution:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b

    def forward(self, x):
        self.x, self.h = x, [np.zeros((len(x), len(self.Wh)))]  # h[t]: the state after t steps
        for t in range(x.shape[1]):
            self.h.append(np.tanh(x[:, t] @ self.Wx + self.h[t] @ self.Wh + self.b))
        return np.stack(self.h[1:], axis=1)

    def backward(self, dhs):
        dx = np.empty_like(self.x)
        self.dWx, self.dWh = np.zeros_like(self.Wx), np.zeros_like(self.Wh)
        self.db, dh_next = np.zeros_like(self.b), 0.0
        for t in reversed(range(self.x.shape[1])):
            da = (dhs[:, t] + dh_next) * (1 - self.h[t + 1] ** 2)
            self.dWx += self.x[:, t].T @ da
            self.dWh += self.h[t].T @ da
            self.db += da.sum(axis=0)
            dx[:, t] = da @ self.Wx.T
            dh_next = da @ self.Wh.T
        return dx


check("5.4", TimeRNNSolution)

# %%
# Solution 5.5
# Each window starts from the last state of the one before, so the states agree to the last digit.
# The gradients agree in the last window, which has nothing after it, and differ in the others, most
# near the border, where the gradient from the next window is missing.
check("5.5", "states")


# %%
# Solution 5.6
def windows_solution(ids, N, T):
    length = (len(ids) - 1) // N
    inputs = ids[: N * length].reshape(N, length)
    targets = ids[1 : N * length + 1].reshape(N, length)
    return [(inputs[:, k : k + T], targets[:, k : k + T]) for k in range(0, length, T)]


check("5.6", windows_solution)


# %%
# Solution 5.7
class TruncatedRNNSolution:
    def __init__(self, Wx, Wh, b, window):
        self.Wx, self.Wh, self.b, self.window = Wx, Wh, b, window

    def forward(self, x):
        self.x, self.h = x, [np.zeros((len(x), len(self.Wh)))]
        for t in range(x.shape[1]):
            self.h.append(np.tanh(x[:, t] @ self.Wx + self.h[t] @ self.Wh + self.b))
        return np.stack(self.h[1:], axis=1)

    def backward(self, dhs):
        dx = np.empty_like(self.x)
        self.dWx, self.dWh = np.zeros_like(self.Wx), np.zeros_like(self.Wh)
        self.db, dh_next = np.zeros_like(self.b), 0.0
        for t in reversed(range(self.x.shape[1])):
            da = (dhs[:, t] + dh_next) * (1 - self.h[t + 1] ** 2)
            self.dWx += self.x[:, t].T @ da
            self.dWh += self.h[t].T @ da  # the value of h_prev counts, also across a border
            self.db += da.sum(axis=0)
            dx[:, t] = da @ self.Wx.T
            dh_next = 0.0 if t % self.window == 0 else da @ self.Wh.T  # its gradient does not
        return dx


check("5.7", TruncatedRNNSolution)


# %%
# Solution 5.8
def temperature_solution(logits, tau):
    e = np.exp((logits - logits.max()) / tau)
    return e / e.sum()


check("5.8", temperature_solution)


# %%
# Solution 5.9
def continuation_solution(model, ids, length):
    model.reset_state()
    logits = model.logits(np.array([ids]))  # the whole prompt
    found = []
    for _ in range(length):
        found.append(int(logits[0, -1].argmax()))
        logits = model.logits(np.array([[found[-1]]]))  # (1, 1): the new id alone
    return found


check("5.9", continuation_solution)
