from numpy.random import Generator, default_rng

from tests.broken.broken import Example, Family, sizes
from tests.broken.names import (
    ACTIVATION,
    ASSIGNED,
    AT_INPUT,
    AXIS,
    BIAS_N,
    BIAS_T,
    CACHE,
    CONSTANT,
    COUNT,
    MASK,
    MASK_SCALE,
    OPERAND,
    SIGN,
    STEP,
    TERM,
    TRANSPOSED,
)


def affine(rng: Generator) -> Example:
    n, d, h = sizes(rng, 3)
    return (rng.normal(size=(d, h)), rng.normal(size=h)), (rng.normal(size=(n, d)),)


def square(rng: Generator) -> Example:
    n, d = sizes(rng, 2)
    return (rng.normal(size=(d, d)), rng.normal(size=d)), (rng.normal(size=(n, d)),)


def time_affine(rng: Generator) -> Example:
    n, t, d, h = sizes(rng, 4)
    return (rng.normal(size=(d, h)), rng.normal(size=h)), (rng.normal(size=(n, t, d)),)


def bilinear(rng: Generator) -> Example:
    n, k, a, b = sizes(rng, 4)
    weights = rng.normal(size=(k, a, b)), rng.normal(size=k)
    return weights, (rng.normal(size=(n, a)), rng.normal(size=(n, b)))


def highway(rng: Generator) -> Example:
    n, d = sizes(rng, 2)
    weights = [rng.normal(size=s) * 0.5 for s in ((d, d), d, (d, d), d)]
    return tuple(weights), (rng.normal(size=(n, d)),)


def residual(rng: Generator) -> Example:
    n, d, h = sizes(rng, 3)
    weights = [rng.normal(size=s) * 0.5 for s in ((d, h), h, (h, d), d)]
    return tuple(weights), (rng.normal(size=(n, d)),)


def squeeze(rng: Generator) -> Example:
    n, c, length, k = sizes(rng, 4)
    return (rng.normal(size=(c, k)), rng.normal(size=(k, c))), (rng.normal(size=(n, c, length)),)


def dropout(rng: Generator) -> Example:
    n, d = sizes(rng, 2)
    return (0.4, default_rng(int(rng.integers(1000)))), (rng.normal(size=(n, d)),)


def locked(rng: Generator) -> Example:
    n, t, d = sizes(rng, 3)
    return (0.3, default_rng(int(rng.integers(1000)))), (rng.normal(size=(n, t, d)),)


AFFINE = Family("affine", "dense.Affine", affine, new=False)
AFFINE.broken(
    "bias averaged",
    right="db = np.sum(dout, axis=0)",
    wrong="db = np.mean(dout, axis=0)",
    truth="the gradient of b is averaged over the samples",
    accept=(BIAS_N,),
    weak=(CONSTANT,),
)
AFFINE.broken(
    "bias of the first sample",
    right="db = np.sum(dout, axis=0)",
    wrong="db = dout[0]",
    truth="the gradient of b is that of the first sample",
    accept=(BIAS_N,),
)
AFFINE.broken(
    "dW divided by N",
    right="dW = np.dot(self.x.T, dout)",
    wrong="dW = np.dot(self.x.T, dout) / len(dout)",
    truth="dW is divided by the number of samples",
    accept=(CONSTANT,),
)
AFFINE.broken(
    "sign of dW",
    right="dW = np.dot(self.x.T, dout)",
    wrong="dW = -np.dot(self.x.T, dout)",
    truth="dW has the wrong sign",
    accept=(SIGN,),
)
AFFINE.broken(
    "weight updated before its use",
    right="dx = np.dot(dout, W.T)\n        dW = np.dot(self.x.T, dout)",
    wrong="dW = np.dot(self.x.T, dout)\n        W = W - 0.1 * dW\n        dx = np.dot(dout, W.T)",
    truth="the weight is updated before dx is computed with it",
    accept=(CACHE, OPERAND),
    place=("W", "updated"),
)

SQUARE = Family("square affine", "dense.Affine", square, new=False)
SQUARE.broken(
    "W not transposed",
    right="dx = np.dot(dout, W.T)",
    wrong="dx = np.dot(dout, W)",
    truth="W instead of its transpose in dx",
    accept=(TRANSPOSED,),
)
SQUARE.broken(
    "dW transposed",
    right="dW = np.dot(self.x.T, dout)",
    wrong="dW = np.dot(dout.T, self.x)",
    truth="dW is the transpose of the right one",
    accept=(TRANSPOSED,),
)
SQUARE.broken(
    "dW from dx",
    right="dW = np.dot(self.x.T, dout)",
    wrong="dW = np.dot(self.x.T, dx)",
    truth="dx in place of dout in dW",
    accept=(OPERAND,),
    place=("dx", "dout"),
)

