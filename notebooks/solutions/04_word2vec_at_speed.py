"""Solutions of lesson 4; the builder folds each below its exercise."""

import numpy as np

from deepnlp.lessons.exercises import check


# %%
# Solution 4.1
def rows_of_gradient_solution(ids, dy):
    kept, place = np.unique(ids, return_inverse=True)  # ids = kept[place]
    rows = np.zeros((len(kept), dy.shape[1]))
    np.add.at(rows, place, dy)
    return kept, rows


check("4.1", rows_of_gradient_solution)


# %%
# Solution 4.2
class EmbeddingDotSolution:
    def __init__(self, W):
        self.W, self.dW = W, None

    def forward(self, h, ids):
        self.h, self.ids = h, ids
        return np.sum(h[:, None] * self.W[ids], axis=2)  # (N, 1, D) (N, K, D) -> (N, K)

    def backward(self, ds):
        self.dW = np.zeros_like(self.W)
        np.add.at(self.dW, self.ids, ds[:, :, None] * self.h[:, None])  # product: the other factor
        return np.sum(ds[:, :, None] * self.W[self.ids], axis=1)  # h was used K times


check("4.2", EmbeddingDotSolution)


# %%
# Solution 4.3
def negative_sampling_solution(s, s_neg):
    def sigma(x):
        return np.exp(-np.logaddexp(0, -x))

    N = len(s)
    loss = (np.logaddexp(0, -s).sum() + np.logaddexp(0, s_neg).sum()) / N
    return loss, (sigma(s) - 1) / N, sigma(s_neg) / N


check("4.3", negative_sampling_solution)


# %%
# Solution 4.4
def noise_solution(counts, power):
    weights = np.where(counts > 0, counts**power, 0)  # for the power 0, as 0 ** 0 is 1
    return weights / weights.sum()


check("4.4", noise_solution)


# %%
# Solution 4.5
def draw_negatives_solution(p, targets, K, rng):
    drawn = rng.choice(len(p), size=(len(targets), K), p=p)
    while np.any(hit := drawn == targets[:, None]):  # few are left after each round
        drawn[hit] = rng.choice(len(p), size=hit.sum(), p=p)
    return drawn


check("4.5", draw_negatives_solution)


# %%
# Solution 4.6
def best_scores_solution(counts, noise, K):
    # sigma(s) = yes / (yes + no), so s = log(yes / no)
    return np.log(counts / (K * counts.sum(axis=1, keepdims=True) * noise))


check("4.6", best_scores_solution)


# %%
# Solution 4.7
def pairs_solution(ids, reaches):
    found = []
    for i, reach in enumerate(reaches):
        for j in range(max(0, i - reach), min(len(ids), i + reach + 1)):
            if j != i:
                found.append((ids[i], ids[j]))
    return found


check("4.7", pairs_solution)


# %%
# Solution 4.8
def least_solution(K):
    return K * np.log(2)  # softplus(0) for each


check("4.8", least_solution)

# %%
# Solution 4.9
L_solution = np.array([[0, 0], [0, -1]])  # they differ in the second number: minus its product
check("4.9", L_solution)
