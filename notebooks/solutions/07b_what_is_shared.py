"""Solutions of lesson 7b; the builder folds each below its exercise."""

import numpy as np

from deepnlp.backend.functions import softmax
from deepnlp.lessons.exercises import check

# %%
# Solution 7.3
# s = U P_HD h: it stands between h (H numbers) and the embeddings (D numbers), on the way out.
check("7.3", "L transposed")


# %%
# Solution 7.4
def count_solution(V, D, H, tie):
    first = 4 * H * (D + H + 1)
    second = 4 * H * (H + H + 1)
    output = {"none": H * V, "tied": 0, "tied+L": H * D}[tie] + V
    return V * D + first + second + output


check("7.4", count_solution)


# %%
# Solution 7.5
class MyTiedSolution:
    def __init__(self, E, L):
        self.E, self.L = E, L

    def forward(self, ids):
        self.ids, self.h = ids, np.tanh(self.E[ids])
        return self.h @ self.L @ self.E.T

    def backward(self, ds):
        dhat = ds @ self.E  # s = (h L) E^T
        self.dE = ds.T @ (self.h @ self.L)  # the use as output
        self.dL = self.h.T @ dhat
        dx = (dhat @ self.L.T) * (1 - self.h**2)
        np.add.at(self.dE, self.ids, dx)  # the use as look-up, repeated ids included


check("7.5", MyTiedSolution)


# %%
# Solution 7.6
def multiplications_solution(V, D, H):
    return H * D + D * V  # h L, and its product with E^T


check("7.6", multiplications_solution)


# %%
# Solution 7.7
def soft_targets_solution(E, ids, tau):
    return softmax(E[ids] @ E.T / tau)


check("7.7", soft_targets_solution)

# %%
# Solution 7.8
# s = h L E^T + b, and E is frozen.
check("7.8", "L and b")
