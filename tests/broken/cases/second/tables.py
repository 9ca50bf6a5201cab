import numpy as np
from numpy.random import Generator

from tests.broken.broken import Example, Family, sizes
from tests.broken.cases.recurrent import weights
from tests.broken.cases.second.cells import SMALL
from tests.broken.names import (
    ACTIVATION,
    ASSIGNED,
    AXIS,
    BIAS_N,
    CONSTANT,
    COUNT,
    IDS,
    NO_MEAN,
    OPERAND,
    SIGN,
    TERM,
    TIED_INPUT,
    TIED_OUTPUT,
    TRANSPOSED,
    ZERO,
)


def machine(rng: Generator) -> Example:
    n, d, k = sizes(rng, 3)
    return weights(rng, d, (d, k), 1), (rng.normal(size=(n, d)),)


def repeated(rng: Generator, high: int, *shape: int):
    ids = rng.integers(high, size=shape)
    ids[1] = ids[0]
    return ids


def glove(rng: Generator) -> Example:
    m, v, d = sizes(rng, 3)
    counts = rng.permutation(np.arange(m) + 2) * 2
    ids = repeated(rng, v, m), repeated(rng, v, m)[::-1].copy()
    return weights(rng, (v, d), (v, d), v, v), (*ids, counts)


def cbow(rng: Generator) -> Example:
    n, v, d, c = sizes(rng, 4, (4, 5, 6, 7))
    context = repeated(rng, v, n, c)
    negatives = rng.integers(v, size=(n, 3))
    return weights(rng, (v, d), (v, d)), (context, repeated(rng, v, n), negatives)


def skipgram(rng: Generator) -> Example:
    n, v, d, c = sizes(rng, 4, SMALL)
    return weights(rng, (v, d), (d, v)), (repeated(rng, v, n), rng.integers(v, size=(n, c)))


def bert(rng: Generator) -> Example:
    n, t, d, v = sizes(rng, 4, SMALL)
    seg = rng.integers(2, size=(n, t))
    seg[0, :2] = 0, 1
    return weights(rng, (v, d), (9, d), (2, d)), (repeated(rng, v, n, t), seg)


def tied(rng: Generator) -> Example:
    n, d, h = sizes(rng, 3)
    return weights(rng, (d, h), h, d), (rng.normal(size=(n, d)),)


def facts(rng: Generator) -> Example:
    n, e, d, r = sizes(rng, 4)
    ids = repeated(rng, e, n), repeated(rng, r, n), repeated(rng, e, n)[::-1].copy()
    return weights(rng, (e, d), (r, d)), ids


MACHINE = Family("factorisation machine", "second.tables.FactorizationMachine", machine)
MACHINE.broken(
    "pairs with itself counted in dV",
    right="self.dV -= self.V * ((self.x**2).T @ dy)[:, None]\n",
    wrong="\n",
    truth="the way through the squares x^2 V^2 is dropped in dV",
    accept=(TERM,),
    place=("x**2", "V", "V**2", "self.V", "self.V**2", "square", "squares"),
)
MACHINE.broken(
    "pairs with itself counted in dx",
    right="dx -= dy[:, None] * self.x * (self.V**2).sum(axis=1)\n",
    wrong="\n",
    truth="the way through the squares x^2 V^2 is dropped in dx",
    accept=(TERM,),
    place=("x**2", "V**2", "V", "self.V**2", "square", "squares"),
)
MACHINE.broken(
    "linear part dropped",
    right="dx = dy[:, None] * self.w + dxV @ self.V.T",
    wrong="dx = dxV @ self.V.T",
    truth="the way of x through w is dropped",
    accept=(TERM,),
    place=("w", "self.w"),
)
MACHINE.broken(
    "1/2 kept",
    right="dxV = dy[:, None] * self.xV",
    wrong="dxV = 0.5 * dy[:, None] * self.xV",
    truth="the 1/2 is kept although the square gives a factor 2",
    accept=(CONSTANT, TERM),
    place=("0.5", "1/2", "2", "half", "xV", "self.xV"),
)
MACHINE.broken(
    "sign of the squares",
    right="self.dV -= self.V",
    wrong="self.dV += self.V",
    truth="the minus before the squares is missing in dV",
    accept=(SIGN, TERM),
    place=("x**2", "V", "V**2", "self.V", "square", "squares", "minus"),
)

