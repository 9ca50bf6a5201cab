"""Solutions of lesson 11; the builder folds each below its exercise."""

import numpy as np

from deepnlp.lessons.exercises import check


# %%
# Solution 11.1
def predict_solution(ids, k):
    counts, p = np.ones((k, k)), np.zeros((len(ids), k))  # row i: what followed i
    for t, i in enumerate(ids):
        if t > 0:
            counts[ids[t - 1], i] += 1
        p[t] = counts[i] / counts[i].sum()
    return p


check("11.1", predict_solution)


# %%
# Solution 11.2
reason = "the key of a place does not know what stood before it"
check("11.2", reason)


# %%
# Solution 11.3
def most_frequent_solution(words):
    counts = {}
    for word, count in words.items():
        for k in range(len(word) - 1):
            pair = word[k], word[k + 1]
            counts[pair] = counts.get(pair, 0) + count
    return max(counts, key=counts.get)


check("11.3", most_frequent_solution)


# %%
# Solution 11.4
def join_solution(word, pair):
    joined, k = [], 0
    while k < len(word):
        is_pair = tuple(word[k : k + 2]) == pair
        joined.append("".join(pair) if is_pair else word[k])
        k += 2 if is_pair else 1
    return joined


check("11.4", join_solution)


# %%
# Solution 11.5
def bits_per_byte_solution(nats, tokens, size):
    return nats * tokens / size / np.log(2)


check("11.5", bits_per_byte_solution)


# %%
# Solution 11.6
def rate_solution(step, peak, warmup, total, low):
    if step <= warmup:
        return peak * step / warmup
    part = (step - warmup) / (total - warmup)
    return low + (peak - low) * (1 + np.cos(np.pi * part)) / 2


check("11.6", rate_solution)


# %%
# Solution 11.7
def adamw_solution(w, g, m, v, t, lr, b1, b2, decay):
    m = b1 * m + (1 - b1) * g
    v = b2 * v + (1 - b2) * g**2
    step = m / (1 - b1**t) / (np.sqrt(v / (1 - b2**t)) + 1e-8)
    return w - lr * decay * w - lr * step, m, v


check("11.7", adamw_solution)


# %%
# Solution 11.8
class KeptSolution:
    def __init__(self):
        self.keys, self.values = [], []

    def step(self, q, k, v):
        self.keys.append(k)
        self.values.append(v)
        e = np.array(self.keys) @ q / np.sqrt(len(q))
        a = np.exp(e - e.max())
        return a / a.sum() @ np.array(self.values)


check("11.8", KeptSolution)
