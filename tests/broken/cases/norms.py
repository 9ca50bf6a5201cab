from numpy.random import Generator

from tests.broken.broken import Example, Family, sizes
from tests.broken.names import (
    ACTIVATION,
    AT_INPUT,
    AXIS,
    BIAS_N,
    BIAS_T,
    CONSTANT,
    COUNT,
    OPERAND,
    SIGN,
    TERM,
)


def layer_norm(rng: Generator) -> Example:
    n, d = sizes(rng, 2)
    return (rng.normal(size=d), rng.normal(size=d)), (rng.normal(size=(n, d)),)


def rms(rng: Generator) -> Example:
    n, t, d = sizes(rng, 3)
    return (rng.normal(size=d),), (rng.normal(size=(n, t, d)),)


def group(rng: Generator) -> Example:
    n, length, per = sizes(rng, 3)
    c = 3 * per
    return (rng.normal(size=c), rng.normal(size=c), 3), (rng.normal(size=(n, c, length)),)


def one_input(rng: Generator) -> Example:
    return (), (rng.normal(size=sizes(rng, 2)),)


def two_inputs(rng: Generator) -> Example:
    shape = sizes(rng, 2)
    return (), (rng.normal(size=shape), rng.normal(size=shape))


LAYER = Family("layer norm", "norms.LayerNorm", layer_norm)
LAYER.broken(
    "gamma missing",
    right="dxn = dout * self.gamma",
    wrong="dxn = dout",
    truth="the factor gamma is missing in dx",
    accept=(TERM,),
    place=("gamma",),
)
LAYER.broken(
    "mean taken for a constant",
    right="return (dxn - mean1 - self.xn * mean2) / self.std",
    wrong="return (dxn - self.xn * mean2) / self.std",
    truth="the way through the mean is dropped",
    accept=(TERM,),
    place=("mean1", "mean", "mu", "centring"),
)
LAYER.broken(
    "variance taken for a constant",
    right="return (dxn - mean1 - self.xn * mean2) / self.std",
    wrong="return (dxn - mean1) / self.std",
    truth="the way through the standard deviation is dropped",
    accept=(TERM,),
    place=("mean2", "std", "variance", "var", "deviation"),
)
LAYER.broken(
    "only divided",
    right="return (dxn - mean1 - self.xn * mean2) / self.std",
    wrong="return dxn / self.std",
    truth="mean and standard deviation are taken for constants",
    accept=(TERM,),
    place=("mean1", "mean2", "mean", "std", "deviation", "variance", "statistics"),
)
LAYER.broken(
    "not divided by std",
    right="return (dxn - mean1 - self.xn * mean2) / self.std",
    wrong="return dxn - mean1 - self.xn * mean2",
    truth="the factor 1 / std is missing",
    accept=(TERM,),
    place=("std", "1 / std", "1/std", "deviation"),
)
LAYER.broken(
    "gamma from x",
    right="self.dgamma = (dout * self.xn).sum(axis=0)",
    wrong="self.dgamma = (dout * self.x).sum(axis=0)",
    truth="x in place of the normalised xn in dgamma",
    accept=(OPERAND,),
    place=("x", "self.x", "xn", "self.xn"),
)
LAYER.broken(
    "means over the samples",
    right="mean2 = (dxn * self.xn).mean(axis=1, keepdims=True)",
    wrong="mean2 = (dxn * self.xn).mean(axis=0, keepdims=True)",
    truth="one mean runs over the samples instead of the features",
    accept=(AXIS,),
)

BATCH = Family("batch norm", "norms.BatchNorm", layer_norm)
BATCH.broken(
    "gamma missing",
    right='dxhat = dout * self.params["gamma"]',
    wrong="dxhat = dout",
    truth="the factor gamma is missing in dx",
    accept=(TERM,),
    place=("gamma",),
)
BATCH.broken(
    "way through the variance dropped",
    right="dx += 2 * xmu * dvar / N\n",
    wrong="\n",
    truth="the way through the variance is dropped",
    accept=(TERM,),
    place=("dvar", "var", "variance", "ivar", "xmu"),
)
BATCH.broken(
    "way through the mean dropped",
    right="dx += dmu / N",
    wrong="dx += 0 * dmu",
    truth="the way through the mean is dropped",
    accept=(TERM,),
    place=("dmu", "mu", "mean"),
)
BATCH.broken(
    "power of ivar",
    right="axis=0) * ivar**3",
    wrong="axis=0) * ivar**2",
    truth="var^(-1) instead of var^(-3/2)",
    accept=(TERM, ACTIVATION, OPERAND),
    place=("ivar", "ivar**3", "var", "variance", "dvar"),
)
BATCH.broken(
    "2 forgotten",
    right="dx += 2 * xmu * dvar / N",
    wrong="dx += xmu * dvar / N",
    truth="the factor 2 of the derivative of the square is missing",
    accept=(CONSTANT, TERM),
    place=("2", "xmu", "dvar", "var", "variance"),
)
BATCH.broken(
    "dmu not divided by N",
    right="dx += dmu / N",
    wrong="dx += dmu",
    truth="the mean is undone without dividing by N",
    accept=(CONSTANT, TERM, COUNT),
    place=("N", "1/N", "dmu", "mean", "mu"),
)
BATCH.broken(
    "beta averaged",
    right='self.grads["beta"] = np.sum(dout, axis=0)',
    wrong='self.grads["beta"] = np.mean(dout, axis=0)',
    truth="the gradient of beta is averaged over the samples",
    accept=(BIAS_N,),
    weak=(CONSTANT,),
)

