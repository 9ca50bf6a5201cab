import numpy as np
from numpy.random import Generator

from tests.broken.broken import Example, Family, sizes
from tests.broken.names import (
    ACTIVATION,
    CONSTANT,
    COUNT,
    IDS,
    NO_MEAN,
    OPERAND,
    SIGN,
    TERM,
    ZERO,
)


def ranking(rng: Generator) -> Example:
    n = sizes(rng, 1, (8, 9, 10, 11))[0]
    y = rng.choice([-1, 1], size=n)
    a, b = rng.normal(size=n), rng.normal(size=n)
    a[0], b[0], y[0] = 3, 0, 1
    a[1], b[1], y[1] = -3, 0, 1
    a[2], b[2], y[2] = 1, 0, -1
    return (0.5,), (a, b, y)


def alike(rng: Generator) -> Example:
    n, d = sizes(rng, 2)
    a, b = rng.normal(size=(n, d)), rng.normal(size=(n, d))
    same = rng.integers(2, size=n)
    same[:3] = 0, 1, 0
    a[0] = b[0] + 0.3 * a[0]
    a[2] = 0.3 * a[2] - b[2]
    return (), (a, b, same)


def pixels(rng: Generator) -> Example:
    shape = sizes(rng, 2)
    labels = rng.integers(2, size=shape)
    labels[:, 0] = 1
    return (), (rng.normal(size=shape), labels)


def probabilities(rng: Generator) -> Example:
    (x, labels) = pixels(rng)[1]
    return (0.3, 0.7), (1 / (1 + np.exp(-x)), labels)


def classes(rng: Generator) -> Example:
    n, v = sizes(rng, 2)
    return (), (2 * rng.normal(size=(n, v)), rng.integers(v, size=n))


def weighted(rng: Generator) -> Example:
    x, t = classes(rng)[1]
    return (rng.uniform(0.5, 3, size=x.shape[1]),), (x, t)


def tempered(rng: Generator) -> Example:
    return (2.5, 0.3), classes(rng)[1]


RANKING = Family("margin ranking loss", "second.targets.MarginRanking", ranking)
RANKING.broken(
    "margin not looked at",
    right="active = self.loss > 0",
    wrong="active = self.loss > -1",
    truth="pairs that are far enough apart get a gradient too",
    accept=(ACTIVATION, TERM, OPERAND),
    place=("loss", "self.loss", "active", "mask", "maximum", "np.maximum", "max"),
)
RANKING.broken(
    "sign of db",
    right="db = dout * self.y",
    wrong="db = -dout * self.y",
    truth="b enters with the opposite sign",
    accept=(SIGN,),
)
RANKING.broken(
    "y missing",
    right="da = -dout * self.y * active / self.y.size",
    wrong="da = -dout * active / self.y.size",
    truth="the factor y is missing in da",
    accept=(TERM,),
    place=("y", "self.y"),
)
RANKING.broken(
    "averaged over the active pairs",
    right="da = -dout * self.y * active / self.y.size",
    wrong="da = -dout * self.y * active / active.sum()",
    truth="divided by the number of active pairs while the loss is a mean over all",
    accept=(COUNT, CONSTANT, OPERAND, TERM),
    place=("active", "active.sum()", "size", "self.y.size", "N"),
    weak=(NO_MEAN,),
)

COSINE = Family("cosine embedding loss", "second.targets.CosineEmbeddingLoss", alike)
COSINE.broken(
    "norm of a taken for a constant",
    right="da = dcos * (self.b / (na * nb) - cos * self.a / na**2)",
    wrong="da = dcos * (self.b / (na * nb))",
    truth="the way of a through its norm is dropped",
    accept=(TERM,),
    place=("na", "cos", "a", "self.a", "norm"),
)
COSINE.broken(
    "norms exchanged",
    right="cos * self.b / nb**2",
    wrong="cos * self.b / na**2",
    truth="the norm of a in place of that of b",
    accept=(OPERAND, TERM),
    place=("na", "nb", "norm", "norms"),
)
COSINE.broken(
    "all pairs pushed apart",
    right="dcos = np.where(self.same == 1, -1.0, (self.cos > 0) * 1.0)",
    wrong="dcos = (self.cos > 0) * 1.0",
    truth="the pairs that belong together get the gradient of the others",
    accept=(TERM, ACTIVATION, OPERAND, SIGN),
    place=("same", "self.same", "cos", "self.cos", "where", "-1.0", "branch"),
)
COSINE.broken(
    "negative cosines pushed",
    right="(self.cos > 0) * 1.0)",
    wrong="1.0)",
    truth="the maximum of 0 and cos is not undone",
    accept=(ACTIVATION, TERM),
    place=("cos", "self.cos", "mask", "maximum", "np.maximum", "max", "cos > 0"),
)

