# Scaled dot-product attention of queries q (N, T, d) on keys k (N, S, d) and values v (N, S, m).
# check: attention --input "q=2,3,7" --input "k=2,5,7" --input "v=2,5,6"
import numpy as np


def attention_forward(q, k, v):
    d = q.shape[-1]
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(d)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    a = e / e.sum(axis=-1, keepdims=True)
    return a @ v, (q, k, v, a)


def attention_backward(dy, cache):
    q, k, v, a = cache
    d = q.shape[-1]
    dv = a.transpose(0, 2, 1) @ dy
    da = dy @ v.transpose(0, 2, 1)
    dscores = a * (da - (da * a).sum(axis=-1, keepdims=True))
    dq = dscores @ k
    dk = dscores.transpose(0, 2, 1) @ q / np.sqrt(d)
    return dq, dk, dv
