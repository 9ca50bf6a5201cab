from numpy.random import Generator

from tests.broken.broken import Example, Family, sizes
from tests.broken.cases.recurrent import weights
from tests.broken.cases.second.cells import SMALL
from tests.broken.names import (
    ACTIVATION,
    ASSIGNED,
    AXIS,
    BIAS_N,
    BIAS_T,
    CONSTANT,
    COUNT,
    H_PATH,
    IDS,
    OPERAND,
    REVERSED,
    STEP,
    TERM,
    ZERO,
)


def strided(rng: Generator) -> Example:
    n, c, f = sizes(rng, 3, SMALL)
    return (*weights(rng, (f, c, 3), f), 2), (rng.normal(size=(n, c, int(rng.choice([7, 9])))),)


def dilated(rng: Generator) -> Example:
    n, d, h = sizes(rng, 3, SMALL)
    return (*weights(rng, (3, d, h)), 2), (rng.normal(size=(n, int(rng.choice([7, 8])), d)),)


def deconv(rng: Generator) -> Example:
    n, length, c, f = sizes(rng, 4, SMALL)
    return (), (rng.normal(size=(n, length, c)), *weights(rng, (3, c, f), f))


def separable(rng: Generator) -> Example:
    n, length, c, f = sizes(rng, 4, (4, 5, 6, 7))
    return weights(rng, (3, c), (c, f)), (rng.normal(size=(n, length, c)),)


def upsample(rng: Generator) -> Example:
    return (), (rng.normal(size=sizes(rng, 3, SMALL)),)


STRIDED = Family("strided convolution", "second.filters.StridedConv", strided)
STRIDED.broken(
    "stride forgotten",
    right="dx[:, :, i * s : i * s + K] += np.tensordot(",
    wrong="dx[:, :, i : i + K] += np.tensordot(",
    truth="the windows of dx begin at i instead of i s",
    accept=(STEP, OPERAND),
    place=("s", "stride", "i", "i * s", "window", "windows"),
)
STRIDED.broken(
    "windows overwritten",
    right="dx[:, :, i * s : i * s + K] += np.tensordot(",
    wrong="dx[:, :, i * s : i * s + K] = np.tensordot(",
    truth="windows overlap, and each overwrites what the one before gave",
    accept=(ASSIGNED,),
    weak=(TERM, IDS),
)
STRIDED.broken(
    "dW of the last window",
    right="self.dW += np.tensordot(dout[:, :, i], window, axes=(0, 0))",
    wrong="self.dW = np.tensordot(dout[:, :, i], window, axes=(0, 0))",
    truth="dW is assigned for each window instead of added up",
    accept=(ASSIGNED, BIAS_T),
    weak=(STEP, TERM),
)
STRIDED.broken(
    "last window left out",
    right="for i in range(self.n_out):\n            window",
    wrong="for i in range(self.n_out - 1):\n            window",
    truth="the loop ends one window too early",
    accept=(STEP,),
    weak=(TERM, ZERO),
)
STRIDED.broken(
    "kernel turned round",
    right="np.tensordot(dout[:, :, i], self.W, axes=(1, 0))",
    wrong="np.tensordot(dout[:, :, i], self.W[:, :, ::-1], axes=(1, 0))",
    truth="the kernel is reversed in dx",
    accept=(REVERSED, OPERAND),
    place=("W", "self.W", "kernel", "flipped", "reversed"),
    weak=(STEP,),
)

DILATED = Family("dilated causal convolution", "second.filters.DilatedCausal", dilated)
DILATED.broken(
    "dilation forgotten",
    right="dx[:, : T - shift] += dy[:, shift:] @ self.W[k].T",
    wrong="dx[:, : T - k] += dy[:, k:] @ self.W[k].T",
    truth="dx is shifted by k instead of k times the dilation",
    accept=(STEP, OPERAND),
    place=("shift", "k", "dilation", "self.dilation"),
)
DILATED.broken(
    "shifted the wrong way",
    right="dx[:, : T - shift] += dy[:, shift:] @ self.W[k].T",
    wrong="dx[:, shift:] += dy[:, : T - shift] @ self.W[k].T",
    truth="the gradient goes to later steps instead of earlier ones",
    accept=(STEP, REVERSED, OPERAND),
    place=("shift", "dx", "dy"),
)
DILATED.broken(
    "dW not shifted",
    right='np.einsum("ntd,nth->dh", self.x[:, : T - shift], dy[:, shift:])',
    wrong='np.einsum("ntd,nth->dh", self.x[:, shift:], dy[:, shift:])',
    truth="x is not shifted against dy in dW",
    accept=(STEP, OPERAND),
    place=("x", "self.x", "shift"),
)
DILATED.broken(
    "present step dropped",
    right="dx = dy @ self.W[0].T",
    wrong="dx = np.zeros_like(self.x)",
    truth="the way through W[0], the tap of the present step, is dropped",
    accept=(TERM,),
    place=("W[0]", "self.W[0]", "W"),
    weak=(STEP, H_PATH),
)

