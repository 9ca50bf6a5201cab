"""Lesson 9: right answers in several styles, the typical wrong ones, and what each is told."""

import numpy as np
import pytest

from deepnlp.layers import DotAttention
from deepnlp.lessons.exercises import check

# --- Right answers, each in another style -----------------------------------------------------


def exp_sum(e, axis=-1):
    e = np.exp(e - e.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def weights_by_loop(query, memory, lengths):
    a = np.zeros((*query.shape[:2], memory.shape[1]))
    for n, L in enumerate(lengths):
        for t, q in enumerate(query[n]):
            e = [q @ m for m in memory[n, :L]]
            e = np.exp(np.array(e) - max(e))
            a[n, t, :L] = e / e.sum()
    return a


def weights_by_large_negative(q, m, lengths):
    e = np.einsum("nth,nsh->nts", q, m)
    e += np.where(np.arange(m.shape[1]) < lengths[:, None], 0, -1e9)[:, None, :]
    return exp_sum(e)


def context_by_loop(a, memory):
    N, T, S = a.shape
    c = np.zeros((N, T, memory.shape[2]))
    for n in range(N):
        for t in range(T):
            for s in range(S):
                c[n, t] += a[n, t, s] * memory[n, s]
    return c


def softmax_by_jacobian(a, da):
    de = np.empty_like(a)
    for n in range(a.shape[0]):
        for t in range(a.shape[1]):
            p = a[n, t]
            de[n, t] = (np.diag(p) - np.outer(p, p)) @ da[n, t]
    return de


def softmax_in_two_terms(p, grad):
    product = p * grad
    return product - p * np.einsum("nts->nt", product)[..., None]


class EinsumAttention:
    def forward(self, q, m, lengths):
        self.q, self.m = q, m
        self.a = weights_by_large_negative(q, m, lengths)
        return np.einsum("nts,nsh->nth", self.a, m)

    def backward(self, dc):
        da = np.einsum("nth,nsh->nts", dc, self.m)
        de = softmax_in_two_terms(self.a, da)
        dm = np.einsum("nts,nth->nsh", self.a, dc) + np.einsum("nts,nth->nsh", de, self.q)
        return np.einsum("nts,nsh->nth", de, self.m), dm


class LoopingAttention:
    """Goes by sequence and by step, over the places that count."""

    def forward(self, query, memory, lengths):
        self.kept = query, memory, lengths
        self.weights = weights_by_loop(query, memory, lengths)
        return context_by_loop(self.weights, memory)

    def backward(self, grad):
        query, memory, lengths = self.kept
        dq, dm = np.zeros(query.shape), np.zeros(memory.shape)
        for n, L in enumerate(lengths):
            for t in range(query.shape[1]):
                a = self.weights[n, t, :L]
                da = np.array([grad[n, t] @ memory[n, s] for s in range(L)])
                mean = sum(a * da)
                for s in range(L):
                    de = a[s] * (da[s] - mean)
                    dq[n, t] += de * memory[n, s]
                    dm[n, s] += de * query[n, t] + a[s] * grad[n, t]
        return [dq, dm]


class TwoMatrices:
    """Luong's step with one matrix for each half."""

    def __init__(self, W):
        self.W = W

    def forward(self, h, memory, lengths):
        H = memory.shape[2]
        self.attention = EinsumAttention()
        self.h, self.c = h, self.attention.forward(h, memory, lengths)
        self.y = np.tanh(self.c @ self.W[:H] + h @ self.W[H:])
        return self.y

    def backward(self, dy):
        da, H = dy * (1 - self.y**2), self.c.shape[2]
        self.dW = np.concatenate(
            [np.einsum("nth,ntm->hm", self.c, da), np.einsum("nth,ntm->hm", self.h, da)]
        )
        dquery, dmemory = self.attention.backward(da @ self.W[:H].T)
        return dquery + da @ self.W[H:].T, dmemory


class LoopingStep:
    """Luong's arrangement, a step at a time."""

    def __init__(self, weight):
        self.weight = weight
        self.dW = np.zeros_like(weight)

    def forward(self, h, memory, lengths):
        self.att = LoopingAttention()
        both = np.concatenate([self.att.forward(h, memory, lengths), h], axis=-1)
        self.both = both
        self.y = np.stack([np.tanh(both[:, t] @ self.weight) for t in range(h.shape[1])], axis=1)
        return self.y

    def backward(self, dy):
        N, T, _ = dy.shape
        C = self.both.shape[2] - self.att.kept[0].shape[2]
        dboth, self.dW = np.zeros_like(self.both), np.zeros_like(self.weight)
        for n in range(N):
            for t in range(T):
                da = dy[n, t] / np.cosh(np.arctanh(self.y[n, t])) ** 2
                self.dW += np.outer(self.both[n, t], da)
                dboth[n, t] = self.weight @ da
        dq, dm = self.att.backward(dboth[..., :C])
        return dboth[..., C:] + dq, dm


def reverse_by_loop(x, lengths):
    y = x.copy()
    for n, L in enumerate(lengths):
        y[n, :L] = x[n, :L][::-1]
    return y


def reverse_by_index(x, lengths):
    t = np.arange(x.shape[1])
    place = np.where(t < lengths[:, None], lengths[:, None] - 1 - t, t)
    return np.take_along_axis(x, place[:, :, None], axis=1)


class BothByLoop:
    """Reverses with its own function."""

    def __init__(self, ahead, back):
        self.one, self.other = ahead, back

    def forward(self, x, lengths):
        self.lengths = lengths
        hs = self.one.forward(x, lengths)
        gs = reverse_by_loop(self.other.forward(reverse_by_loop(x, lengths), lengths), lengths)
        return np.dstack([hs, gs])

    def backward(self, dhs):
        d1, d2 = np.split(dhs, 2, axis=2)
        dx2 = self.other.backward(reverse_by_loop(d2, self.lengths))
        return reverse_by_loop(dx2, self.lengths) + self.one.backward(d1)


class BothByIndex:
    def __init__(self, ahead, back):
        self.layers = [ahead, back]

    def forward(self, x, lengths):
        self.ways = [lambda a: a, lambda a: reverse_by_index(a, np.asarray(lengths))]
        runs = zip(self.layers, self.ways, strict=True)
        return np.concatenate([way(layer.forward(way(x), lengths)) for layer, way in runs], -1)

    def backward(self, dhs):
        H = dhs.shape[2] // 2
        halves = [dhs[:, :, :H], dhs[:, :, H:]]
        runs = zip(self.layers, self.ways, halves, strict=True)
        return sum(way(layer.backward(way(half))) for layer, way, half in runs)


RIGHT = [
    ("9.5", "from the third letter on"),
    ("9.8", " LUONG "),
    ("9.1", weights_by_loop),
    ("9.1", weights_by_large_negative),
    ("9.2", softmax_by_jacobian),
    ("9.2", softmax_in_two_terms),
    ("9.3", EinsumAttention),
    ("9.3", LoopingAttention),
    ("9.4", TwoMatrices),
    ("9.4", LoopingStep),
    ("9.5", "From the third letter on "),
    ("9.8", "luong"),
    ("9.6", lambda H, q, m: (H * q * m) ** 0.5),
    ("9.6", lambda H, q, m: np.sqrt(sum(q * m for _ in range(H)))),
    ("9.7", BothByLoop),
    ("9.7", BothByIndex),
]


# --- Wrong functions --------------------------------------------------------------------------


def scores(q, m):
    return np.einsum("nth,nsh->nts", q, m)


def hidden(m, lengths):
    return (np.arange(m.shape[1]) >= lengths[:, None])[:, None]  # (N, 1, S)


def masked(q, m, lengths):
    return np.where(hidden(m, lengths), -np.inf, scores(q, m))


def plain_exp(q, m, lengths):
    e = np.exp(masked(q, m, lengths))
    return e / e.sum(axis=2, keepdims=True)


def less_the_whole_maximum(q, m, lengths):
    e = masked(q, m, lengths)
    e = np.exp(e - e.max())
    return e / e.sum(axis=2, keepdims=True)


def less_the_maximum_with_padding(q, m, lengths):
    e = np.exp(scores(q, m) - scores(q, m).max()) * ~hidden(m, lengths)
    return e / e.sum(axis=2, keepdims=True)


def masked_exp(q, m, lengths):
    e = np.exp(scores(q, m)) * ~hidden(m, lengths)
    return e / e.sum(axis=2, keepdims=True)


def all_at_once(q, m, lengths):
    e = np.exp(masked(q, m, lengths))
    return e / e.sum(axis=(1, 2), keepdims=True)


def not_renormalised(q, m, lengths):
    return exp_sum(scores(q, m)) * ~hidden(m, lengths)


def renormalised_scores(q, m, lengths):
    e = np.where(hidden(m, lengths), 0, scores(q, m))
    return e / e.sum(axis=2, keepdims=True)


def longest_for_all(q, m, lengths):
    return exp_sum(masked(q, m, np.full(len(m), max(lengths) - 1)))


def first_for_all(q, m, lengths):
    return exp_sum(masked(q, m, np.full(len(m), lengths[0])))


def gone(q, m, lengths):
    return exp_sum(np.where(hidden(m, lengths), scores(q, m), -1e9))


FUNCTIONS = [
    ("9.1", lambda q, m, L: exp_sum(scores(q, m)), "mask forgotten"),
    ("9.1", not_renormalised, "masked after the softmax"),
    ("9.1", lambda q, m, L: exp_sum(scores(q, m) * ~hidden(m, L)), "score 0 in the padding"),
    ("9.1", lambda q, m, L: exp_sum(np.where(hidden(m, L), 0, scores(q, m))),
     "score 0 in the padding"),
    ("9.1", lambda q, m, L: exp_sum(np.where(hidden(m, L), 1e-9, scores(q, m))),
     "score 0 in the padding"),
    ("9.1", lambda q, m, L: exp_sum(scores(q, m), axis=1), "softmax over the steps"),
    ("9.1", lambda q, m, L: exp_sum(np.where(hidden(m, L), -1e9, scores(q, m)), axis=1),
     "softmax over the steps"),
    ("9.1", lambda q, m, L: exp_sum(scores(q, m), axis=0), "softmax over the batch"),
    ("9.1", all_at_once, "one softmax for all steps"),
    ("9.1", lambda q, m, L: exp_sum(masked(q, m, L) / np.sqrt(q.shape[2])), "scores divided"),
    ("9.1", lambda q, m, L: exp_sum(masked(q, m, np.minimum(L + 1, m.shape[1]))),
     "one place too many"),
    ("9.1", lambda q, m, L: exp_sum(masked(q, m, np.maximum(L - 1, 1))), "one place too few"),
    ("9.1", longest_for_all, "one length for all"),
    ("9.1", first_for_all, "one length for all"),
    ("9.1", gone, "mask turned round"),
    ("9.1", masked, "softmax missing"),
    ("9.1", lambda q, m, L: scores(q, m), "softmax missing"),
    ("9.1", renormalised_scores, "exponential missing"),
    ("9.1", plain_exp, "not a number"),
    ("9.1", masked_exp, "not a number"),
    ("9.1", less_the_whole_maximum, "maximum of the whole array"),
    ("9.1", less_the_maximum_with_padding, "maximum of the whole array"),
    ("9.1", lambda q, m, L: exp_sum(masked(q, m, L)).swapaxes(1, 2), "transposed"),
    ("9.1", lambda q, m, L: exp_sum(q @ m.T), "error"),
    ("9.1", lambda q, m, L: None, "empty"),
    ("9.2", lambda a, da: a * da, "sum term missing"),
    ("9.2", lambda a, da: a * (1 - a) * da, "diagonal only"),
    ("9.2", lambda a, da: a * (da - da.sum(axis=-1, keepdims=True)), "sum not weighted"),
    ("9.2", lambda a, da: a * (da - da.mean(axis=-1, keepdims=True)), "mean not weighted"),
    ("9.2", lambda a, da: a * (da - (a * da).mean(axis=-1, keepdims=True)),
     "mean instead of sum"),
    ("9.2", lambda a, da: a * (da - (a * da).sum()), "one sum for all"),
    ("9.2", lambda a, da: a * (da - (a * da).sum(axis=1, keepdims=True)),
     "summed or broadcast over the wrong axis"),
    ("9.2", lambda a, da: a * (da - (a * da).sum(axis=0, keepdims=True)),
     "summed or broadcast over the wrong axis"),
    ("9.2", lambda a, da: a * (da + (a * da).sum(axis=-1, keepdims=True)), "sign of the sum"),
    ("9.2", lambda a, da: da - (a * da).sum(axis=-1, keepdims=True), "factor a missing"),
    ("9.2", lambda a, da: a * da - (a * da).sum(axis=-1, keepdims=True),
     "second factor a missing"),
    ("9.2", lambda a, da: a - da, "guess minus truth"),
    ("9.2", lambda a, da: -a * (da - (a * da).sum(axis=-1, keepdims=True)), "sign"),
    ("9.2", lambda a, da: da, "softmax not undone"),
    ("9.2", lambda a, da: exp_sum(da), "softmax once more"),
    ("9.2", lambda a, da: a * (da - (a * da).sum(axis=-1)), "error"),
    ("9.6", lambda H, q, m: np.sqrt(H), "variances not used"),
    ("9.6", lambda H, q, m: H, "neither root nor variances"),
    ("9.6", lambda H, q, m: np.sqrt(H * q), "one variance only"),
    ("9.6", lambda H, q, m: np.sqrt(H * m), "one variance only"),
    ("9.6", lambda H, q, m: H * q * m, "variance and not its root"),
    ("9.6", lambda H, q, m: np.sqrt(H) * q * m, "variance for standard deviation"),
    ("9.6", lambda H, q, m: H * np.sqrt(q * m), "root of H forgotten"),
    ("9.6", lambda H, q, m: 1 / np.sqrt(H * q * m), "inverse"),
    ("9.6", lambda H, q, m: np.sqrt(H * (q + m)), "variances added"),
    ("9.6", lambda H, q, m: np.sqrt(q * m), "H not used"),
]  # fmt: skip


CHOICES = [
    ("9.5", "the letter J", "wrong choice", "look the same so far"),
    ("9.5", "all of them", "wrong choice", "it has not seen n or l"),
    ("9.5", "the last one only", "wrong choice"),
    ("9.8", "with input feeding", "wrong choice"),
    ("9.8", "Bahdanau", "wrong choice", "c_t needs h_(t-1)"),
    ("9.8", "all three", "wrong choice"),
]


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("9.5", {"the letter J", "all of them", "the last one only"}),
        ("9.8", {"with input feeding", "Bahdanau", "all three"}),
    ],
)
def test_a_wrong_choice_has_its_own_comment(name, options):
    texts = {check(name, option).text for option in options}
    assert len(texts) == len(options)
    assert {check(name, option).diagnosis for option in options} == {"wrong choice"}
    assert check(name, "elsewhere").diagnosis == "wrong type"


