from numpy.random import Generator

from tests.broken.broken import Example, Family, sizes
from tests.broken.cases.recurrent import weights
from tests.broken.names import (
    ACTIVATION,
    ASSIGNED,
    AXIS,
    BIAS_N,
    BIAS_T,
    C_PATH,
    GATES,
    H_PATH,
    OPERAND,
    REVERSED,
    SIGN,
    STEP,
    TERM,
    ZERO,
)

SMALL = (3, 4, 5, 6)


def layer_norm_rnn(rng: Generator) -> Example:
    n, t, d, h = sizes(rng, 4, SMALL)
    return weights(rng, (d, h), (h, h), h, h), (rng.normal(size=(n, t, d)),)


def coupled(rng: Generator) -> Example:
    n, t, d, h = sizes(rng, 4, SMALL)
    return weights(rng, (d + h, 3 * h), 3 * h), (rng.normal(size=(n, t, d)),)


def projected(rng: Generator) -> Example:
    n, t, d, h = sizes(rng, 4, SMALL)
    p = 7
    return weights(rng, (d, 4 * h), (p, 4 * h), 4 * h, (h, p)), (rng.normal(size=(n, t, d)),)


def gru_step(rng: Generator) -> Example:
    n, d, h = sizes(rng, 3, SMALL)
    w = weights(rng, (d, 3 * h), (h, 3 * h), 3 * h, 3 * h)
    return (), (rng.normal(size=(n, d)), rng.normal(size=(n, h)), *w)


def conv_rnn(rng: Generator) -> Example:
    n, t, c, h = sizes(rng, 4, SMALL)
    w = [0.5 * a for a in weights(rng, (3, c, h), (3, h, h), h)]
    return tuple(w), (rng.normal(size=(n, t, 7, c)),)


NORMED = Family("rnn with layer norm", "second.cells.LayerNormRNN", layer_norm_rnn)
NORMED.broken(
    "gain missing",
    right="dnorm = dz * self.gain",
    wrong="dnorm = dz.copy()",
    truth="the factor gain is missing in what goes into the normalisation",
    accept=(TERM,),
    place=("gain", "self.gain"),
)
NORMED.broken(
    "std missing",
    right="da = da / std\n",
    wrong="\n",
    truth="the factor 1 / std is missing",
    accept=(TERM,),
    place=("std", "1/std", "/ std", "da"),
)
NORMED.broken(
    "mean taken for a constant",
    right="da = dnorm - dnorm.mean(axis=1, keepdims=True)",
    wrong="da = dnorm.copy()",
    truth="the way through the mean is dropped",
    accept=(TERM,),
    place=("mean", "dnorm", "centred", "dnorm.mean", "mu"),
)
NORMED.broken(
    "std taken for a constant",
    right="da -= normed * (dnorm * normed).mean(axis=1, keepdims=True)\n",
    wrong="\n",
    truth="the way through the standard deviation is dropped",
    accept=(TERM,),
    place=("normed", "std", "variance", "deviation", "mean"),
)
NORMED.broken(
    "dgain with h",
    right="self.dgain += (dz * normed).sum(axis=0)",
    wrong="self.dgain += (dz * h).sum(axis=0)",
    truth="h in place of the normalised activations in dgain",
    accept=(OPERAND,),
    place=("normed", "h"),
)
NORMED.broken(
    "last state not passed on",
    right="dh = dout[:, t] + dh_next",
    wrong="dh = dout[:, t]",
    truth="what the next step passes back is dropped",
    accept=(H_PATH, TERM),
    place=("dh_next", "Wh", "self.Wh", "h_prev"),
)

