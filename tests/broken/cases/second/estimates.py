import numpy as np
from numpy.random import Generator

from tests.broken.broken import Example, Family, sizes
from tests.broken.cases.recurrent import weights
from tests.broken.names import (
    ACTIVATION,
    ASSIGNED,
    CONSTANT,
    COUNT,
    IDS,
    IGNORED,
    NO_MEAN,
    OPERAND,
    SIGN,
    TERM,
)


def counted(rng: Generator) -> Example:
    shape = sizes(rng, 2)
    return (), (rng.normal(size=shape), rng.integers(5, size=shape))


def gaussian(rng: Generator) -> Example:
    shape = sizes(rng, 2)
    mu, log_var, labels = (rng.normal(size=shape) for _ in range(3))
    return (), (mu, log_var, labels)


def numbers(rng: Generator) -> Example:
    shape = sizes(rng, 2)
    x, t = rng.normal(size=shape), rng.normal(size=shape)
    x[0, :2] = t[0, :2] + np.array([2.5, -2.5])
    return (), (x, t)


def quantile(rng: Generator) -> Example:
    return (0.8,), numbers(rng)[1]


def centres(rng: Generator) -> Example:
    n, d, k = sizes(rng, 3)
    labels = rng.integers(k, size=n)
    labels[1] = labels[0]
    return weights(rng, (k, d)), (rng.normal(size=(n, d)), labels)


def steps(rng: Generator) -> Example:
    n, t, d = sizes(rng, 3)
    mask = (np.arange(t) < rng.integers(1, t, size=n)[:, None]).astype(int)
    return (), (rng.normal(size=(n, t, d)), rng.normal(size=(n, t, d)), mask)


def teacher(rng: Generator) -> Example:
    shape = sizes(rng, 2)
    return (2.5,), (rng.normal(size=shape), rng.normal(size=shape))


POISSON = Family("poisson loss", "second.targets.PoissonLoss", counted)
POISSON.broken(
    "exponential forgotten",
    right="return dout * (self.rate - self.k) / self.k.size",
    wrong="return dout * (1 - self.k) / self.k.size",
    truth="1 in place of the derivative of exp(x)",
    accept=(ACTIVATION, TERM, OPERAND),
    place=("rate", "self.rate", "exp", "np.exp"),
)
POISSON.broken(
    "count missing",
    right="return dout * (self.rate - self.k) / self.k.size",
    wrong="return dout * self.rate / self.k.size",
    truth="the term -k is missing",
    accept=(TERM,),
    place=("k", "self.k"),
)
POISSON.broken(
    "averaged over the rows",
    right="(self.rate - self.k) / self.k.size",
    wrong="(self.rate - self.k) / len(self.k)",
    truth="divided by the rows while the loss is a mean over all entries",
    accept=(COUNT, CONSTANT, OPERAND, TERM),
    place=("self.k.size", "len(self.k)", "size", "rows", "N", "k"),
    weak=(NO_MEAN,),
)

NLL = Family("gaussian likelihood", "second.targets.gaussian_nll", gaussian)
NLL.broken(
    "log_var for the variance",
    right="dmu = -dout * diff / var / n",
    wrong="dmu = -dout * diff / n",
    truth="the factor 1 / var is missing in dmu",
    accept=(TERM,),
    place=("var", "1/var", "/ var"),
)
NLL.broken(
    "2 counted twice",
    right="dmu = -dout * diff / var / n",
    wrong="dmu = -dout * 2 * diff / var / n",
    truth="the 2 of the square, which the 0.5 takes away",
    accept=(CONSTANT, TERM),
    place=("2", "diff", "square"),
)
NLL.broken(
    "only the logarithm",
    right="0.5 * (1 - diff**2 / var) / n",
    wrong="0.5 * np.ones_like(var) / n",
    truth="the way of log_var through the squared error is dropped",
    accept=(TERM,),
    place=("diff", "var", "diff**2", "exp"),
)
NLL.broken(
    "gradient of the variance",
    right="0.5 * (1 - diff**2 / var) / n",
    wrong="0.5 * (1 / var - diff**2 / var**2) / n",
    truth="the gradient of var itself: the factor var of exp(log_var) is missing",
    accept=(TERM, ACTIVATION),
    place=("var", "exp", "1/var", "np.exp"),
)
NLL.broken(
    "sign of dmu",
    right="dmu = -dout * diff",
    wrong="dmu = dout * diff",
    truth="the minus of labels - mu is missing",
    accept=(SIGN,),
)

