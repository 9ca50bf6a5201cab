import numpy as np
from numpy.random import Generator

from tests.broken.broken import Example, Family, sizes
from tests.broken.names import (
    ACTIVATION,
    ASSIGNED,
    AT_INPUT,
    C_PATH,
    GATES,
    H_PATH,
    OPERAND,
    REVERSED,
    SIGN,
    STEP,
    TERM,
    TRANSPOSED,
)


def weights(rng: Generator, *shapes: int | tuple[int, ...]) -> tuple[np.ndarray, ...]:
    return tuple(rng.normal(size=s) * 0.6 for s in shapes)


def rnn(rng: Generator) -> Example:
    n, t, d, h = sizes(rng, 4)
    return weights(rng, (d, h), (h, h), h), (rng.normal(size=(n, t, d)),)


def lstm(rng: Generator) -> Example:
    n, t, d, h = sizes(rng, 4)
    return weights(rng, (d, 4 * h), (h, 4 * h), 4 * h), (rng.normal(size=(n, t, d)),)


def gru(rng: Generator) -> Example:
    n, t, d, h = sizes(rng, 4)
    shapes = [(d, h), (h, h)] * 3
    return weights(rng, *shapes, h), (rng.normal(size=(n, t, d)),)


RNN = Family("rnn", "recurrent.SimpleRNN", rnn, new=False)
RNN.broken(
    "no gradient through time",
    right="dh = dhs[:, t] + dnext",
    wrong="dh = dhs[:, t]",
    truth="what the next step passes back is dropped",
    accept=(H_PATH,),
)
RNN.broken(
    "dWh with the present state",
    right="self.dWh += hprev.T @ da",
    wrong="self.dWh += h.T @ da",
    truth="h_t in place of h_(t-1) in dWh",
    accept=(STEP,),
    weak=(OPERAND,),
)
RNN.broken(
    "tanh not undone",
    right="da = dh * (1 - h**2)",
    wrong="da = dh",
    truth="the derivative of tanh is missing",
    accept=(ACTIVATION,),
)
RNN.broken(
    "derivative at the old state",
    right="da = dh * (1 - h**2)",
    wrong="da = dh * (1 - hprev**2)",
    truth="the derivative of tanh is taken at h_(t-1)",
    accept=(STEP, OPERAND, ACTIVATION),
    place=("hprev", "h_prev", "h"),
)
RNN.broken(
    "Wh not transposed",
    right="dnext = da @ self.Wh.T",
    wrong="dnext = da @ self.Wh",
    truth="Wh instead of its transpose in what goes back to h_(t-1)",
    accept=(TRANSPOSED,),
)
RNN.broken(
    "dWx assigned",
    right="self.dWx += self.xs[:, t].T @ da",
    wrong="self.dWx = self.xs[:, t].T @ da",
    truth="dWx is assigned at each step instead of added up",
    accept=(ASSIGNED,),
)
RNN.broken(
    "first step left out",
    right="for t in reversed(range(T)):",
    wrong="for t in range(T - 1, 0, -1):",
    truth="the loop leaves out step 0",
    accept=(STEP,),
)
RNN.broken(
    "carry without tanh",
    right="dnext = da @ self.Wh.T",
    wrong="dnext = dh @ self.Wh.T",
    truth="what goes back to h_(t-1) skips the derivative of tanh",
    accept=(ACTIVATION, OPERAND, TERM),
    place=("dh", "da", "tanh", "h"),
)

