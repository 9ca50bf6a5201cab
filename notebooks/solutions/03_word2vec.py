"""Solutions of lesson 3; the builder folds each below its exercise."""

import numpy as np

from deepnlp.lessons.exercises import check


# %%
# Solution 3.1
def contexts_and_targets_solution(ids, w):
    n = len(ids)
    columns = [ids[w + k : n - w + k] for k in range(-w, w + 1) if k != 0]  # each (N,)
    return np.stack(columns, axis=1), ids[w : n - w]


check("3.1", contexts_and_targets_solution)


# %%
# Solution 3.2
def bag_of_words_solution(contexts, V):
    return np.eye(V)[contexts].mean(axis=1)  # (N, C, V) -> (N, V)


check("3.2", bag_of_words_solution)

# %%
# Solution 3.3
choice = "never higher"
check("3.3", choice)


# %%
# Solution 3.4
class ContextMeanSolution:
    def __init__(self, E):
        self.E, self.dE = E, None

    def forward(self, contexts):
        self.contexts = contexts
        return self.E[contexts].mean(axis=1)  # (N, C, D) -> (N, D)

    def backward(self, dh):
        C = self.contexts.shape[1]
        self.dE = np.zeros_like(self.E)
        np.add.at(self.dE, self.contexts, dh[:, None] / C)  # every place of a word adds


check("3.4", ContextMeanSolution)


# %%
# Solution 3.5
def skipgram_ds_solution(s, contexts):
    N, V = s.shape
    e = np.exp(s - s.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    share = np.eye(V)[contexts].mean(axis=1)  # (N, V): what the C words say together
    return (p - share) / N


check("3.5", skipgram_ds_solution)

# %%
# Solution 3.6
product = "E W"
check("3.6", product)


# %%
# Solution 3.7
def log_likelihood_solution(P, ids, w):
    total = 0.0
    for j in range(1, w + 1):
        left, right = ids[:-j], ids[j:]  # all pairs of words at distance j
        total += np.log(P[left, right]).sum() + np.log(P[right, left]).sum()
    return total


check("3.7", log_likelihood_solution)


# %%
# Solution 3.8
def lowest_loss_solution(counts):
    p = counts / counts.sum(axis=1, keepdims=True)  # p(j | i)
    seen = counts > 0
    return -np.sum(counts[seen] * np.log(p[seen])) / counts.sum()


check("3.8", lowest_loss_solution)
