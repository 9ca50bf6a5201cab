from numpy.random import Generator

from tests.broken.broken import Example, Family, sizes
from tests.broken.cases.second.cells import SMALL
from tests.broken.names import (
    ACTIVATION,
    AXIS,
    BIAS_N,
    CONSTANT,
    COUNT,
    GATES,
    OPERAND,
    SIGN,
    TERM,
    ZERO,
)


def one_input(rng: Generator) -> Example:
    return (), (rng.normal(size=sizes(rng, 2)),)


def wide(rng: Generator) -> Example:
    x = 2.5 * rng.normal(size=sizes(rng, 2))
    x[0, :3] = 4, -4, 1
    return (), (x,)


def snake(rng: Generator) -> Example:
    n, d = sizes(rng, 2)
    return (rng.uniform(0.5, 2, size=d),), (rng.normal(size=(n, d)),)


def capsules(rng: Generator) -> Example:
    return (), (rng.normal(size=sizes(rng, 3, SMALL)),)


def cube(rng: Generator) -> Example:
    n, d = sizes(rng, 2)
    return (), (rng.normal(size=(n, d)), rng.normal(size=d), rng.normal(size=d))


CRELU = Family("crelu", "second.pointwise.CRelu", one_input)
CRELU.broken(
    "sign of the second half",
    right="dx = dx - dn * self.neg",
    wrong="dx = dx + dn * self.neg",
    truth="the second half is relu(-x): its minus is missing",
    accept=(SIGN, TERM),
    place=("neg", "dn", "self.neg", "-x", "-1"),
)
CRELU.broken(
    "second half dropped",
    right="dx = dx - dn * self.neg\n",
    wrong="\n",
    truth="the way through the second half is dropped",
    accept=(TERM, ZERO),
    place=("neg", "dn", "self.neg", "-x"),
    weak=(ACTIVATION,),
)
CRELU.broken(
    "halves exchanged",
    right="dp, dn = dout[:, :k], dout[:, k:]",
    wrong="dn, dp = dout[:, :k], dout[:, k:]",
    truth="the halves of dout are exchanged",
    accept=(GATES, OPERAND),
    place=("dp", "dn", "dout", "half", "halves"),
    weak=(ACTIVATION,),
)

HARD = Family("hard sigmoid", "second.pointwise.HardSigmoid", wide)
HARD.broken(
    "0.2 forgotten",
    right="dx[self.inside] = 0.2 * dout[self.inside]",
    wrong="dx[self.inside] = dout[self.inside]",
    truth="the slope 0.2 is missing",
    accept=(CONSTANT, TERM),
    place=("0.2",),
)
HARD.broken(
    "no ends",
    right="dx[self.inside] = 0.2 * dout[self.inside]",
    wrong="dx = 0.2 * dout",
    truth="the gradient passes also where the output is cut off",
    accept=(ACTIVATION, TERM),
    place=("inside", "self.inside", "mask", "clip", "np.clip"),
)
HARD.broken(
    "one end only",
    right="dx[self.inside] = 0.2 * dout[self.inside]",
    wrong="dx = 0.2 * dout * (0.2 * self.x + 0.5 > 0)",
    truth="the gradient passes where the output is cut off above 1",
    accept=(ACTIVATION, TERM, OPERAND),
    place=("inside", "self.inside", "mask", "clip", "np.clip", "lin < 1", "lin"),
)

SOFTSIGN = Family("softsign", "second.pointwise.Softsign", one_input)
SOFTSIGN.broken(
    "not squared",
    right="slope = 1 / self.den**2",
    wrong="slope = 1 / self.den",
    truth="1 / den instead of 1 / den^2",
    accept=(TERM, ACTIVATION),
    place=("den", "self.den", "1/den", "x / self.den"),
)
SOFTSIGN.broken(
    "at the output",
    right="slope = 1 / self.den**2",
    wrong="slope = 1 / (1 + np.abs(self.y)) ** 2",
    truth="the derivative is taken at the output instead of the input",
    accept=(ACTIVATION, OPERAND),
    place=("y", "self.y", "x", "output", "input"),
    weak=(TERM,),
)
SOFTSIGN.broken(
    "dy forgotten",
    right="return dy * slope",
    wrong="return slope",
    truth="the factor dy is missing",
    accept=(TERM, "not linear in dy"),
    place=("dy",),
)

MISH = Family("mish", "second.pointwise.mish", one_input)
MISH.broken(
    "only the first term",
    right="dx = dx + dsp * sig\n",
    wrong="\n",
    truth="the way of x through the softplus is dropped",
    accept=(TERM,),
    place=("dsp", "sig", "sp", "softplus", "th", "tanh"),
    weak=(ACTIVATION,),
)
MISH.broken(
    "only the second term",
    right="dx = dout * th\n    dx = dx + dsp * sig",
    wrong="dx = dsp * sig",
    truth="the direct way of x, dout tanh(softplus(x)), is dropped",
    accept=(TERM,),
    place=("th", "tanh", "dout", "x"),
    weak=(ACTIVATION,),
)
MISH.broken(
    "softplus not undone",
    right="dx = dx + dsp * sig",
    wrong="dx = dx + dsp",
    truth="the derivative of the softplus, a sigmoid, is missing",
    accept=(ACTIVATION, TERM),
    place=("sig", "sigmoid", "softplus", "sp", "log1p", "exp"),
)
MISH.broken(
    "tanh not undone",
    right="dsp = dth * (1 - th**2)",
    wrong="dsp = dth",
    truth="the derivative of tanh is missing",
    accept=(ACTIVATION, TERM),
    place=("th", "tanh", "1 - th**2"),
)