# --- Attention, backward ----------------------------------------------------------------------


class Mine:
    """A right attention whose lines can be replaced one by one."""

    def forward(self, query, memory, lengths):
        self.query, self.memory, self.lengths = query, memory, lengths
        self.a = self.weights_of(masked(query, memory, lengths))
        return self.a @ memory

    def backward(self, dc):
        de = self.softmax(self.dweights(dc))
        return self.dquery(de), self.dmemory(dc, de)

    def weights_of(self, e):
        return exp_sum(e)

    def dweights(self, dc):
        return dc @ self.memory.swapaxes(1, 2)

    def softmax(self, da):
        return self.a * (da - (self.a * da).sum(axis=2, keepdims=True))

    def dquery(self, de):
        return de @ self.memory

    def dmemory(self, dc, de):
        return self.a.swapaxes(1, 2) @ dc + de.swapaxes(1, 2) @ self.query


def attention(**methods):
    return type("MyAttention", (Mine,), methods)


def T(array):
    return array.swapaxes(1, 2)


def forward_unmasked(self, query, memory, lengths):
    self.query, self.memory, self.lengths = query, memory, lengths
    self.a = exp_sum(scores(query, memory))
    return self.a @ memory


def forward_scaled(self, query, memory, lengths):
    self.query, self.memory, self.lengths = query, memory, lengths
    self.a = exp_sum(masked(query, memory, lengths) / np.sqrt(query.shape[2]))
    return self.a @ memory


