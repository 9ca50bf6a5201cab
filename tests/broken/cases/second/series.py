from numpy.random import Generator

from tests.broken.broken import Example, Family, sizes
from tests.broken.cases.recurrent import weights
from tests.broken.cases.second.cells import SMALL
from tests.broken.names import (
    ACTIVATION,
    ASSIGNED,
    BIAS_T,
    C_PATH,
    H_PATH,
    OPERAND,
    REVERSED,
    STEP,
    TERM,
    ZERO,
)


def both_ways(rng: Generator) -> Example:
    n, t, d, h = sizes(rng, 4, SMALL)
    return weights(rng, (d, h), (h, h), (d, h), (h, h)), (rng.normal(size=(n, t, d)),)


def ssm(rng: Generator) -> Example:
    n, t, d, h = sizes(rng, 4, SMALL)
    A = rng.uniform(0.3, 0.9, size=h)
    B, C, D = weights(rng, (d, h), (h, d), d)
    return (), (rng.normal(size=(n, t, d)), A, B, C, D)


def leaky(rng: Generator) -> Example:
    n, t, d, h = sizes(rng, 4, SMALL)
    return weights(rng, (d, h), (h, h), h), (rng.normal(size=(n, t, d)),)


def jordan(rng: Generator) -> Example:
    n, t, d, h = sizes(rng, 4, SMALL)
    return weights(rng, (d, h), (7, h), (h, 7)), (rng.normal(size=(n, t, d)),)


def average(rng: Generator) -> Example:
    n, t, c = sizes(rng, 3, SMALL)
    return (rng.uniform(0.2, 0.8, size=c),), (rng.normal(size=(n, t, c)),)


BOTH = Family("bidirectional sum", "second.series.BidirectionalSum", both_ways, new=False)
BOTH.broken(
    "second direction overwrites the first",
    right="dxs[:, t] += da @ self.Wb.T",
    wrong="dxs[:, t] = da @ self.Wb.T",
    truth="what the first direction gave to dxs is overwritten",
    accept=(ASSIGNED, TERM),
    place=("Wf", "dxs", "self.Wf", "left", "forward", "first"),
)
BOTH.broken(
    "dUb with the same step",
    right="self.dUb += self.right[t + 1].T @ da",
    wrong="self.dUb += self.right[t].T @ da",
    truth="the state of the step itself in place of that of the step to its right",
    accept=(STEP, OPERAND),
    place=("right", "self.right", "right[t]", "right[t + 1]", "t + 1"),
)
BOTH.broken(
    "both loops backwards",
    right="for t in range(T):\n            da = (dhs[:, t] + back)",
    wrong="for t in reversed(range(T)):\n            da = (dhs[:, t] + back)",
    truth="the backward pass of the right-to-left network runs from right to left too",
    accept=(REVERSED, STEP),
    weak=(H_PATH, TERM, OPERAND),
)
BOTH.broken(
    "tanh of the other direction",
    right="(1 - self.right[t] ** 2)",
    wrong="(1 - self.left[t + 1] ** 2)",
    truth="the states of the other direction in the derivative of tanh",
    accept=(OPERAND, ACTIVATION),
    place=("right", "left", "self.right", "self.left"),
)
BOTH.broken(
    "no way through time on the right",
    right="da = (dhs[:, t] + back)",
    wrong="da = (dhs[:, t] + 0 * back)",
    truth="the right-to-left network passes nothing back through time",
    accept=(H_PATH, TERM),
    place=("Ub", "back", "right"),
)

SSM = Family("linear recurrence", "second.series.ssm", ssm)
SSM.broken(
    "A missing in the carry",
    right="g = g * A\n",
    wrong="g = g.copy()\n",
    truth="the factor A is missing in what goes back in time",
    accept=(TERM,),
    place=("A", "g"),
    weak=(H_PATH,),
)
SSM.broken(
    "dA with the new state",
    right="dA += (g * hs[t]).sum(axis=0)",
    wrong="dA += (g * hs[t + 1]).sum(axis=0)",
    truth="the new state in place of the old one in dA",
    accept=(STEP, OPERAND),
    place=("hs", "hs[t]", "hs[t + 1]", "h"),
)
SSM.broken(
    "dC with the old state",
    right="dC += hs[t + 1].T @ dy[:, t]",
    wrong="dC += hs[t].T @ dy[:, t]",
    truth="the old state in place of the new one in dC",
    accept=(STEP, OPERAND),
    place=("hs", "hs[t]", "hs[t + 1]", "h"),
)
SSM.broken(
    "skip overwritten",
    right="du[:, t] += g @ B.T",
    wrong="du[:, t] = g @ B.T",
    truth="the way D * u past the recurrence is overwritten",
    accept=(TERM, ASSIGNED),
    place=("D", "du", "skip"),
)
SSM.broken(
    "g begins anew",
    right="g = g + dy[:, t] @ C.T",
    wrong="g = dy[:, t] @ C.T",
    truth="what comes back from later steps is dropped",
    accept=(H_PATH, TERM),
    place=("g", "A", "hs", "g * A"),
    weak=(C_PATH,),
)
SSM.broken(
    "dD of the last step",
    right="dD = (dy * u).sum(axis=(0, 1))",
    wrong="dD = (dy[:, -1] * u[:, -1]).sum(axis=0)",
    truth="dD takes the last step only",
    accept=(BIAS_T,),
    weak=(TERM, ASSIGNED, STEP),
)