COUPLED = Family("coupled-gate lstm", "second.cells.CoupledLSTM", coupled)
COUPLED.broken(
    "df without g",
    right="df = dc * (c_prev - g)",
    wrong="df = dc * c_prev",
    truth="the gate also enters as 1 - f: the term -g is missing",
    accept=(TERM,),
    place=("g", "- g", "c_prev - g", "1 - f"),
)
COUPLED.broken(
    "dg with f",
    right="dg = dc * (1 - f)",
    wrong="dg = dc * f",
    truth="f in place of 1 - f in the gradient of the candidate",
    accept=(OPERAND, TERM, GATES),
    place=("f", "1 - f"),
)
COUPLED.broken(
    "f and o exchanged",
    right="np.hstack([df * f * (1 - f), do * o * (1 - o), dg * (1 - g**2)])",
    wrong="np.hstack([do * o * (1 - o), df * f * (1 - f), dg * (1 - g**2)])",
    truth="the blocks of f and o are exchanged",
    accept=(GATES, OPERAND),
    place=("df", "do", "f", "o"),
)
COUPLED.broken(
    "cell kept whole",
    right="dc = dc * f\n",
    wrong="\n",
    truth="the factor f is missing in what goes back to the previous cell",
    accept=(TERM,),
    place=("f",),
    weak=(C_PATH,),
)
COUPLED.broken(
    "wrong half of dz",
    right="dh = dz[:, D:]",
    wrong="dh = dz[:, :H]",
    truth="the first H columns of dz, which begin with those of x, go back to h",
    accept=(OPERAND, STEP, GATES),
    place=("dz", "z", "D", "H", "half", "columns", "slice", "part", "x", "xs"),
    weak=(H_PATH, TERM),
)
COUPLED.broken(
    "dc begins anew",
    right="dc = dc + dh * o * (1 - tc**2)",
    wrong="dc = dh * o * (1 - tc**2)",
    truth="what the next step's cell passes back is dropped",
    accept=(C_PATH, TERM),
    place=("dc", "f", "c_prev", "dc * f"),
)

PROJECTED = Family("lstm with projection", "second.cells.ProjectedLSTM", projected)
PROJECTED.broken(
    "dP assigned",
    right='grads["P"] += m.T @ dr',
    wrong='grads["P"] = m.T @ dr',
    truth="the gradient of P is assigned at each step instead of added up",
    accept=(ASSIGNED, BIAS_T),
    weak=(STEP, TERM),
)
PROJECTED.broken(
    "dP from the cell",
    right='grads["P"] += m.T @ dr',
    wrong='grads["P"] += c.T @ dr',
    truth="the cell in place of the output o tanh(c) in the gradient of P",
    accept=(OPERAND,),
    place=("m", "c"),
)
PROJECTED.broken(
    "operands of i and f exchanged",
    right="di = dc * g\n            df = dc * c_old",
    wrong="di = dc * c_old\n            df = dc * g",
    truth="di takes the old cell and df the candidate",
    accept=(OPERAND, GATES),
    place=("g", "c_old"),
)
PROJECTED.broken(
    "candidate as a sigmoid",
    right="da_g = dg * (1 - g**2)",
    wrong="da_g = dg * g * (1 - g)",
    truth="the derivative of the sigmoid at the candidate, which is a tanh",
    accept=(ACTIVATION, OPERAND),
    place=("g", "g**2", "1 - g", "tanh", "sigmoid"),
    weak=(TERM,),
)
PROJECTED.broken(
    "first step left out",
    right="range(T - 1, -1, -1)",
    wrong="range(T - 1, 0, -1)",
    truth="the loop ends before step 0",
    accept=(STEP,),
    place=("0", "first", "step"),
    weak=(TERM, ZERO),
)
PROJECTED.broken(
    "tanh of the cell not undone",
    right="dc = dc_next + dm * o * (1 - np.tanh(c) ** 2)",
    wrong="dc = dc_next + dm * o",
    truth="the derivative of tanh(c) is missing",
    accept=(ACTIVATION, TERM),
    place=("tanh", "np.tanh", "c"),
)

