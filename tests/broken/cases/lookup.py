from numpy.random import Generator

from tests.broken.broken import Example, Family, sizes
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
    STEP,
    TERM,
    TIED_INPUT,
    TIED_OUTPUT,
)


def embedding(rng: Generator) -> Example:
    n, t, v, d = sizes(rng, 4)
    ids = rng.integers(v, size=(n, t))
    ids[0, :2] = ids[0, 2]
    return (rng.normal(size=(v, d)),), (ids,)


def positional(rng: Generator) -> Example:
    n, t, v, d = sizes(rng, 4)
    ids = rng.integers(v, size=(n, t))
    ids[0, :2] = ids[0, 2]
    return (rng.normal(size=(v, d)), rng.normal(size=(t + 2, d))), (ids,)


def tied(rng: Generator) -> Example:
    n, t, v, d = sizes(rng, 4)
    ids = rng.integers(v, size=(n, t))
    ids[0, :2] = ids[0, 2]
    return (rng.normal(size=(v, d)), rng.normal(size=v)), (ids,)


EMBEDDING = Family("embedding", "lookup.Embedding", embedding, new=False)
EMBEDDING.broken(
    "ids overwritten",
    right="np.add.at(dW, self.idx, dout)",
    wrong="dW[self.idx] = dout",
    truth="of an id that occurs twice only the last gradient is kept",
    accept=(IDS,),
    weak=(ASSIGNED,),
)
EMBEDDING.broken(
    "ids buffered",
    right="np.add.at(dW, self.idx, dout)",
    wrong="dW[self.idx] += dout",
    truth="dW[ids] += adds an id that occurs twice only once",
    accept=(IDS,),
    weak=(ASSIGNED,),
)
EMBEDDING.broken(
    "ids off by one",
    right="np.add.at(dW, self.idx, dout)",
    wrong="np.add.at(dW, self.idx - 1, dout)",
    truth="the gradient goes to the row before the right one",
    accept=(STEP, OPERAND),
    place=("idx", "ids", "row", "rows", "id"),
)

BAG = Family("embedding bag", "lookup.EmbeddingBag", embedding, new=False)
BAG.broken(
    "mean forgotten",
    right="self.dE[word] += dout[n] / L",
    wrong="self.dE[word] += dout[n]",
    truth="not divided by the number of words",
    accept=(CONSTANT, NO_MEAN, COUNT),
)
BAG.broken(
    "ids overwritten",
    right="self.dE[word] += dout[n] / L",
    wrong="self.dE[word] = dout[n] / L",
    truth="of a word that occurs twice only the last gradient is kept",
    accept=(IDS, ASSIGNED),
)
BAG.broken(
    "divided by N",
    right="self.dE[word] += dout[n] / L",
    wrong="self.dE[word] += dout[n] / N",
    truth="divided by the number of documents instead of words",
    accept=(CONSTANT, COUNT),
)

POSITIONAL = Family("positional embedding", "lookup.PositionalEmbedding", positional)
POSITIONAL.broken(
    "root forgotten",
    right="np.add.at(self.dE, self.ids, self.root * dy)",
    wrong="np.add.at(self.dE, self.ids, dy)",
    truth="the factor sqrt(D) is missing",
    accept=(CONSTANT, TERM),
    place=("root", "sqrt", "sqrt(D)"),
)
POSITIONAL.broken(
    "positions of the first sample",
    right="self.dP[:T] = dy.sum(axis=0)",
    wrong="self.dP[:T] = dy[0]",
    truth="the gradient of the positions is that of the first sample",
    accept=(BIAS_N, AXIS),
    weak=(TERM,),
)
POSITIONAL.broken(
    "positions averaged",
    right="self.dP[:T] = dy.sum(axis=0)",
    wrong="self.dP[:T] = dy.mean(axis=0)",
    truth="the gradient of the positions is averaged over the samples",
    accept=(BIAS_N, CONSTANT),
)
POSITIONAL.broken(
    "positions from the end",
    right="self.dP[:T] = dy.sum(axis=0)",
    wrong="self.dP[-T:] = dy.sum(axis=0)",
    truth="the last rows of the table get the gradient instead of the first",
    accept=(STEP,),
    weak=(OPERAND,),
)

TIED = Family("tied output", "lookup.TiedOutput", tied, new=False)
TIED.broken(
    "lookup lost",
    right="np.add.at(self.dE, self.ids, each[:, None, :])",
    wrong="each = 0",
    truth="the gradient of E from the lookup is lost",
    accept=(TIED_INPUT,),
    weak=(TERM,),
)
TIED.broken(
    "output lost",
    right="self.dE = dscores.T @ self.h",
    wrong="self.dE = np.zeros_like(self.E)",
    truth="the gradient of E from the output is lost",
    accept=(TIED_OUTPUT,),
    weak=(TERM,),
)
TIED.broken(
    "mean forgotten",
    right="each = dmean / self.ids.shape[1]",
    wrong="each = dmean",
    truth="not divided by the number of words of the context",
    accept=(CONSTANT, TERM, NO_MEAN, COUNT),
    place=("shape[1]", "mean", "1/T", "T", "ids.shape[1]"),
)
TIED.broken(
    "tanh not undone",
    right="dmean = dh * (1 - self.h**2)",
    wrong="dmean = dh",
    truth="the derivative of tanh is missing",
    accept=(ACTIVATION,),
    weak=(TERM,),
)

FAMILIES = [EMBEDDING, BAG, POSITIONAL, TIED]
