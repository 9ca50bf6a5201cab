"""Embeddings, and weights that are used twice."""

import numpy as np

from tests.museum import exhibit


def embedding(kind, rng, s):
    ids = rng.integers(0, s.V, size=(s.N + 1, s.T))
    ids[0, 0] = ids[-1, -1]
    return kind(rng.normal(size=(s.V, s.D))), (ids,)


def tied(kind, rng, s):
    ids = rng.integers(0, s.V, size=(s.N, s.T))
    return kind(rng.normal(size=(s.V, s.D)), rng.normal(size=s.V)), (ids,)


@exhibit("", "", "", embedding)
class Embedding:
    """A row for every id, without a mistake."""

    def __init__(self, W):
        self.params, self.grads = [W], [np.zeros_like(W)]

    def forward(self, ids):
        (W,) = self.params
        self.ids = ids
        return W[ids]

    def backward(self, dy):
        (dW,) = self.grads
        dW[...] = 0
        np.add.at(dW, self.ids, dy)


@exhibit(
    "repeated ids overwritten", "What if an id comes twice?", "np.add.at(dW, ids, dy)", embedding
)
class EmbeddingAssigns(Embedding):
    def backward(self, dy):
        (dW,) = self.grads
        dW[...] = 0
        dW[self.ids] = dy


@exhibit(
    "repeated ids overwritten", "What if an id comes twice?", "np.add.at(dW, ids, dy)", embedding
)
class EmbeddingAddsOnce(Embedding):
    def backward(self, dy):
        (dW,) = self.grads
        dW[...] = 0
        dW[self.ids] += dy


@exhibit("", "", "", tied)
class TiedModel:
    """Scores of the next word from the embedding, in both places; without a mistake."""

    def __init__(self, E, b):
        self.E, self.b = E, b

    def forward(self, ids):
        self.ids = ids
        self.h = np.tanh(self.E[ids])
        return self.h @ self.E.T + self.b

    def backward(self, dy):
        self.db = dy.sum(axis=(0, 1))
        self.dE = np.einsum("ntv,ntd->vd", dy, self.h)
        dh = dy @ self.E
        np.add.at(self.dE, self.ids, dh * (1 - self.h**2))


@exhibit(
    "tied use lost: output side",
    "E is used twice.",
    "np.add.at(self.dE, ...) on top of what is there",
    tied,
)
class TiedForgetsOutput(TiedModel):
    def backward(self, dy):
        self.db = dy.sum(axis=(0, 1))
        self.dE = np.einsum("ntv,ntd->vd", dy, self.h)
        dh = dy @ self.E
        self.dE = np.zeros_like(self.E)
        np.add.at(self.dE, self.ids, dh * (1 - self.h**2))


@exhibit("tied use lost: lookup side", "E is used twice.", "np.add.at(self.dE, ids, dx)", tied)
class TiedForgetsLookup(TiedModel):
    def backward(self, dy):
        self.db = dy.sum(axis=(0, 1))
        self.dE = np.einsum("ntv,ntd->vd", dy, self.h)


@exhibit("repeated ids overwritten", "What if an id comes twice?", "np.add.at(...)", tied)
class TiedAddsOnce(TiedModel):
    def backward(self, dy):
        self.db = dy.sum(axis=(0, 1))
        self.dE = np.einsum("ntv,ntd->vd", dy, self.h)
        self.dE[self.ids] += (dy @ self.E) * (1 - self.h**2)


@exhibit("", "", "", tied)
class BagOfWords:
    """Scores of a word from the mean of its context (CBOW), tied; without a mistake."""

    def __init__(self, E, b):
        self.params, self.grads = [E, b], [np.zeros_like(E), np.zeros_like(b)]

    def forward(self, ids):
        E, b = self.params
        self.ids = ids
        self.h = E[ids].mean(axis=1)
        return np.dot(self.h, E.T) + b

    def backward(self, dy):
        E, _ = self.params
        dE, db = self.grads
        dE[...] = np.dot(dy.T, self.h)
        db[...] = dy.sum(axis=0)
        dh = np.dot(dy, E) / self.ids.shape[1]
        for t in range(self.ids.shape[1]):
            np.add.at(dE, self.ids[:, t], dh)


@exhibit(
    "tied use lost: output side",
    "E is used twice.",
    "dE[...] = np.dot(dy.T, self.h) at first",
    tied,
)
class BagForgetsOutput(BagOfWords):
    def backward(self, dy):
        E, _ = self.params
        dE, db = self.grads
        dE[...] = 0
        db[...] = dy.sum(axis=0)
        dh = np.dot(dy, E) / self.ids.shape[1]
        for t in range(self.ids.shape[1]):
            np.add.at(dE, self.ids[:, t], dh)


@exhibit("tied use lost: lookup side", "E is used twice.", "np.add.at(dE, ids[:, t], dh)", tied)
class BagForgetsLookup(BagOfWords):
    def backward(self, dy):
        dE, db = self.grads
        dE[...] = np.dot(dy.T, self.h)
        db[...] = dy.sum(axis=0)
