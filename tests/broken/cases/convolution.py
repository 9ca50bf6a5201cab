from numpy.random import Generator

from tests.broken.broken import Example, Family, sizes
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
    IGNORED,
    MASK,
    NO_MEAN,
    OPERAND,
    REVERSED,
    STEP,
    TERM,
    TRANSPOSED,
)


def conv1d(rng: Generator) -> Example:
    n, c, f = sizes(rng, 3, (3, 5, 7))
    (length,) = sizes(rng, 1, (9, 11))
    return (rng.normal(size=(f, c, 3)), rng.normal(size=f)), (rng.normal(size=(n, c, length)),)


def conv2d(rng: Generator) -> Example:
    c, f, w = sizes(rng, 3, (3, 5, 7))
    h = {3: 5, 5: 7, 7: 5}[w]
    return (rng.normal(size=(f, c, 3, 3)), rng.normal(size=f)), (rng.normal(size=(3, c, h, w)),)


def causal(rng: Generator) -> Example:
    n, t, d, h = sizes(rng, 4)
    return (rng.normal(size=(d, h)), rng.normal(size=(d, h)), 2), (rng.normal(size=(n, t, d)),)


def pool1d(rng: Generator) -> Example:
    n, c = sizes(rng, 2, (3, 5, 7))
    (length,) = sizes(rng, 1, (9, 11, 13))
    return (), (rng.normal(size=(n, c, length)),)


def pool2d(rng: Generator) -> Example:
    n, c = sizes(rng, 2, (3, 5, 7))
    h, w = [(9, 3), (3, 9), (9, 15)][rng.integers(3)]
    return (), (rng.normal(size=(n, c, h, w)),)


def over_time(rng: Generator) -> Example:
    return (), (rng.normal(size=sizes(rng, 3)),)


def mean_over_time(rng: Generator) -> Example:
    n, t, h = sizes(rng, 3)
    lengths = rng.integers(1, t + 1, size=n)
    lengths[0], lengths[1] = t - 1, t
    return (lengths,), (rng.normal(size=(n, t, h)),)


CONV1D = Family("convolution 1-d", "convolution.Conv1d", conv1d)
CONV1D.broken(
    "kernel not flipped",
    right='dxp[:, :, k : k + steps] += np.einsum("nfl,fc->ncl", dout, self.W[:, :, k])',
    wrong='dxp[:, :, k : k + steps] += np.einsum("nfl,fc->ncl", dout, self.W[:, :, K - 1 - k])',
    truth="the kernel is turned round in dx",
    accept=(TRANSPOSED, REVERSED, OPERAND),
    place=("kernel", "flipped", "W", "K - 1 - k", "k"),
)
CONV1D.broken(
    "windows overwritten",
    right="dxp[:, :, k : k + steps] +=",
    wrong="dxp[:, :, k : k + steps] =",
    truth="overlapping windows overwrite each other in dx",
    accept=(ASSIGNED,),
)
CONV1D.broken(
    "pad cut on the wrong side",
    right="return dxp[:, :, self.pad : self.pad + L]",
    wrong="return dxp[:, :, :L]",
    truth="the padding is cut off on the wrong side",
    accept=(STEP,),
)
CONV1D.broken(
    "bias not summed over positions",
    right="self.db = dout.sum(axis=(0, 2))",
    wrong="self.db = dout[:, :, 0].sum(axis=0)",
    truth="db takes only the first position",
    accept=(BIAS_T, AXIS),
    weak=(TERM,),
)
CONV1D.broken(
    "bias averaged",
    right="self.db = dout.sum(axis=(0, 2))",
    wrong="self.db = dout.sum(axis=2).mean(axis=0)",
    truth="db is averaged over the samples",
    accept=(BIAS_N,),
    weak=(CONSTANT,),
)
CONV1D.broken(
    "the same window for every k",
    right="window = self.xp[:, :, k : k + steps]\n            self.dW",
    wrong="window = self.xp[:, :, :steps]\n            self.dW",
    truth="dW takes the first window for every k",
    accept=(STEP, OPERAND),
    place=("window", "xp", "k"),
)

