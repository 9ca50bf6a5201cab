"""Flat lines with a d-variable for every value, as in the backprop exercise of makemore."""

# ruff: noqa

SETUP = """
import numpy as np
rng = np.random.default_rng(%d)
n, V, D, H = 6, 7, 3, 5
Xb = rng.integers(0, V, size=(n, 2))
Yb = rng.integers(0, V, size=n)
"""

BIGRAM = """
W = rng.normal(size=(V, V))
logits = W[Xb[:, 0]]
counts = np.exp(logits)
probs = counts / counts.sum(1, keepdims=True)
loss = -np.log(probs[range(n), Yb]).mean()
dlogits = probs.copy()
dlogits[range(n), Yb] -= 1
dlogits /= n
dW = np.zeros_like(W)
np.add.at(dW, Xb[:, 0], dlogits)
"""

MLP = """
C, W1, b1 = rng.normal(size=(V, D)), rng.normal(size=(2 * D, H)), rng.normal(size=H)
W2, b2 = rng.normal(size=(H, V)), rng.normal(size=V)
emb = C[Xb]
embcat = emb.reshape(n, -1)
hpreact = embcat @ W1 + b1
h = np.tanh(hpreact)
logits = h @ W2 + b2
logit_maxes = logits.max(1, keepdims=True)
norm_logits = logits - logit_maxes
counts = np.exp(norm_logits)
counts_sum = counts.sum(1, keepdims=True)
counts_sum_inv = counts_sum**-1
probs = counts * counts_sum_inv
logprobs = np.log(probs)
loss = -logprobs[range(n), Yb].mean()
dlogprobs = np.zeros_like(logprobs)
dlogprobs[range(n), Yb] = -1.0 / n
dprobs = dlogprobs / probs
dcounts_sum_inv = (counts * dprobs).sum(1, keepdims=True)
dcounts = counts_sum_inv * dprobs
dcounts_sum = -(counts_sum**-2) * dcounts_sum_inv
dcounts += np.ones_like(counts) * dcounts_sum
dnorm_logits = counts * dcounts
dlogits = dnorm_logits.copy()
dh = dlogits @ W2.T
dW2 = h.T @ dlogits
db2 = dlogits.sum(0)
dhpreact = (1 - h**2) * dh
dembcat = dhpreact @ W1.T
dW1 = embcat.T @ dhpreact
db1 = dhpreact.sum(0)
demb = dembcat.reshape(emb.shape)
dC = np.zeros_like(C)
np.add.at(dC, Xb, demb)
"""

BATCHNORM = """
hprebn = rng.normal(size=(n, H))
bngain, bnbias = np.ones((1, H)), np.zeros((1, H))
weight = rng.normal(size=(n, H))
bnmeani = 1 / n * hprebn.sum(0, keepdims=True)
bndiff = hprebn - bnmeani
bndiff2 = bndiff**2
bnvar = 1 / (n - 1) * bndiff2.sum(0, keepdims=True)
bnvar_inv = (bnvar + 1e-5) ** -0.5
bnraw = bndiff * bnvar_inv
hpreact = bngain * bnraw + bnbias
loss = (weight * np.tanh(hpreact)).sum()
dhpreact = weight * (1 - np.tanh(hpreact) ** 2)
dbngain = (bnraw * dhpreact).sum(0, keepdims=True)
dbnbias = dhpreact.sum(0, keepdims=True)
dbnraw = bngain * dhpreact
dhprebn = bngain * bnvar_inv / n * (
    n * dhpreact - dhpreact.sum(0) - n / (n - 1) * bnraw * (dhpreact * bnraw).sum(0)
)
"""

ATTENTION = """
q, k, v = rng.normal(size=(4, D)), rng.normal(size=(5, D)), rng.normal(size=(5, H))
target = rng.normal(size=(4, H))
scores = q @ k.T / np.sqrt(D)
e = np.exp(scores)
a = e / e.sum(1, keepdims=True)
out = a @ v
loss = 0.5 * ((out - target) ** 2).sum()
dout = out - target
da = dout @ v.T
dv = a.T @ dout
dscores = a * (da - (da * a).sum(1, keepdims=True)) / np.sqrt(D)
dq = dscores @ k
dk = dscores.T @ q
"""

