import numpy as np
from numpy.random import Generator

from tests.broken.broken import Example, Family, sizes
from tests.broken.cases.recurrent import weights
from tests.broken.cases.second.cells import SMALL
from tests.broken.names import (
    ACTIVATION,
    ASSIGNED,
    AT_INPUT,
    AXIS,
    BIAS_N,
    BIAS_T,
    CONSTANT,
    COUNT,
    OPERAND,
    STEP,
    TERM,
    TRANSPOSED,
)


def experts(rng: Generator) -> Example:
    n, d, h, e = sizes(rng, 4, SMALL)
    return weights(rng, (d, e), (e, d, h)), (rng.normal(size=(n, d)),)


def film(rng: Generator) -> Example:
    n, t, d, c = sizes(rng, 4, SMALL)
    return weights(rng, (c, d), (c, d)), (rng.normal(size=(n, t, d)), rng.normal(size=(n, c)))


def swiglu(rng: Generator) -> Example:
    n, d, h = sizes(rng, 3, SMALL)
    return (), (rng.normal(size=(n, d)), *weights(rng, (d, h), (h, d), (d, h)))


def sine(rng: Generator) -> Example:
    n, d, h = sizes(rng, 3, SMALL)
    return (*weights(rng, (d, h), h), 3.0), (rng.normal(size=(n, d)),)


def gated(rng: Generator) -> Example:
    n, d, h = sizes(rng, 3, SMALL)
    return weights(rng, (d, d), d, (d, h), (h, d)), (rng.normal(size=(n, d)),)


def layer_scale(rng: Generator) -> Example:
    n, t, d = sizes(rng, 3, SMALL)
    return weights(rng, (d, d), d, d), (rng.normal(size=(n, t, d)),)


def dense(rng: Generator) -> Example:
    n, d, g = sizes(rng, 3, SMALL)
    x = np.abs(rng.normal(size=(n, d)))
    return (rng.normal(size=(d, g)), rng.normal(size=(d + g, g))), (x,)


def form(rng: Generator) -> Example:
    n, d = sizes(rng, 2, SMALL)
    return (0.4 * rng.normal(size=(d, d)),), (rng.normal(size=(n, d)), rng.normal(size=(n, d)))


EXPERTS = Family("dense mixture of experts", "second.gates.DenseExperts", experts)
EXPERTS.broken(
    "gate's way to x dropped",
    right="dx += dlogits @ self.G.T\n",
    wrong="\n",
    truth="the way of x through the gate is dropped",
    accept=(TERM,),
    place=("G", "self.G", "dlogits", "gate", "logits"),
)
EXPERTS.broken(
    "only the last expert",
    right="dx += dz @ self.W[k].T",
    wrong="dx = dz @ self.W[k].T",
    truth="dx is assigned for each expert instead of added up",
    accept=(ASSIGNED,),
    weak=(TERM, BIAS_T),
)
EXPERTS.broken(
    "gate missing",
    right="dz = dy * self.gate[:, k : k + 1] * (1 - y**2)",
    wrong="dz = dy * (1 - y**2)",
    truth="the factor gate is missing in dz",
    accept=(TERM,),
    place=("gate", "self.gate"),
)
EXPERTS.broken(
    "gate's softmax without its sum",
    right="dlogits = self.gate * (dgate - (dgate * self.gate).sum(axis=1, keepdims=True))",
    wrong="dlogits = self.gate * dgate",
    truth="the sum of the softmax's derivative is missing",
    accept=(TERM, ACTIVATION),
    place=("sum", "softmax", "gate", "self.gate", "dgate"),
)
EXPERTS.broken(
    "gate as sigmoids",
    right="dlogits = self.gate * (dgate - (dgate * self.gate).sum(axis=1, keepdims=True))",
    wrong="dlogits = dgate * self.gate * (1 - self.gate)",
    truth="the derivative of the sigmoid in place of that of the softmax",
    accept=(ACTIVATION,),
    weak=(TERM, OPERAND),
)

