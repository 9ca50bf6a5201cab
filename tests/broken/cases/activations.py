from numpy.random import Generator

from tests.broken.broken import Example, Family, sizes
from tests.broken.names import (
    ACTIVATION,
    ASSIGNED,
    AT_INPUT,
    AXIS,
    BIAS_N,
    BIAS_T,
    CONSTANT,
    GATES,
    OPERAND,
    SIGN,
    TERM,
    ZERO,
)


def one_input(rng: Generator) -> Example:
    return (), (rng.normal(size=sizes(rng, 2)),)


def swish(rng: Generator) -> Example:
    n, d = sizes(rng, 2)
    return (rng.normal(size=d) + 1.5,), (rng.normal(size=(n, d)),)


def prelu(rng: Generator) -> Example:
    n, c, length = sizes(rng, 3)
    return (rng.uniform(0.1, 0.6, size=c),), (rng.normal(size=(n, c, length)),)


def maxout(rng: Generator) -> Example:
    n, d, k, h = sizes(rng, 4)
    return (rng.normal(size=(k, d, h)), rng.normal(size=(k, h))), (rng.normal(size=(n, d)),)


def halves(rng: Generator) -> Example:
    n, d = sizes(rng, 2)
    return (), (rng.normal(size=(n, 2 * d)),)


SIGMOID = Family("sigmoid", "activations.Sigmoid", one_input, new=False)
SIGMOID.broken(
    "factor out missing",
    right="dx = dout * (1.0 - self.out) * self.out",
    wrong="dx = dout * (1.0 - self.out)",
    truth="the factor y of y (1 - y) is missing",
    accept=(TERM, ACTIVATION),
    place=("out", "self.out", "y"),
)
SIGMOID.broken(
    "dout forgotten",
    right="dx = dout * (1.0 - self.out) * self.out",
    wrong="dx = (1.0 - self.out) * self.out",
    truth="the incoming gradient dout is not multiplied in",
    accept=(TERM,),
    place=("dout", "dy", "incoming", "upstream"),
)
SIGMOID.broken(
    "1 - out squared",
    right="dx = dout * (1.0 - self.out) * self.out",
    wrong="dx = dout * (1.0 - self.out**2)",
    truth="the derivative of tanh, 1 - y^2, instead of y (1 - y)",
    accept=(ACTIVATION,),
)
SIGMOID.broken(
    "plus sign",
    right="(1.0 - self.out) * self.out",
    wrong="(1.0 + self.out) * self.out",
    truth="y (1 + y) instead of y (1 - y)",
    accept=(ACTIVATION, SIGN),
)

TANH = Family("tanh", "activations.Tanh", one_input, new=False)
TANH.broken(
    "at the input",
    right="return dy * (1 - self.y**2)",
    wrong="return dy * (1 - self.x**2)",
    truth="1 - x^2 instead of 1 - y^2",
    accept=(AT_INPUT,),
    weak=(ACTIVATION,),
)
TANH.broken(
    "not squared",
    right="return dy * (1 - self.y**2)",
    wrong="return dy * (1 - self.y)",
    truth="1 - y instead of 1 - y^2",
    accept=(ACTIVATION,),
)
TANH.broken(
    "of sigmoid",
    right="return dy * (1 - self.y**2)",
    wrong="return dy * self.y * (1 - self.y)",
    truth="the derivative of a sigmoid instead of tanh's",
    accept=(ACTIVATION,),
)
TANH.broken(
    "dy forgotten",
    right="return dy * (1 - self.y**2)",
    wrong="return 1 - self.y**2",
    truth="the incoming gradient dy is not multiplied in",
    accept=(TERM,),
    place=("dout", "dy", "incoming", "upstream"),
)

RELU = Family("relu", "activations.Relu", one_input, new=False)
RELU.broken(
    "mask of dout",
    right="dx[self.mask] = 0",
    wrong="dx[dout <= 0] = 0",
    truth="zero where the incoming gradient is negative, instead of where x is",
    accept=(ACTIVATION, OPERAND),
    place=("dout", "dy", "mask"),
)
RELU.broken(
    "mask inverted",
    right="dx[self.mask] = 0",
    wrong="dx[~self.mask] = 0",
    truth="the gradient passes where x is negative, not where it is positive",
    accept=(ACTIVATION,),
    weak=(OPERAND,),
)
RELU.broken(
    "no mask",
    right="dx[self.mask] = 0\n        return dx",
    wrong="return dx",
    truth="the mask is not applied",
    accept=(ACTIVATION, TERM),
    place=("mask", "x > 0", "x"),
)
RELU.broken(
    "slope one added",
    right="dx[self.mask] = 0",
    wrong="dx = dx * self.x * ~self.mask",
    truth="x itself is multiplied in, instead of 1 where x is positive",
    accept=(ACTIVATION, OPERAND),
    place=("x", "self.x"),
)