def weights_unmasked_in_backward(self, da):
    a = exp_sum(scores(self.query, self.memory))
    return a * (da - (a * da).sum(axis=2, keepdims=True))


def swapped(self, dc):
    dquery, dmemory = Mine.backward(self, dc)
    return dmemory, dquery


def dc_in_dquery(self, dc):
    dquery, dmemory = Mine.backward(self, dc)
    return dquery + dc, dmemory


def only_dquery(self, dc):
    return Mine.backward(self, dc)[0]


def summed_over_steps(self, da):
    return self.a * (da - (self.a * da).sum(axis=1, keepdims=True))


def sum_of_all(self, da):
    return self.a * (da - (self.a * da).sum())


SUM = {"softmax": lambda self, da: self.a * da}
DIAGONAL = {"softmax": lambda self, da: self.a * (1 - self.a) * da}
NO_SCORE_PATH = {"dmemory": lambda self, dc, de: T(self.a) @ dc}
NO_SUM_PATH = {"dmemory": lambda self, dc, de: T(de) @ self.query}

BACKWARDS = [
    (SUM, "sum term missing"),
    (DIAGONAL, "diagonal only"),
    ({"softmax": lambda self, da: da}, "softmax not undone"),
    ({"softmax": lambda self, da: self.a * (da - da.sum(axis=2, keepdims=True))},
     "sum not weighted"),
    ({"softmax": summed_over_steps}, "summed or broadcast over the wrong axis"),
    ({"softmax": sum_of_all}, "one sum for all"),
    ({"softmax": lambda self, da: self.a * (da + (self.a * da).sum(axis=2, keepdims=True))},
     "sign of the sum"),
    ({"softmax": weights_unmasked_in_backward}, "mask forgotten in backward"),
    (NO_SCORE_PATH, "path through the scores dropped"),
    (NO_SUM_PATH, "path through the sum dropped"),
    ({"dquery": lambda self, de: self.a @ self.memory}, "weights for the scores' gradient"),
    ({"dmemory": lambda self, dc, de: T(self.a) @ dc + T(self.a) @ self.query},
     "weights for the scores' gradient"),
    ({"dmemory": lambda self, dc, de: T(de) @ dc + T(self.a) @ self.query},
     "the two paths crossed"),
    ({"dmemory": lambda self, dc, de: T(de) @ dc + T(de) @ self.query},
     "scores' gradient for the weights"),
    ({"dmemory": lambda self, dc, de: T(self.a) @ dc + T(de) @ dc}, "dc for the query"),
    ({"backward": dc_in_dquery}, "dc added to dquery"),
    ({"dmemory": lambda self, dc, de: T(self.a) @ dc - T(de) @ self.query},
     "sign of one path"),
    ({"dmemory": lambda self, dc, de: self.a @ dc + de @ self.query}, "error"),
    ({"dquery": lambda self, de: de.sum(axis=2)[..., None] * self.query}, "zero or missing"),
    ({"dquery": lambda self, de: np.zeros_like(self.query)}, "zero or missing"),
    ({"dquery": lambda self, de: -(de @ self.memory)}, "sign"),
    ({"dquery": lambda self, de: de @ self.memory / np.sqrt(self.query.shape[2])},
     "constant factor"),
    ({"dmemory": lambda self, dc, de: (T(self.a) @ dc + T(de) @ self.query).sum(axis=0)},
     "wrong shape"),
    ({"backward": swapped}, "returned in the other order"),
    ({"backward": only_dquery}, "wrong type"),
    ({"backward": lambda self, dc: None}, "empty"),
    ({"backward": lambda self, dc: (None, None)}, "empty"),
    ({"forward": forward_unmasked}, "mask forgotten"),
    ({"forward": forward_scaled}, "scores divided"),
    ({"forward": lambda self, q, m, L: None}, "empty"),
    ({"weights_of": lambda self, e: exp_sum(np.maximum(e, -1e9), axis=1)},
     "softmax over the steps"),
    ({**SUM, **NO_SCORE_PATH}, "sum term missing"),
    ({**SUM, **NO_SUM_PATH}, "sum term missing"),
    ({**DIAGONAL, **NO_SUM_PATH}, "diagonal only"),
]  # fmt: skip


