import numpy as np


class Embedding:
    def __init__(self, W):
        self.params = [W]
        self.grads = [np.zeros_like(W)]

    def forward(self, idx):
        self.idx = idx
        return self.params[0][idx]

    def backward(self, dout):
        (dW,) = self.grads
        dW[...] = 0
        np.add.at(dW, self.idx, dout)


class EmbeddingBag:
    """The mean of the vectors of the words of a document."""

    def __init__(self, E):
        self.E = E
        self.dE = None

    def forward(self, ids):
        self.ids = ids
        return self.E[ids].mean(axis=1)

    def backward(self, dout):
        N, L = self.ids.shape
        self.dE = np.zeros_like(self.E)
        for n in range(N):
            for word in self.ids[n]:
                self.dE[word] += dout[n] / L


class PositionalEmbedding:
    """sqrt(D) times the word's vector, plus the position's."""

    def __init__(self, E, P):
        self.E, self.P = E, P

    def forward(self, ids):
        self.ids = ids
        self.root = np.sqrt(self.E.shape[1])
        return self.root * self.E[ids] + self.P[: ids.shape[1]]

    def backward(self, dy):
        T = self.ids.shape[1]
        self.dE = np.zeros_like(self.E)
        np.add.at(self.dE, self.ids, self.root * dy)
        self.dP = np.zeros_like(self.P)
        self.dP[:T] = dy.sum(axis=0)


class TiedOutput:
    """Scores of all words from the mean of a context: one table E reads and writes."""

    def __init__(self, E, b):
        self.E, self.b = E, b

    def forward(self, ids):
        self.ids = ids
        self.h = np.tanh(self.E[ids].mean(axis=1))
        return self.h @ self.E.T + self.b

    def backward(self, dscores):
        self.dE = dscores.T @ self.h
        self.db = dscores.sum(axis=0)
        dh = dscores @ self.E
        dmean = dh * (1 - self.h**2)
        each = dmean / self.ids.shape[1]
        np.add.at(self.dE, self.ids, each[:, None, :])
