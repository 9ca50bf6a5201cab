import numpy as np
from numpy.random import Generator

from tests.broken.broken import Example, Family, sizes
from tests.broken.cases.recurrent import weights
from tests.broken.cases.second.cells import SMALL
from tests.broken.names import (
    ACTIVATION,
    AXIS,
    BIAS_N,
    BIAS_T,
    CONSTANT,
    COUNT,
    GATES,
    IGNORED,
    MASK,
    NO_MEAN,
    OPERAND,
    SIGN,
    TERM,
)


def weight_norm(rng: Generator) -> Example:
    n, d, h = sizes(rng, 3)
    return weights(rng, (d, h), h, h), (rng.normal(size=(n, d)),)


def scale_norm(rng: Generator) -> Example:
    return (rng.uniform(1.5, 3, size=1),), (rng.normal(size=sizes(rng, 2)),)


def instance(rng: Generator) -> Example:
    n, c, length = sizes(rng, 3)
    return (), (rng.normal(size=(n, c, length)), rng.normal(size=c), rng.normal(size=c))


def positive(rng: Generator) -> Example:
    return (3,), (rng.uniform(0.5, 2, size=sizes(rng, 3, SMALL)),)


def smooth_max(rng: Generator) -> Example:
    n, t, d = sizes(rng, 3, SMALL)
    mask = (np.arange(t) < rng.integers(1, t, size=n)[:, None]).astype(int)
    return (2.0,), (rng.normal(size=(n, t, d)), mask)


def attentive(rng: Generator) -> Example:
    n, t, d, k = sizes(rng, 4, SMALL)
    return weights(rng, (d, k), k, k), (rng.normal(size=(n, t, d)),)


def sequences(rng: Generator) -> Example:
    return (), (rng.normal(size=sizes(rng, 3, SMALL)),)


WEIGHT = Family("weight normalisation", "second.pools.WeightNorm", weight_norm)
WEIGHT.broken(
    "norm taken for a constant",
    right="(dunit - self.unit * (dunit * self.unit).sum(axis=0)) / self.norm",
    wrong="dunit / self.norm",
    truth="the way of V through its norm is dropped",
    accept=(TERM,),
    place=("norm", "unit", "self.norm", "self.unit", "sum"),
)
WEIGHT.broken(
    "norm missing",
    right="(dunit * self.unit).sum(axis=0)) / self.norm",
    wrong="(dunit * self.unit).sum(axis=0))",
    truth="the factor 1 / |V| is missing in dV",
    accept=(TERM,),
    place=("norm", "self.norm", "1/norm"),
)
WEIGHT.broken(
    "g missing",
    right="dunit = dW * self.g",
    wrong="dunit = dW.copy()",
    truth="the factor g is missing in dV",
    accept=(TERM,),
    place=("g", "self.g"),
)
WEIGHT.broken(
    "dg from V",
    right="self.dg = (dW * self.unit).sum(axis=0)",
    wrong="self.dg = (dW * self.V).sum(axis=0)",
    truth="V in place of V / |V| in dg",
    accept=(OPERAND, TERM),
    place=("V", "unit", "norm", "self.V", "self.unit", "self.norm"),
)
WEIGHT.broken(
    "dx by V",
    right="return dy @ self.W.T",
    wrong="return dy @ self.V.T",
    truth="V in place of W in dx",
    accept=(OPERAND, TERM),
    place=("V", "W", "self.V", "self.W", "g", "norm"),
)

SCALE = Family("scale norm", "second.pools.ScaleNorm", scale_norm)
SCALE.broken(
    "length taken for a constant",
    right="dx = (dunit - along * unit) / self.length",
    wrong="dx = dunit / self.length",
    truth="the way of x through its length is dropped",
    accept=(TERM,),
    place=("along", "unit", "length", "self.length", "sum"),
)
SCALE.broken(
    "projected on x",
    right="dx = (dunit - along * unit) / self.length",
    wrong="dx = (dunit - along * self.x) / self.length",
    truth="x in place of x / |x|: a factor 1 / length is missing",
    accept=(OPERAND, TERM),
    place=("x", "unit", "self.x", "length", "self.length"),
)
SCALE.broken(
    "g missing",
    right="dunit = g * dout",
    wrong="dunit = dout.copy()",
    truth="the factor g is missing in dx",
    accept=(TERM, CONSTANT),
    place=("g", "self.params[0]", "params"),
)
SCALE.broken(
    "sum over the rows",
    right="along = np.sum(dunit * unit, axis=-1, keepdims=True)",
    wrong="along = np.sum(dunit * unit, axis=0, keepdims=True)",
    truth="the sum runs over the rows instead of the features",
    accept=(AXIS,),
)