LSTM = Family("lstm", "recurrent.LSTM", lstm, new=False)
LSTM.broken(
    "o missing",
    right="ds = dc + (dh_next * o) * (1 - tanh_c**2)",
    wrong="ds = dc + dh_next * (1 - tanh_c**2)",
    truth="the factor o is missing in what h gives the cell",
    accept=(TERM,),
    place=("o",),
)
LSTM.broken(
    "f missing",
    right="dc = ds * f",
    wrong="dc = ds",
    truth="the factor f is missing in what goes back to c_(t-1)",
    accept=(TERM,),
    place=("f",),
    weak=(C_PATH,),
)
LSTM.broken(
    "cell not carried",
    right="ds = dc + (dh_next * o) * (1 - tanh_c**2)",
    wrong="ds = (dh_next * o) * (1 - tanh_c**2)",
    truth="what the next step's cell passes back is dropped",
    accept=(C_PATH,),
)
LSTM.broken(
    "tanh of the cell not undone",
    right="ds = dc + (dh_next * o) * (1 - tanh_c**2)",
    wrong="ds = dc + dh_next * o",
    truth="the derivative of tanh(c) is missing",
    accept=(ACTIVATION,),
    weak=(TERM,),
)
LSTM.broken(
    "derivative at c instead of tanh c",
    right="(1 - tanh_c**2)",
    wrong="(1 - c_next**2)",
    truth="1 - c^2 instead of 1 - tanh(c)^2",
    accept=(AT_INPUT,),
    weak=(ACTIVATION,),
)
LSTM.broken(
    "df from the new cell",
    right="df = ds * c_prev",
    wrong="df = ds * c_next",
    truth="the new cell in place of the old one in df",
    accept=(OPERAND, STEP),
    place=("c_next", "c_prev", "c"),
)
LSTM.broken(
    "di from i",
    right="di = ds * g",
    wrong="di = ds * i",
    truth="i in place of g in di",
    accept=(OPERAND,),
    place=("i", "g"),
)
LSTM.broken(
    "di and dg exchanged",
    right="di = ds * g\n            dg = ds * i",
    wrong="di = ds * i\n            dg = ds * g",
    truth="the factors of di and dg are exchanged",
    accept=(GATES, OPERAND),
    place=("i", "g"),
)
LSTM.broken(
    "gates stacked in another order",
    right="dA = np.hstack((df, di, dg, do))",
    wrong="dA = np.hstack((di, df, dg, do))",
    truth="the blocks of f and i are exchanged",
    accept=(GATES,),
)
LSTM.broken(
    "do from c",
    right="do = dh_next * tanh_c",
    wrong="do = dh_next * c_next",
    truth="c in place of tanh(c) in do",
    accept=(OPERAND, AT_INPUT),
    place=("c_next", "tanh_c", "tanh", "c"),
)
LSTM.broken(
    "dg as a sigmoid",
    right="dg = dg * (1 - g**2)",
    wrong="dg = dg * g * (1 - g)",
    truth="g is a tanh, but has the derivative of a sigmoid",
    accept=(ACTIVATION,),
)
LSTM.broken(
    "hidden state not carried",
    right="dh_next = dhs[:, t] + dh",
    wrong="dh_next = dhs[:, t]",
    truth="what the next step's gates pass back to h is dropped",
    accept=(H_PATH,),
)
LSTM.broken(
    "dxs in reversed order",
    right="dxs.insert(0, np.dot(dA, Wx.T))",
    wrong="dxs.append(np.dot(dA, Wx.T))",
    truth="dx of the last step stands first",
    accept=(REVERSED,),
)

GRU = Family("gru", "recurrent.GRU", gru, new=False)
GRU.broken(
    "reset gate missing in the carry",
    right="dh_next = dh_next + drh * r",
    wrong="dh_next = dh_next + drh",
    truth="the factor r is missing in what goes back to h_(t-1)",
    accept=(TERM,),
    place=("r",),
)
GRU.broken(
    "candidate's way back dropped",
    right="dh_next = dh_next + drh * r\n",
    wrong="\n",
    truth="the way through the candidate back to h_(t-1) is dropped",
    accept=(H_PATH, TERM),
    place=("r", "drh", "n", "U", "candidate"),
)
GRU.broken(
    "update gate without h_prev",
    right="dz = dh * (n - h_prev) * z * (1 - z)",
    wrong="dz = dh * n * z * (1 - z)",
    truth="the term -h_prev is missing in dz",
    accept=(TERM,),
    place=("h_prev", "n - h_prev", "- h_prev", "h = (1 - z) * h + z * n"),
)
GRU.broken(
    "sign of the update gate",
    right="dz = dh * (n - h_prev) * z * (1 - z)",
    wrong="dz = dh * (h_prev - n) * z * (1 - z)",
    truth="h_prev - n instead of n - h_prev",
    accept=(SIGN,),
)
GRU.broken(
    "gate of the other kind",
    right="dn = dh * z * (1 - n**2)",
    wrong="dn = dh * (1 - z) * (1 - n**2)",
    truth="1 - z in place of z in dn",
    accept=(OPERAND, GATES),
    place=("z", "1 - z"),
)
GRU.broken(
    "dU without the reset gate",
    right="self.dU += (r * h_prev).T @ dn",
    wrong="self.dU += h_prev.T @ dn",
    truth="the factor r is missing in dU",
    accept=(TERM,),
    place=("r",),
    weak=(OPERAND,),
)
GRU.broken(
    "carry not gated",
    right="dh_next = dh * (1 - z)",
    wrong="dh_next = dh",
    truth="the factor 1 - z is missing in what goes back to h_(t-1)",
    accept=(TERM,),
    place=("z", "1 - z"),
)
GRU.broken(
    "gates' way back dropped",
    right="dh_next = dh_next + dz @ self.Uz.T + dr @ self.Ur.T",
    wrong="dh_next = dh_next + dz @ self.Uz.T",
    truth="the way through the reset gate back to h_(t-1) is dropped",
    accept=(H_PATH, TERM),
    place=("Ur", "dr", "r", "reset"),
)
GRU.broken(
    "reset gate's sigmoid",
    right="dr = drh * h_prev * r * (1 - r)",
    wrong="dr = drh * h_prev",
    truth="the derivative of the reset gate's sigmoid is missing",
    accept=(ACTIVATION,),
    weak=(TERM,),
)

FAMILIES = [RNN, LSTM, GRU]
