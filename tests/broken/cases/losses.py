from numpy.random import Generator

from tests.broken.broken import Example, Family, sizes
from tests.broken.names import (
    ACTIVATION,
    AT_INPUT,
    CONSTANT,
    COUNT,
    IGNORED,
    NO_MEAN,
    OPERAND,
    SIGN,
    TERM,
    ZERO,
)


def classes(rng: Generator) -> Example:
    n, v = sizes(rng, 2)
    return (), (rng.normal(size=(n, v)), rng.integers(v, size=n))


def over_time(rng: Generator) -> Example:
    n, t, v = sizes(rng, 3)
    ts = rng.integers(v, size=(n, t))
    ts[0, 1:] = -1
    ts[1, -1] = -1
    return (), (rng.normal(size=(n, t, v)), ts)


def bits(rng: Generator) -> Example:
    n, k = sizes(rng, 2)
    return (), (rng.normal(size=(n, k)), rng.integers(2, size=(n, k)))


def numbers(rng: Generator) -> Example:
    shape = sizes(rng, 2)
    return (), (rng.normal(size=shape), rng.normal(size=shape))


def teacher(rng: Generator) -> Example:
    n, v = sizes(rng, 2)
    p = rng.uniform(0.1, 1, size=(n, v))
    return (), (rng.normal(size=(n, v)), p / p.sum(axis=1, keepdims=True))


CROSS = Family("softmax with loss", "losses.SoftmaxWithLoss", classes, new=False)
CROSS.broken(
    "not averaged",
    right="dx = dx / batch_size",
    wrong="dx = dx / 1",
    truth="not divided by the batch size",
    accept=(NO_MEAN,),
    weak=(CONSTANT,),
)
CROSS.broken(
    "divided by the classes",
    right="dx = dx / batch_size",
    wrong="dx = dx / dx.shape[1]",
    truth="divided by the number of classes instead of the batch size",
    accept=(COUNT,),
    weak=(CONSTANT,),
)
CROSS.broken(
    "scores for probabilities",
    right="dx = self.y.copy()",
    wrong="dx = self.x.copy()",
    truth="the scores in place of the probabilities",
    accept=(OPERAND, AT_INPUT),
    place=("x", "y", "self.x", "self.y", "scores", "probabilities", "softmax"),
)
CROSS.broken(
    "target not subtracted",
    right="dx[np.arange(batch_size), self.t] -= 1\n",
    wrong="\n",
    truth="1 is not subtracted at the target",
    accept=(TERM,),
    place=("target", "targets", "t", "one-hot", "onehot", "1"),
)
CROSS.broken(
    "sign",
    right="dx = dx / batch_size",
    wrong="dx = -dx / batch_size",
    truth="target minus probability instead of the reverse",
    accept=(SIGN,),
)

TIME_CROSS = Family("loss with ignored targets", "losses.TimeSoftmaxWithLoss", over_time, new=False)
TIME_CROSS.broken(
    "ignored targets counted",
    right="dxs = dxs * self.mask[:, :, None]",
    wrong="dxs = dxs + 0",
    truth="ignored targets get a gradient",
    accept=(IGNORED,),
)
TIME_CROSS.broken(
    "divided by all",
    right="dxs = dxs * dout / self.count",
    wrong="dxs = dxs * dout / (N * T)",
    truth="divided by N T instead of the number of targets",
    accept=(COUNT,),
    weak=(CONSTANT,),
)
TIME_CROSS.broken(
    "divided by N",
    right="dxs = dxs * dout / self.count",
    wrong="dxs = dxs * dout / N",
    truth="divided by N instead of the number of targets",
    accept=(COUNT,),
    weak=(CONSTANT,),
)

BINARY = Family("sigmoid with loss", "losses.SigmoidWithLoss", bits, new=False)
BINARY.broken(
    "divided by N only",
    right="/ self.t.size",
    wrong="/ len(self.t)",
    truth="divided by N instead of the number of entries",
    accept=(COUNT,),
    weak=(CONSTANT,),
)
BINARY.broken(
    "derivative of the sigmoid kept",
    right="return dout * (self.p - self.t) / self.t.size",
    wrong="return dout * (self.p - self.t) * self.p * (1 - self.p) / self.t.size",
    truth="p (1 - p) is multiplied in, although it cancels",
    accept=(ACTIVATION, TERM, OPERAND),
    place=("p", "self.p", "sigmoid"),
)
BINARY.broken(
    "sign",
    right="(self.p - self.t)",
    wrong="(self.t - self.p)",
    truth="t - p instead of p - t",
    accept=(SIGN,),
)

HINGE = Family("hinge loss", "losses.HingeLoss", classes)
HINGE.broken(
    "one for the count",
    right="dscores[self.rows, self.t] = -self.active.sum(axis=1)",
    wrong="dscores[self.rows, self.t] = -1",
    truth="-1 for the right class instead of the number of violated margins",
    accept=(TERM, OPERAND),
    place=("active", "count", "sum", "margin", "target", "t"),
    weak=(CONSTANT,),
)
HINGE.broken(
    "right class forgotten",
    right="dscores[self.rows, self.t] = -self.active.sum(axis=1)\n",
    wrong="\n",
    truth="the right class gets no gradient",
    accept=(TERM, ZERO),
    place=("target", "t", "right", "active"),
)
HINGE.broken(
    "not averaged",
    right="dscores = dscores / len(self.t)",
    wrong="dscores = dscores / 1",
    truth="not divided by N",
    accept=(NO_MEAN,),
    weak=(CONSTANT,),
)
HINGE.broken(
    "sign of the right class",
    right="= -self.active.sum(axis=1)",
    wrong="= self.active.sum(axis=1)",
    truth="the right class has the wrong sign",
    accept=(SIGN,),
)