GRU_AFTER = Family("gru step, reset after", "second.cells.gru_step", gru_step)
GRU_AFTER.broken(
    "reset gate missing for Wh",
    right="dah = np.hstack((dar, dau, dan * r))",
    wrong="dah = np.hstack((dar, dau, dan))",
    truth="the factor r is missing in the candidate's part of dah",
    accept=(TERM,),
    place=("r", "dan * r"),
)
GRU_AFTER.broken(
    "dr from the state",
    right="dr = dan * an",
    wrong="dr = dan * prev_h",
    truth="the previous state in place of its product with Wh in dr",
    accept=(OPERAND,),
    place=("an", "prev_h"),
)
GRU_AFTER.broken(
    "carry overwritten",
    right="dprev_h += dah.dot(Wh.T)",
    wrong="dprev_h = dah.dot(Wh.T)",
    truth="the way u * prev_h back to the state is overwritten",
    accept=(ASSIGNED, TERM, H_PATH),
    place=("u", "dprev_h", "dnext_h * u", "dnext_h"),
)
GRU_AFTER.broken(
    "u for 1 - u",
    right="dn = dnext_h * (1 - u)\n    dprev_h = dnext_h * u",
    wrong="dn = dnext_h * u\n    dprev_h = dnext_h * (1 - u)",
    truth="u and 1 - u are exchanged",
    accept=(OPERAND, GATES, SIGN),
    place=("u", "1 - u"),
)
GRU_AFTER.broken(
    "sign of du",
    right="du = dnext_h * (prev_h - n)",
    wrong="du = dnext_h * (n - prev_h)",
    truth="n - prev_h instead of prev_h - n",
    accept=(SIGN,),
)
GRU_AFTER.broken(
    "dbh from dax",
    right="dbh = dah.sum(axis=0)",
    wrong="dbh = dax.sum(axis=0)",
    truth="the bias inside the reset gate gets the gradient outside of it",
    accept=(OPERAND, TERM),
    place=("dax", "dah", "r"),
)
GRU_AFTER.broken(
    "sigmoid of u not undone",
    right="dau = du * u * (1 - u)",
    wrong="dau = du",
    truth="the derivative of the update gate's sigmoid is missing",
    accept=(ACTIVATION, TERM),
    place=("u", "sigmoid", "u * (1 - u)"),
)

CONV_RNN = Family("convolutional rnn", "second.cells.ConvRNN", conv_rnn)
CONV_RNN.broken(
    "kernel not flipped",
    right="dhp[:, k : k + L] += dz @ self.R[k].T",
    wrong="dhp[:, k : k + L] += dz @ self.R[2 - k].T",
    truth="the kernel of the state is reversed in the way back",
    accept=(REVERSED, OPERAND),
    place=("R", "self.R", "k", "kernel", "2 - k", "flipped"),
    weak=(STEP, H_PATH),
)
CONV_RNN.broken(
    "pad cut on the wrong side",
    right="dxs[:, t] = dxp[:, 1:-1]",
    wrong="dxs[:, t] = dxp[:, 2:]",
    truth="two places are cut on the left instead of one on each side",
    accept=(STEP, OPERAND),
    place=("dxp", "pad", "padded", "place", "position"),
)
CONV_RNN.broken(
    "present state for dR",
    right='self.dR[k] += np.einsum("nlc,nlh->ch", hp[:, k : k + L], dz)',
    wrong='self.dR[k] += np.einsum("nlc,nlh->ch", h, dz)',
    truth="the new state, not shifted, in place of the padded old one",
    accept=(OPERAND, STEP),
    place=("h", "hp"),
)
CONV_RNN.broken(
    "tanh after the carry",
    right="dz = (dhs[:, t] + dh) * (1 - h**2)",
    wrong="dz = dhs[:, t] * (1 - h**2) + dh",
    truth="what comes back from the next step skips the derivative of tanh",
    accept=(ACTIVATION, TERM, H_PATH),
    place=("h", "tanh", "dh", "1 - h**2"),
)
CONV_RNN.broken(
    "bias over places only of the first sentence",
    right="self.db += dz.sum(axis=(0, 1))",
    wrong="self.db += dz[0].sum(axis=0)",
    truth="db takes the first sequence of the batch only",
    accept=(BIAS_N,),
    weak=(AXIS, TERM),
)

FAMILIES = [NORMED, COUPLED, PROJECTED, GRU_AFTER, CONV_RNN]
