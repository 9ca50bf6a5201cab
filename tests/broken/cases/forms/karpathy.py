"""Flat scripts of forward lines and d-variables, cell by cell, as in the lecture on backpropagation."""

import numpy as np

# %% mlp arrays
rng = np.random.default_rng(1)
n = 8
emb = rng.normal(size=(n, 6))
Yb = rng.integers(5, size=n)
W1 = rng.normal(size=(6, 7)) * 0.5
b1 = rng.normal(size=7) * 0.1
bngain = 1 + rng.normal(size=(1, 7)) * 0.3
bnbias = rng.normal(size=(1, 7)) * 0.1
W2 = rng.normal(size=(7, 5)) * 0.5
b2 = rng.normal(size=5) * 0.1

# %% mlp forward
hprebn = emb @ W1 + b1
bnmeani = 1 / n * hprebn.sum(0, keepdims=True)
bndiff = hprebn - bnmeani
bndiff2 = bndiff**2
bnvar = 1 / (n - 1) * bndiff2.sum(0, keepdims=True)
bnvar_inv = (bnvar + 1e-5) ** -0.5
bnraw = bndiff * bnvar_inv
hpreact = bngain * bnraw + bnbias
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

# %% mlp backward
dlogprobs = np.zeros_like(logprobs)
dlogprobs[range(n), Yb] = -1.0 / n
dprobs = (1.0 / probs) * dlogprobs
dcounts_sum_inv = (counts * dprobs).sum(1, keepdims=True)
dcounts = counts_sum_inv * dprobs
dcounts_sum = (-(counts_sum**-2)) * dcounts_sum_inv
dcounts = dcounts + np.ones_like(counts) * dcounts_sum
dnorm_logits = counts * dcounts
dlogits = dnorm_logits.copy()
dh = dlogits @ W2.T
dW2 = h.T @ dlogits
db2 = dlogits.sum(0)
dhpreact = (1.0 - h**2) * dh
dbngain = (bnraw * dhpreact).sum(0, keepdims=True)
dbnraw = bngain * dhpreact
dbnbias = dhpreact.sum(0, keepdims=True)
dbndiff = bnvar_inv * dbnraw
dbnvar_inv = (bndiff * dbnraw).sum(0, keepdims=True)
dbnvar = (-0.5 * (bnvar + 1e-5) ** -1.5) * dbnvar_inv
dbndiff2 = (1.0 / (n - 1)) * np.ones_like(bndiff2) * dbnvar
dbndiff = dbndiff + (2 * bndiff) * dbndiff2
dhprebn = dbndiff.copy()
dbnmeani = (-dbndiff).sum(0)
dhprebn = dhprebn + 1.0 / n * (np.ones_like(hprebn) * dbnmeani)
demb = dhprebn @ W1.T
dW1 = emb.T @ dhprebn
db1 = dhprebn.sum(0)

# %% attention arrays
rng = np.random.default_rng(2)
x = rng.normal(size=(5, 6))
Wq = rng.normal(size=(6, 4)) * 0.5
Wk = rng.normal(size=(6, 4)) * 0.5
Wv = rng.normal(size=(6, 3)) * 0.5
goal = rng.normal(size=(5, 3)) > 0

# %% attention forward
q = x @ Wq
k = x @ Wk
v = x @ Wv
wei = q @ k.T * 4**-0.5
wei = np.where(np.tril(np.ones((5, 5))) == 0, -1e9, wei)
att = np.exp(wei - wei.max(1, keepdims=True))
att = att / att.sum(1, keepdims=True)
out = att @ v
loss = ((out - goal) ** 2).mean()

# %% attention backward
dout = 2 * (out - goal) / out.size
datt = dout @ v.T
dv = att.T @ dout
dwei = att * (datt - (att * datt).sum(1, keepdims=True))
dq = dwei @ k * 4**-0.5
dk = dwei.T @ q * 4**-0.5
dWq = x.T @ dq
dWk = x.T @ dk
dWv = x.T @ dv
dx = dq @ Wq.T + dk @ Wk.T + dv @ Wv.T

# %% layernorm arrays
rng = np.random.default_rng(3)
x = rng.normal(size=(4, 7))
w = 1 + rng.normal(size=7) * 0.3
b = rng.normal(size=7)

# %% layernorm forward
mean = x.mean(1, keepdims=True)
xshift = x - mean
var = (xshift**2).mean(1, keepdims=True)
rstd = (var + 1e-5) ** -0.5
norm = xshift * rstd
out = norm * w + b
loss = (out**3).sum()

# %% layernorm backward
dout = 3 * out**2
db = dout.sum(0)
dw = (dout * norm).sum(0)
dnorm = dout * w
dx = dnorm - dnorm.mean(1, keepdims=True) - norm * (dnorm * norm).mean(1, keepdims=True)
dx *= rstd

# %% conv arrays
rng = np.random.default_rng(4)
x = rng.normal(size=(2, 3, 8))
w = rng.normal(size=(5, 3, 3))
b = rng.normal(size=5)

# %% conv forward
L = 6
y = np.zeros((2, 5, L))
for i in range(L):
    y[:, :, i] = np.einsum("nck,fck->nf", x[:, :, i : i + 3], w) + b
a = np.maximum(y, 0)
p = a.mean(2)
loss = (p**2).sum() / 2

# %% conv backward
dp = p
da = np.repeat(dp[:, :, None], L, axis=2) / L
dy = da * (y > 0)
db = dy.sum((0, 2))
dx = np.zeros_like(x)
dw = np.zeros_like(w)
for i in range(L):
    dx[:, :, i : i + 3] += np.einsum("nf,fck->nck", dy[:, :, i], w)
    dw += np.einsum("nf,nck->fck", dy[:, :, i], x[:, :, i : i + 3])

# %% embedding arrays
rng = np.random.default_rng(5)
C = rng.normal(size=(6, 3))
P = rng.normal(size=(4, 3))
Xb = np.array([[1, 2, 2, 0], [2, 5, 1, 1]])
W = rng.normal(size=(3, 5))

# %% embedding forward
emb = C[Xb] + P
h = np.tanh(emb @ W)
loss = (h**2).mean()

# %% embedding backward
dh = 2 * h / h.size
dpre = (1 - h**2) * dh
dW = np.einsum("btd,bth->dh", emb, dpre)
demb = dpre @ W.T
dP = demb.sum(0)
dC = np.zeros_like(C)
for i in range(Xb.shape[0]):
    for j in range(Xb.shape[1]):
        ix = Xb[i, j]
        dC[ix] += demb[i, j]

# %% ffn arrays
rng = np.random.default_rng(6)
x = rng.normal(size=(5, 4))
W1 = rng.normal(size=(4, 6))
W2 = rng.normal(size=(6, 4))

# %% ffn forward
z = x @ W1
s = 1 / (1 + np.exp(-z))
g = z * s
y = x + g @ W2
loss = (y**2).sum() / 2

# %% ffn backward
dy = y.copy()
dg = dy @ W2.T
dW2 = g.T @ dy
dz = dg * (s + z * s * (1 - s))
dW1 = x.T @ dz
dx = dy + dz @ W1.T