SOFTMAX = Family("softmax", "activations.Softmax", one_input, new=False)
SOFTMAX.broken(
    "sum over N",
    right="sumdx = np.sum(dx, axis=-1, keepdims=True)",
    wrong="sumdx = np.sum(dx, axis=0, keepdims=True)",
    truth="the sum runs over the samples instead of the classes",
    accept=(AXIS,),
)
SOFTMAX.broken(
    "only the diagonal",
    right="dx = dx - self.out * sumdx",
    wrong="dx = dx * (1 - self.out)",
    truth="y (1 - y) dy, as if the entries did not depend on each other",
    accept=(ACTIVATION, TERM),
    place=("sum", "sumdx", "Jacobian", "diagonal"),
)
SOFTMAX.broken(
    "sum not weighted",
    right="dx = dx - self.out * sumdx",
    wrong="dx = dx - sumdx",
    truth="the factor y of the sum is missing",
    accept=(TERM,),
    place=("out", "self.out", "y"),
    weak=(OPERAND, ACTIVATION),
)
SOFTMAX.broken(
    "mean for sum",
    right="sumdx = np.sum(dx, axis=-1, keepdims=True)",
    wrong="sumdx = np.mean(dx, axis=-1, keepdims=True)",
    truth="the mean over the classes instead of the sum",
    accept=(AXIS, CONSTANT, TERM, OPERAND),
    place=("mean", "sumdx", "1/V", "1/C", "1/D", "count"),
)

GELU = Family("gelu", "activations.Gelu", one_input)
GELU.broken(
    "3 forgotten",
    right="(1 + 3 * 0.044715 * x**2)",
    wrong="(1 + 0.044715 * x**2)",
    truth="the derivative of x^3 without the factor 3",
    accept=(CONSTANT, TERM),
    place=("3", "du", "x**2"),
    weak=(ACTIVATION,),
)
GELU.broken(
    "only the direct way",
    right="return dout * (direct + inner)",
    wrong="return dout * direct",
    truth="the way through tanh is dropped",
    accept=(TERM,),
    place=("inner", "tanh", "t", "du", "x"),
    weak=(ACTIVATION,),
)
GELU.broken(
    "inner derivative missing",
    right="inner = 0.5 * x * (1 - t**2) * du",
    wrong="inner = 0.5 * x * (1 - t**2)",
    truth="the inner derivative du is missing",
    accept=(TERM,),
    place=("du", "inner", "u", "k"),
    weak=(ACTIVATION,),
)
GELU.broken(
    "tanh not squared",
    right="inner = 0.5 * x * (1 - t**2) * du",
    wrong="inner = 0.5 * x * (1 - t) * du",
    truth="1 - t instead of 1 - t^2",
    accept=(ACTIVATION,),
    weak=(TERM,),
)

SWISH = Family("swish", "activations.Swish", swish)
SWISH.broken(
    "beta missing",
    right="return dy * s + da * beta",
    wrong="return dy * s + da",
    truth="the factor beta of the way through the sigmoid is missing",
    accept=(TERM,),
    place=("beta", "params[0]"),
)
SWISH.broken(
    "direct way missing",
    right="return dy * s + da * beta",
    wrong="return da * beta",
    truth="the term dy s is missing",
    accept=(TERM,),
    place=("s", "dy * s", "self.s"),
)
SWISH.broken(
    "beta takes the output",
    right="np.sum(da * x, axis=0)",
    wrong="np.sum(da * x * s, axis=0)",
    truth="the gradient of beta has the output x s in place of x",
    accept=(OPERAND, TERM),
    place=("s", "y", "x * s", "self.s"),
    weak=(ACTIVATION,),
)
SWISH.broken(
    "mean over N",
    right="np.sum(da * x, axis=0)",
    wrong="np.mean(da * x, axis=0)",
    truth="the gradient of beta is averaged over the samples, not summed",
    accept=(BIAS_N, CONSTANT),
)

SOFTPLUS = Family("softplus", "activations.Softplus", one_input)
SOFTPLUS.broken(
    "sigmoid of -x",
    right="slope = 1 / (1 + np.exp(-self.x))",
    wrong="slope = 1 / (1 + np.exp(self.x))",
    truth="the sigmoid of -x instead of x",
    accept=(ACTIVATION, SIGN),
)
SOFTPLUS.broken(
    "sigmoid of y",
    right="slope = 1 / (1 + np.exp(-self.x))",
    wrong="slope = 1 / (1 + np.exp(-self.y))",
    truth="the sigmoid at the output instead of the input",
    accept=(OPERAND, ACTIVATION, AT_INPUT),
    place=("y", "self.y", "output"),
)
SOFTPLUS.broken(
    "derivative of a sigmoid",
    right="return dy * slope",
    wrong="return dy * slope * (1 - slope)",
    truth="differentiated twice: s (1 - s) instead of s",
    accept=(ACTIVATION,),
)