def hard(a, memory):
    return np.stack([memory[n][a[n].argmax(axis=1)] for n in range(len(a))])


CONTEXTS = [
    (lambda a, m: (a @ m) / m.shape[1], "divided by S"),
    (lambda a, m: a @ m / (a > 0).sum(axis=2, keepdims=True), "divided by the length"),
    (hard, "heaviest place only"),
    (lambda a, m: np.repeat(m.mean(axis=1)[:, None], a.shape[1], axis=1),
     "weights not used"),
    (lambda a, m: a[..., None] * m[:, None], "not summed"),
    (lambda a, m: (a[..., None] * m[:, None]).sum(axis=1), "summed over the steps"),
    (lambda a, m: (a @ m).sum(axis=1), "one context for all steps"),
    (lambda a, m: np.einsum("nts,msh->nth", a, m), "memories of all sequences"),
    (lambda a, m: a @ m[0], "memory of the first sequence"),
    (lambda a, m: (a @ m).swapaxes(1, 2), "contexts transposed"),
    (lambda a, m: np.dot(a, m), "product with every sequence"),
]  # fmt: skip


def attending(context):
    def forward(self, query, memory, lengths):
        return context(exp_sum(masked(query, memory, lengths)), memory)

    return attention(forward=forward)


def test_two_mistakes_are_both_told():
    text = check("9.3", attention(**SUM, **NO_SCORE_PATH)).text
    assert "scores" in text
    assert "sum" in text