TIME_AFFINE = Family("time affine", "dense.TimeAffine", time_affine, new=False)
TIME_AFFINE.broken(
    "dW of the first step",
    right="self.dW += self.xs[:, t].T @ dys[:, t]",
    wrong="self.dW = self.xs[:, t].T @ dys[:, t]",
    truth="dW is assigned at each step instead of added up",
    accept=(ASSIGNED,),
)
TIME_AFFINE.broken(
    "bias assigned",
    right="self.db += dys[:, t].sum(axis=0)",
    wrong="self.db = dys[:, t].sum(axis=0)",
    truth="db is assigned at each step instead of added up",
    accept=(ASSIGNED, BIAS_T),
)
TIME_AFFINE.broken(
    "first step left out",
    right="for t in range(self.xs.shape[1]):",
    wrong="for t in range(1, self.xs.shape[1]):",
    truth="the loop leaves out the first step",
    accept=(STEP,),
)
TIME_AFFINE.broken(
    "bias averaged",
    right="self.db += dys[:, t].sum(axis=0)",
    wrong="self.db += dys[:, t].mean(axis=0)",
    truth="db is averaged over the samples",
    accept=(BIAS_N,),
    weak=(CONSTANT,),
)

BILINEAR = Family("bilinear", "dense.Bilinear", bilinear)
BILINEAR.broken(
    "da without b",
    right='da = np.einsum("nk,kab,nb->na", dy, self.W, self.b)',
    wrong='da = np.einsum("nk,kab->na", dy, self.W)',
    truth="the factor b is missing in da",
    accept=(TERM,),
    place=("b", "self.b"),
)
BILINEAR.broken(
    "db of the first output",
    right='db = np.einsum("nk,kab,na->nb", dy, self.W, self.a)',
    wrong='db = np.einsum("n,ab,na->nb", dy[:, 0], self.W[0], self.a)',
    truth="db takes only the first of the K outputs",
    accept=(TERM, AXIS),
    place=("K", "k", "W[0]", "dy[:, 0]", "outputs"),
)
BILINEAR.broken(
    "dW without dy",
    right='self.dW = np.einsum("nk,na,nb->kab", dy, self.a, self.b)',
    wrong='self.dW = np.einsum("na,nb->ab", self.a, self.b) * np.ones((dy.shape[1], 1, 1))',
    truth="the incoming gradient dy is missing in dW",
    accept=(TERM,),
    place=("dy", "dout", "incoming", "upstream"),
)
BILINEAR.broken(
    "dW averaged",
    right='self.dW = np.einsum("nk,na,nb->kab", dy, self.a, self.b)',
    wrong='self.dW = np.einsum("nk,na,nb->kab", dy, self.a, self.b) / len(dy)',
    truth="dW is averaged over the samples",
    accept=(CONSTANT,),
)

HIGHWAY = Family("highway", "dense.Highway", highway)
HIGHWAY.broken(
    "carry dropped",
    right="dx = dy * (1 - g)\n        dx = dx + zh",
    wrong="dx = zh",
    truth="the way dy (1 - g) past the layer is dropped",
    accept=(TERM,),
    place=("1 - g", "g", "dy", "carry", "skip"),
)
HIGHWAY.broken(
    "gate without x",
    right="dg = dy * (h - x)",
    wrong="dg = dy * h",
    truth="the term -x is missing in dg",
    accept=(TERM,),
    place=("x", "h - x", "- x", "-x"),
)
HIGHWAY.broken(
    "h without g",
    right="dh = dy * g",
    wrong="dh = dy",
    truth="the factor g is missing in dh",
    accept=(TERM,),
    place=("g",),
)
HIGHWAY.broken(
    "tanh not undone",
    right="zh = dh * (1 - h**2)",
    wrong="zh = dh",
    truth="the derivative of tanh is missing",
    accept=(ACTIVATION, TERM),
    place=("h", "tanh"),
)
HIGHWAY.broken(
    "gate's derivative of tanh",
    right="zg = dg * g * (1 - g)",
    wrong="zg = dg * (1 - g**2)",
    truth="the gate is a sigmoid, but has the derivative of tanh",
    accept=(ACTIVATION,),
)