CONV2D = Family("convolution 2-d", "convolution.Conv2d", conv2d)
CONV2D.broken(
    "windows overwritten",
    right="dx[:, :, i : i + k, j : j + k] += dcols[:, i, j]",
    wrong="dx[:, :, i : i + k, j : j + k] = dcols[:, i, j]",
    truth="overlapping windows overwrite each other in dx",
    accept=(ASSIGNED,),
)
CONV2D.broken(
    "kernel turned",
    right="+= dcols[:, i, j]",
    wrong="+= dcols[:, i, j, :, ::-1, ::-1]",
    truth="the kernel is turned round in dx",
    accept=(TRANSPOSED, REVERSED, OPERAND),
    place=("kernel", "flipped", "W", "dcols"),
)
CONV2D.broken(
    "kernel transposed",
    right="+= dcols[:, i, j]",
    wrong="+= dcols[:, i, j].swapaxes(2, 3)",
    truth="height and width of the kernel are exchanged in dx",
    accept=(TRANSPOSED,),
)
CONV2D.broken(
    "dW averaged",
    right='np.einsum("npf,npq->fq", d, self.cols)',
    wrong='np.einsum("npf,npq->fq", d, self.cols / N)',
    truth="dW is averaged over the samples",
    accept=(CONSTANT,),
)
CONV2D.broken(
    "bias summed over samples only",
    right="self.grads[1][...] = d.sum(axis=(0, 1))",
    wrong="self.grads[1][...] = d.sum(axis=0).mean(axis=0)",
    truth="db is averaged over the positions",
    accept=(BIAS_T, CONSTANT),
    weak=(BIAS_N,),
)

CAUSAL = Family("causal convolution", "convolution.CausalConv", causal)
CAUSAL.broken(
    "shifted the wrong way",
    right="dxs[:, : -self.d] += dpast[:, self.d :]",
    wrong="dxs[:, self.d :] += dpast[:, : -self.d]",
    truth="the gradient of the earlier step is given to a later one",
    accept=(STEP, REVERSED),
)
CAUSAL.broken(
    "dilation forgotten",
    right="dxs[:, : -self.d] += dpast[:, self.d :]",
    wrong="dxs[:, :-1] += dpast[:, 1:]",
    truth="shifted by one step instead of d",
    accept=(STEP,),
)
CAUSAL.broken(
    "past dropped",
    right="dxs[:, : -self.d] += dpast[:, self.d :]\n        return dxs",
    wrong="return dxs",
    truth="the way through the earlier step is dropped",
    accept=(TERM,),
    place=("past", "dpast", "B"),
    weak=(H_PATH,),
)
CAUSAL.broken(
    "dB with the present",
    right='self.dB = np.einsum("nti,ntj->ij", self.past, dys)',
    wrong='self.dB = np.einsum("nti,ntj->ij", self.xs, dys)',
    truth="x_t in place of x_(t-d) in dB",
    accept=(STEP, OPERAND),
    place=("xs", "past", "x"),
)

POOL1 = Family("max pooling 1-d", "convolution.MaxPool1d", pool1d)
POOL1.broken(
    "overlap overwritten",
    right="dx[rows, channels, self.best[:, :, t]] += dout[:, :, t]",
    wrong="dx[rows, channels, self.best[:, :, t]] = dout[:, :, t]",
    truth="an entry that wins in two windows keeps only one gradient",
    accept=(ASSIGNED, IDS),
)
POOL1.broken(
    "to the beginning of the window",
    right="dx[rows, channels, self.best[:, :, t]] += dout[:, :, t]",
    wrong="dx[:, :, t * self.s] += dout[:, :, t]",
    truth="the gradient goes to the first entry of a window instead of the largest",
    accept=(OPERAND, STEP, ACTIVATION),
    place=("best", "argmax", "first", "s"),
)
POOL1.broken(
    "whole window",
    right="dx[rows, channels, self.best[:, :, t]] += dout[:, :, t]",
    wrong="dx[:, :, t * self.s : t * self.s + self.k] += dout[:, :, t, None]",
    truth="every entry of a window gets the gradient, not only the largest",
    accept=(TERM, ACTIVATION, AXIS),
    place=("best", "argmax", "mask", "max"),
)