def test_gradients_that_pile_up():
    class Piling(Mine):
        def forward(self, query, memory, lengths):
            if not hasattr(self, "total"):
                self.total = np.zeros_like(memory)
            return super().forward(query, memory, lengths)

        def dmemory(self, dc, de):
            self.total = self.total + super().dmemory(dc, de)
            return self.total

    assert check("9.3", Piling).diagnosis == "gradient of the backward before"


def test_an_attention_that_spoils_its_memory():
    class Spoiling(Mine):
        def forward(self, query, memory, lengths):
            memory[hidden(memory, lengths)[:, 0]] = 7.0
            return super().forward(query, memory, lengths)

    assert check("9.3", Spoiling).diagnosis == "input changed in place"


# --- Luong's step -----------------------------------------------------------------------------


class MyStep:
    """A right step whose lines can be replaced one by one."""

    def __init__(self, W):
        self.W = W

    def forward(self, h, memory, lengths):
        self.attention = DotAttention()
        context = self.attention.forward(h, memory, lengths)
        self.H, self.both = memory.shape[2], self.joined(context, h)
        self.a = self.both @ self.W
        self.y = np.tanh(self.a)
        return self.y

    def joined(self, context, h):
        return np.concatenate([context, h], axis=2)

    def backward(self, dy):
        da = dy * self.slope()
        self.dW = self.weight_gradient(da)
        dboth = da @ self.W.T
        return self.parts(dboth[..., : self.H], dboth[..., self.H :])

    def slope(self):
        return 1 - self.y**2

    def weight_gradient(self, da):
        return np.einsum("nti,ntj->ij", self.both, da)

    def parts(self, dcontext, dh):
        dquery, dmemory = self.attention.backward(dcontext)
        return dh + dquery, dmemory