DECONV = Family("transposed convolution", "second.filters.deconv", deconv)
DECONV.broken(
    "dx overwritten",
    right="dx[:, i] += dout[:, 2 * i + k] @ w[k].T",
    wrong="dx[:, i] = dout[:, 2 * i + k] @ w[k].T",
    truth="dx is assigned for each tap of the kernel instead of added up",
    accept=(ASSIGNED,),
    weak=(TERM,),
)
DECONV.broken(
    "stride forgotten in dw",
    right="dw[k] += x[:, i].T @ dout[:, 2 * i + k]",
    wrong="dw[k] += x[:, i].T @ dout[:, i + k]",
    truth="i + k in place of 2 i + k in dw",
    accept=(STEP, OPERAND, CONSTANT),
    place=("i", "2 * i + k", "i + k", "stride", "dout"),
)
DECONV.broken(
    "kernel turned round",
    right="dx[:, i] += dout[:, 2 * i + k] @ w[k].T",
    wrong="dx[:, i] += dout[:, 2 * i + k] @ w[-k - 1].T",
    truth="the kernel is reversed in dx",
    accept=(REVERSED, OPERAND),
    place=("w", "kernel", "k"),
    weak=(STEP,),
)
DECONV.broken(
    "bias at one place",
    right="db = dout.sum(axis=(0, 1))",
    wrong="db = dout[:, 0].sum(axis=0)",
    truth="db takes the first place only",
    accept=(BIAS_T,),
    weak=(AXIS, TERM, STEP),
)

SEPARABLE = Family("separable convolution", "second.filters.SeparableConv", separable)
SEPARABLE.broken(
    "relu not undone",
    right="dz = (dy @ self.Wp.T) * (self.z > 0)",
    wrong="dz = dy @ self.Wp.T",
    truth="the mask of the relu is missing",
    accept=(ACTIVATION, TERM),
    place=("z", "self.z", "relu", "mask", "z > 0", "np.maximum", "maximum"),
)
SEPARABLE.broken(
    "dWp before the relu",
    right='self.dWp = np.einsum("nlc,nlf->cf", self.a, dy)',
    wrong='self.dWp = np.einsum("nlc,nlf->cf", self.z, dy)',
    truth="the values before the relu in place of those after it",
    accept=(OPERAND, ACTIVATION),
    place=("z", "a", "self.z", "self.a", "relu"),
)
SEPARABLE.broken(
    "middle tap only",
    right="self.dWd[k] = (self.x[:, k : k + n] * dz)",
    wrong="self.dWd[k] = (self.x[:, 1 : 1 + n] * dz)",
    truth="every tap of the kernel gets the gradient of the middle one",
    accept=(STEP, OPERAND),
    place=("x", "self.x", "k", "window"),
)
SEPARABLE.broken(
    "windows of the reversed kernel",
    right="dx[:, k : k + n] += dz * self.Wd[k]",
    wrong="dx[:, 2 - k : 2 - k + n] += dz * self.Wd[k]",
    truth="the windows of dx are those of the reversed kernel",
    accept=(REVERSED, STEP, OPERAND),
    place=("k", "2 - k", "Wd", "self.Wd", "dx"),
)
SEPARABLE.broken(
    "kernel averaged over the batch",
    right="* dz).sum(axis=(0, 1))",
    wrong="* dz).mean(axis=0).sum(axis=0)",
    truth="dWd is averaged over the batch instead of summed",
    accept=(CONSTANT, BIAS_N, AXIS),
    weak=(COUNT,),
)

UPSAMPLE = Family("linear upsampling", "second.filters.LinearUpsample", upsample)
UPSAMPLE.broken(
    "right neighbour dropped",
    right="dx[:, 1:] += between[:, :-1] / 2\n",
    wrong="\n",
    truth="the way of a step into the mean on its left is dropped",
    accept=(TERM,),
    place=("between", "nxt", "next", "neighbour", "x[:, 1:]"),
    weak=(STEP,),
)
UPSAMPLE.broken(
    "end forgotten",
    right="dx[:, -1] += between[:, -1] / 2\n",
    wrong="\n",
    truth="the last step is also its own right neighbour: that part is dropped",
    accept=(TERM, STEP),
    place=("between", "last", "x[:, -1:]", "nxt", "end"),
)
UPSAMPLE.broken(
    "half forgotten",
    right="dx = direct + between / 2",
    wrong="dx = direct + between",
    truth="the half of the mean is missing on the left side",
    accept=(CONSTANT, TERM, "loss not averaged"),
    place=("2", "half", "between", "0.5", "1/2"),
)
UPSAMPLE.broken(
    "neighbour on the wrong side",
    right="dx[:, 1:] += between[:, :-1] / 2",
    wrong="dx[:, :-1] += between[:, 1:] / 2",
    truth="the gradient of the mean goes to the step before instead of the one after",
    accept=(STEP, REVERSED, OPERAND),
    place=("between", "neighbour", "nxt"),
)

FAMILIES = [STRIDED, DILATED, DECONV, SEPARABLE, UPSAMPLE]
