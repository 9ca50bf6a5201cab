from numpy.random import Generator

from tests.broken.broken import Example, Family, sizes
from tests.broken.cases.recurrent import weights
from tests.broken.names import (
    ACTIVATION,
    ASSIGNED,
    BIAS_T,
    C_PATH,
    H_PATH,
    OPERAND,
    REVERSED,
    SIGN,
    STEP,
    TERM,
    ZERO,
)


def peephole(rng: Generator) -> Example:
    n, t, d, h = sizes(rng, 4)
    return weights(rng, (d, 4 * h), (h, 4 * h), h, h, h), (rng.normal(size=(n, t, d)),)


def mgu(rng: Generator) -> Example:
    n, t, d, h = sizes(rng, 4)
    return weights(rng, (d, h), (h, h), (d, h), (h, h)), (rng.normal(size=(n, t, d)),)


def indrnn(rng: Generator) -> Example:
    n, t, d, h = sizes(rng, 4)
    return weights(rng, (d, h), h, h), (rng.normal(size=(n, t, d)),)


def sru(rng: Generator) -> Example:
    n, t, d = sizes(rng, 3)
    return weights(rng, (d, d), (d, d), (d, d), d, d), (rng.normal(size=(n, t, d)),)


def qrnn(rng: Generator) -> Example:
    n, t, d, h = sizes(rng, 4)
    return weights(rng, (d, h), (d, h), (d, h), (d, h)), (rng.normal(size=(n, t, d)),)


PEEPHOLE = Family("peephole lstm", "gated.PeepholeLSTM", peephole)
PEEPHOLE.broken(
    "peephole of o dropped",
    right="dc = dc + zo * self.po\n",
    wrong="\n",
    truth="the way from o's peephole into the cell is dropped",
    accept=(TERM, C_PATH),
    place=("po", "zo", "peephole"),
)
PEEPHOLE.broken(
    "peepholes of the old cell dropped",
    right="dc = dc + zf * self.pf + zi * self.pi\n",
    wrong="\n",
    truth="the ways from the peepholes of f and i back to c_(t-1) are dropped",
    accept=(TERM, C_PATH),
    place=("pf", "pi", "zf", "zi", "peephole"),
)
PEEPHOLE.broken(
    "dpo from the old cell",
    right="self.dpo += (zo * c_new).sum(axis=0)",
    wrong="self.dpo += (zo * c).sum(axis=0)",
    truth="the old cell in place of the new one in dpo",
    accept=(STEP, OPERAND),
    place=("c", "c_new"),
)
PEEPHOLE.broken(
    "dpf assigned",
    right="self.dpf += (zf * c).sum(axis=0)",
    wrong="self.dpf = (zf * c).sum(axis=0)",
    truth="dpf is assigned at each step instead of added up",
    accept=(ASSIGNED, BIAS_T),
    weak=(ZERO,),
)
PEEPHOLE.broken(
    "cell not carried",
    right="dc = dc + dh * o * (1 - q**2)",
    wrong="dc = dh * o * (1 - q**2)",
    truth="what the next step's cell passes back is dropped",
    accept=(C_PATH,),
)
PEEPHOLE.broken(
    "f missing",
    right="dc = dc * f\n",
    wrong="dc = dc.copy()\n",
    truth="the factor f is missing in what goes back to c_(t-1)",
    accept=(TERM,),
    place=("f",),
    weak=(C_PATH,),
)

MGU = Family("minimal gated unit", "gated.MinimalGatedUnit", mgu)
MGU.broken(
    "second use of f dropped",
    right="df = df + back * h\n",
    wrong="\n",
    truth="the gradient of f from its use inside the candidate is dropped",
    accept=(TERM,),
    place=("back", "h", "back * h", "f"),
)
MGU.broken(
    "f missing in the carry",
    right="carry = carry + back * f",
    wrong="carry = carry + back",
    truth="the factor f is missing in what goes back to h_(t-1)",
    accept=(TERM,),
    place=("f",),
)
MGU.broken(
    "sign in df",
    right="df = dh * (n - h)",
    wrong="df = dh * (n + h)",
    truth="n + h instead of n - h",
    accept=(SIGN,),
    weak=(TERM,),
)
MGU.broken(
    "new state in gUf",
    right="x, h, f, n, _ = self.log[t]",
    wrong="x, _, f, n, h = self.log[t]",
    truth="h_t in place of h_(t-1) everywhere in the step",
    accept=(STEP, OPERAND),
    place=("h",),
)
MGU.broken(
    "gate's way back dropped",
    right="carry = carry + zf.dot(Uf.T)\n",
    wrong="\n",
    truth="the way through the gate back to h_(t-1) is dropped",
    accept=(H_PATH, TERM),
    place=("zf", "Uf"),
)