def step(**methods):
    return type("Step", (MyStep,), methods)


def no_query_path(self, dcontext, dh):
    return dh, self.attention.backward(dcontext)[1]


def no_direct_path(self, dcontext, dh):
    return self.attention.backward(dcontext)


def parts_swapped(self, dcontext, dh):
    return MyStep.parts(self, dh, dcontext)


def linear(self, h, memory, lengths):
    MyStep.forward(self, h, memory, lengths)
    return self.a


def nothing_kept(self, dy):
    found = MyStep.backward(self, dy)
    self.dW = None
    return found


def piling_up(self, dy):
    before = getattr(self, "dW", 0)
    found = MyStep.backward(self, dy)
    self.dW = self.dW + before
    return found


STEPS = [
    ({"parts": no_query_path}, "path through the query dropped"),
    ({"parts": no_direct_path}, "direct path dropped"),
    ({"parts": parts_swapped}, "halves swapped"),
    ({"joined": lambda self, c, h: np.concatenate([h, c], axis=2)}, "halves swapped in forward"),
    ({"slope": lambda self: 1}, "slope missing"),
    ({"slope": lambda self: 1 - self.a**2},
     "derivative taken at the input instead of the output"),
    ({"slope": lambda self: 1 - np.tanh(self.y) ** 2}, "tanh taken once more"),
    ({"slope": lambda self: self.y * (1 - self.y)}, "slope of the sigmoid"),
    ({"slope": lambda self: 1 - self.y}, "wrong slope"),
    ({"forward": linear}, "activation missing"),
    ({"forward": lambda self, h, m, L: None}, "empty"),
    ({"backward": nothing_kept}, "dW not stored"),
    ({"backward": piling_up}, "gradient of the backward before"),
    ({"backward": lambda self, dy: MyStep.backward(self, dy)[0]}, "wrong type"),
    ({"weight_gradient": lambda self, da: np.einsum("nti,ntj->ji", self.both, da)},
     "transposed"),
    ({"weight_gradient": lambda self, da: np.einsum("nti,ntj->nij", self.both, da)},
     "not summed"),
    ({"weight_gradient": lambda self, da: self.both[:, -1].T @ da[:, -1]}, "last step only"),
    ({"weight_gradient": lambda self, da: np.einsum("nti,ntj->ij", self.both, da) / len(da)},
     "constant factor"),
    ({"slope": lambda self: 1, "parts": no_query_path}, "slope missing"),
]  # fmt: skip