RESIDUAL = Family("residual block", "dense.ResidualBlock", residual)
RESIDUAL.broken(
    "skip dropped",
    right="return dout + dpre @ self.W1.T",
    wrong="return dpre @ self.W1.T",
    truth="the gradient of the skip connection is dropped",
    accept=(TERM,),
    place=("dout", "skip", "dy", "identity", "x", "residual"),
)
RESIDUAL.broken(
    "no relu mask",
    right="dpre = dhidden * (self.pre > 0)",
    wrong="dpre = dhidden",
    truth="the mask of the relu is missing",
    accept=(ACTIVATION, TERM),
    place=("pre", "mask", "relu", "pre > 0"),
)
RESIDUAL.broken(
    "dW2 before the relu",
    right="self.dW2 = self.hidden.T @ dout",
    wrong="self.dW2 = self.pre.T @ dout",
    truth="the value before the relu in place of the one after it",
    accept=(OPERAND,),
    place=("pre", "hidden"),
    weak=(AT_INPUT, ACTIVATION),
)
RESIDUAL.broken(
    "mask of dhidden",
    right="dpre = dhidden * (self.pre > 0)",
    wrong="dpre = dhidden * (dhidden > 0)",
    truth="the mask is that of the gradient instead of the value",
    accept=(ACTIVATION, OPERAND),
    place=("dhidden", "pre", "mask"),
)

SQUEEZE = Family("squeeze-excite", "dense.SqueezeExcite", squeeze)
SQUEEZE.broken(
    "gate taken for a constant",
    right="return dout * gate[:, :, None] + through_gate",
    wrong="return dout * gate[:, :, None]",
    truth="the way of x through the gate is dropped",
    accept=(TERM,),
    place=("gate", "through_gate", "dsqueezed", "squeezed"),
)
SQUEEZE.broken(
    "mean not divided",
    right="dsqueezed[:, :, None] / x.shape[2]",
    wrong="dsqueezed[:, :, None] * np.ones(x.shape)",
    truth="the mean over L is undone without dividing by L",
    accept=(CONSTANT, TERM, COUNT),
    place=("L", "x.shape[2]", "1/L", "mean", "shape[2]"),
)
SQUEEZE.broken(
    "gate's sigmoid",
    right="dexcite = dgate * gate * (1 - gate)",
    wrong="dexcite = dgate * gate",
    truth="the factor 1 - gate of the sigmoid's derivative is missing",
    accept=(ACTIVATION, TERM),
    place=("1 - gate", "gate"),
)
SQUEEZE.broken(
    "x missing in dgate",
    right="dgate = (dout * x).sum(axis=2)",
    wrong="dgate = dout.sum(axis=2)",
    truth="the factor x is missing in dgate",
    accept=(TERM,),
    place=("x",),
)

DROPOUT = Family("dropout", "dense.Dropout", dropout, new=False)
DROPOUT.broken(
    "no mask",
    right="dx = dout * self.keep",
    wrong="dx = dout",
    truth="the mask is missing",
    accept=(MASK,),
)
DROPOUT.broken(
    "not scaled",
    right="dx = dx / (1 - self.ratio)",
    wrong="dx = 1.0 * dx",
    truth="the scale 1 / (1 - p) is missing",
    accept=(MASK_SCALE, CONSTANT),
)
DROPOUT.broken(
    "multiplied for divided",
    right="dx = dx / (1 - self.ratio)",
    wrong="dx = dx * (1 - self.ratio)",
    truth="multiplied by 1 - p instead of divided",
    accept=(MASK_SCALE, CONSTANT),
)

LOCKED = Family("locked dropout", "dense.LockedDropout", locked, new=False)
LOCKED.broken(
    "no mask",
    right="return dys * self.mask[:, None, :]",
    wrong="return dys / (1 - self.p)",
    truth="the mask is missing",
    accept=(MASK,),
)
LOCKED.broken(
    "scaled twice",
    right="return dys * self.mask[:, None, :]",
    wrong="return dys * self.mask[:, None, :] / (1 - self.p)",
    truth="the scale 1 / (1 - p) is applied twice",
    accept=(MASK_SCALE, CONSTANT),
)
LOCKED.broken(
    "mask of the first step only",
    right="return dys * self.mask[:, None, :]",
    wrong="dys = dys.copy()\n        dys[:, 0] *= self.mask\n        return dys",
    truth="the mask is applied to the first step only",
    accept=(MASK,),
    weak=(TERM,),
)

FAMILIES = [AFFINE, SQUARE, TIME_AFFINE, BILINEAR, HIGHWAY, RESIDUAL, SQUEEZE, DROPOUT, LOCKED]
