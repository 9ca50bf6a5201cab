from numpy.random import Generator

from tests.broken.broken import Example, Family, sizes
from tests.broken.cases.recurrent import weights
from tests.broken.cases.second.cells import SMALL
from tests.broken.names import (
    ACTIVATION,
    ASSIGNED,
    AXIS,
    CONSTANT,
    IDS,
    OPERAND,
    REVERSED,
    SIGN,
    STEP,
    TERM,
    TRANSPOSED,
)


def relative(rng: Generator) -> Example:
    n, t, d = sizes(rng, 3, SMALL)
    inputs = tuple(rng.normal(size=(n, t, d)) for _ in range(3))
    return weights(rng, 2 * t - 1), inputs


def tempered(rng: Generator) -> Example:
    n, s, d, v = sizes(rng, 4, SMALL)
    x = rng.normal(size=(n, d)), rng.normal(size=(n, s, d)), rng.normal(size=(n, s, v))
    return (), (*x, rng.uniform(1.5, 2.5, size=1))


def local(rng: Generator) -> Example:
    n, t, d = sizes(rng, 3, (4, 5, 6, 7))
    return (), (rng.normal(size=(n, t, d)),)


def linear(rng: Generator) -> Example:
    n, q, d, v = sizes(rng, 4, SMALL)
    return (), (
        rng.normal(size=(n, q, d)),
        rng.normal(size=(n, 7, d)),
        rng.normal(size=(n, 7, v)),
    )


RELATIVE = Family("relative attention", "second.heads.RelativeAttention", relative)
RELATIVE.broken(
    "distances overwritten",
    right="np.add.at(drel, self.idx, dscores.sum(axis=0))",
    wrong="drel[self.idx] += dscores.sum(axis=0)",
    truth="a distance that occurs several times gets one gradient only",
    accept=(IDS,),
    weak=(ASSIGNED,),
)
RELATIVE.broken(
    "distance i - j",
    right="np.add.at(drel, self.idx, dscores.sum(axis=0))",
    wrong="np.add.at(drel, self.idx.T, dscores.sum(axis=0))",
    truth="the gradient goes to the bias of i - j instead of j - i",
    accept=(TRANSPOSED, REVERSED, OPERAND),
    place=("idx", "self.idx", "distance", "rel"),
)
RELATIVE.broken(
    "scale missing in dk",
    right="dk = np.matmul(dqk.transpose(0, 2, 1), self.q)",
    wrong="dk = np.matmul(dscores.transpose(0, 2, 1), self.q)",
    truth="the scale 1 / sqrt(d) is missing in dk",
    accept=(CONSTANT, TERM, OPERAND),
    place=("scale", "self.scale", "sqrt", "d", "dqk", "dscores"),
)
RELATIVE.broken(
    "dv not transposed",
    right="dv = np.matmul(self.probs.transpose(0, 2, 1), dout)",
    wrong="dv = np.matmul(self.probs, dout)",
    truth="the attention weights are not transposed in dv",
    accept=(TRANSPOSED,),
)
RELATIVE.broken(
    "softmax over the queries",
    right="inner = np.sum(dprobs * self.probs, axis=2, keepdims=True)",
    wrong="inner = np.sum(dprobs * self.probs, axis=1, keepdims=True)",
    truth="the sum of the softmax runs over the queries instead of the keys",
    accept=(AXIS,),
)

TEMPERED = Family("attention with a temperature", "second.heads.tempered", tempered)
TEMPERED.broken(
    "sign of dtau",
    right="dtau = np.array([-(dlogits",
    wrong="dtau = np.array([(dlogits",
    truth="the minus of the derivative of 1 / tau is missing",
    accept=(SIGN,),
)
TEMPERED.broken(
    "tau not squared",
    right="/ tau[0] ** 2])",
    wrong="/ tau[0]])",
    truth="1 / tau in place of 1 / tau^2 in dtau",
    accept=(TERM, CONSTANT),
    place=("tau", "1/tau", "tau[0]"),
)
TEMPERED.broken(
    "tau missing",
    right="ddots = dlogits / tau",
    wrong="ddots = dlogits",
    truth="the factor 1 / tau is missing in the gradients of query and keys",
    accept=(TERM, CONSTANT),
    place=("tau", "1/tau", "/ tau"),
)
TEMPERED.broken(
    "softmax taken for the identity",
    right="dlogits = weights * (dweights - (weights * dweights).sum(axis=1, keepdims=True))",
    wrong="dlogits = dweights",
    truth="the derivative of the softmax is missing",
    accept=(ACTIVATION, TERM),
    place=("softmax", "weights"),
)