DICE = Family("dice loss", "second.targets.DiceLoss", pixels)
DICE.broken(
    "denominator taken for a constant",
    right="dp = dinter * self.t + dunion",
    wrong="dp = dinter * self.t",
    truth="the way of p through the denominator is dropped",
    accept=(TERM,),
    place=("dunion", "union", "self.union", "denominator"),
)
DICE.broken(
    "not squared",
    right="dunion = 2 * self.inter / self.union**2",
    wrong="dunion = 2 * self.inter / self.union",
    truth="1 / union in place of 1 / union^2",
    accept=(TERM, OPERAND),
    place=("union", "self.union", "1/union", "self.union**2"),
)
DICE.broken(
    "sigmoid not undone",
    right="dx = dout * dp * self.p * (1 - self.p) / N",
    wrong="dx = dout * dp / N",
    truth="the derivative of the sigmoid is missing",
    accept=(ACTIVATION, TERM),
    place=("p", "self.p", "sigmoid"),
)
DICE.broken(
    "not averaged",
    right="dx = dout * dp * self.p * (1 - self.p) / N",
    wrong="dx = dout * dp * self.p * (1 - self.p)",
    truth="the loss is a mean over the pictures, the gradient is not divided by N",
    accept=(NO_MEAN, CONSTANT, TERM),
    place=("N", "1/N", "/ N", "mean"),
    weak=(COUNT,),
)
DICE.broken(
    "labels missing",
    right="dp = dinter * self.t + dunion",
    wrong="dp = dinter + dunion",
    truth="the factor t is missing in the way through the intersection",
    accept=(TERM,),
    place=("t", "self.t", "labels"),
)

TVERSKY = Family("tversky loss", "second.targets.TverskyLoss", probabilities)
TVERSKY.broken(
    "a and b exchanged",
    right="dden = y + self.a * (1 - y) - self.b * y",
    wrong="dden = y + self.b * (1 - y) - self.a * y",
    truth="a and b are exchanged",
    accept=(OPERAND, "gates swapped"),
    place=("a", "b", "self.a", "self.b"),
)
TVERSKY.broken(
    "false negatives forgotten",
    right="dden = y + self.a * (1 - y) - self.b * y",
    wrong="dden = y + self.a * (1 - y)",
    truth="the way of p through the false negatives is dropped",
    accept=(TERM,),
    place=("b", "self.b", "fn", "y", "1 - p"),
)
TVERSKY.broken(
    "true positives forgotten in the denominator",
    right="dden = y + self.a * (1 - y) - self.b * y",
    wrong="dden = self.a * (1 - y) - self.b * y",
    truth="the way of p through the true positives in the denominator is dropped",
    accept=(TERM,),
    place=("y", "tp", "self.tp", "den", "labels"),
)

WEIGHTED = Family("weighted cross-entropy", "second.targets.WeightedCrossEntropy", weighted)
WEIGHTED.broken(
    "averaged over N",
    right="dx = dx / self.w.sum()",
    wrong="dx = dx / len(self.t)",
    truth="divided by N instead of the sum of the weights",
    accept=(COUNT, CONSTANT, OPERAND, TERM),
    place=("w", "self.w", "self.w.sum()", "len(self.t)", "N", "weights"),
    weak=(NO_MEAN,),
)
WEIGHTED.broken(
    "weights missing",
    right="dx = dx * self.w[:, None]\n",
    wrong="\n",
    truth="the weights of the classes are missing",
    accept=(TERM,),
    place=("w", "self.w", "weights", "class_weights"),
)
WEIGHTED.broken(
    "weights of the columns",
    right="dx = dx * self.w[:, None]",
    wrong="dx = dx * np.array(self.class_weights)",
    truth="every column is weighted by its class instead of every row by its target",
    accept=(OPERAND, "summed or broadcast over the wrong axis"),
    place=("w", "self.w", "class_weights", "weights"),
)
WEIGHTED.broken(
    "target not subtracted",
    right="dx[np.arange(len(self.t)), self.t] -= 1\n",
    wrong="\n",
    truth="the 1 at the target is not subtracted",
    accept=(TERM,),
    place=("t", "target", "targets", "onehot", "one-hot", "picked", "logp", "-= 1"),
)

