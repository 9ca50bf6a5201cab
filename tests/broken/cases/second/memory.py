from numpy.random import Generator

from tests.broken.broken import Example, Family, sizes
from tests.broken.cases.recurrent import weights
from tests.broken.cases.second.cells import SMALL
from tests.broken.names import (
    ACTIVATION,
    ASSIGNED,
    GATES,
    OPERAND,
    SIGN,
    TERM,
    TRANSPOSED,
    ZERO,
)


def hop(rng: Generator) -> Example:
    n, m, d, e = sizes(rng, 4, SMALL)
    w = weights(rng, (e, d), (e, d), (d, d))
    return w, (rng.normal(size=(n, d)), rng.normal(size=(n, m, e)))


def copying(rng: Generator) -> Example:
    n, s, d, v = sizes(rng, 4, SMALL)
    words = rng.integers(v, size=(n, s))
    words[:, 1] = words[:, 0]
    return weights(rng, (d, v), d), (rng.normal(size=(n, d)), rng.normal(size=(n, s)), words)


def luong(rng: Generator) -> Example:
    n, t, h, o = sizes(rng, 4, SMALL)
    w = weights(rng, (h, h), (2 * h, o))
    return w, (rng.normal(size=(n, h)), rng.normal(size=(n, t, h)))


def rotary(rng: Generator) -> Example:
    n, t = sizes(rng, 2, (3, 5, 7))
    return (), (rng.normal(size=(n, t, int(rng.choice([4, 6])))),)


HOP = Family("memory hop", "second.heads.MemoryHop", hop)
HOP.broken(
    "R not transposed",
    right="du = dout @ self.R.T",
    wrong="du = dout @ self.R",
    truth="R is not transposed in du",
    accept=(TRANSPOSED,),
)
HOP.broken(
    "u in the scores dropped",
    right="du += (ds[:, :, None] * self.a).sum(axis=1)\n",
    wrong="\n",
    truth="the way of u through the scores is dropped",
    accept=(TERM,),
    place=("ds", "a", "self.a", "scores", "p"),
)
HOP.broken(
    "u overwritten",
    right="du += (ds[:, :, None] * self.a).sum(axis=1)",
    wrong="du = (ds[:, :, None] * self.a).sum(axis=1)",
    truth="the way of u through R is overwritten",
    accept=(ASSIGNED, TERM),
    place=("R", "self.R", "du"),
)
HOP.broken(
    "softmax of the memory not undone",
    right="da = ds[:, :, None] * self.u[:, None]",
    wrong="da = dp[:, :, None] * self.u[:, None]",
    truth="the gradient before the softmax's derivative in place of that after it",
    accept=(ACTIVATION, OPERAND),
    place=("dp", "ds", "softmax", "p"),
    weak=(TERM,),
)
HOP.broken(
    "memory by the wrong matrix",
    right="dm += da @ self.A.T",
    wrong="dm += da @ self.C.T",
    truth="C in place of A in the way back from the keys",
    accept=(OPERAND,),
    place=("A", "C", "self.A", "self.C"),
)

COPY = Family("copy gate", "second.heads.CopyGate", copying)
COPY.broken(
    "copied without 1 - g",
    right="dcopied = dp * (1 - self.g)",
    wrong="dcopied = dp",
    truth="the factor 1 - g is missing in the gradient of the copied words",
    accept=(TERM,),
    place=("g", "self.g", "1 - g", "1 - self.g"),
)
COPY.broken(
    "gate without the copied words",
    right="dg = (dp * (self.vocab - self.copied)).sum(axis=1)",
    wrong="dg = (dp * self.vocab).sum(axis=1)",
    truth="the term -copied is missing: g also enters as 1 - g",
    accept=(TERM,),
    place=("copied", "self.copied", "1 - g", "1 - self.g"),
)
COPY.broken(
    "gate's way to h dropped",
    right="dh += dgate[:, None] * self.w\n",
    wrong="\n",
    truth="the way of h through the gate is dropped",
    accept=(TERM,),
    place=("dgate", "w", "self.w", "g", "gate"),
)
COPY.broken(
    "g and 1 - g exchanged",
    right="dvocab = dp * self.g\n        dcopied = dp * (1 - self.g)",
    wrong="dvocab = dp * (1 - self.g)\n        dcopied = dp * self.g",
    truth="g and 1 - g are exchanged",
    accept=(OPERAND, GATES, SIGN),
    place=("g", "self.g", "1 - g", "1 - self.g"),
)
COPY.broken(
    "attention's softmax without its sum",
    right="da = self.attn * (dattn - (dattn * self.attn).sum(axis=1, keepdims=True))",
    wrong="da = self.attn * dattn",
    truth="the sum of the softmax's derivative is missing",
    accept=(TERM, ACTIVATION),
    place=("sum", "softmax", "attn", "self.attn", "dattn"),
)