LOG = Family("log-softmax", "second.pointwise.LogSoftmax", one_input)
LOG.broken(
    "sum of dout forgotten",
    right="dx = dout - p * np.sum(dout, axis=1, keepdims=True)",
    wrong="dx = dout - p * dout",
    truth="p * dout in place of p times the sum of dout",
    accept=(TERM, AXIS, OPERAND, ACTIVATION),
    place=("sum", "np.sum", "dout"),
)
LOG.broken(
    "p for the log",
    right="p = np.exp(self.logp)",
    wrong="p = self.logp",
    truth="the logarithm of the probabilities in place of the probabilities",
    accept=(OPERAND, ACTIVATION, TERM),
    place=("exp", "logp", "np.exp", "self.logp", "p"),
)
LOG.broken(
    "sum over the wrong axis",
    right="np.sum(dout, axis=1, keepdims=True)",
    wrong="np.sum(dout, axis=0, keepdims=True)",
    truth="dout is summed over the rows instead of the classes",
    accept=(AXIS,),
)
LOG.broken(
    "as if dout were one-hot",
    right="dx = dout - p * np.sum(dout, axis=1, keepdims=True)",
    wrong="dx = dout - p",
    truth="the sum of dout is missing beside p",
    accept=(TERM, "not linear in dy", ACTIVATION),
    place=("sum", "np.sum", "dout", "dy", "p"),
)

SNAKE = Family("snake", "second.pointwise.Snake", snake)
SNAKE.broken(
    "second term of da forgotten",
    right="da = da - dy * self.sin**2 / self.a**2\n",
    wrong="\n",
    truth="a under the fraction is taken for a constant",
    accept=(TERM,),
    place=("a", "sin", "self.sin", "self.a", "1/a"),
)
SNAKE.broken(
    "2 forgotten",
    right="wave = 2 * self.sin * self.cos",
    wrong="wave = self.sin * self.cos",
    truth="the factor 2 of the square is missing",
    accept=(CONSTANT, TERM),
    place=("2", "sin", "cos", "wave", "square"),
    weak=(ACTIVATION,),
)
SNAKE.broken(
    "x dropped",
    right="dx = dy * (1 + wave)",
    wrong="dx = dy * wave",
    truth="the 1 that comes from the bare x is missing",
    accept=(TERM,),
    place=("1 + wave", "x", "dy"),
    weak=(ACTIVATION,),
)
SNAKE.broken(
    "x missing in da",
    right="da = dy * wave * self.x / self.a",
    wrong="da = dy * wave / self.a",
    truth="the inner derivative x is missing in da",
    accept=(TERM,),
    place=("x", "self.x"),
)
SNAKE.broken(
    "da averaged",
    right="self.da = da.sum(axis=0)",
    wrong="self.da = da.mean(axis=0)",
    truth="da is averaged over the batch instead of summed",
    accept=(BIAS_N, CONSTANT),
    weak=(COUNT, AXIS),
)

SQUASH = Family("squash", "second.pointwise.Squash", capsules)
SQUASH.broken(
    "factor taken for a constant",
    right="grad_s = grad_s + grad_norm * s / norm\n",
    wrong="\n",
    truth="the way of s through its norm is dropped",
    accept=(TERM,),
    place=("norm", "grad_norm", "factor", "s"),
)
SQUASH.broken(
    "norm not undone",
    right="grad_s = grad_s + grad_norm * s / norm",
    wrong="grad_s = grad_s + grad_norm * s",
    truth="the factor 1 / norm is missing in the derivative of the norm",
    accept=(TERM, ACTIVATION),
    place=("norm", "1/norm", "/ norm", "sqrt"),
)
SQUASH.broken(
    "numerator only",
    right="grad_norm = grad_factor * (1 - norm**2) / (1 + norm**2) ** 2",
    wrong="grad_norm = grad_factor / (1 + norm**2)",
    truth="the denominator 1 + norm^2 is taken for a constant",
    accept=(TERM,),
    place=("norm", "norm**2", "1 + norm**2", "denominator", "1 - norm**2"),
    weak=(ACTIVATION, OPERAND),
)
SQUASH.broken(
    "factor missing",
    right="grad_s = grad_output * factor",
    wrong="grad_s = grad_output.copy()",
    truth="the factor is missing in the direct way",
    accept=(TERM,),
    place=("factor",),
)

CUBE = Family("cubic function", "second.pointwise.CubeFunction", cube)
CUBE.broken(
    "3 forgotten",
    right="(3 * a * x**2 + b)",
    wrong="(a * x**2 + b)",
    truth="the 3 of the derivative of x^3 is missing",
    accept=(CONSTANT, TERM, ACTIVATION),
    place=("3", "x**3", "x**2", "cube", "power"),
)
CUBE.broken(
    "b missing",
    right="(3 * a * x**2 + b)",
    wrong="(3 * a * x**2)",
    truth="the term b of the derivative is missing",
    accept=(TERM,),
    place=("b",),
)
CUBE.broken(
    "power not lowered",
    right="(3 * a * x**2 + b)",
    wrong="(3 * a * x**3 + b)",
    truth="x^3 in place of x^2",
    accept=(TERM, ACTIVATION, OPERAND),
    place=("x", "x**2", "x**3", "power"),
)
CUBE.broken(
    "powers exchanged",
    right="grad_b = (grad * x).sum(axis=0)",
    wrong="grad_b = (grad * x**2).sum(axis=0)",
    truth="x^2 in place of x in the gradient of b",
    accept=(OPERAND, TERM),
    place=("x", "x**2"),
)

FAMILIES = [CRELU, HARD, SOFTSIGN, MISH, LOG, SNAKE, SQUASH, CUBE]