TEMPERED = Family("entropy bonus", "second.targets.TemperedEntropyLoss", tempered)
TEMPERED.broken(
    "temperature missing",
    right="return dout * dz / N / self.tau",
    wrong="return dout * dz / N",
    truth="the inner derivative 1 / tau is missing",
    accept=(CONSTANT, TERM),
    place=("tau", "self.tau", "1/tau"),
)
TEMPERED.broken(
    "entropy forgotten",
    right="dz += self.beta * self.p * (self.logp + self.entropy[:, None])\n",
    wrong="\n",
    truth="the way through the entropy is dropped",
    accept=(TERM,),
    place=("beta", "entropy", "self.entropy", "self.beta", "logp"),
)
TEMPERED.broken(
    "mean of logp forgotten",
    right="(self.logp + self.entropy[:, None])",
    wrong="self.logp",
    truth="the entropy itself, which the softmax's sum leaves, is missing",
    accept=(TERM, ACTIVATION),
    place=("entropy", "self.entropy", "sum", "softmax", "p"),
)
TEMPERED.broken(
    "sign of the bonus",
    right="dz += self.beta",
    wrong="dz -= self.beta",
    truth="the entropy is subtracted in the loss: its sign is wrong",
    accept=(SIGN, TERM),
    place=("beta", "self.beta", "entropy", "self.entropy"),
)
TEMPERED.broken(
    "multiplied by the temperature",
    right="return dout * dz / N / self.tau",
    wrong="return dout * dz / N * self.tau",
    truth="tau in place of 1 / tau",
    accept=(CONSTANT, OPERAND),
    place=("tau", "self.tau", "1/tau"),
)

ZLOSS = Family("z-loss", "second.targets.zloss", classes)
ZLOSS.broken(
    "2 of the square forgotten",
    right="dx += 0.2 * log_z * p",
    wrong="dx += 0.1 * log_z * p",
    truth="0.1 in place of 0.2: the 2 of the square is missing",
    accept=(CONSTANT, TERM),
    place=("0.1", "0.2", "2", "log_z", "square"),
)
ZLOSS.broken(
    "p missing",
    right="dx += 0.2 * log_z * p",
    wrong="dx += 0.2 * log_z",
    truth="the factor p, the derivative of log Z, is missing",
    accept=(TERM, ACTIVATION),
    place=("p", "softmax", "log_z", "log", "exp", "np.exp"),
)
ZLOSS.broken(
    "z-loss forgotten",
    right="dx += 0.2 * log_z * p\n",
    wrong="\n",
    truth="the way through log(Z)^2 is dropped",
    accept=(TERM,),
    place=("log_z", "0.1", "log_z**2"),
)
ZLOSS.broken(
    "not averaged",
    right="dx /= N\n",
    wrong="\n",
    truth="the loss is a mean, the gradient is not divided by N",
    accept=(NO_MEAN, CONSTANT, TERM),
    place=("N", "1/N", "/= N", "mean"),
    weak=(COUNT,),
)

SVM = Family("squared hinge loss", "second.targets.svm_squared_loss", classes)
SVM.broken(
    "right class forgotten",
    right="dx[rows, y] -= dx.sum(axis=1)\n",
    wrong="\n",
    truth="the score of the right class gets no gradient",
    accept=(TERM, ZERO),
    place=("y", "x[rows, y]", "right class", "rows", "sum", "target"),
    weak=(IDS,),
)
SVM.broken(
    "margins as in the plain hinge",
    right="dx = 2 * margins",
    wrong="dx = (margins > 0).astype(float)",
    truth="the derivative of the margin itself instead of its square",
    accept=(ACTIVATION, TERM, OPERAND),
    place=("margins", "margins**2", "square", "2"),
    weak=(CONSTANT,),
)
SVM.broken(
    "one margin for the right class",
    right="dx[rows, y] -= dx.sum(axis=1)",
    wrong="dx[rows, y] -= dx.max(axis=1)",
    truth="the right class gets the largest margin only, as if the loss took the maximum",
    accept=(TERM, OPERAND, "summed or broadcast over the wrong axis"),
    place=("sum", "max", "dx", "y", "x[rows, y]", "rows"),
    weak=(IDS,),
)

FAMILIES = [RANKING, COSINE, DICE, TVERSKY, WEIGHTED, TEMPERED, ZLOSS, SVM]