LUONG = Family("decoder top with attention", "second.heads.LuongDecoderTop", luong, new=False)
LUONG.broken(
    "halves of the concatenation exchanged",
    right="dc, dh = dcat[:, :H], dcat[:, H:]",
    wrong="dh, dc = dcat[:, :H], dcat[:, H:]",
    truth="the context stands first, but its half is given to h",
    accept=(OPERAND, GATES),
    place=("dcat", "cat", "half", "halves", "c", "h", "H", "dc", "dh"),
    weak=(TERM,),
)
LUONG.broken(
    "h in the scores dropped",
    right="dh = dh + dhW @ Wa.T\n",
    wrong="\n",
    truth="the way of h through the attention is dropped",
    accept=(TERM,),
    place=("Wa", "dhW", "hW", "scores"),
)
LUONG.broken(
    "h beside the context dropped",
    right="dh = dh + dhW @ Wa.T",
    wrong="dh = dhW @ Wa.T",
    truth="the way of h through the concatenation is dropped",
    accept=(TERM, ASSIGNED),
    place=("dcat", "cat", "Wc", "dh", "hstack", "np.hstack"),
)
LUONG.broken(
    "gradient of Wa transposed",
    right="self.grads[0][...] = h.T @ dhW",
    wrong="self.grads[0][...] = dhW.T @ h",
    truth="the gradient of Wa is transposed",
    accept=(TRANSPOSED,),
)
LUONG.broken(
    "memory as keys forgotten",
    right="dhs += dscore[:, :, None] * hW[:, None, :]\n",
    wrong="\n",
    truth="the way of the memory through the scores is dropped",
    accept=(TERM,),
    place=("dscore", "hW", "scores", "score", "key", "keys"),
)
LUONG.broken(
    "tanh of the wrong value",
    right="dpre = dout * (1 - out**2)",
    wrong="dpre = dout * (1 - out)",
    truth="1 - out in place of 1 - out^2",
    accept=(ACTIVATION, OPERAND, TERM),
    place=("out", "out**2", "tanh"),
)

ROTARY = Family("rotary positions", "second.heads.Rotary", rotary)
ROTARY.broken(
    "turned the same way again",
    right="dx1 = da * self.cos + db * self.sin\n        dx2 = db * self.cos - da * self.sin",
    wrong="dx1 = da * self.cos - db * self.sin\n        dx2 = db * self.cos + da * self.sin",
    truth="the gradient is turned forwards instead of back: the sines have the wrong sign",
    accept=(SIGN, TRANSPOSED),
    weak=(TERM, OPERAND),
)
ROTARY.broken(
    "sine forgotten in the second half",
    right="dx2 = db * self.cos - da * self.sin",
    wrong="dx2 = db * self.cos",
    truth="the term with the sine is missing in the second half",
    accept=(TERM,),
    place=("sin", "self.sin", "da"),
    weak=(ZERO,),
)
ROTARY.broken(
    "sine and cosine exchanged",
    right="dx1 = da * self.cos + db * self.sin",
    wrong="dx1 = da * self.sin + db * self.cos",
    truth="sine and cosine are exchanged in the first half",
    accept=(OPERAND,),
    place=("sin", "cos", "self.sin", "self.cos"),
)
ROTARY.broken(
    "halves exchanged",
    right="return np.concatenate([dx1, dx2], axis=-1)",
    wrong="return np.concatenate([dx2, dx1], axis=-1)",
    truth="the two halves are put together in the wrong order",
    accept=(GATES, OPERAND),
    place=("dx1", "dx2", "half", "halves", "a", "b", "order"),
)

FAMILIES = [HOP, COPY, LUONG, ROTARY]