LSTM = """
x, h_prev, c_prev = rng.normal(size=(n, D)), rng.normal(size=(n, H)), rng.normal(size=(n, H))
Wx, Wh, b = rng.normal(size=(D, 4 * H)), rng.normal(size=(H, 4 * H)), rng.normal(size=4 * H)
z = x @ Wx + h_prev @ Wh + b
i, f, o = (1 / (1 + np.exp(-z[:, j * H : (j + 1) * H])) for j in range(3))
g = np.tanh(z[:, 3 * H :])
c = f * c_prev + i * g
h = o * np.tanh(c)
dh = rng.normal(size=h.shape)
dc = dh * o * (1 - np.tanh(c) ** 2)
do, df, di, dg = dh * np.tanh(c), dc * c_prev, dc * g, dc * i
dz = np.hstack([di * i * (1 - i), df * f * (1 - f), do * o * (1 - o), dg * (1 - g**2)])
dx, dh_prev, dc_prev = dz @ Wx.T, dz @ Wh.T, dc * f
dWx, dWh, db = x.T @ dz, h_prev.T @ dz, dz.sum(0)
"""

CONVOLUTION = """
x, w, b = rng.normal(size=(2, 3, 6)), rng.normal(size=(4, 3, 2)), rng.normal(size=4)
windows = np.stack([x[:, :, t : t + 2] for t in range(5)], axis=2)
y = np.einsum("nctk,fck->nft", windows, w) + b[:, None]
loss = (y**3).sum()
dy = 3 * y**2
db = dy.sum((0, 2))
dw = np.einsum("nft,nctk->fck", dy, windows)
dwindows = np.einsum("nft,fck->nctk", dy, w)
dx = np.zeros_like(x)
for t in range(5):
    dx[:, :, t : t + 2] += dwindows[:, :, t]
"""


def examples(rng):
    setup = SETUP % rng.integers(1000)
    return {
        "bigram": (setup + BIGRAM,),
        "mlp": (setup + MLP,),
        "batchnorm": (setup + BATCHNORM,),
        "attention": (setup + ATTENTION,),
        "lstm": (setup + LSTM,),
        "convolution": (setup + CONVOLUTION,),
    }


MISTAKES = [
    ("bigram", "np.add.at(dW, Xb[:, 0], dlogits)", "dW[Xb[:, 0]] = dlogits * 2"),
    ("bigram", "dlogits /= n\ndW", "dW"),
    ("mlp", "dcounts += np.ones_like(counts) * dcounts_sum", "pass"),
    ("mlp", "-(counts_sum**-2)", "-(counts_sum**-1)"),
    ("mlp", "np.add.at(dC, Xb, demb)", "dC[Xb[:, :1]] += demb[:, :1]"),
    ("mlp", "db1 = dhpreact.sum(0)", "db1 = dhpreact.mean(0)"),
    ("batchnorm", "n / (n - 1) * bnraw *", "bnraw *"),
    ("batchnorm", "dbnraw = bngain * dhpreact", "dbnraw = bnbias + dhpreact / 2"),
    ("batchnorm", "dbnbias = dhpreact.sum(0, keepdims=True)", "dbnbias = dhpreact.sum()"),
    ("attention", "- (da * a).sum(1, keepdims=True)", ""),
    ("attention", "dk = dscores.T @ q", "dk = dscores.T @ q / np.sqrt(D)"),
    ("lstm", "dc * c_prev, dc * g, dc * i", "dc * c_prev, dc * i, dc * g"),
    (
        "lstm",
        "db = x.T @ dz, h_prev.T @ dz, dz.sum(0)",
        "db = x.T @ dz, h_prev.T @ dz, dz.sum(0) / 2",
    ),
    ("convolution", "dx[:, :, t : t + 2] += dw", "dx[:, :, t : t + 2] = dw"),
]