HUBER = Family("huber loss", "losses.HuberLoss", numbers)
HUBER.broken(
    "delta missing",
    right="np.where(self.small, self.r, self.delta * sign)",
    wrong="np.where(self.small, self.r, sign)",
    truth="the factor delta is missing for large differences",
    accept=(TERM, CONSTANT),
    place=("delta", "0.7"),
)
HUBER.broken(
    "sign missing",
    right="np.where(self.small, self.r, self.delta * sign)",
    wrong="np.where(self.small, self.r, self.delta)",
    truth="the sign of the difference is missing for large ones",
    accept=(TERM, SIGN),
    place=("sign", "r"),
)
HUBER.broken(
    "square everywhere",
    right="dy = np.where(self.small, self.r, self.delta * sign)",
    wrong="dy = self.r",
    truth="the derivative of the square also for large differences",
    accept=(TERM, ACTIVATION, OPERAND),
    place=("small", "delta", "r", "mask"),
)
HUBER.broken(
    "divided by N only",
    right="/ self.r.size",
    wrong="/ len(self.r)",
    truth="divided by N instead of the number of entries",
    accept=(COUNT,),
    weak=(CONSTANT, NO_MEAN),
)

KL = Family("kl divergence", "losses.KLDivergence", teacher)
KL.broken(
    "temperature missing",
    right="ds = ds / self.temperature",
    wrong="ds = 1 * ds",
    truth="not divided by the temperature",
    accept=(CONSTANT,),
)
KL.broken(
    "temperature multiplied",
    right="ds = ds / self.temperature",
    wrong="ds = ds * self.temperature",
    truth="multiplied by the temperature instead of divided",
    accept=(CONSTANT,),
)
KL.broken(
    "logarithms",
    right="ds = self.p - self.t",
    wrong="ds = np.log(self.p) - np.log(self.t)",
    truth="the difference of the logarithms instead of the probabilities",
    accept=(OPERAND, ACTIVATION),
    place=("log", "p", "t"),
)

SMOOTH = Family("label smoothing", "losses.LabelSmoothing", classes)
SMOOTH.broken(
    "not smoothed",
    right="dx = (self.p - self.q) / N",
    wrong="dx = (self.p - self.onehot) / N",
    truth="the one-hot target in place of the smoothed one",
    accept=(OPERAND,),
    place=("q", "onehot", "one-hot", "target", "eps"),
)
SMOOTH.broken(
    "target scaled only",
    right="dx = (self.p - self.q) / N",
    wrong="dx = (self.p - (1 - self.eps) * self.onehot) / N",
    truth="the term eps / V of the smoothed target is missing",
    accept=(TERM, CONSTANT),
    place=("eps", "q", "1/V", "eps / V"),
    weak=(OPERAND,),
)
SMOOTH.broken(
    "not averaged",
    right="dx = (self.p - self.q) / N",
    wrong="dx = self.p - self.q",
    truth="not divided by N",
    accept=(NO_MEAN,),
    weak=(CONSTANT,),
)

FOCAL = Family("focal loss", "losses.FocalLoss", classes)
FOCAL.broken(
    "weight taken for a constant",
    right="dpt = dpt - (1 - pt) ** gamma / pt",
    wrong="dpt = -((1 - pt) ** gamma) / pt",
    truth="the way through the weight (1 - p)^gamma is dropped",
    accept=(TERM,),
    place=("gamma", "1 - pt", "log(pt)", "weight", "np.log(pt)"),
)
FOCAL.broken(
    "gamma not taken down",
    right="dpt = gamma * (1 - pt) ** (gamma - 1) * np.log(pt)",
    wrong="dpt = (1 - pt) ** (gamma - 1) * np.log(pt)",
    truth="the factor gamma of the power's derivative is missing",
    accept=(TERM, CONSTANT),
    place=("gamma",),
)
FOCAL.broken(
    "exponent not lowered",
    right="dpt = gamma * (1 - pt) ** (gamma - 1) * np.log(pt)",
    wrong="dpt = gamma * (1 - pt) ** gamma * np.log(pt)",
    truth="the exponent gamma instead of gamma - 1",
    accept=(ACTIVATION, OPERAND, TERM),
    place=("gamma", "1 - pt", "exponent", "pt"),
)
FOCAL.broken(
    "way through p forgotten",
    right="dx = (dpt * pt)[:, None] * (onehot - self.p)",
    wrong="dx = dpt[:, None] * (onehot - self.p)",
    truth="the factor p_t of the softmax's derivative is missing",
    accept=(TERM,),
    place=("pt", "p"),
)

FAMILIES = [CROSS, TIME_CROSS, BINARY, HINGE, HUBER, KL, SMOOTH, FOCAL]