RMS = Family("rms norm", "norms.RMSNorm", rms)
RMS.broken(
    "g missing",
    right="dy = dz * self.g\n",
    wrong="dy = dz\n",
    truth="the factor g is missing in dx",
    accept=(TERM,),
    place=("g", "self.g"),
)
RMS.broken(
    "r taken for a constant",
    right="dx = (dy - y * along) / r",
    wrong="dx = dy / r",
    truth="the way through the root mean square is dropped",
    accept=(TERM,),
    place=("r", "along", "y", "root", "norm"),
)
RMS.broken(
    "sum for mean",
    right="along = np.mean(dy * y, axis=-1, keepdims=True)",
    wrong="along = np.sum(dy * y, axis=-1, keepdims=True)",
    truth="the sum over the features instead of the mean",
    accept=(CONSTANT, TERM, COUNT, AXIS),
    place=("mean", "along", "D", "1/D", "r"),
)
RMS.broken(
    "x for y",
    right="dx = (dy - y * along) / r",
    wrong="dx = (dy - x * along) / r",
    truth="x in place of the normalised y",
    accept=(OPERAND,),
    place=("x", "y"),
    weak=(AT_INPUT,),
)

GROUP = Family("group norm", "norms.GroupNorm", group)
GROUP.broken(
    "gamma missing",
    right="dxhat = dout * self.gamma[:, None]",
    wrong="dxhat = dout.copy()",
    truth="the factor gamma is missing in dx",
    accept=(TERM,),
    place=("gamma",),
)
GROUP.broken(
    "second mean dropped",
    right="dg = (d - first - self.ghat * second) / self.std",
    wrong="dg = (d - first) / self.std",
    truth="the way through the standard deviation is dropped",
    accept=(TERM,),
    place=("second", "std", "ghat", "deviation", "variance"),
)
GROUP.broken(
    "beta not summed over L",
    right="self.dbeta = dout.sum(axis=(0, 2))",
    wrong="self.dbeta = dout[:, :, -1].sum(axis=0)",
    truth="the gradient of beta takes only the last position",
    accept=(BIAS_T, AXIS),
    weak=(TERM,),
)
GROUP.broken(
    "sign of the first mean",
    right="dg = (d - first - self.ghat * second) / self.std",
    wrong="dg = (d + first - self.ghat * second) / self.std",
    truth="the sign of the term through the mean is wrong",
    accept=(SIGN,),
    weak=(TERM,),
)

L2 = Family("l2 normalisation", "norms.L2Normalize", one_input)
L2.broken(
    "norm taken for a constant",
    right="dv = (du - self.u * radial) / self.norm",
    wrong="dv = du / self.norm",
    truth="the way through the norm is dropped",
    accept=(TERM,),
    place=("norm", "radial", "u"),
)
L2.broken(
    "v for u",
    right="dv = (du - self.u * radial) / self.norm",
    wrong="dv = (du - self.v * radial) / self.norm",
    truth="v in place of the normalised u",
    accept=(OPERAND,),
    place=("v", "u", "self.v", "self.u"),
    weak=(AT_INPUT,),
)
L2.broken(
    "not divided",
    right="dv = (du - self.u * radial) / self.norm",
    wrong="dv = du - self.u * radial",
    truth="the factor 1 / norm is missing",
    accept=(TERM,),
    place=("norm", "1/norm", "1 / norm"),
)
L2.broken(
    "sum over the rows",
    right="radial = (du * self.u).sum(axis=1, keepdims=True)",
    wrong="radial = (du * self.u).sum(axis=0, keepdims=True)",
    truth="the sum runs over the samples instead of the features",
    accept=(AXIS,),
)

COSINE = Family("cosine similarity", "norms.CosineSimilarity", two_inputs)
COSINE.broken(
    "norm of a taken for a constant",
    right="da = scale * b - pull_a * a",
    wrong="da = scale * b",
    truth="the way of a through its norm is dropped",
    accept=(TERM,),
    place=("na", "pull_a", "norm"),
)
COSINE.broken(
    "cos missing",
    right="pull_b = (dcos * self.cos / self.nb**2)[:, None]",
    wrong="pull_b = (dcos / self.nb**2)[:, None]",
    truth="the factor cos is missing in the term of the norm",
    accept=(TERM,),
    place=("cos", "self.cos", "pull_b"),
)
COSINE.broken(
    "norm not squared",
    right="pull_a = (dcos * self.cos / self.na**2)[:, None]",
    wrong="pull_a = (dcos * self.cos / self.na)[:, None]",
    truth="divided by |a| instead of |a|^2",
    accept=(TERM, OPERAND),
    place=("na", "pull_a", "norm", "na**2"),
)
COSINE.broken(
    "norm of the other",
    right="pull_a = (dcos * self.cos / self.na**2)[:, None]",
    wrong="pull_a = (dcos * self.cos / self.nb**2)[:, None]",
    truth="the norm of b in place of the norm of a",
    accept=(OPERAND,),
    place=("na", "nb", "pull_a", "norm"),
)

FAMILIES = [LAYER, BATCH, RMS, GROUP, L2, COSINE]
