from numpy.random import Generator

from tests.broken.broken import Example, Family, sizes
from tests.broken.names import (
    ACTIVATION,
    ASSIGNED,
    AXIS,
    BIAS_T,
    CONSTANT,
    COUNT,
    OPERAND,
    STEP,
    TERM,
    TRANSPOSED,
)


def dot(rng: Generator) -> Example:
    n, q, k, d = sizes(rng, 4)
    return (), (rng.normal(size=(n, q, d)), rng.normal(size=(n, k, d)))


def heads(rng: Generator) -> Example:
    n, t = sizes(rng, 2, (3, 5, 7))
    a, d = sizes(rng, 2, (3, 5))
    size = a * d
    weights = [rng.normal(size=(size, size)) * 0.4 for _ in range(4)]
    return (*weights, a), (rng.normal(size=(n, t, size)),)


def additive(rng: Generator) -> Example:
    n, t, d, h = sizes(rng, 4)
    weights = rng.normal(size=(d, h)), rng.normal(size=(d, h)), rng.normal(size=h)
    return weights, (rng.normal(size=(n, d)), rng.normal(size=(n, t, d)))


DOT = Family("dot attention", "attention.DotAttention", dot, new=False)
DOT.broken(
    "scale missing",
    right="ds = ds * self.scale",
    wrong="ds = ds + 0",
    truth="the scale 1 / sqrt(d) is missing in ds",
    accept=(CONSTANT, TERM),
    place=("scale", "sqrt", "1/sqrt(d)", "d"),
)
DOT.broken(
    "memory as values only",
    right='dm += np.einsum("nqk,nqd->nkd", ds, self.q)\n',
    wrong="\n",
    truth="the gradient of the memory as keys is dropped",
    accept=(TERM,),
    place=("ds", "key", "keys", "q", "scores"),
)
DOT.broken(
    "memory as keys only",
    right='dm += np.einsum("nqk,nqd->nkd", ds, self.q)',
    wrong='dm = np.einsum("nqk,nqd->nkd", ds, self.q)',
    truth="the gradient of the memory as values is overwritten",
    accept=(TERM, ASSIGNED),
    place=("self.a", "values", "value", "dc", "dm"),
)
DOT.broken(
    "softmax over the queries",
    right="(da * self.a).sum(axis=-1, keepdims=True)",
    wrong="(da * self.a).sum(axis=1, keepdims=True)",
    truth="the sum of the softmax runs over the queries instead of the memory",
    accept=(AXIS,),
)
DOT.broken(
    "weights for scores",
    right='dm += np.einsum("nqk,nqd->nkd", ds, self.q)',
    wrong='dm += np.einsum("nqk,nqd->nkd", self.a, self.q)',
    truth="the attention weights in place of the gradient of the scores",
    accept=(OPERAND,),
    place=("self.a", "attention weights", "ds", "weights"),
)

HEADS = Family("multi-head self-attention", "attention.MultiHeadSelfAttention", heads)
HEADS.broken(
    "scale missing",
    right="dscores = dscores / np.sqrt(q.shape[-1])",
    wrong="dscores = dscores / 1",
    truth="the scale 1 / sqrt(d) is missing in dscores",
    accept=(CONSTANT, TERM),
    place=("sqrt", "scale", "1/sqrt(d)", "d"),
)
HEADS.broken(
    "scale of the whole size",
    right="dscores = dscores / np.sqrt(q.shape[-1])",
    wrong="dscores = dscores / np.sqrt(x.shape[-1])",
    truth="the root of all features instead of those of a head",
    accept=(CONSTANT, OPERAND, COUNT),
    place=("sqrt", "scale", "d"),
)
HEADS.broken(
    "softmax without its sum",
    right="(dprobs - np.sum(dprobs * probs, axis=-1, keepdims=True))",
    wrong="dprobs",
    truth="the sum of the softmax's derivative is missing",
    accept=(TERM, ACTIVATION),
    place=("sum", "softmax", "probs"),
)
HEADS.broken(
    "dk not transposed",
    right="dk = self._join(dscores.swapaxes(-1, -2) @ q)",
    wrong="dk = self._join(dscores @ q)",
    truth="dscores is not transposed in dk",
    accept=(TRANSPOSED,),
)
HEADS.broken(
    "keys dropped",
    right="dx = dq @ self.Wq.T + dk @ self.Wk.T + dv @ self.Wv.T",
    wrong="dx = dq @ self.Wq.T + dv @ self.Wv.T",
    truth="the way of x through the keys is dropped",
    accept=(TERM,),
    place=("dk", "Wk", "k", "keys", "key"),
)
HEADS.broken(
    "dq from q",
    right="dq = self._join(dscores @ k)",
    wrong="dq = self._join(dscores @ q)",
    truth="q in place of k in dq",
    accept=(OPERAND,),
    place=("q", "k"),
)
HEADS.broken(
    "heads joined in the wrong order",
    right="dv = self._join(dv)\n",
    wrong="dv = dv.reshape(x.shape)\n",
    truth="the heads are joined without bringing their axis back",
    accept=(TRANSPOSED, AXIS),
)

ADDITIVE = Family("additive attention", "attention.AdditiveAttention", additive, new=False)
ADDITIVE.broken(
    "memory in the score dropped",
    right="dm = dm + dz @ self.Wm.T\n",
    wrong="\n",
    truth="the way of the memory through the score is dropped",
    accept=(TERM,),
    place=("dz", "Wm", "score", "scores"),
)
ADDITIVE.broken(
    "v missing",
    right="de = ds[:, :, None] * self.v",
    wrong="de = ds[:, :, None] * np.ones(self.v.shape)",
    truth="the factor v is missing",
    accept=(TERM,),
    place=("v", "self.v"),
)
ADDITIVE.broken(
    "tanh not undone",
    right="dz = de * (1 - self.e**2)",
    wrong="dz = de",
    truth="the derivative of tanh is missing",
    accept=(ACTIVATION,),
    weak=(TERM,),
)
ADDITIVE.broken(
    "query of the last step",
    right="dzh = dz.sum(axis=1)",
    wrong="dzh = dz[:, -1]",
    truth="the query's gradient takes only the last step of the memory",
    accept=(AXIS, BIAS_T, TERM),
    place=("sum", "dz", "last", "steps"),
    weak=(STEP, ASSIGNED),
)
ADDITIVE.broken(
    "query averaged",
    right="dzh = dz.sum(axis=1)",
    wrong="dzh = dz.mean(axis=1)",
    truth="the query's gradient is averaged over the memory instead of summed",
    accept=(CONSTANT, AXIS, BIAS_T),
)

FAMILIES = [DOT, HEADS, ADDITIVE]