GLOVE = Family("glove loss", "second.tables.GloVe", glove)
GLOVE.broken(
    "weighting missing",
    right="g = dout * 2 * self.f * self.diff / len(i)",
    wrong="g = dout * 2 * self.diff / len(i)",
    truth="the weighting f(X) is missing",
    accept=(TERM,),
    place=("f", "self.f", "counts"),
)
GLOVE.broken(
    "repeated words",
    right="np.add.at(self.grads[1], j, g[:, None] * W[i])",
    wrong="self.grads[1][j] += g[:, None] * W[i]",
    truth="a word that occurs in several pairs gets one gradient only",
    accept=(IDS,),
    weak=(ASSIGNED,),
)
GLOVE.broken(
    "2 forgotten",
    right="g = dout * 2 * self.f",
    wrong="g = dout * self.f",
    truth="the 2 of the square is missing",
    accept=(CONSTANT, TERM),
    place=("2", "diff", "self.diff", "square"),
)
GLOVE.broken(
    "biases exchanged",
    right="np.add.at(self.grads[2], i, g)\n        np.add.at(self.grads[3], j, g)",
    wrong="np.add.at(self.grads[2], j, g)\n        np.add.at(self.grads[3], i, g)",
    truth="the ids of the two biases are exchanged",
    accept=(OPERAND, "gates swapped"),
    place=("i", "j", "ids"),
)
GLOVE.broken(
    "own vector",
    right="np.add.at(self.grads[0], i, g[:, None] * C[j])",
    wrong="np.add.at(self.grads[0], i, g[:, None] * W[i])",
    truth="the word's own vector in place of that of the context",
    accept=(OPERAND,),
    place=("W", "C", "W[i]", "C[j]", "i", "j"),
)

CBOW = Family("cbow with negative sampling", "second.tables.CbowNegative", cbow, new=False)
CBOW.broken(
    "not divided by the context",
    right="np.add.at(self.dWin, self.context[:, c], dh / C)",
    wrong="np.add.at(self.dWin, self.context[:, c], dh)",
    truth="the 1 / C of the mean of the context is missing",
    accept=(CONSTANT, TERM, NO_MEAN),
    place=("C", "1/C", "mean"),
    weak=(COUNT,),
)
CBOW.broken(
    "not divided by N",
    right="ds = dout * (self.p - self.label) / N",
    wrong="ds = dout * (self.p - self.label)",
    truth="the loss is a mean, the gradient is not divided by N",
    accept=(NO_MEAN, CONSTANT, TERM),
    place=("N", "1/N", "/ N", "mean"),
    weak=(COUNT,),
)
CBOW.broken(
    "negatives as positives",
    right="ds = dout * (self.p - self.label) / N",
    wrong="ds = dout * (self.p - 1) / N",
    truth="every word is taken for a right one: the label of the negatives is 0",
    accept=(TERM, OPERAND),
    place=("label", "self.label", "negatives", "p", "self.p"),
    weak=(CONSTANT, SIGN, IDS),
)
CBOW.broken(
    "negatives overwritten",
    right="np.add.at(self.dWout, self.words, dvec)",
    wrong="self.dWout[self.words] += dvec",
    truth="a word that is drawn several times gets one gradient only",
    accept=(IDS,),
    weak=(ASSIGNED,),
)
CBOW.broken(
    "only one word of the context",
    right="for c in range(C):\n            np.add.at(self.dWin, self.context[:, c], dh / C)",
    wrong="np.add.at(self.dWin, self.context[:, 0], dh / C)",
    truth="only the first word of the context gets its gradient",
    accept=(TERM, "time off by one", BIAS_N, "bias gradient not summed over T"),
    place=("context", "c", "C", "first"),
    weak=(IDS, ASSIGNED),
)