FILM = Family("film", "second.gates.FiLM", film)
FILM.broken(
    "the 1 forgotten",
    right="dx = dout * self.gamma",
    wrong="dx = dout * (self.gamma - 1)",
    truth="gamma is 1 + c Wg: the 1 is missing in dx",
    accept=(TERM, OPERAND),
    place=("gamma", "self.gamma", "1 +", "c", "Wg", "dout", "x"),
)
FILM.broken(
    "dgamma without x",
    right="dgamma = np.sum(dout * self.x, axis=1)",
    wrong="dgamma = np.sum(dout, axis=1)",
    truth="the factor x is missing in dgamma",
    accept=(TERM,),
    place=("x", "self.x"),
)
FILM.broken(
    "dbeta of the first step",
    right="dbeta = np.sum(dout, axis=1)",
    wrong="dbeta = dout[:, 0]",
    truth="dbeta takes the first step only",
    accept=(BIAS_T, AXIS),
    weak=(TERM, STEP),
)
FILM.broken(
    "averaged over the steps",
    right="dgamma = np.sum(dout * self.x, axis=1)",
    wrong="dgamma = np.mean(dout * self.x, axis=1)",
    truth="dgamma is averaged over the steps instead of summed",
    accept=(BIAS_T, CONSTANT, AXIS),
    place=("mean", "T", "gamma"),
    weak=(COUNT,),
)
FILM.broken(
    "matrices exchanged",
    right="dc = np.dot(dgamma, self.Wg.T) + np.dot(dbeta, self.Wb.T)",
    wrong="dc = np.dot(dgamma, self.Wb.T) + np.dot(dbeta, self.Wg.T)",
    truth="Wg and Wb are exchanged in dc",
    accept=(OPERAND,),
    place=("Wg", "Wb", "self.Wg", "self.Wb"),
)

SWIGLU = Family("swiglu", "second.gates.swiglu", swiglu)
SWIGLU.broken(
    "silu as a sigmoid",
    right="dh1 = dact * (s + h1 * s * (1 - s))",
    wrong="dh1 = dact * s * (1 - s)",
    truth="the derivative of the sigmoid in place of that of x sigmoid(x)",
    accept=(ACTIVATION, TERM),
    place=("s", "h1", "silu", "sigmoid"),
)
SWIGLU.broken(
    "product rule half done",
    right="dh1 = dact * (s + h1 * s * (1 - s))",
    wrong="dh1 = dact * s",
    truth="the term h1 s (1 - s) is missing",
    accept=(TERM, ACTIVATION),
    place=("h1", "s", "1 - s"),
)
SWIGLU.broken(
    "linear branch dropped",
    right="dx += dh3 @ w3.T\n",
    wrong="\n",
    truth="the way of x through w3 is dropped",
    accept=(TERM,),
    place=("w3", "h3", "dh3"),
)
SWIGLU.broken(
    "dh3 before the activation",
    right="dh3 = dmid * act",
    wrong="dh3 = dmid * h1",
    truth="h1 in place of silu(h1) in dh3",
    accept=(OPERAND, ACTIVATION, TERM),
    place=("h1", "act"),
    weak=(AT_INPUT,),
)
SWIGLU.broken(
    "dw2 from act",
    right="dw2 = mid.T @ dout",
    wrong="dw2 = act.T @ dout",
    truth="the activation without its gate h3 in dw2",
    accept=(OPERAND, TERM),
    place=("act", "mid", "h3"),
)

SINE = Family("sine layer", "second.gates.SineLayer", sine)
SINE.broken(
    "omega missing",
    right="dz = dout * self.omega * np.cos(self.omega * self.z)",
    wrong="dz = dout * np.cos(self.omega * self.z)",
    truth="the inner derivative omega is missing",
    accept=(CONSTANT, TERM),
    place=("omega", "self.omega"),
)
SINE.broken(
    "sine for cosine",
    right="np.cos(self.omega * self.z)",
    wrong="np.sin(self.omega * self.z)",
    truth="the sine itself in place of its derivative",
    accept=(ACTIVATION, OPERAND, TERM),
    place=("sin", "cos", "np.sin", "np.cos", "out"),
)
SINE.broken(
    "cosine without omega",
    right="np.cos(self.omega * self.z)",
    wrong="np.cos(self.z)",
    truth="the derivative is taken at z instead of omega z",
    accept=(ACTIVATION, OPERAND, TERM),
    place=("omega", "self.omega", "z", "self.z"),
    weak=(AT_INPUT,),
)
SINE.broken(
    "bias averaged",
    right="self.db = np.sum(dz, axis=0)",
    wrong="self.db = np.mean(dz, axis=0)",
    truth="db is averaged over the batch instead of summed",
    accept=(BIAS_N, CONSTANT),
    weak=(COUNT, AXIS),
)

GATED = Family("gated residual", "second.gates.GatedResidual", gated)
GATED.broken(
    "skip dropped",
    right='return dy + dpre @ self.p["W1"].T',
    wrong='return dpre @ self.p["W1"].T',
    truth="the way of x past the branch is dropped",
    accept=(TERM,),
    place=("dy", "skip", "residual", "x"),
)
GATED.broken(
    "gate without f",
    right="dgate = dy * self.f",
    wrong="dgate = dy",
    truth="the factor f is missing in dgate",
    accept=(TERM,),
    place=("f", "self.f"),
)
GATED.broken(
    "gate's sigmoid not undone",
    right="dzg = dgate * self.gate * (1 - self.gate)",
    wrong="dzg = dgate * self.gate",
    truth="the factor 1 - gate of the sigmoid's derivative is missing",
    accept=(ACTIVATION, TERM),
    place=("gate", "self.gate", "1 - gate", "1 - self.gate", "sigmoid"),
)
GATED.broken(
    "mask of the gradient",
    right="dpre = dhid * (self.pre > 0)",
    wrong="dpre = dhid * (dhid > 0)",
    truth="the mask looks at the gradient instead of the input of the relu",
    accept=(ACTIVATION, OPERAND, "not linear in dy"),
    place=("pre", "self.pre", "dhid", "mask", "relu"),
)
GATED.broken(
    "dW2 before the relu",
    right='self.grads["dW2"] = self.hid.T @ df',
    wrong='self.grads["dW2"] = self.pre.T @ df',
    truth="the values before the relu in place of those after it",
    accept=(OPERAND, ACTIVATION),
    place=("pre", "hid", "self.pre", "self.hid", "relu"),
    weak=(AT_INPUT,),
)