ELU = Family("elu", "activations.Elu", one_input)
ELU.broken(
    "alpha not added",
    right="np.where(self.x > 0, 1.0, self.y + self.alpha)",
    wrong="np.where(self.x > 0, 1.0, self.y)",
    truth="y instead of y + alpha below 0",
    accept=(ACTIVATION, TERM),
    place=("alpha",),
)
ELU.broken(
    "alpha forgotten",
    right="np.where(self.x > 0, 1.0, self.y + self.alpha)",
    wrong="np.where(self.x > 0, 1.0, np.exp(self.x))",
    truth="exp(x) without the factor alpha below 0",
    accept=(TERM, CONSTANT, ACTIVATION),
    place=("alpha", "1.5"),
)
ELU.broken(
    "exp of y",
    right="np.where(self.x > 0, 1.0, self.y + self.alpha)",
    wrong="np.where(self.x > 0, 1.0, self.alpha * np.exp(self.y))",
    truth="the exponential is taken at the output instead of the input",
    accept=(OPERAND, ACTIVATION, AT_INPUT),
    place=("y", "self.y", "output"),
)

LEAKY = Family("leaky relu", "activations.LeakyRelu", one_input)
LEAKY.broken(
    "assigned for multiplied",
    right="dx[negative] *= self.slope",
    wrong="dx[negative] = self.slope",
    truth="below 0 the slope itself stands instead of the slope times dout",
    accept=(TERM, ACTIVATION),
    place=("dout", "dy", "slope"),
    weak=(ASSIGNED,),
)
LEAKY.broken(
    "mask of dout",
    right="negative = self.x < 0",
    wrong="negative = dout < 0",
    truth="the slope applies where dout is negative, instead of where x is",
    accept=(ACTIVATION, OPERAND),
    place=("dout", "dy", "negative"),
)
LEAKY.broken(
    "like a relu",
    right="dx[negative] *= self.slope",
    wrong="dx[negative] = 0",
    truth="zero below 0, as for a relu",
    accept=(ACTIVATION, TERM),
    place=("slope", "relu"),
    weak=(ZERO,),
)

PRELU = Family("prelu", "activations.PRelu", prelu)
PRELU.broken(
    "alpha from the output",
    right="(dy * self.x * below)",
    wrong="(dy * self.y * below)",
    truth="y in place of x in the gradient of alpha",
    accept=(OPERAND,),
    place=("y", "self.y"),
    weak=(CONSTANT,),
)
PRELU.broken(
    "alpha of positive entries too",
    right="(dy * self.x * below)",
    wrong="(dy * self.x)",
    truth="the mask x < 0 is missing in the gradient of alpha",
    accept=(TERM, ACTIVATION),
    place=("below", "mask", "x < 0", "self.x < 0"),
)
PRELU.broken(
    "alpha only at the last position",
    right="(dy * self.x * below).sum(axis=(0, 2))",
    wrong="(dy * self.x * below)[:, :, -1].sum(axis=0)",
    truth="the gradient of alpha misses all positions but the last",
    accept=(BIAS_T, AXIS),
    weak=(TERM,),
)
PRELU.broken(
    "masks exchanged",
    right="np.where(below, a, 1.0)",
    wrong="np.where(below, 1.0, a)",
    truth="slope 1 below 0 and alpha above",
    accept=(ACTIVATION, GATES),
    weak=(OPERAND,),
)

MAXOUT = Family("maxout", "activations.Maxout", maxout)
MAXOUT.broken(
    "all pieces",
    right="dz = dout[:, None, :] * self.winner",
    wrong="dz = dout[:, None, :] * np.ones(self.winner.shape)",
    truth="every piece gets the gradient, not only the largest",
    accept=(TERM, ACTIVATION),
    place=("winner", "mask"),
)
MAXOUT.broken(
    "bias averaged",
    right="self.db = dz.sum(axis=0)",
    wrong="self.db = dz.mean(axis=0)",
    truth="the gradient of b is averaged over the samples",
    accept=(BIAS_N, CONSTANT),
)
MAXOUT.broken(
    "dx unmasked",
    right='return np.einsum("nkh,kdh->nd", dz, self.W)',
    wrong='return np.einsum("nh,kdh->nd", dout, self.W)',
    truth="dx sums over all pieces instead of the largest",
    accept=(TERM, OPERAND, ACTIVATION),
    place=("winner", "mask", "dz", "dout"),
)

GLU = Family("glu", "activations.Glu", halves)
GLU.broken(
    "halves exchanged",
    right="np.concatenate([da, db], axis=1)",
    wrong="np.concatenate([db, da], axis=1)",
    truth="the gradients of the two halves are in each other's place",
    accept=(GATES,),
)
GLU.broken(
    "sigmoid not undone",
    right="db = dgate * gate * (1 - gate)",
    wrong="db = dgate",
    truth="the derivative of the gate's sigmoid is missing",
    accept=(ACTIVATION, TERM),
    place=("gate", "sigmoid"),
)
GLU.broken(
    "gate missing in da",
    right="da = dout * gate",
    wrong="da = dout",
    truth="the factor gate is missing",
    accept=(TERM,),
    place=("gate",),
)
GLU.broken(
    "wrong half",
    right="dgate = dout * a\n",
    wrong="dgate = dout * a * gate\n",
    truth="the output a gate in place of a",
    accept=(OPERAND, TERM),
    place=("gate", "output", "y", "a * gate"),
    weak=(ACTIVATION,),
)

FAMILIES = [SIGMOID, TANH, RELU, SOFTMAX, GELU, SWISH, SOFTPLUS, ELU, LEAKY, PRELU, MAXOUT, GLU]