SKIP = Family("skip-gram with softmax", "second.tables.SkipGram", skipgram)
SKIP.broken(
    "softmax counted once",
    right="ds = C * self.y",
    wrong="ds = self.y.copy()",
    truth="the softmax is part of C losses: the factor C is missing",
    accept=(CONSTANT, TERM, COUNT),
    place=("C", "y", "self.y"),
)
SKIP.broken(
    "centre words overwritten",
    right="self.dW_in[self.centre[n]] += dh[n]",
    wrong="self.dW_in[self.centre[n]] = dh[n]",
    truth="a centre word that occurs twice gets its last gradient only",
    accept=(IDS, ASSIGNED),
)
SKIP.broken(
    "averaged over the context too",
    right="ds = ds * dout / N",
    wrong="ds = ds * dout / (N * C)",
    truth="divided by N C, while the loss is a mean over N only",
    accept=(COUNT, CONSTANT, OPERAND, TERM),
    place=("C", "N * C", "N", "context"),
    weak=(NO_MEAN,),
)
SKIP.broken(
    "only the last context word",
    right="for c in range(C):\n            ds[np.arange(N), self.context[:, c]] -= 1",
    wrong="ds[np.arange(N), self.context[:, -1]] -= 1",
    truth="the 1 is subtracted for the last context word only",
    accept=(TERM, "time off by one"),
    place=("context", "c", "last", "targets", "onehot", "one-hot", "-= 1"),
    weak=(COUNT, CONSTANT, IDS, ASSIGNED),
)

BERT = Family("sum of embeddings", "second.tables.InputEmbedding", bert)
BERT.broken(
    "3 forgotten",
    right="3.0 * dout.reshape(-1, D)",
    wrong="dout.reshape(-1, D)",
    truth="the scale 3 is missing in the gradient of the words",
    accept=(CONSTANT, TERM),
    place=("3", "3.0", "scale"),
)
BERT.broken(
    "words overwritten",
    right="np.add.at(self.dwords, self.ids.ravel(), 3.0 * dout.reshape(-1, D))",
    wrong="self.dwords[self.ids.ravel()] = 3.0 * dout.reshape(-1, D)",
    truth="a word that occurs several times gets its last gradient only",
    accept=(IDS, ASSIGNED),
)
BERT.broken(
    "positions averaged",
    right="self.dpositions[:T] = dout.sum(axis=0)",
    wrong="self.dpositions[:T] = dout.mean(axis=0)",
    truth="the gradient of the positions is averaged over the batch instead of summed",
    accept=(BIAS_N, CONSTANT),
    weak=(COUNT, AXIS),
)
BERT.broken(
    "segments exchanged",
    right="self.dsegments[s] = dout[self.seg == s].sum(axis=0)",
    wrong="self.dsegments[s] = dout[self.seg != s].sum(axis=0)",
    truth="each segment gets the gradient of the other one",
    accept=(OPERAND, "gates swapped", IDS, "time reversed", TRANSPOSED),
    place=("seg", "self.seg", "s", "segment", "segments", "row", "rows"),
)
BERT.broken(
    "positions one too late",
    right="self.dpositions[:T] = dout.sum(axis=0)",
    wrong="self.dpositions[1 : T + 1] = dout.sum(axis=0)",
    truth="positions are counted from 1 instead of 0",
    accept=("time off by one",),
    weak=(IDS, OPERAND),
)