INSTANCE = Family("instance norm", "second.pools.instancenorm", instance)
INSTANCE.broken(
    "gamma missing",
    right="dxhat = dout * gamma[None, :, None]",
    wrong="dxhat = dout",
    truth="the factor gamma is missing",
    accept=(TERM,),
    place=("gamma",),
)
INSTANCE.broken(
    "variance taken for a constant",
    right="dxc += dvar * 2.0 * xc / L\n",
    wrong="\n",
    truth="the way through the variance is dropped",
    accept=(TERM,),
    place=("dvar", "var", "xc", "inv", "variance"),
)
INSTANCE.broken(
    "inv not cubed",
    right="dvar = dinv * -0.5 * inv**3",
    wrong="dvar = dinv * -0.5 * inv**2",
    truth="inv^2 in place of inv^3",
    accept=(TERM, OPERAND),
    place=("inv", "inv**3", "inv**2", "std", "var"),
    weak=(ACTIVATION,),
)
INSTANCE.broken(
    "sign of dvar",
    right="dinv * -0.5 * inv**3",
    wrong="dinv * 0.5 * inv**3",
    truth="the minus of the derivative of 1 / sqrt is missing",
    accept=(SIGN,),
    weak=(TERM,),
)
INSTANCE.broken(
    "variance not averaged",
    right="dxc += dvar * 2.0 * xc / L",
    wrong="dxc += dvar * 2.0 * xc",
    truth="the 1 / L of the mean is missing in the way through the variance",
    accept=(NO_MEAN, CONSTANT, TERM, COUNT),
    place=("L", "1/L", "mean", "count"),
)
INSTANCE.broken(
    "mean over the batch",
    right="dx = dxc - np.mean(dxc, axis=2, keepdims=True)",
    wrong="dx = dxc - np.mean(dxc, axis=0, keepdims=True)",
    truth="the mean is taken over the batch instead of the places",
    accept=(AXIS,),
)
INSTANCE.broken(
    "dbeta of the first image",
    right="dbeta = np.sum(dout, axis=(0, 2))",
    wrong="dbeta = np.sum(dout[0], axis=1)",
    truth="dbeta takes the first image of the batch only",
    accept=(BIAS_N,),
    weak=(TERM, AXIS),
)

POWER = Family("power mean", "second.pools.PowerMean", positive)
POWER.broken(
    "root not undone",
    right="dmean = dy * self.mean ** (1 / self.p - 1) / self.p",
    wrong="dmean = dy / self.p",
    truth="the derivative of the root lacks its power of the mean",
    accept=(TERM, ACTIVATION),
    place=("mean", "self.mean", "power", "root"),
)
POWER.broken(
    "not averaged",
    right="dpow = dmean[:, None, :] / T",
    wrong="dpow = dmean[:, None, :]",
    truth="the 1 / T of the mean is missing",
    accept=(NO_MEAN, CONSTANT, TERM, COUNT),
    place=("T", "1/T", "mean"),
)
POWER.broken(
    "divided by the features",
    right="T = self.x.shape[1]",
    wrong="T = self.x.shape[2]",
    truth="the number of features in place of the number of steps",
    accept=(COUNT, CONSTANT, AXIS),
    place=("T", "mean"),
)
POWER.broken(
    "power not lowered",
    right="self.x ** (self.p - 1)",
    wrong="self.x**self.p",
    truth="x^p in place of x^(p - 1)",
    accept=(TERM, OPERAND, ACTIVATION),
    place=("x", "self.x", "p", "self.p", "power"),
)

SMOOTH = Family("log-sum-exp pooling", "second.pools.LogSumExpPool", smooth_max)
SMOOTH.broken(
    "masked steps counted",
    right="de = dtotal[:, None, :] * self.mask",
    wrong="de = dtotal[:, None, :] * np.ones_like(self.mask)",
    truth="steps behind the end of a sequence get a gradient",
    accept=(IGNORED, MASK, TERM),
    place=("mask", "self.mask"),
)
SMOOTH.broken(
    "r missing",
    right="dx = de * np.exp(self.r * self.x) * self.r",
    wrong="dx = de * np.exp(self.r * self.x)",
    truth="the inner derivative r is missing",
    accept=(CONSTANT, TERM),
    place=("r", "self.r"),
)
SMOOTH.broken(
    "divided by the count",
    right="dtotal = dout / self.total / self.r",
    wrong="dtotal = dout / self.total / self.r / self.count",
    truth="the count of the mean stands inside the logarithm: a factor 1 / count is too much",
    accept=(COUNT, TERM, CONSTANT),
    place=("count", "self.count"),
    weak=(OPERAND, AXIS),
)
SMOOTH.broken(
    "logarithm not undone",
    right="dtotal = dout / self.total / self.r",
    wrong="dtotal = dout / self.count / self.r",
    truth="1 / count in place of 1 / total, the derivative of the logarithm",
    accept=(OPERAND, ACTIVATION, TERM),
    place=("total", "self.total", "count", "self.count", "log"),
    weak=(COUNT,),
)