PINBALL = Family("quantile loss", "second.targets.QuantileLoss", quantile)
PINBALL.broken(
    "minus forgotten",
    right="return -dout * slope / len(slope)",
    wrong="return dout * slope / len(slope)",
    truth="e = t - x: the minus is missing",
    accept=(SIGN,),
)
PINBALL.broken(
    "branches exchanged",
    right="slope = np.where(self.e > 0, self.q, self.q - 1)",
    wrong="slope = np.where(self.e > 0, self.q - 1, self.q)",
    truth="the two branches are exchanged",
    accept=(OPERAND, ACTIVATION, "gates swapped", SIGN),
    place=("q", "self.q", "q - 1", "e", "self.e", "branch", "branches", "where"),
)
PINBALL.broken(
    "1 - q below",
    right="slope = np.where(self.e > 0, self.q, self.q - 1)",
    wrong="slope = np.where(self.e > 0, self.q, 1 - self.q)",
    truth="1 - q in place of q - 1",
    accept=(SIGN, ACTIVATION, OPERAND, TERM),
    place=("q", "self.q", "q - 1", "1 - q", "self.q - 1", "e", "where"),
)
PINBALL.broken(
    "averaged over all entries",
    right="return -dout * slope / len(slope)",
    wrong="return -dout * slope / slope.size",
    truth="divided by all entries while the loss is divided by the rows",
    accept=(COUNT, CONSTANT, OPERAND, TERM),
    place=("slope.size", "len(slope)", "size", "rows", "N"),
    weak=(NO_MEAN,),
)

CENTRE = Family("centre loss", "second.targets.CentreLoss", centres)
CENTRE.broken(
    "centres overwritten",
    right="np.add.at(self.dcentres, self.labels, -dx)",
    wrong="self.dcentres[self.labels] -= dx",
    truth="a class that occurs several times gets one gradient only",
    accept=(IDS,),
    weak=(ASSIGNED,),
)
CENTRE.broken(
    "sign of the centres",
    right="np.add.at(self.dcentres, self.labels, -dx)",
    wrong="np.add.at(self.dcentres, self.labels, dx)",
    truth="the centres enter with a minus",
    accept=(SIGN,),
)
CENTRE.broken(
    "1/2 forgotten",
    right="dx = dout * self.diff / len(self.diff)",
    wrong="dx = dout * 2 * self.diff / len(self.diff)",
    truth="the 2 of the square, which the half takes away",
    accept=(CONSTANT, TERM),
    place=("2", "0.5", "1/2", "diff", "square"),
)

MASKED = Family("masked squared error", "second.targets.SequenceMSE", steps, new=False)
MASKED.broken(
    "padded steps counted",
    right="dx = 2 * dout * self.e / self.mask.sum()",
    wrong="dx = 2 * dout * self.e / (self.mask.shape[0] * self.mask.shape[1])",
    truth="divided by all steps instead of the true ones",
    accept=(COUNT, CONSTANT, IGNORED, OPERAND, TERM),
    place=("mask", "self.mask", "self.mask.sum()", "T", "N"),
    weak=(NO_MEAN,),
)
MASKED.broken(
    "2 forgotten",
    right="dx = 2 * dout * self.e / self.mask.sum()",
    wrong="dx = dout * self.e / self.mask.sum()",
    truth="the 2 of the square is missing",
    accept=(CONSTANT, TERM),
    place=("2", "e", "self.e", "square"),
)
MASKED.broken(
    "not averaged",
    right="dx = 2 * dout * self.e / self.mask.sum()",
    wrong="dx = 2 * dout * self.e",
    truth="the loss is a mean over the true steps, the gradient is not divided",
    accept=(NO_MEAN, CONSTANT, TERM),
    place=("mask", "self.mask", "mask.sum()", "self.mask.sum()"),
    weak=(COUNT,),
)

SMOOTH = Family("smooth l1 loss", "second.targets.smooth_l1_loss", numbers)
SMOOTH.broken(
    "no sign for large errors",
    right="np.where(small, d, np.sign(d))",
    wrong="np.where(small, d, 1.0)",
    truth="1 in place of the sign of d for large errors",
    accept=(SIGN, ACTIVATION, TERM, OPERAND),
    place=("sign", "np.sign", "d", "abs", "np.abs", "1.0", "-1"),
)
SMOOTH.broken(
    "quadratic everywhere",
    right="np.where(small, d, np.sign(d))",
    wrong="d",
    truth="the gradient of the square also for large errors",
    accept=(ACTIVATION, OPERAND, TERM),
    place=("small", "sign", "d", "np.sign", "where", "branch"),
)
SMOOTH.broken(
    "averaged over the rows",
    right="/ d.size",
    wrong="/ len(d)",
    truth="divided by the rows while the loss is a mean over all entries",
    accept=(COUNT, CONSTANT, OPERAND, TERM),
    place=("d.size", "len(d)", "size", "rows", "N"),
    weak=(NO_MEAN,),
)

DISTIL = Family("distillation", "second.targets.Distillation", teacher)
DISTIL.broken(
    "inner 1/tau forgotten",
    right="return dout * dz / self.tau",
    wrong="return dout * dz",
    truth="the inner derivative 1 / tau is missing",
    accept=(CONSTANT, TERM),
    place=("tau", "self.tau", "1/tau"),
)
DISTIL.broken(
    "weight of the loss forgotten",
    right="dz = self.tau**2 * (self.p - self.q)",
    wrong="dz = (self.p - self.q)",
    truth="the factor tau^2 of the loss is missing",
    accept=(CONSTANT, TERM),
    place=("tau", "self.tau", "self.tau**2", "tau**2"),
)
DISTIL.broken(
    "sign",
    right="(self.p - self.q)",
    wrong="(self.q - self.p)",
    truth="q - p instead of p - q",
    accept=(SIGN,),
)

FAMILIES = [POISSON, NLL, PINBALL, CENTRE, MASKED, SMOOTH, DISTIL]