LOCAL = Family("local attention", "second.heads.LocalAttention", local)
LOCAL.broken(
    "windows overwritten",
    right="dpadded[:, t : t + 3] += dwindow",
    wrong="dpadded[:, t : t + 3] = dwindow",
    truth="windows overlap, and each overwrites what the one before gave",
    accept=(ASSIGNED,),
    weak=(TERM,),
)
LOCAL.broken(
    "pad cut on the wrong side",
    right="return dx + dpadded[:, 2:]",
    wrong="return dx + dpadded[:, :-2]",
    truth="the pad stands in front, and the last two steps are cut",
    accept=(STEP, OPERAND),
    place=("dpadded", "pad", "padded"),
)
LOCAL.broken(
    "query dropped",
    right="return dx + dpadded[:, 2:]",
    wrong="return dpadded[:, 2:]",
    truth="the gradient of x as query is dropped",
    accept=(TERM,),
    place=("dx", "query", "window", "x[:, t]", "e", "de", "self.x"),
)
LOCAL.broken(
    "keys dropped",
    right="dwindow += de[:, :, None] * self.x[:, t][:, None]\n",
    wrong="\n",
    truth="the gradient of the window as keys is dropped",
    accept=(TERM,),
    place=("de", "key", "keys", "x", "self.x", "e"),
)
LOCAL.broken(
    "scale missing",
    right="(alpha * dalpha).sum(axis=1, keepdims=True)) / np.sqrt(D)",
    wrong="(alpha * dalpha).sum(axis=1, keepdims=True))",
    truth="the scale 1 / sqrt(D) is missing",
    accept=(CONSTANT, TERM),
    place=("sqrt", "D", "scale", "np.sqrt(D)"),
)

LINEAR = Family("linear attention", "second.heads.LinearAttention", linear)
LINEAR.broken(
    "denominator a constant for the query",
    right="dfq += dden[:, :, None] * self.z[:, None, :]\n",
    wrong="\n",
    truth="the way of the query through the denominator is dropped",
    accept=(TERM,),
    place=("den", "dden", "z", "self.z", "denominator"),
)
LINEAR.broken(
    "denominator a constant for the keys",
    right="dfk += dz[:, None, :]\n",
    wrong="\n",
    truth="the way of the keys through the denominator is dropped",
    accept=(TERM,),
    place=("dz", "z", "den", "dden", "self.z", "denominator"),
)
LINEAR.broken(
    "phi not undone",
    right="dK = dfk * self.dphi(self.K)",
    wrong="dK = dfk",
    truth="the derivative of phi is missing for the keys",
    accept=(ACTIVATION, TERM),
    place=("phi", "dphi", "K", "self.K", "exp"),
)
LINEAR.broken(
    "phi for its derivative",
    right="dQ = dfq * self.dphi(self.Q)",
    wrong="dQ = dfq * self.phi(self.Q)",
    truth="phi itself in place of its derivative",
    accept=(ACTIVATION, OPERAND, TERM),
    place=("phi", "dphi", "fq", "self.fq"),
)
LINEAR.broken(
    "sign of the denominator",
    right="dden = -(dout * self.out)",
    wrong="dden = (dout * self.out)",
    truth="the minus of the derivative of 1 / den is missing",
    accept=(SIGN,),
    weak=(TERM,),
)
LINEAR.broken(
    "dnum not divided",
    right="dnum = dout / self.den",
    wrong="dnum = dout",
    truth="the factor 1 / den is missing in the gradient of the numerator",
    accept=(TERM,),
    place=("den", "self.den", "1/den", "denominator"),
)

FAMILIES = [RELATIVE, TEMPERED, LOCAL, LINEAR]
