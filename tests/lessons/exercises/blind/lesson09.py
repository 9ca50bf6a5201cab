"""Answers to the exercises of lesson 9, written without a look at the checks. Plain data."""

SETUP = '''import numpy as np
from deepnlp.layers import DotAttention, reverse_by_length
lengths = np.array([5, 2])
'''

CASES = [
    (
        '9.1',
        'the scores of the padding are set to 0, not to minus infinity',
        'wrong',
        '''def attention_weights(query, memory, lengths):
    e = query @ memory.swapaxes(1, 2)
    real = np.arange(memory.shape[1]) < np.asarray(lengths)[:, None]
    e = np.where(real[:, None], e, 0)
    a = np.exp(e - e.max(axis=2, keepdims=True))
    return a / a.sum(axis=2, keepdims=True)
''',
        4,
    ),
    (
        '9.1',
        'the padding is set to 0 after the softmax, and the sum is not 1',
        'wrong',
        '''def attention_weights(query, memory, lengths):
    e = query @ memory.swapaxes(1, 2)
    a = np.exp(e - e.max(axis=2, keepdims=True))
    a /= a.sum(axis=2, keepdims=True)
    real = np.arange(memory.shape[1]) < np.asarray(lengths)[:, None]
    return a * real[:, None]
''',
        6,
    ),
    (
        '9.1',
        'one place of the padding counts',
        'wrong',
        '''def attention_weights(query, memory, lengths):
    e = query @ memory.swapaxes(1, 2)
    real = np.arange(memory.shape[1]) <= np.asarray(lengths)[:, None]
    e = np.where(real[:, None], e, -np.inf)
    a = np.exp(e - e.max(axis=2, keepdims=True))
    return a / a.sum(axis=2, keepdims=True)
''',
        3,
    ),
    (
        '9.1',
        'normalised over the queries instead of the places',
        'wrong',
        '''def attention_weights(query, memory, lengths):
    e = query @ memory.swapaxes(1, 2)
    real = np.arange(memory.shape[1]) < np.asarray(lengths)[:, None]
    e = np.where(real[:, None], e, -np.inf)
    a = np.exp(e - e.max(axis=2, keepdims=True))
    return a / a.sum(axis=1, keepdims=True)
''',
        6,
    ),
    (
        '9.1',
        'large scores overflow',
        'wrong',
        '''def attention_weights(query, memory, lengths):
    e = query @ memory.swapaxes(1, 2)
    real = np.arange(memory.shape[1]) < np.asarray(lengths)[:, None]
    e = np.where(real[:, None], e, -np.inf)
    a = np.exp(e)
    return a / a.sum(axis=2, keepdims=True)
''',
        5,
    ),
    (
        '9.1',
        'the lengths are not used',
        'wrong',
        '''def attention_weights(query, memory, lengths):
    e = query @ memory.swapaxes(1, 2)
    a = np.exp(e - e.max(axis=2, keepdims=True))
    return a / a.sum(axis=2, keepdims=True)
''',
        None,
    ),
    (
        '9.1',
        'the scores are divided by the root of H, which is not asked for here',
        'wrong',
        '''def attention_weights(query, memory, lengths):
    e = query @ memory.swapaxes(1, 2) / np.sqrt(query.shape[2])
    real = np.arange(memory.shape[1]) < np.asarray(lengths)[:, None]
    e = np.where(real[:, None], e, -np.inf)
    a = np.exp(e - e.max(axis=2, keepdims=True))
    return a / a.sum(axis=2, keepdims=True)
''',
        2,
    ),
    (
        '9.1',
        'one sequence at a time, on its real places only',
        'right',
        '''def attention_weights(query, memory, lengths):
    a = np.zeros((query.shape[0], query.shape[1], memory.shape[1]))
    for n, length in enumerate(lengths):
        e = np.einsum("th,sh->ts", query[n], memory[n, :length])
        a[n, :, :length] = np.exp(e - np.logaddexp.reduce(e, axis=1)[:, None])
    return a
''',
        None,
    ),
    (
        '9.2',
        'the mean of da is not weighted by a',
        'wrong',
        '''def softmax_backward(a, da):
    return a * (da - da.mean(axis=2, keepdims=True))
''',
        2,
    ),
    (
        '9.2',
        'the diagonal of the Jacobian alone',
        'wrong',
        '''def softmax_backward(a, da):
    return da * a * (1 - a)
''',
        2,
    ),
    (
        '9.2',
        'the factor a in front is forgotten',
        'wrong',
        '''def softmax_backward(a, da):
    return da - np.sum(a * da, axis=2, keepdims=True)
''',
        2,
    ),
    (
        '9.2',
        'the sum runs over the queries',
        'wrong',
        '''def softmax_backward(a, da):
    return a * (da - np.sum(a * da, axis=1, keepdims=True))
''',
        2,
    ),
    (
        '9.2',
        'a mean over the places in place of the sum',
        'wrong',
        '''def softmax_backward(a, da):
    return a * (da - np.mean(a * da, axis=-1, keepdims=True))
''',
        2,
    ),
    (
        '9.2',
        'a Jacobian for each row',
        'right',
        '''def softmax_backward(a, da):
    de = np.empty_like(da)
    for n, t in np.ndindex(a.shape[:2]):
        p = a[n, t]
        de[n, t] = (np.diag(p) - np.outer(p, p)) @ da[n, t]
    return de
''',
        None,
    ),
    (
        '9.2',
        'product first, then what it sums to is taken off',
        'right',
        '''def softmax_backward(a, da):
    g = a * da
    return g - np.einsum("nts,ntr->nts", a, g)
''',
        None,
    ),
    (
        '9.3',
        "the memory's part in the scores is forgotten",
        'wrong',
        '''class MyAttention:
    def forward(self, query, memory, lengths):
        e = query @ memory.swapaxes(1, 2)
        real = np.arange(memory.shape[1]) < np.asarray(lengths)[:, None]
        e = np.where(real[:, None], e, -np.inf)
        a = np.exp(e - e.max(axis=2, keepdims=True))
        a = a / a.sum(axis=2, keepdims=True)
        self.q, self.m, self.a = query, memory, a
        return a @ memory

    def backward(self, dc):
        da = dc @ self.m.swapaxes(1, 2)
        de = self.a * (da - (self.a * da).sum(axis=2, keepdims=True))
        dq = de @ self.m
        dm = self.a.swapaxes(1, 2) @ dc
        return dq, dm
''',
        15,
    ),
    (
        '9.3',
        "the memory's part in the weighted sum is forgotten",
        'wrong',
        '''class MyAttention:
    def forward(self, query, memory, lengths):
        e = query @ memory.swapaxes(1, 2)
        real = np.arange(memory.shape[1]) < np.asarray(lengths)[:, None]
        e = np.where(real[:, None], e, -np.inf)
        a = np.exp(e - e.max(axis=2, keepdims=True))
        a = a / a.sum(axis=2, keepdims=True)
        self.q, self.m, self.a = query, memory, a
        return a @ memory

    def backward(self, dc):
        da = dc @ self.m.swapaxes(1, 2)
        de = self.a * (da - (self.a * da).sum(axis=2, keepdims=True))
        dq = de @ self.m
        dm = de.swapaxes(1, 2) @ self.q
        return dq, dm
''',
        15,
    ),
    (
        '9.3',
        'the softmax is passed over, da is taken for de',
        'wrong',
        '''class MyAttention:
    def forward(self, query, memory, lengths):
        e = query @ memory.swapaxes(1, 2)
        real = np.arange(memory.shape[1]) < np.asarray(lengths)[:, None]
        e = np.where(real[:, None], e, -np.inf)
        a = np.exp(e - e.max(axis=2, keepdims=True))
        a = a / a.sum(axis=2, keepdims=True)
        self.q, self.m, self.a = query, memory, a
        return a @ memory

    def backward(self, dc):
        da = dc @ self.m.swapaxes(1, 2)
        de = da
        dq = de @ self.m
        dm = self.a.swapaxes(1, 2) @ dc + de.swapaxes(1, 2) @ self.q
        return dq, dm
''',
        13,
    ),
    (
        '9.3',
        'the weights are not transposed in the gradient of the memory',
        'wrong',
        '''class MyAttention:
    def forward(self, query, memory, lengths):
        e = query @ memory.swapaxes(1, 2)
        real = np.arange(memory.shape[1]) < np.asarray(lengths)[:, None]
        e = np.where(real[:, None], e, -np.inf)
        a = np.exp(e - e.max(axis=2, keepdims=True))
        a = a / a.sum(axis=2, keepdims=True)
        self.q, self.m, self.a = query, memory, a
        return a @ memory

    def backward(self, dc):
        da = dc @ self.m.swapaxes(1, 2)
        de = self.a * (da - (self.a * da).sum(axis=2, keepdims=True))
        dq = de @ self.m
        dm = self.a @ dc + de @ self.q
        return dq, dm
''',
        15,
    ),
    (
        '9.3',
        'the gradient of the query is multiplied by the query',
        'wrong',
        '''class MyAttention:
    def forward(self, query, memory, lengths):
        e = query @ memory.swapaxes(1, 2)
        real = np.arange(memory.shape[1]) < np.asarray(lengths)[:, None]
        e = np.where(real[:, None], e, -np.inf)
        a = np.exp(e - e.max(axis=2, keepdims=True))
        a = a / a.sum(axis=2, keepdims=True)
        self.q, self.m, self.a = query, memory, a
        return a @ memory

    def backward(self, dc):
        da = dc @ self.m.swapaxes(1, 2)
        de = self.a * (da - (self.a * da).sum(axis=2, keepdims=True))
        dq = de @ self.q
        dm = self.a.swapaxes(1, 2) @ dc + de.swapaxes(1, 2) @ self.q
        return dq, dm
''',
        14,
    ),
    (
        '9.3',
        'the two gradients are returned in the wrong order',
        'wrong',
        '''class MyAttention:
    def forward(self, query, memory, lengths):
        e = query @ memory.swapaxes(1, 2)
        real = np.arange(memory.shape[1]) < np.asarray(lengths)[:, None]
        e = np.where(real[:, None], e, -np.inf)
        a = np.exp(e - e.max(axis=2, keepdims=True))
        a = a / a.sum(axis=2, keepdims=True)
        self.q, self.m, self.a = query, memory, a
        return a @ memory

    def backward(self, dc):
        da = dc @ self.m.swapaxes(1, 2)
        de = self.a * (da - (self.a * da).sum(axis=2, keepdims=True))
        dq = de @ self.m
        dm = self.a.swapaxes(1, 2) @ dc + de.swapaxes(1, 2) @ self.q
        return dm, dq
''',
        16,
    ),
    (
        '9.3',
        'padding is hidden in the weighted sum, not in the softmax',
        'wrong',
        '''class MyAttention:
    def forward(self, query, memory, lengths):
        e = query @ memory.swapaxes(1, 2)
        real = np.arange(memory.shape[1]) < np.asarray(lengths)[:, None]
        a = np.exp(e - e.max(axis=2, keepdims=True))
        a = real[:, None] * a / a.sum(axis=2, keepdims=True)
        self.q, self.m, self.a = query, memory, a
        return a @ memory

    def backward(self, dc):
        da = dc @ self.m.swapaxes(1, 2)
        de = self.a * (da - (self.a * da).sum(axis=2, keepdims=True))
        dq = de @ self.m
        dm = self.a.swapaxes(1, 2) @ dc + de.swapaxes(1, 2) @ self.q
        return dq, dm
''',
        6,
    ),
    (
        '9.3',
        'loops over sequences, einsum inside, the real places only',
        'right',
        '''class MyAttention:
    def forward(self, query, memory, lengths):
        self.seen, out = [], []
        for q, m, length in zip(query, memory, lengths):
            k = m[:length]
            e = np.einsum("th,sh->ts", q, k)
            w = np.exp(e - e.max(axis=1, keepdims=True))
            w /= w.sum(axis=1, keepdims=True)
            self.seen.append((q, k, w, len(m)))
            out.append(w @ k)
        return np.array(out)

    def backward(self, dc):
        dquery, dmemory = [], []
        for d, (q, k, w, S) in zip(dc, self.seen):
            dw = d @ k.T
            de = w * dw - w * np.einsum("ts,ts->t", w, dw)[:, None]
            dm = np.zeros((S, k.shape[1]))
            dm[: len(k)] = np.einsum("ts,th->sh", w, d) + np.einsum("ts,th->sh", de, q)
            dquery.append(de @ k)
            dmemory.append(dm)
        return np.stack(dquery), np.stack(dmemory)
''',
        None,
    ),
    (
        '9.4',
        "the state's use as the query is forgotten",
        'wrong',
        '''class MyStep:
    def __init__(self, W):
        self.W, self.dW = W, None
        self.attention = DotAttention()

    def forward(self, h, memory, lengths):
        c = self.attention.forward(h, memory, lengths)
        self.z = np.concatenate([c, h], axis=2)
        self.y = np.tanh(self.z @ self.W)
        return self.y

    def backward(self, dy):
        da = dy * (1 - self.y**2)
        self.dW = np.einsum("nti,ntm->im", self.z, da)
        dc, dh = np.split(da @ self.W.T, 2, axis=2)
        dq, dmemory = self.attention.backward(dc)
        return dh, dmemory
''',
        17,
    ),
    (
        '9.4',
        "the state's use beside the context is forgotten",
        'wrong',
        '''class MyStep:
    def __init__(self, W):
        self.W, self.dW = W, None
        self.attention = DotAttention()

    def forward(self, h, memory, lengths):
        c = self.attention.forward(h, memory, lengths)
        self.z = np.concatenate([c, h], axis=2)
        self.y = np.tanh(self.z @ self.W)
        return self.y

    def backward(self, dy):
        da = dy * (1 - self.y**2)
        self.dW = np.einsum("nti,ntm->im", self.z, da)
        dc, dh = np.split(da @ self.W.T, 2, axis=2)
        dq, dmemory = self.attention.backward(dc)
        return dq, dmemory
''',
        17,
    ),
    (
        '9.4',
        'the state stands in front of the context',
        'wrong',
        '''class MyStep:
    def __init__(self, W):
        self.W, self.dW = W, None
        self.attention = DotAttention()

    def forward(self, h, memory, lengths):
        c = self.attention.forward(h, memory, lengths)
        self.z = np.concatenate([h, c], axis=2)
        self.y = np.tanh(self.z @ self.W)
        return self.y

    def backward(self, dy):
        da = dy * (1 - self.y**2)
        self.dW = np.einsum("nti,ntm->im", self.z, da)
        dh, dc = np.split(da @ self.W.T, 2, axis=2)
        dq, dmemory = self.attention.backward(dc)
        return dh + dq, dmemory
''',
        8,
    ),
    (
        '9.4',
        'the slope of tanh is forgotten',
        'wrong',
        '''class MyStep:
    def __init__(self, W):
        self.W, self.dW = W, None
        self.attention = DotAttention()

    def forward(self, h, memory, lengths):
        c = self.attention.forward(h, memory, lengths)
        self.z = np.concatenate([c, h], axis=2)
        self.y = np.tanh(self.z @ self.W)
        return self.y

    def backward(self, dy):
        da = dy
        self.dW = np.einsum("nti,ntm->im", self.z, da)
        dc, dh = np.split(da @ self.W.T, 2, axis=2)
        dq, dmemory = self.attention.backward(dc)
        return dh + dq, dmemory
''',
        13,
    ),
    (
        '9.4',
        'the gradients of c and h are exchanged on the way back',
        'wrong',
        '''class MyStep:
    def __init__(self, W):
        self.W, self.dW = W, None
        self.attention = DotAttention()

    def forward(self, h, memory, lengths):
        c = self.attention.forward(h, memory, lengths)
        self.z = np.concatenate([c, h], axis=2)
        self.y = np.tanh(self.z @ self.W)
        return self.y

    def backward(self, dy):
        da = dy * (1 - self.y**2)
        self.dW = np.einsum("nti,ntm->im", self.z, da)
        dh, dc = np.split(da @ self.W.T, 2, axis=2)
        dq, dmemory = self.attention.backward(dc)
        return dh + dq, dmemory
''',
        15,
    ),
    (
        '9.4',
        'dW for each sequence, not their sum',
        'wrong',
        '''class MyStep:
    def __init__(self, W):
        self.W, self.dW = W, None
        self.attention = DotAttention()

    def forward(self, h, memory, lengths):
        c = self.attention.forward(h, memory, lengths)
        self.z = np.concatenate([c, h], axis=2)
        self.y = np.tanh(self.z @ self.W)
        return self.y

    def backward(self, dy):
        da = dy * (1 - self.y**2)
        self.dW = self.z.swapaxes(1, 2) @ da
        dc, dh = np.split(da @ self.W.T, 2, axis=2)
        dq, dmemory = self.attention.backward(dc)
        return dh + dq, dmemory
''',
        14,
    ),
    (
        '9.4',
        'W in two halves, two products in place of one',
        'right',
        '''class MyStep:
    def __init__(self, W):
        self.W, self.dW = W, None
        self.attention = DotAttention()

    def forward(self, h, memory, lengths):
        H = h.shape[-1]
        self.h, self.c = h, self.attention.forward(h, memory, lengths)
        self.y = np.tanh(self.c @ self.W[:H] + h @ self.W[H:])
        return self.y

    def backward(self, dy):
        H = self.h.shape[-1]
        da = (1 - self.y) * (1 + self.y) * dy
        rows = lambda v: v.reshape(-1, v.shape[-1])
        self.dW = np.vstack([rows(self.c).T @ rows(da), rows(self.h).T @ rows(da)])
        dh, dmemory = self.attention.backward(da @ self.W[:H].T)
        return da @ self.W[H:].T + dh, dmemory
''',
        None,
    ),
    (
        '9.5',
        'overlooks that both months begin with the same letters',
        'wrong',
        '''my_choice = "the letter J"
''',
        1,
    ),
    (
        '9.5',
        'thinks of the encoder of lesson 8, of which only the last state is used',
        'wrong',
        '''my_choice = "the last one only"
''',
        1,
    ),
    (
        '9.5',
        'overlooks that a state knows nothing of what comes after it',
        'wrong',
        '''my_choice = "all of them"
''',
        1,
    ),
    (
        '9.6',
        'the variances are forgotten',
        'wrong',
        '''def divisor(H, var_q, var_m):
    return np.sqrt(H)
''',
        2,
    ),
    (
        '9.6',
        'the variance instead of its root',
        'wrong',
        '''def divisor(H, var_q, var_m):
    return H * var_q * var_m
''',
        2,
    ),
    (
        '9.6',
        'the variances of the factors are added',
        'wrong',
        '''def divisor(H, var_q, var_m):
    return np.sqrt(H * (var_q + var_m))
''',
        2,
    ),
    (
        '9.6',
        'the root of H alone, the variances stay outside the root',
        'wrong',
        '''def divisor(H, var_q, var_m):
    return np.sqrt(H) * var_q * var_m
''',
        2,
    ),
    (
        '9.6',
        'multiplied instead of divided, the reciprocal',
        'wrong',
        '''def divisor(H, var_q, var_m):
    return 1 / np.sqrt(H * var_q * var_m)
''',
        2,
    ),
    (
        '9.6',
        'a length in H dimensions',
        'right',
        '''def divisor(H, var_q, var_m):
    return np.linalg.norm(np.full(H, var_q**0.5)) * var_m**0.5
''',
        None,
    ),
    (
        '9.7',
        'the states of the second layer are not reversed again',
        'wrong',
        '''class MyBoth:
    def __init__(self, ahead, back):
        self.ahead, self.back = ahead, back

    def forward(self, x, lengths):
        self.lengths = lengths
        a = self.ahead.forward(x, lengths)
        b = self.back.forward(reverse_by_length(x, lengths), lengths)
        return np.concatenate([a, b], axis=2)

    def backward(self, dhs):
        da, db = np.split(dhs, 2, axis=2)
        dx = self.ahead.backward(da)
        dr = self.back.backward(db)
        return dx + reverse_by_length(dr, self.lengths)
''',
        9,
    ),
    (
        '9.7',
        'the padding is reversed as well',
        'wrong',
        '''class MyBoth:
    def __init__(self, ahead, back):
        self.ahead, self.back = ahead, back

    def forward(self, x, lengths):
        self.lengths = lengths
        a = self.ahead.forward(x, lengths)
        b = self.back.forward(x[:, ::-1], lengths)
        return np.concatenate([a, b[:, ::-1]], axis=2)

    def backward(self, dhs):
        da, db = np.split(dhs, 2, axis=2)
        dx = self.ahead.backward(da)
        dr = self.back.backward(db[:, ::-1])
        return dx + dr[:, ::-1]
''',
        8,
    ),
    (
        '9.7',
        'the gradient of the second layer is not reversed on the way in',
        'wrong',
        '''class MyBoth:
    def __init__(self, ahead, back):
        self.ahead, self.back = ahead, back

    def forward(self, x, lengths):
        self.lengths = lengths
        a = self.ahead.forward(x, lengths)
        b = self.back.forward(reverse_by_length(x, lengths), lengths)
        return np.concatenate([a, reverse_by_length(b, lengths)], axis=2)

    def backward(self, dhs):
        da, db = np.split(dhs, 2, axis=2)
        dx = self.ahead.backward(da)
        dr = self.back.backward(db)
        return dx + reverse_by_length(dr, self.lengths)
''',
        14,
    ),
    (
        '9.7',
        'the gradient of the second layer is not reversed on the way out',
        'wrong',
        '''class MyBoth:
    def __init__(self, ahead, back):
        self.ahead, self.back = ahead, back

    def forward(self, x, lengths):
        self.lengths = lengths
        a = self.ahead.forward(x, lengths)
        b = self.back.forward(reverse_by_length(x, lengths), lengths)
        return np.concatenate([a, reverse_by_length(b, lengths)], axis=2)

    def backward(self, dhs):
        da, db = np.split(dhs, 2, axis=2)
        dx = self.ahead.backward(da)
        dr = self.back.backward(reverse_by_length(db, self.lengths))
        return dx + dr
''',
        15,
    ),
    (
        '9.7',
        "the second layer's gradient of x is forgotten",
        'wrong',
        '''class MyBoth:
    def __init__(self, ahead, back):
        self.ahead, self.back = ahead, back

    def forward(self, x, lengths):
        self.lengths = lengths
        a = self.ahead.forward(x, lengths)
        b = self.back.forward(reverse_by_length(x, lengths), lengths)
        return np.concatenate([a, reverse_by_length(b, lengths)], axis=2)

    def backward(self, dhs):
        da, db = np.split(dhs, 2, axis=2)
        dx = self.ahead.backward(da)
        dr = self.back.backward(reverse_by_length(db, self.lengths))
        return dx
''',
        15,
    ),
    (
        '9.7',
        'the states are added instead of put side by side',
        'wrong',
        '''class MyBoth:
    def __init__(self, ahead, back):
        self.ahead, self.back = ahead, back

    def forward(self, x, lengths):
        self.lengths = lengths
        a = self.ahead.forward(x, lengths)
        b = self.back.forward(reverse_by_length(x, lengths), lengths)
        return a + reverse_by_length(b, lengths)

    def backward(self, dhs):
        da, db = dhs, dhs
        dx = self.ahead.backward(da)
        dr = self.back.backward(reverse_by_length(db, self.lengths))
        return dx + reverse_by_length(dr, self.lengths)
''',
        9,
    ),
    (
        '9.7',
        'the states of the second layer come first',
        'wrong',
        '''class MyBoth:
    def __init__(self, ahead, back):
        self.ahead, self.back = ahead, back

    def forward(self, x, lengths):
        self.lengths = lengths
        a = self.ahead.forward(x, lengths)
        b = self.back.forward(reverse_by_length(x, lengths), lengths)
        return np.concatenate([reverse_by_length(b, lengths), a], axis=2)

    def backward(self, dhs):
        db, da = np.split(dhs, 2, axis=2)
        dx = self.ahead.backward(da)
        dr = self.back.backward(reverse_by_length(db, self.lengths))
        return dx + reverse_by_length(dr, self.lengths)
''',
        9,
    ),
    (
        '9.7',
        'a table of places, its own inverse',
        'right',
        '''class MyBoth:
    def __init__(self, ahead, back):
        self.ahead, self.back = ahead, back

    def turn(self, x):
        return np.take_along_axis(x, self.place[:, :, None], axis=1)

    def forward(self, x, lengths):
        s, n = np.arange(x.shape[1]), np.reshape(lengths, (-1, 1))
        self.place = np.where(s < n, n - 1 - s, s)
        back = self.turn(self.back.forward(self.turn(x), lengths))
        return np.dstack([self.ahead.forward(x, lengths), back])

    def backward(self, dhs):
        H = dhs.shape[2] // 2
        dx = self.turn(self.back.backward(self.turn(dhs[:, :, H:])))
        dx += self.ahead.backward(dhs[:, :, :H])
        return dx
''',
        None,
    ),
    (
        '9.8',
        'overlooks that the output of one step enters the next',
        'wrong',
        '''my_arrangement = "with input feeding"
''',
        1,
    ),
    (
        '9.8',
        'overlooks that the context enters the step',
        'wrong',
        '''my_arrangement = "Bahdanau"
''',
        1,
    ),
    (
        '9.8',
        'thinks that known inputs are enough',
        'wrong',
        '''my_arrangement = "all three"
''',
        1,
    ),
    (
        '9.7',
        "backward reverses by the lengths of the lesson's example",
        'wrong',
        '''class MyBoth:
    def __init__(self, ahead, back):
        self.ahead, self.back = ahead, back

    def forward(self, x, lengths):
        self.lengths = lengths
        a = self.ahead.forward(x, lengths)
        b = self.back.forward(reverse_by_length(x, lengths), lengths)
        return np.concatenate([a, reverse_by_length(b, lengths)], axis=2)

    def backward(self, dhs):
        da, db = np.split(dhs, 2, axis=2)
        dx = self.ahead.backward(da)
        dr = self.back.backward(reverse_by_length(db, lengths))
        return dx + reverse_by_length(dr, lengths)
''',
        14,
    ),
    (
        '9.2',
        'da is returned as it is',
        'wrong',
        '''def softmax_backward(a, da):
    return da
''',
        2,
    ),
]
