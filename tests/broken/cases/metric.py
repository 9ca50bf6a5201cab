import numpy as np
from numpy.random import Generator

from tests.broken.broken import Example, Family, sizes
from tests.broken.names import (
    ACTIVATION,
    ASSIGNED,
    AXIS,
    CONSTANT,
    GATES,
    IDS,
    NO_MEAN,
    OPERAND,
    SIGN,
    STEP,
    TERM,
    TIED_INPUT,
    TRANSPOSED,
    ZERO,
)


def triplet(rng: Generator) -> Example:
    shape = sizes(rng, 2)
    a, p, n = (rng.normal(size=shape) for _ in range(3))
    n[0] += 6  # beyond the margin
    n[1] = a[1] + 0.1  # within it
    return (), (a, p, n)


def pairs(rng: Generator) -> Example:
    shape = sizes(rng, 2)
    return (), (rng.normal(size=shape), rng.normal(size=shape))


def labelled(rng: Generator) -> Example:
    n, d = sizes(rng, 2)
    labels = rng.integers(2, size=n)
    labels[:2] = 0, 1
    u = rng.normal(size=(n, d))
    return (), (u, u + 0.6 * rng.normal(size=(n, d)), labels)


def negative_sampling(rng: Generator) -> Example:
    n, k, v, d = sizes(rng, 4)
    negatives = rng.integers(v, size=(n, k))
    negatives[0, 0] = negatives[0, 1]
    t = rng.integers(v, size=n)
    t[0] = t[1]
    return (rng.normal(size=(v, d)) * 0.7, negatives), (rng.normal(size=(n, d)), t)


def tree(rng: Generator) -> Example:
    n, levels, v, d = sizes(rng, 4)
    nodes = levels + 2
    path = np.stack([rng.permutation(nodes)[:levels] for _ in range(v)])
    code = rng.choice([-1, 1], size=(v, levels))
    t = rng.integers(v, size=n)
    return (rng.normal(size=(nodes, d)) * 0.7, path, code), (rng.normal(size=(n, d)), t)


def mixture(rng: Generator) -> Example:
    n, k, d, m, v = sizes(rng, 5, (3, 5, 7, 9, 11))
    weights = [rng.normal(size=s) * 0.6 for s in ((d, k), (k, d, m), (m, v))]
    return tuple(weights), (rng.normal(size=(n, d)), rng.integers(v, size=n))


def sampled(rng: Generator) -> Example:
    shape = sizes(rng, 2)
    generator = np.random.default_rng(int(rng.integers(1000)))
    return (generator,), (rng.normal(size=shape), rng.normal(size=shape))


def chain(rng: Generator) -> Example:
    n, t, k = sizes(rng, 3)
    return (rng.normal(size=(k, k)),), (rng.normal(size=(n, t, k)), rng.integers(k, size=(n, t)))


TRIPLET = Family("triplet loss", "metric.TripletLoss", triplet)
TRIPLET.broken(
    "2 forgotten",
    right="da = 2 * w * (self.n - self.p)",
    wrong="da = w * (self.n - self.p)",
    truth="the factor 2 of the square is missing",
    accept=(CONSTANT,),
)
TRIPLET.broken(
    "negative dropped in da",
    right="da = 2 * w * (self.n - self.p)",
    wrong="da = 2 * w * (self.a - self.p)",
    truth="the anchor's gradient misses the distance from the negative",
    accept=(TERM, OPERAND),
    place=("n", "self.n", "self.a", "a - n"),
)
TRIPLET.broken(
    "inactive triplets",
    right="w = dout * self.active[:, None] / len(self.a)",
    wrong="w = dout * np.ones((len(self.a), 1)) / len(self.a)",
    truth="triplets beyond the margin get a gradient",
    accept=(TERM, ACTIVATION),
    place=("active", "mask", "margin", "gap"),
)
TRIPLET.broken(
    "sign of dn",
    right="dn = 2 * w * (self.a - self.n)",
    wrong="dn = 2 * w * (self.n - self.a)",
    truth="the negative's gradient has the wrong sign",
    accept=(SIGN,),
)

INFO = Family("infonce", "metric.InfoNCE", pairs)
INFO.broken(
    "temperature missing",
    right="ds = dout * ds / self.tau",
    wrong="ds = dout * ds",
    truth="not divided by the temperature",
    accept=(CONSTANT,),
)
INFO.broken(
    "dk not transposed",
    right="dk = ds.T @ self.q",
    wrong="dk = ds @ self.q",
    truth="ds is not transposed in dk",
    accept=(TRANSPOSED,),
)
INFO.broken(
    "negatives dropped",
    right="ds = (self.p - np.eye(N)) / N",
    wrong="ds = (self.p - 1) * np.eye(N) / N",
    truth="the other keys of the batch get no gradient",
    accept=(TERM,),
    place=("p", "eye", "np.eye(N)", "diagonal", "negatives", "element-wise", "softmax"),
)
INFO.broken(
    "dq from q",
    right="dq = ds @ self.k",
    wrong="dq = ds @ self.q",
    truth="q in place of k in dq",
    accept=(OPERAND,),
    place=("q", "k", "self.q", "self.k"),
)

