"""Solutions of lesson 9; the builder folds each below its exercise."""

import numpy as np

from deepnlp.layers import DotAttention, reverse_by_length
from deepnlp.lessons.exercises import check


# %%
# Solution 9.1
def attention_weights_solution(query, memory, lengths):
    e = query @ memory.swapaxes(1, 2)  # (N, T, H) (N, H, S) -> (N, T, S)
    counts = np.arange(memory.shape[1]) < lengths[:, None]  # (N, S)
    e = np.where(counts[:, None], e, -np.inf)
    e = np.exp(e - e.max(axis=2, keepdims=True))
    return e / e.sum(axis=2, keepdims=True)


check("9.1", attention_weights_solution)


# %%
# Solution 9.2
def softmax_backward_solution(a, da):
    return a * (da - np.sum(a * da, axis=2, keepdims=True))  # 0 in the padding


check("9.2", softmax_backward_solution)


# %%
# Solution 9.3
class AttentionSolution:
    def forward(self, query, memory, lengths):
        self.query, self.memory = query, memory
        counts = np.arange(memory.shape[1]) < lengths[:, None]  # (N, S)
        e = np.where(counts[:, None], query @ memory.swapaxes(1, 2), -np.inf)
        e = np.exp(e - e.max(axis=2, keepdims=True))
        self.a = e / e.sum(axis=2, keepdims=True)
        return self.a @ memory

    def backward(self, dc):
        a, query, memory = self.a, self.query, self.memory
        # c_t = sum_s a_ts m_s
        da = dc @ memory.swapaxes(1, 2)
        dmemory = a.swapaxes(1, 2) @ dc
        # a_t = softmax(e_t)
        de = a * (da - np.sum(a * da, axis=2, keepdims=True))
        # e_ts = q_t . m_s
        dquery = de @ memory
        dmemory += de.swapaxes(1, 2) @ query
        return dquery, dmemory


check("9.3", AttentionSolution)


# %%
# Solution 9.4
class StepSolution:
    def __init__(self, W):
        self.W, self.dW = W, None
        self.attention = DotAttention()

    def forward(self, h, memory, lengths):
        c = self.attention.forward(h, memory, lengths)
        self.both = np.concatenate([c, h], axis=2)  # (N, T, 2H)
        self.y = np.tanh(self.both @ self.W)
        return self.y

    def backward(self, dy):
        ds = dy * (1 - self.y**2)
        self.dW = np.einsum("nti,ntj->ij", self.both, ds)  # one W for all N and T
        dboth = ds @ self.W.T
        H = dboth.shape[2] // 2
        dquery, dmemory = self.attention.backward(dboth[..., :H])
        return dboth[..., H:] + dquery, dmemory


check("9.4", StepSolution)

# %%
# Solution 9.5
choice = "from the third letter on"
check("9.5", choice)


# %%
# Solution 9.6
def divisor_solution(H, var_q, var_m):
    return np.sqrt(H * var_q * var_m)  # variances of independent terms add up


check("9.6", divisor_solution)


# %%
# Solution 9.7
class BothSolution:
    def __init__(self, ahead, back):
        self.ahead, self.back = ahead, back

    def forward(self, x, lengths):
        self.lengths = lengths
        ahead = self.ahead.forward(x, lengths)
        back = self.back.forward(reverse_by_length(x, lengths), lengths)
        return np.concatenate([ahead, reverse_by_length(back, lengths)], axis=2)

    def backward(self, dhs):
        H = dhs.shape[2] // 2
        dx = self.ahead.backward(dhs[..., :H])
        dback = self.back.backward(reverse_by_length(dhs[..., H:], self.lengths))
        return dx + reverse_by_length(dback, self.lengths)  # both read the same x


check("9.7", BothSolution)

# %%
# Solution 9.8
arrangement = "Luong"
check("9.8", arrangement)


# %%
# Solution 9.9
def self_attention_solution(x, Wq, Wk, Wv, lengths):
    e = (x @ Wq) @ (x @ Wk).swapaxes(1, 2) / np.sqrt(Wk.shape[1])  # (N, S, S)
    counts = np.arange(x.shape[1]) < np.asarray(lengths)[:, None]  # (N, S): the keys that count
    e = np.where(counts[:, None], e, -np.inf)
    e = np.exp(e - e.max(axis=2, keepdims=True))
    return e / e.sum(axis=2, keepdims=True) @ (x @ Wv)


check("9.9", self_attention_solution)