POOL2 = Family("max pooling 2-d", "convolution.MaxPool2d", pool2d)
POOL2.broken(
    "shared out",
    right="dx = spread * self.mask",
    wrong="dx = spread * np.ones(self.mask.shape) / self.p**2",
    truth="the gradient is shared out as for average pooling",
    accept=(ACTIVATION, OPERAND, TERM),
    place=("mask", "mean", "average", "max"),
)
POOL2.broken(
    "value multiplied in",
    right="dx = spread * self.mask",
    wrong="dx = spread * self.mask * self.blocks",
    truth="the value itself is multiplied in",
    accept=(OPERAND, TERM, ACTIVATION),
    place=("blocks", "x"),
)
POOL2.broken(
    "no mask",
    right="dx = spread * self.mask",
    wrong="dx = spread * np.ones(self.mask.shape)",
    truth="every entry of a window gets the gradient",
    accept=(TERM, ACTIVATION),
    place=("mask", "max"),
)

AVERAGE = Family("average pooling", "convolution.AvgPool2d", pool2d)
AVERAGE.broken(
    "not divided",
    right="return dx / self.p**2",
    wrong="return dx",
    truth="not divided by the number of entries of a window",
    accept=(CONSTANT,),
)
AVERAGE.broken(
    "divided by the side",
    right="return dx / self.p**2",
    wrong="return dx / self.p",
    truth="divided by p instead of p^2",
    accept=(CONSTANT,),
)
AVERAGE.broken(
    "tiled for repeated",
    right="np.repeat(np.repeat(dout, self.p, axis=2), self.p, axis=3)",
    wrong="np.tile(dout, (1, 1, self.p, self.p))",
    truth="the windows are tiled instead of their entries repeated",
    accept=(AXIS, TRANSPOSED, OPERAND),
    place=("tile", "repeat", "dout"),
)

MAX_TIME = Family("max over time", "convolution.MaxOverTime", over_time)
MAX_TIME.broken(
    "to the last step",
    right="dhs[n, self.where[n, j], j] = dy[n, j]",
    wrong="dhs[n, T - 1, j] = dy[n, j]",
    truth="the gradient goes to the last step instead of the largest",
    accept=(OPERAND, ACTIVATION, STEP),
    place=("where", "argmax", "last", "max"),
)
MAX_TIME.broken(
    "off by one",
    right="dhs[n, self.where[n, j], j] = dy[n, j]",
    wrong="dhs[n, self.where[n, j] - 1, j] = dy[n, j]",
    truth="the gradient goes to the step before the largest",
    accept=(STEP,),
)
MAX_TIME.broken(
    "all steps",
    right="dhs[n, self.where[n, j], j] = dy[n, j]",
    wrong="dhs[n, :, j] = dy[n, j]",
    truth="every step gets the gradient, not only the largest",
    accept=(TERM, ACTIVATION, AXIS),
    place=("where", "argmax", "mask", "max"),
)

MEAN_TIME = Family("mean over time", "convolution.MeanOverTime", mean_over_time)
MEAN_TIME.broken(
    "no mask",
    right="return share[:, None, :] * self.real",
    wrong="return share[:, None, :] * np.ones(self.real.shape)",
    truth="steps past the end of a sequence get a gradient",
    accept=(TERM, IGNORED, MASK),
    place=("real", "mask", "lengths"),
)
MEAN_TIME.broken(
    "divided by T",
    right="share = dy / self.lengths[:, None]",
    wrong="share = dy / self.real.shape[1]",
    truth="divided by T instead of each sequence's length",
    accept=(COUNT, OPERAND, TERM),
    place=("T", "lengths", "shape[1]"),
)
MEAN_TIME.broken(
    "not divided",
    right="share = dy / self.lengths[:, None]",
    wrong="share = dy",
    truth="not divided by the length",
    accept=(TERM, NO_MEAN, COUNT),
    place=("lengths",),
)

FAMILIES = [CONV1D, CONV2D, CAUSAL, POOL1, POOL2, AVERAGE, MAX_TIME, MEAN_TIME]