CONTRASTIVE = Family("contrastive loss", "metric.ContrastiveLoss", labelled)
CONTRASTIVE.broken(
    "sign of the other pairs",
    right="slope = np.where(self.same == 1, self.dist, -self.room)",
    wrong="slope = np.where(self.same == 1, self.dist, self.room)",
    truth="different pairs are drawn together",
    accept=(SIGN,),
)
CONTRASTIVE.broken(
    "difference not divided by the distance",
    right="unit = self.diff / self.dist[:, None]",
    wrong="unit = self.diff",
    truth="the factor 1 / distance is missing",
    accept=(TERM,),
    place=("dist", "self.dist", "distance"),
)
CONTRASTIVE.broken(
    "sign of dv",
    right="return du, -du",
    wrong="return du, du",
    truth="the second input's gradient has the wrong sign",
    accept=(SIGN,),
)
CONTRASTIVE.broken(
    "equal pairs only",
    right="slope = np.where(self.same == 1, self.dist, -self.room)",
    wrong="slope = np.where(self.same == 1, self.dist, 0)",
    truth="different pairs get no gradient",
    accept=(TERM, ZERO),
    place=("room", "margin", "same", "labels"),
)

NEGATIVE = Family("negative sampling", "metric.NegativeSampling", negative_sampling, new=False)
NEGATIVE.broken(
    "negatives forgotten in dh",
    right='dh += np.einsum("nk,nkd->nd", dneg, self.W[self.negatives])\n',
    wrong="\n",
    truth="the negatives' part of dh is dropped",
    accept=(TERM,),
    place=("negatives", "dneg", "neg"),
)
NEGATIVE.broken(
    "negatives labelled 1",
    right="dneg = dout * self.neg / N",
    wrong="dneg = dout * (self.neg - 1) / N",
    truth="the negatives are treated as true words",
    accept=(OPERAND, TERM, SIGN),
    place=("neg", "dneg", "negatives", "1", "target", "label"),
)
NEGATIVE.broken(
    "repeated negatives",
    right="np.add.at(self.dW, self.negatives, dneg[:, :, None] * self.h[:, None, :])",
    wrong="self.dW[self.negatives] += dneg[:, :, None] * self.h[:, None, :]",
    truth="a word drawn twice gets only one gradient",
    accept=(IDS,),
)
NEGATIVE.broken(
    "target row overwritten",
    right="np.add.at(self.dW, self.t, dpos[:, None] * self.h)",
    wrong="self.dW[self.t] = dpos[:, None] * self.h",
    truth="a target that occurs twice gets only one gradient",
    accept=(IDS, ASSIGNED),
)

TREE = Family("hierarchical softmax", "metric.HierarchicalSoftmax", tree)
TREE.broken(
    "turns forgotten",
    right="ds = (self.p - 1) * self.turns",
    wrong="ds = self.p - 1",
    truth="the direction of each turn, +1 or -1, is missing",
    accept=(TERM, SIGN),
    place=("turns", "code", "self.turns"),
)
TREE.broken(
    "repeated nodes",
    right="np.add.at(self.dW, self.nodes, ds[:, :, None] * self.h[:, None, :])",
    wrong="self.dW[self.nodes] += ds[:, :, None] * self.h[:, None, :]",
    truth="a node on several paths gets only one gradient",
    accept=(IDS,),
)
TREE.broken(
    "only the last node in dh",
    right='dh = np.einsum("nl,nld->nd", ds, self.W[self.nodes])',
    wrong="dh = ds[:, -1:] * self.W[self.nodes[:, -1]]",
    truth="dh takes only the last node of the path",
    accept=(TERM, AXIS, ASSIGNED),
    place=("nodes", "last", "sum", "path", "ds"),
)
TREE.broken(
    "p for p minus 1",
    right="ds = (self.p - 1) * self.turns",
    wrong="ds = self.p * self.turns",
    truth="1 is not subtracted from the probability",
    accept=(TERM, OPERAND),
    place=("1", "p", "p - 1", "self.p"),
)