ATTENTIVE = Family("attentive pooling", "second.pools.AttentivePool", attentive)
ATTENTIVE.broken(
    "weights taken for constants",
    right='dh = dh + dz @ self.params["W"].T\n',
    wrong="\n",
    truth="the way of h through the weights is dropped",
    accept=(TERM,),
    place=("W", "dz", "alpha", "self.alpha", "weights", "k"),
)
ATTENTIVE.broken(
    "u missing",
    right='dk = np.einsum("nt,k->ntk", ds, self.params["u"])',
    wrong='dk = np.einsum("nt,k->ntk", ds, np.ones_like(self.params["u"]))',
    truth="the factor u is missing in dk",
    accept=(TERM,),
    place=("u", 'self.params["u"]'),
)
ATTENTIVE.broken(
    "du before the softmax",
    right='self.grads["u"] = np.einsum("nt,ntk->k", ds, self.k)',
    wrong='self.grads["u"] = np.einsum("nt,ntk->k", dalpha, self.k)',
    truth="the derivative of the softmax is missing in the gradient of u",
    accept=(ACTIVATION, OPERAND, TERM),
    place=("ds", "dalpha", "softmax", "alpha", "self.alpha"),
)
ATTENTIVE.broken(
    "bias of the last step",
    right='self.grads["b"] = np.einsum("ntk->k", dz)',
    wrong='self.grads["b"] = np.einsum("nk->k", dz[:, -1])',
    truth="the gradient of b takes the last step only",
    accept=(BIAS_T,),
    weak=(TERM, AXIS),
)
ATTENTIVE.broken(
    "gradient of W from k",
    right="dz = dk * (1 - self.k**2)",
    wrong="dz = dk * (1 - self.k)",
    truth="1 - k in place of 1 - k^2",
    accept=(ACTIVATION, OPERAND, TERM),
    place=("k", "self.k", "self.k**2", "k**2", "tanh"),
)

STATS = Family("statistics pooling", "second.pools.MeanAndDeviation", sequences)
STATS.broken(
    "deviation dropped",
    right="dx = 2 * self.centred * dvar[:, None, :] / T",
    wrong="dx = np.zeros_like(self.x)",
    truth="the way through the standard deviation is dropped",
    accept=(TERM,),
    place=("sd", "dvar", "dsd", "centred", "self.sd", "deviation", "sqrt"),
)
STATS.broken(
    "root not undone",
    right="dvar = dsd / (2 * self.sd)",
    wrong="dvar = dsd",
    truth="the derivative of the square root is missing",
    accept=(ACTIVATION, TERM),
    place=("sd", "self.sd", "sqrt", "root"),
)
STATS.broken(
    "halves exchanged",
    right="dmu, dsd = dy[:, :D], dy[:, D:]",
    wrong="dsd, dmu = dy[:, :D], dy[:, D:]",
    truth="the halves of dy are exchanged",
    accept=(OPERAND, GATES),
    place=("dmu", "dsd", "dy", "half", "halves", "mu", "sd"),
)
STATS.broken(
    "mean not divided",
    right="dx = dx + dmu[:, None, :] / T",
    wrong="dx = dx + dmu[:, None, :]",
    truth="the 1 / T of the mean is missing",
    accept=(NO_MEAN, CONSTANT, TERM, COUNT),
    place=("T", "1/T", "mean", "mu", "dmu"),
)
STATS.broken(
    "x not centred",
    right="dx = 2 * self.centred * dvar[:, None, :] / T",
    wrong="dx = 2 * self.x * dvar[:, None, :] / T",
    truth="x in place of x minus its mean",
    accept=(OPERAND, TERM),
    place=("x", "self.x", "centred", "self.centred", "mean", "mu"),
)

FAMILIES = [WEIGHT, SCALE, INSTANCE, POWER, SMOOTH, ATTENTIVE, STATS]