# --- Both directions --------------------------------------------------------------------------


class MyBoth:
    """A right layer whose lines can be replaced one by one."""

    def __init__(self, ahead, back):
        self.ahead, self.back = ahead, back

    def forward(self, x, lengths):
        self.lengths = lengths
        return self.joined(self.ahead.forward(x, lengths), self.other(x, lengths))

    def other(self, x, lengths):
        states = self.back.forward(self.turned_in(x), lengths)
        return self.turned_out(states)

    def joined(self, ahead, back):
        return np.concatenate([ahead, back], axis=2)

    def backward(self, dhs):
        H = dhs.shape[2] // 2
        one, other = dhs[:, :, :H], dhs[:, :, H:]
        dx = self.ahead.backward(one)
        return self.sum(dx, self.dx_out(self.back.backward(self.d_in(other))))

    def sum(self, one, other):
        return one + other

    def turn(self, array):
        return reverse_by_loop(array, self.lengths)

    turned_in = turned_out = d_in = dx_out = turn


def both(**methods):
    return type("Both", (MyBoth,), methods)


def as_it_is(self, array):
    return array


def blindly(self, array):
    return array[:, ::-1]


def without_lengths(self, x, lengths):
    self.lengths = lengths
    ahead, back = self.ahead.forward(x), self.back.forward(self.turn(x))
    return self.joined(ahead, self.turn(back))