SCALED = Family("layer scale", "second.gates.LayerScale", layer_scale)
SCALED.broken(
    "lam missing",
    right="dbranch = grad * self.lam",
    wrong="dbranch = grad",
    truth="the factor lam is missing in the branch",
    accept=(TERM,),
    place=("lam", "self.lam"),
)
SCALED.broken(
    "gradient of lam with x",
    right="self.lam_grad = (grad * self.branch).sum(axis=axes)",
    wrong="self.lam_grad = (grad * self.x).sum(axis=axes)",
    truth="x in place of the branch in the gradient of lam",
    accept=(OPERAND,),
    place=("x", "branch", "self.x", "self.branch"),
)
SCALED.broken(
    "W not transposed",
    right="return grad + dz @ self.W.T",
    wrong="return grad + dz @ self.W",
    truth="W is not transposed",
    accept=(TRANSPOSED,),
)
SCALED.broken(
    "bias of one sentence",
    right="self.b_grad = dz.sum(axis=axes)",
    wrong="self.b_grad = dz.mean(axis=0).sum(axis=0)",
    truth="the gradient of b is averaged over the batch instead of summed",
    accept=(BIAS_N, CONSTANT),
    weak=(COUNT, AXIS),
)

DENSE = Family("dense block", "second.gates.DenseBlock", dense)
DENSE.broken(
    "y1 in the output dropped",
    right="dy1 += dboth[:, D:]",
    wrong="dy1 = dboth[:, D:]",
    truth="the way of y1 straight to the output is overwritten",
    accept=(ASSIGNED, TERM),
    place=("dout", "y1", "dy1", "concatenate", "np.concatenate"),
)
DENSE.broken(
    "y1 in the second layer dropped",
    right="dy1 += dboth[:, D:]\n",
    wrong="\n",
    truth="the way of y1 through W2 is dropped",
    accept=(TERM,),
    place=("dboth", "W2", "both", "y1", "y2"),
)
DENSE.broken(
    "x in the second layer dropped",
    right="dx += dboth[:, :D]\n",
    wrong="\n",
    truth="the way of x through W2 is dropped",
    accept=(TERM,),
    place=("dboth", "W2", "both", "y2"),
)
DENSE.broken(
    "mask of the other layer",
    right="dz1 = dy1 * (self.y1 > 0)",
    wrong="dz1 = dy1 * (self.y2 > 0)",
    truth="the mask of the second relu in place of the first",
    accept=(OPERAND, ACTIVATION),
    place=("y1", "y2", "self.y1", "self.y2", "mask"),
)

FORM = Family("bilinear form", "second.gates.BilinearForm", form)
FORM.broken(
    "gradient of M transposed",
    right="self.dM = self.y.T @ dyM",
    wrong="self.dM = dyM.T @ self.y",
    truth="the gradient of M is transposed",
    accept=(TRANSPOSED,),
)
FORM.broken(
    "dx from y",
    right="dx = ds * self.yM",
    wrong="dx = ds * self.y",
    truth="y in place of y M in dx: the factor M is missing",
    accept=(OPERAND, TERM),
    place=("y", "yM", "M", "self.y", "self.yM"),
)
FORM.broken(
    "tanh at the score",
    right="ds = (ds * (1 - self.s**2))[:, None]",
    wrong="ds = (ds * (1 - np.tanh(self.s) ** 2))[:, None]",
    truth="tanh is applied once more: s is its output already",
    accept=(ACTIVATION, OPERAND, TERM),
    place=("tanh", "s", "self.s", "np.tanh"),
    weak=(AT_INPUT,),
)
FORM.broken(
    "tanh not undone",
    right="ds = (ds * (1 - self.s**2))[:, None]",
    wrong="ds = ds[:, None]",
    truth="the derivative of tanh is missing",
    accept=(ACTIVATION, TERM),
    place=("tanh", "s", "self.s"),
)

FAMILIES = [EXPERTS, FILM, SWIGLU, SINE, GATED, SCALED, DENSE, FORM]