TIED = Family("tied autoencoder", "second.tables.TiedAutoencoder", tied)
TIED.broken(
    "encoder's part dropped",
    right="dW += self.x.T @ dz\n",
    wrong="\n",
    truth="the gradient of W as encoder is dropped",
    accept=(TERM, TIED_INPUT),
    place=("x", "self.x", "dz", "encoder", "W"),
)
TIED.broken(
    "decoder's part dropped",
    right="dW += self.x.T @ dz",
    wrong="dW = self.x.T @ dz",
    truth="the gradient of W as decoder is overwritten",
    accept=(TERM, TIED_OUTPUT, ASSIGNED),
    place=("dr", "h", "self.h", "decoder", "W.T"),
)
TIED.broken(
    "tanh not undone",
    right="dz = dh * (1 - self.h**2)",
    wrong="dz = dh",
    truth="the derivative of tanh is missing",
    accept=(ACTIVATION, TERM),
    place=("tanh", "h", "self.h"),
)
TIED.broken(
    "b from dh",
    right='self.grads["b"] = dz.sum(axis=0)',
    wrong='self.grads["b"] = dh.sum(axis=0)',
    truth="the gradient after the tanh in place of that before it",
    accept=(ACTIVATION, OPERAND, TERM),
    place=("dh", "dz", "tanh", "h", "self.h"),
)

DISTMULT = Family("distmult", "second.tables.DistMult", facts)
DISTMULT.broken(
    "object forgotten",
    right="np.add.at(self.dE, obj, g * self.s * self.r)\n",
    wrong="\n",
    truth="the entities get no gradient as objects",
    accept=(TERM, TIED_INPUT, TIED_OUTPUT),
    place=("obj", "o", "self.o", "object", "objects", "E[obj]", "self.E[obj]"),
)
DISTMULT.broken(
    "relation missing",
    right="np.add.at(self.dE, subj, g * self.r * self.o)",
    wrong="np.add.at(self.dE, subj, g * self.o)",
    truth="the factor r is missing in the gradient of the subjects",
    accept=(TERM,),
    place=("r", "self.r"),
)
DISTMULT.broken(
    "relation by the object",
    right="np.add.at(self.dR, rel, g * self.s * self.o)",
    wrong="np.add.at(self.dR, rel, g * self.o * self.o)",
    truth="o twice in place of s o in the gradient of the relations",
    accept=(OPERAND,),
    place=("s", "o", "self.s", "self.o"),
)
DISTMULT.broken(
    "facts with the same relation",
    right="np.add.at(self.dR, rel, g * self.s * self.o)",
    wrong="self.dR[rel] = g * self.s * self.o",
    truth="a relation that occurs several times gets its last gradient only",
    accept=(IDS, ASSIGNED),
)

TRANSE = Family("transe", "second.tables.TransE", facts)
TRANSE.broken(
    "sign of the object",
    right="self.dE[self.obj[n]] -= dgap[n]",
    wrong="self.dE[self.obj[n]] += dgap[n]",
    truth="the object enters with a minus",
    accept=(SIGN, TERM),
    place=("obj", "self.obj", "object", "self.E[obj]", "E[obj]"),
)
TRANSE.broken(
    "2 forgotten",
    right="dgap = 2 * self.gap * dd[:, None]",
    wrong="dgap = self.gap * dd[:, None]",
    truth="the 2 of the square is missing",
    accept=(CONSTANT, TERM),
    place=("2", "gap", "self.gap", "square"),
)
TRANSE.broken(
    "gap missing",
    right="dgap = 2 * self.gap * dd[:, None]",
    wrong="dgap = 2 * np.ones_like(self.gap) * dd[:, None]",
    truth="the factor gap of the derivative of the square is missing",
    accept=(TERM, ACTIVATION),
    place=("gap", "self.gap", "square"),
)
TRANSE.broken(
    "objects get nothing",
    right="            self.dE[self.obj[n]] -= dgap[n]\n",
    wrong="",
    truth="the entities get no gradient as objects",
    accept=(TERM, TIED_INPUT, TIED_OUTPUT, ZERO),
    place=("obj", "self.obj", "object", "objects", "self.E[obj]", "E[obj]"),
)

FAMILIES = [MACHINE, GLOVE, CBOW, SKIP, BERT, TIED, DISTMULT, TRANSE]