def halves_exchanged(self, dhs):
    H = dhs.shape[2] // 2
    return MyBoth.backward(self, np.concatenate([dhs[:, :, H:], dhs[:, :, :H]], axis=2))


BOTH = [
    ({"turned_out": as_it_is}, "states not turned back"),
    ({"turned_in": as_it_is, "turned_out": as_it_is}, "read from left to right twice"),
    ({"turned_in": as_it_is}, "input not turned"),
    (dict.fromkeys(("turned_in", "turned_out", "d_in", "dx_out"), blindly),
     "padding read first"),
    ({"turned_in": blindly, "turned_out": blindly}, "padding read first"),
    ({"d_in": as_it_is}, "gradient not turned on its way in"),
    ({"dx_out": as_it_is}, "gradient not turned on its way out"),
    ({"d_in": as_it_is, "dx_out": as_it_is}, "gradient not turned"),
    ({"d_in": blindly, "dx_out": blindly}, "gradient turned with its padding"),
    ({"sum": lambda self, one, other: one}, "one direction dropped"),
    ({"sum": lambda self, one, other: other}, "one direction dropped"),
    ({"sum": lambda self, one, other: (one + other) / 2}, "constant factor"),
    ({"sum": lambda self, one, other: np.concatenate([one, other], axis=2)}, "joined, not added"),
    ({"joined": lambda self, a, b: np.concatenate([b, a], axis=2)}, "halves swapped"),
    ({"joined": lambda self, a, b: a + b}, "added, not joined"),
    ({"forward": without_lengths}, "lengths not handed on"),
    ({"backward": halves_exchanged}, "halves of the gradient swapped"),
    ({"backward": lambda self, dhs: None}, "empty"),
    ({"forward": lambda self, x, L: None}, "empty"),
]  # fmt: skip


WRONG = [
    *FUNCTIONS,
    *CHOICES,
    *(("9.3", attention(**methods), told) for methods, told in BACKWARDS),
    *(("9.3", attending(context), told) for context, told in CONTEXTS),
    *(("9.4", step(**methods), told) for methods, told in STEPS),
    *(("9.7", both(**methods), told) for methods, told in BOTH),
]


def deaf(owner):
    """A class whose backward gives the same whatever arrives."""

    def backward(self, dy):
        return owner.backward(self, np.ones_like(dy))

    return type("Deaf", (owner,), {"backward": backward})


def returned_swapped(self, dcontext, dh):
    return MyStep.parts(self, dcontext, dh)[::-1]


WRONG += [
    ("9.3", deaf(Mine), "arriving gradient not used"),
    ("9.4", deaf(MyStep), "arriving gradient not used"),
    ("9.4", step(parts=returned_swapped), "returned in the other order"),
    ("9.7", deaf(MyBoth), "arriving gradient not used"),
    ("9.7", both(sum=lambda self, one, other: one - other), "sign of one direction"),
    ("9.7", both(joined=lambda self, a, b: np.concatenate([a, b], axis=1)),
     "joined over the steps"),
]  # fmt: skip