INDRNN = Family("indrnn", "gated.IndRNN", indrnn)
INDRNN.broken(
    "u missing in the carry",
    right="back = da * self.u",
    wrong="back = da",
    truth="the factor u is missing in what goes back",
    accept=(TERM,),
    place=("u", "self.u"),
    weak=(H_PATH,),
)
INDRNN.broken(
    "du with the present state",
    right="self.du += (self.hs[t] * da).sum(axis=0)",
    wrong="self.du += (self.hs[t + 1] * da).sum(axis=0)",
    truth="h_t in place of h_(t-1) in du",
    accept=(STEP,),
    weak=(OPERAND,),
)
INDRNN.broken(
    "relu not undone in the carry",
    right="back = da * self.u",
    wrong="back = (dhs[:, t] + back) * self.u",
    truth="what goes back skips the mask of the relu",
    accept=(ACTIVATION, TERM),
    place=("on", "mask", "relu", "da"),
)
INDRNN.broken(
    "no gradient through time",
    right="da = (dhs[:, t] + back) * self.on[t]",
    wrong="da = dhs[:, t] * self.on[t]",
    truth="what the next step passes back is dropped",
    accept=(H_PATH,),
)

SRU = Family("sru", "gated.SRU", sru)
SRU.broken(
    "skip dropped",
    right="dxs = dhs * (1 - r)\n        dxs = dxs + dv @ self.W.T",
    wrong="dxs = dv @ self.W.T",
    truth="the way (1 - r) x past the cell is dropped",
    accept=(TERM,),
    place=("1 - r", "r", "dhs", "skip"),
)
SRU.broken(
    "cell not carried",
    right="dc = dc + dm[:, t]",
    wrong="dc = dm[:, t]",
    truth="what the next step's cell passes back is dropped",
    accept=(C_PATH, H_PATH),
)
SRU.broken(
    "f without v",
    right="df[:, t] = dc * (self.cs[:, t] - v[:, t])",
    wrong="df[:, t] = dc * self.cs[:, t]",
    truth="the term -v is missing in df",
    accept=(TERM,),
    place=("v",),
)
SRU.broken(
    "new cell in df",
    right="df[:, t] = dc * (self.cs[:, t] - v[:, t])",
    wrong="df[:, t] = dc * (self.cs[:, t + 1] - v[:, t])",
    truth="c_t in place of c_(t-1) in df",
    accept=(STEP,),
    weak=(OPERAND,),
)
SRU.broken(
    "x missing in dr",
    right="dr = dhs * (m - xs) * r * (1 - r)",
    wrong="dr = dhs * m * r * (1 - r)",
    truth="the term -x is missing in dr",
    accept=(TERM,),
    place=("x", "xs", "m - xs"),
)

QRNN = Family("qrnn", "gated.QRNN", qrnn)
QRNN.broken(
    "shifted the wrong way",
    right="dxs[:, :-1] += dbefore[:, 1:]",
    wrong="dxs[:, 1:] += dbefore[:, :-1]",
    truth="the gradient of x_(t-1) is given to x_(t+1)",
    accept=(STEP, REVERSED),
)
QRNN.broken(
    "not shifted",
    right="dxs[:, :-1] += dbefore[:, 1:]",
    wrong="dxs += dbefore",
    truth="the gradient of x_(t-1) is given to x_t",
    accept=(STEP,),
)
QRNN.broken(
    "gate missing in dz",
    right="dz[:, t] = dc * (1 - f[:, t])",
    wrong="dz[:, t] = dc",
    truth="the factor 1 - f is missing in dz",
    accept=(TERM,),
    place=("f", "1 - f"),
)
QRNN.broken(
    "dVf with the present input",
    right="self.dVf = np.tensordot(before, af, axes=((0, 1), (0, 1)))",
    wrong="self.dVf = np.tensordot(xs, af, axes=((0, 1), (0, 1)))",
    truth="x_t in place of x_(t-1) in dVf",
    accept=(STEP, OPERAND),
    place=("xs", "before", "x"),
)
QRNN.broken(
    "f missing in the carry",
    right="dc = dc * f[:, t]\n",
    wrong="\n",
    truth="the factor f is missing in what goes back to c_(t-1)",
    accept=(TERM,),
    place=("f",),
    weak=(C_PATH,),
)

FAMILIES = [PEEPHOLE, MGU, INDRNN, SRU, QRNN]