LEAKY = Family("leaky rnn", "second.series.LeakyRNN", leaky)
LEAKY.broken(
    "leak's sigmoid not undone",
    right="self.grad_leak = da * a * (1 - a)",
    wrong="self.grad_leak = da",
    truth="the derivative of the sigmoid of leak is missing",
    accept=(ACTIVATION, TERM),
    place=("sigmoid", "a", "a * (1 - a)"),
)
LEAKY.broken(
    "direct way back dropped",
    right="dh = dh * (1 - a) + dn @ self.U.T",
    wrong="dh = dn @ self.U.T",
    truth="the way (1 - a) h back to the previous state is dropped",
    accept=(TERM, H_PATH),
    place=("1 - a", "a", "dh"),
)
LEAKY.broken(
    "way through U dropped",
    right="dh = dh * (1 - a) + dn @ self.U.T",
    wrong="dh = dh * (1 - a)",
    truth="the way through the candidate back to the previous state is dropped",
    accept=(TERM, H_PATH),
    place=("U", "dn", "self.U"),
)
LEAKY.broken(
    "old state forgotten in da",
    right="da += (dh * (self.n[t] - self.h[t])).sum(axis=0)",
    wrong="da += (dh * self.n[t]).sum(axis=0)",
    truth="the term -h is missing: a also enters as 1 - a",
    accept=(TERM,),
    place=("h", "self.h", "1 - a"),
)
LEAKY.broken(
    "a missing in dn",
    right="dn = dh * a * (1 - self.n[t] ** 2)",
    wrong="dn = dh * (1 - self.n[t] ** 2)",
    truth="the factor a is missing in dn",
    accept=(TERM,),
    place=("a", "self.a"),
)

JORDAN = Family("jordan network", "second.series.JordanNetwork", jordan)
JORDAN.broken(
    "feedback dropped",
    right="dy = dys[:, t] + dy_back",
    wrong="dy = dys[:, t]",
    truth="what the next step passes back to this output is dropped",
    accept=(H_PATH, TERM),
    place=("dy_back", "V", "y_prev", "y"),
)
JORDAN.broken(
    "tanh for the sigmoid",
    right="dlogit = dy * y * (1 - y)",
    wrong="dlogit = dy * (1 - y**2)",
    truth="the derivative of tanh in place of that of the sigmoid",
    accept=(ACTIVATION, OPERAND),
    place=("y", "y**2", "1 - y", "tanh", "sigmoid"),
    weak=(TERM,),
)
JORDAN.broken(
    "dV with the new output",
    right="self.dV += y_prev.T @ dpre",
    wrong="self.dV += y.T @ dpre",
    truth="the new output in place of the previous one in dV",
    accept=(STEP, OPERAND),
    place=("y", "y_prev"),
)
JORDAN.broken(
    "inputs reversed",
    right="dxs.insert(0, dpre @ self.W.T)",
    wrong="dxs.append(dpre @ self.W.T)",
    truth="the gradients of the inputs are in reversed order",
    accept=(REVERSED,),
)

AVERAGE = Family("moving average", "second.series.MovingAverage", average)
AVERAGE.broken(
    "first step like the others",
    right="dx[:, 0] = flow + dy[:, 0]",
    wrong="dx[:, 0] = (flow + dy[:, 0]) * (1 - self.beta)",
    truth="y_0 is x_0 itself: the factor 1 - beta is too much at step 0",
    accept=(TERM, STEP),
    place=("beta", "self.beta", "1 - beta", "first", "step 0"),
)
AVERAGE.broken(
    "beta missing in the flow",
    right="flow = flow * self.beta\n",
    wrong="\n",
    truth="the factor beta is missing in what goes back in time",
    accept=(TERM,),
    place=("beta", "self.beta"),
    weak=(H_PATH,),
)
AVERAGE.broken(
    "first step forgotten",
    right="dx[:, 0] = flow + dy[:, 0]\n",
    wrong="\n",
    truth="step 0 gets no gradient",
    accept=(STEP, ZERO, TERM),
    place=("step 0", "first", "flow"),
)
AVERAGE.broken(
    "dbeta without x",
    right="(flow * (self.y[:, t - 1] - self.x[:, t]))",
    wrong="(flow * self.y[:, t - 1])",
    truth="the term -x is missing: beta also enters as 1 - beta",
    accept=(TERM,),
    place=("x", "self.x", "1 - beta"),
)
AVERAGE.broken(
    "dbeta assigned",
    right="self.dbeta += (flow",
    wrong="self.dbeta = (flow",
    truth="dbeta is assigned at each step instead of added up",
    accept=(ASSIGNED, BIAS_T),
    weak=(STEP, TERM),
)

FAMILIES = [BOTH, SSM, LEAKY, JORDAN, AVERAGE]
