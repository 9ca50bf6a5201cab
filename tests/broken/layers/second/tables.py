import numpy as np


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class FactorizationMachine:
    """y = b + x w + sum over pairs i < j of <V_i, V_j> x_i x_j."""

    def __init__(self, w, V, b):
        self.w, self.V, self.b = w, V, b

    def forward(self, x):
        self.x = x
        self.xV = x @ self.V
        pairs = 0.5 * (self.xV**2 - (x**2) @ (self.V**2)).sum(axis=1)
        return self.b + x @ self.w + pairs

    def backward(self, dy):
        self.db = np.array([dy.sum()])
        self.dw = self.x.T @ dy
        dxV = dy[:, None] * self.xV
        self.dV = self.x.T @ dxV
        self.dV -= self.V * ((self.x**2).T @ dy)[:, None]
        dx = dy[:, None] * self.w + dxV @ self.V.T
        dx -= dy[:, None] * self.x * (self.V**2).sum(axis=1)
        return dx


class GloVe:
    """Mean of f(X) (w_i . c_j + b_i + d_j - log X)^2 over the pairs (i, j)."""

    def __init__(self, W, C, b, d):
        self.params = [W, C, b, d]
        self.grads = [np.zeros_like(p) for p in self.params]

    def forward(self, i, j, counts):
        W, C, b, d = self.params
        self.i, self.j = i, j
        self.f = np.minimum((counts / 10) ** 0.75, 1.0)
        self.diff = (W[i] * C[j]).sum(axis=1) + b[i] + d[j] - np.log(counts)
        return np.mean(self.f * self.diff**2)

    def backward(self, dout=1):
        W, C, b, d = self.params
        i, j = self.i, self.j
        g = dout * 2 * self.f * self.diff / len(i)
        for grad in self.grads:
            grad[...] = 0
        np.add.at(self.grads[0], i, g[:, None] * C[j])
        np.add.at(self.grads[1], j, g[:, None] * W[i])
        np.add.at(self.grads[2], i, g)
        np.add.at(self.grads[3], j, g)


class CbowNegative:
    """The mean of the context words against the right word and k wrong ones."""

    def __init__(self, Win, Wout):
        self.Win, self.Wout = Win, Wout

    def forward(self, context, target, negatives):
        self.context = context
        self.words = np.concatenate([target[:, None], negatives], axis=1)
        self.label = np.zeros(self.words.shape)
        self.label[:, 0] = 1
        self.h = self.Win[context].mean(axis=1)
        self.vec = self.Wout[self.words]
        self.p = sigmoid(np.einsum("nd,nkd->nk", self.h, self.vec))
        right = np.log(self.p[:, 0])
        wrong = np.log(1 - self.p[:, 1:]).sum(axis=1)
        return -np.mean(right + wrong)

    def backward(self, dout=1):
        N, C = self.context.shape
        ds = dout * (self.p - self.label) / N
        dvec = ds[:, :, None] * self.h[:, None, :]
        dh = np.einsum("nk,nkd->nd", ds, self.vec)
        self.dWout = np.zeros_like(self.Wout)
        np.add.at(self.dWout, self.words, dvec)
        self.dWin = np.zeros_like(self.Win)
        for c in range(C):
            np.add.at(self.dWin, self.context[:, c], dh / C)


class SkipGram:
    """One centre word against several context words through a full softmax."""

    def __init__(self, W_in, W_out):
        self.W_in, self.W_out = W_in, W_out

    def forward(self, centre, context):
        self.centre, self.context = centre, context
        self.h = self.W_in[centre]
        scores = self.h @ self.W_out
        e = np.exp(scores - scores.max(axis=1, keepdims=True))
        self.y = e / e.sum(axis=1, keepdims=True)
        loss = 0
        for c in range(context.shape[1]):
            loss = loss - np.log(self.y[np.arange(len(centre)), context[:, c]]).sum()
        return loss / len(centre)

    def backward(self, dout=1):
        N, C = self.context.shape
        # every context word contributes y - one_hot
        ds = C * self.y
        for c in range(C):
            ds[np.arange(N), self.context[:, c]] -= 1
        ds = ds * dout / N
        self.dW_out = self.h.T @ ds
        dh = ds @ self.W_out.T
        self.dW_in = np.zeros_like(self.W_in)
        for n in range(N):
            self.dW_in[self.centre[n]] += dh[n]


class InputEmbedding:
    """BERT's inputs: word + position + segment, the word scaled by 3."""

    def __init__(self, words, positions, segments):
        self.words, self.positions, self.segments = words, positions, segments

    def forward(self, ids, seg):
        self.ids, self.seg = ids, seg
        T = ids.shape[1]
        return 3.0 * self.words[ids] + self.positions[:T] + self.segments[seg]

    def backward(self, dout):
        N, T, D = dout.shape
        self.dwords = np.zeros_like(self.words)
        np.add.at(self.dwords, self.ids.ravel(), 3.0 * dout.reshape(-1, D))
        self.dpositions = np.zeros_like(self.positions)
        self.dpositions[:T] = dout.sum(axis=0)
        self.dsegments = np.zeros_like(self.segments)
        for s in range(len(self.segments)):
            self.dsegments[s] = dout[self.seg == s].sum(axis=0)


class TiedAutoencoder:
    """x -> tanh(x W + b) -> back through the same W transposed, + c."""

    def __init__(self, W, b, c):
        self.params = {"W": W, "b": b, "c": c}
        self.grads = {}

    def forward(self, x):
        W = self.params["W"]
        self.x = x
        self.h = np.tanh(x @ W + self.params["b"])
        return self.h @ W.T + self.params["c"]

    def backward(self, dr):
        W = self.params["W"]
        self.grads["c"] = dr.sum(axis=0)
        dW = dr.T @ self.h
        dh = dr @ W
        dz = dh * (1 - self.h**2)
        dW += self.x.T @ dz
        self.grads["W"] = dW
        self.grads["b"] = dz.sum(axis=0)
        return dz @ W.T


class DistMult:
    """Score of a fact (subject, relation, object): sum of s * r * o; one table of entities."""

    def __init__(self, E, R):
        self.E, self.R = E, R

    def forward(self, subj, rel, obj):
        self.ids = subj, rel, obj
        self.s, self.r, self.o = self.E[subj], self.R[rel], self.E[obj]
        return (self.s * self.r * self.o).sum(axis=1)

    def backward(self, dscore):
        subj, rel, obj = self.ids
        g = dscore[:, None]
        self.dE = np.zeros_like(self.E)
        self.dR = np.zeros_like(self.R)
        np.add.at(self.dE, subj, g * self.r * self.o)
        np.add.at(self.dE, obj, g * self.s * self.r)
        np.add.at(self.dR, rel, g * self.s * self.o)


class TransE:
    """Distance |s + r - o| of a fact, squared."""

    def __init__(self, E, R):
        self.E, self.R = E, R

    def forward(self, subj, rel, obj):
        self.subj, self.rel, self.obj = subj, rel, obj
        self.gap = self.E[subj] + self.R[rel] - self.E[obj]
        return np.sum(self.gap**2, axis=1)

    def backward(self, dd):
        dgap = 2 * self.gap * dd[:, None]
        self.dE, self.dR = np.zeros_like(self.E), np.zeros_like(self.R)
        for n in range(len(dd)):
            self.dE[self.subj[n]] += dgap[n]
            self.dE[self.obj[n]] -= dgap[n]
            self.dR[self.rel[n]] += dgap[n]