MIXTURE = Family("mixture of softmaxes", "metric.MixtureOfSoftmaxes", mixture)
MIXTURE.broken(
    "prior's way dropped",
    right="dh = dspi @ self.Wpi.T\n        dh = dh + np",
    wrong="dh = np",
    truth="the way of h through the mixture weights is dropped",
    accept=(TERM,),
    place=("dspi", "Wpi", "pi"),
)
MIXTURE.broken(
    "pi missing",
    right="dpt = dtotal[:, None] * self.pi",
    wrong="dpt = dtotal[:, None] * np.ones(self.pi.shape)",
    truth="the factor pi is missing in dpt",
    accept=(TERM,),
    place=("pi", "self.pi"),
)
MIXTURE.broken(
    "softmax of the prior not undone",
    right="dspi = self.pi * (dpi - (self.pi * dpi).sum(axis=1, keepdims=True))",
    wrong="dspi = dpi",
    truth="the derivative of the softmax of the mixture weights is missing",
    accept=(ACTIVATION, TERM),
    place=("pi", "softmax", "dpi"),
)
MIXTURE.broken(
    "total for each",
    right="ds = (dpt * self.pt)[:, :, None] * (onehot - self.p)",
    wrong="ds = (dpt * self.total[:, None])[:, :, None] * (onehot - self.p)",
    truth="the mixture's probability in place of each component's",
    accept=(OPERAND,),
    place=("total", "pt"),
)

VAE = Family("reparameterisation", "metric.Reparameterisation", sampled)
VAE.broken(
    "half forgotten",
    right="dlogvar = 0.5 * dsigma * self.sigma",
    wrong="dlogvar = dsigma * self.sigma",
    truth="the factor 0.5 is missing",
    accept=(CONSTANT,),
)
VAE.broken(
    "sigma missing",
    right="dlogvar = 0.5 * dsigma * self.sigma",
    wrong="dlogvar = 0.5 * dsigma",
    truth="the factor sigma, the derivative of exp, is missing",
    accept=(TERM, ACTIVATION),
    place=("sigma", "exp"),
)
VAE.broken(
    "eps missing",
    right="dsigma = dz * self.eps",
    wrong="dsigma = dz",
    truth="the factor eps is missing",
    accept=(TERM,),
    place=("eps", "noise"),
)

GAUSS = Family("gaussian kl", "metric.GaussianKL", pairs)
GAUSS.broken(
    "1 not subtracted",
    right="(np.exp(self.logvar) - 1)",
    wrong="np.exp(self.logvar)",
    truth="the term -1 is missing",
    accept=(TERM,),
    place=("1", "-1", "- 1"),
)
GAUSS.broken(
    "standard deviation for variance",
    right="(np.exp(self.logvar) - 1)",
    wrong="(np.exp(0.5 * self.logvar) - 1)",
    truth="the standard deviation in place of the variance",
    accept=(OPERAND, ACTIVATION, TERM),
    place=("exp", "logvar", "0.5"),
)
GAUSS.broken(
    "not averaged",
    right="dmu = dout * self.mu / n",
    wrong="dmu = dout * self.mu",
    truth="dmu is not divided by N",
    accept=(NO_MEAN,),
    weak=(CONSTANT,),
)

CRF = Family("chain crf", "metric.ChainCRF", chain)
CRF.broken(
    "true path not subtracted in dA",
    right="np.add.at(self.dA, (self.t[:, s - 1], self.t[:, s]), -dout / N)\n",
    wrong="\n",
    truth="the true path's transitions are not subtracted",
    accept=(TERM, TIED_INPUT),
    place=("t", "tags", "score", "true", "target", "targets"),
)
CRF.broken(
    "repeated transitions",
    right="np.add.at(self.dA, (self.t[:, s - 1], self.t[:, s]), -dout / N)",
    wrong="self.dA[self.t[:, s - 1], self.t[:, s]] -= dout / N",
    truth="a transition that occurs twice at a step is subtracted once",
    accept=(IDS,),
)
CRF.broken(
    "transition transposed",
    right="(self.t[:, s - 1], self.t[:, s])",
    wrong="(self.t[:, s], self.t[:, s - 1])",
    truth="from and to are exchanged for the true path",
    accept=(TRANSPOSED, GATES, STEP),
)
CRF.broken(
    "first emission forgotten",
    right="de[rows, 0, self.t[:, 0]] -= dout / N\n",
    wrong="\n",
    truth="the true path's first emission is not subtracted",
    accept=(STEP, TERM),
    place=("0", "first", "t", "target"),
)
CRF.broken(
    "flow summed over the wrong axis",
    right="dalpha = flow.sum(axis=2)",
    wrong="dalpha = flow.sum(axis=1)",
    truth="the sum runs over the tag before instead of the tag after",
    accept=(AXIS,),
    weak=(TRANSPOSED,),
)

FAMILIES = [TRIPLET, INFO, CONTRASTIVE, NEGATIVE, TREE, MIXTURE, VAE, GAUSS, CRF]
