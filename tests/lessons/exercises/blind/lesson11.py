"""Answers to the exercises of lesson 11, written without a look at the checks. Plain data."""

SETUP = '''import numpy as np
'''

CASES = [
    (
        '11.1',
        'each different word counts once',
        'wrong',
        '''def most_frequent(words):
    n = {}
    for word, times in words.items():
        for pair in zip(word, word[1:]):
            n[pair] = n.get(pair, 0) + 1
    return max(n, key=n.get)
''',
        5,
    ),
    (
        '11.1',
        'a pair that occurs twice in a word counts once',
        'wrong',
        '''def most_frequent(words):
    n = {}
    for word, times in words.items():
        for pair in set(zip(word, word[1:])):
            n[pair] = n.get(pair, 0) + times
    return max(n, key=n.get)
''',
        4,
    ),
    (
        '11.1',
        'the new token instead of the pair',
        'wrong',
        '''def most_frequent(words):
    n = {}
    for word, times in words.items():
        for pair in zip(word, word[1:]):
            n[pair] = n.get(pair, 0) + times
    return "".join(max(n, key=n.get))
''',
        6,
    ),
    (
        '11.1',
        'the pair of the most frequent word',
        'wrong',
        '''def most_frequent(words):
    word = max(words, key=words.get)
    return word[0], word[1]
''',
        2,
    ),
    (
        '11.1',
        'the largest pair in the order of the alphabet',
        'wrong',
        '''def most_frequent(words):
    n = {}
    for word, times in words.items():
        for pair in zip(word, word[1:]):
            n[pair] = n.get(pair, 0) + times
    return max(n)
''',
        6,
    ),
    (
        '11.1',
        'the last pair of each word is left out',
        'wrong',
        '''def most_frequent(words):
    n = {}
    for word, times in words.items():
        for pair in zip(word[:-1], word[1:-1]):
            n[pair] = n.get(pair, 0) + times
    return max(n, key=n.get)
''',
        4,
    ),
    (
        '11.1',
        'a Counter of all pairs, as often as their word',
        'right',
        '''def most_frequent(words):
    from collections import Counter
    from itertools import chain, pairwise, repeat

    every = chain.from_iterable(chain(*repeat(list(pairwise(w)), n)) for w, n in words.items())
    (pair, _), = Counter(every).most_common(1)
    return pair
''',
        None,
    ),
    (
        '11.2',
        'only the first occurrence',
        'wrong',
        '''def join(word, pair):
    word = list(word)
    for i in range(len(word) - 1):
        if (word[i], word[i + 1]) == tuple(pair):
            return word[:i] + ["".join(pair)] + word[i + 2 :]
    return word
''',
        5,
    ),
    (
        '11.2',
        'a token that was joined is used for the next pair as well',
        'wrong',
        '''def join(word, pair):
    out = []
    for i in range(len(word)):
        if tuple(word[i : i + 2]) == tuple(pair):
            out.append("".join(pair))
        elif i == 0 or tuple(word[i - 1 : i + 1]) != tuple(pair):
            out.append(word[i])
    return out
''',
        6,
    ),
    (
        '11.2',
        'from right to left',
        'wrong',
        '''def join(word, pair):
    out, i = [], len(word) - 1
    while i >= 0:
        if i > 0 and (word[i - 1], word[i]) == tuple(pair):
            out.insert(0, pair[0] + pair[1])
            i -= 2
        else:
            out.insert(0, word[i])
            i -= 1
    return out
''',
        3,
    ),
    (
        '11.2',
        'the last token is lost where it is not part of a pair',
        'wrong',
        '''def join(word, pair):
    out, i = [], 0
    while i < len(word) - 1:
        if (word[i], word[i + 1]) == tuple(pair):
            out.append("".join(pair))
            i += 2
        else:
            out.append(word[i])
            i += 1
    return out
''',
        3,
    ),
    (
        '11.2',
        'the pair stays a pair, it does not become one token',
        'wrong',
        '''def join(word, pair):
    out, i = [], 0
    while i < len(word):
        if tuple(word[i : i + 2]) == tuple(pair):
            out.append(pair)
            i += 2
        else:
            out.append(word[i])
            i += 1
    return out
''',
        5,
    ),
    (
        '11.2',
        'compared as text, across the borders of tokens',
        'wrong',
        '''def join(word, pair):
    token = "".join(pair)
    out, rest = [], list(word)
    while rest:
        if "".join(rest[:2]) == token and len(rest) > 1:
            out.append(token)
            del rest[:2]
        else:
            out.append(rest.pop(0))
    return out
''',
        5,
    ),
    (
        '11.2',
        'recursion',
        'right',
        '''def join(word, pair):
    if len(word) < 2:
        return list(word)
    first, second, *rest = word
    if (first, second) == tuple(pair):
        return [first + second] + join(rest, pair)
    return [first] + join(word[1:], pair)
''',
        None,
    ),
    (
        '11.3',
        'in nats',
        'wrong',
        '''def bits_per_byte(nats, tokens, size):
    return nats * tokens / size
''',
        2,
    ),
    (
        '11.3',
        'multiplied by log 2 instead of divided',
        'wrong',
        '''def bits_per_byte(nats, tokens, size):
    return nats * np.log(2) * tokens / size
''',
        2,
    ),
    (
        '11.3',
        'the loss is already that of the text',
        'wrong',
        '''def bits_per_byte(nats, tokens, size):
    return nats / np.log(2) / size
''',
        2,
    ),
    (
        '11.3',
        'bytes per token turned round',
        'wrong',
        '''def bits_per_byte(nats, tokens, size):
    return nats / np.log(2) * size / tokens
''',
        2,
    ),
    (
        '11.3',
        'the logarithm of the loss is taken',
        'wrong',
        '''def bits_per_byte(nats, tokens, size):
    return np.log2(nats) * tokens / size
''',
        2,
    ),
    (
        '11.3',
        'by log2 of e',
        'right',
        '''def bits_per_byte(nats, tokens, size):
    import math

    per_byte = tokens / size
    return math.log2(math.e) * per_byte * nats
''',
        None,
    ),
    (
        '11.4',
        'the wave counts from the first step, not from the end of the warm-up',
        'wrong',
        '''def rate(step, peak, warmup, total, low):
    if step <= warmup:
        return peak * step / warmup
    r = step / total
    return low + (peak - low) * 0.5 * (1 + np.cos(np.pi * r))
''',
        4,
    ),
    (
        '11.4',
        'the wave takes S steps from the end of the warm-up and does not come to its end',
        'wrong',
        '''def rate(step, peak, warmup, total, low):
    if step <= warmup:
        return peak * step / warmup
    r = (step - warmup) / total
    return low + (peak - low) * 0.5 * (1 + np.cos(np.pi * r))
''',
        4,
    ),
    (
        '11.4',
        'falls to zero, the lowest rate is forgotten',
        'wrong',
        '''def rate(step, peak, warmup, total, low):
    if step <= warmup:
        return peak * step / warmup
    r = (step - warmup) / (total - warmup)
    return peak * 0.5 * (1 + np.cos(np.pi * r))
''',
        5,
    ),
    (
        '11.4',
        'the lowest rate is added to a wave of full height',
        'wrong',
        '''def rate(step, peak, warmup, total, low):
    if step <= warmup:
        return peak * step / warmup
    r = (step - warmup) / (total - warmup)
    return low + peak * 0.5 * (1 + np.cos(np.pi * r))
''',
        5,
    ),
    (
        '11.4',
        'the first step counts as 0',
        'wrong',
        '''def rate(step, peak, warmup, total, low):
    if step <= warmup:
        return peak * (step - 1) / warmup
    r = (step - warmup) / (total - warmup)
    return low + (peak - low) * 0.5 * (1 + np.cos(np.pi * r))
''',
        3,
    ),
    (
        '11.4',
        'the warm-up begins at the lowest rate',
        'wrong',
        '''def rate(step, peak, warmup, total, low):
    if step <= warmup:
        return low + (peak - low) * step / warmup
    r = (step - warmup) / (total - warmup)
    return low + (peak - low) * 0.5 * (1 + np.cos(np.pi * r))
''',
        3,
    ),
    (
        '11.4',
        'a straight line in place of the cosine',
        'wrong',
        '''def rate(step, peak, warmup, total, low):
    if step <= warmup:
        return peak * step / warmup
    r = (step - warmup) / (total - warmup)
    return peak + (low - peak) * r
''',
        5,
    ),
    (
        '11.4',
        'one half is forgotten',
        'wrong',
        '''def rate(step, peak, warmup, total, low):
    if step <= warmup:
        return peak * step / warmup
    r = (step - warmup) / (total - warmup)
    return low + (peak - low) * (1 + np.cos(np.pi * r))
''',
        5,
    ),
    (
        '11.4',
        'the square of a cosine of half the angle',
        'right',
        '''def rate(step, peak, warmup, total, low):
    from math import cos, pi

    if step > warmup:
        share = cos(pi / 2 * (step - warmup) / (total - warmup)) ** 2
        return share * peak + (1 - share) * low
    return step / warmup * peak
''',
        None,
    ),
    (
        '11.5',
        'the decay is added to the gradient',
        'wrong',
        '''def adamw(w, g, m, v, t, lr, b1, b2, decay):
    g = g + decay * w
    m = b1 * m + (1 - b1) * g
    v = b2 * v + (1 - b2) * g**2
    mh, vh = m / (1 - b1**t), v / (1 - b2**t)
    return w - lr * mh / (np.sqrt(vh) + 1e-8), m, v
''',
        2,
    ),
    (
        '11.5',
        'no correction at the start',
        'wrong',
        '''def adamw(w, g, m, v, t, lr, b1, b2, decay):
    m = b1 * m + (1 - b1) * g
    v = b2 * v + (1 - b2) * g**2
    mh, vh = m, v
    return w - lr * decay * w - lr * mh / (np.sqrt(vh) + 1e-8), m, v
''',
        4,
    ),
    (
        '11.5',
        'the corrected averages are returned',
        'wrong',
        '''def adamw(w, g, m, v, t, lr, b1, b2, decay):
    m = b1 * m + (1 - b1) * g
    v = b2 * v + (1 - b2) * g**2
    mh, vh = m / (1 - b1**t), v / (1 - b2**t)
    return w - lr * decay * w - lr * mh / (np.sqrt(vh) + 1e-8), mh, vh
''',
        5,
    ),
    (
        '11.5',
        'the decay is not multiplied by the learning rate',
        'wrong',
        '''def adamw(w, g, m, v, t, lr, b1, b2, decay):
    m = b1 * m + (1 - b1) * g
    v = b2 * v + (1 - b2) * g**2
    mh, vh = m / (1 - b1**t), v / (1 - b2**t)
    return w - decay * w - lr * mh / (np.sqrt(vh) + 1e-8), m, v
''',
        5,
    ),
    (
        '11.5',
        'the root is forgotten',
        'wrong',
        '''def adamw(w, g, m, v, t, lr, b1, b2, decay):
    m = b1 * m + (1 - b1) * g
    v = b2 * v + (1 - b2) * g**2
    mh, vh = m / (1 - b1**t), v / (1 - b2**t)
    return w - lr * decay * w - lr * mh / (vh + 1e-8), m, v
''',
        5,
    ),
    (
        '11.5',
        'the gradient is not squared in v',
        'wrong',
        '''def adamw(w, g, m, v, t, lr, b1, b2, decay):
    m = b1 * m + (1 - b1) * g
    v = b2 * v + (1 - b2) * np.abs(g)
    mh, vh = m / (1 - b1**t), v / (1 - b2**t)
    return w - lr * decay * w - lr * mh / (np.sqrt(vh) + 1e-8), m, v
''',
        3,
    ),
    (
        '11.5',
        'the correction divides by 1 - beta, without the power t',
        'wrong',
        '''def adamw(w, g, m, v, t, lr, b1, b2, decay):
    m = b1 * m + (1 - b1) * g
    v = b2 * v + (1 - b2) * g**2
    mh, vh = m / (1 - b1), v / (1 - b2)
    return w - lr * decay * w - lr * mh / (np.sqrt(vh) + 1e-8), m, v
''',
        4,
    ),
    (
        '11.5',
        "old average and new gradient have each other's weight",
        'wrong',
        '''def adamw(w, g, m, v, t, lr, b1, b2, decay):
    m = (1 - b1) * m + b1 * g
    v = b2 * v + (1 - b2) * g**2
    mh, vh = m / (1 - b1**t), v / (1 - b2**t)
    return w - lr * decay * w - lr * mh / (np.sqrt(vh) + 1e-8), m, v
''',
        2,
    ),
    (
        '11.5',
        'the average of the caller is changed in place',
        'wrong',
        '''def adamw(w, g, m, v, t, lr, b1, b2, decay):
    m *= b1
    m += (1 - b1) * g
    v = b2 * v + (1 - b2) * g**2
    mh, vh = m / (1 - b1**t), v / (1 - b2**t)
    return w - lr * decay * w - lr * mh / (np.sqrt(vh) + 1e-8), m, v
''',
        2,
    ),
    (
        '11.5',
        'moved towards the gradient, and one factor for the decay',
        'right',
        '''def adamw(w, g, m, v, t, lr, b1, b2, decay):
    m_new = m + (1 - b1) * (g - m)
    v_new = v + (1 - b2) * (np.square(g) - v)
    root = np.sqrt(v_new / -np.expm1(t * np.log(b2)))
    step = m_new / (1 - np.power(b1, t)) / (root + 1e-8)
    return (1 - lr * decay) * w - lr * step, m_new, v_new
''',
        None,
    ),
    (
        '11.6',
        'the lists belong to the class, all texts share them',
        'wrong',
        '''class MyKept:
    keys, values = [], []

    def __init__(self):
        pass

    def step(self, q, k, v):
        self.keys.append(k)
        self.values.append(v)
        e = np.array(self.keys) @ q / np.sqrt(len(q))
        a = np.exp(e - e.max())
        return a / a.sum() @ np.array(self.values)
''',
        2,
    ),
    (
        '11.6',
        'the scale is forgotten',
        'wrong',
        '''class MyKept:
    def __init__(self):
        self.keys, self.values = [], []

    def step(self, q, k, v):
        self.keys.append(k)
        self.values.append(v)
        e = np.array(self.keys) @ q
        a = np.exp(e - e.max())
        return a / a.sum() @ np.array(self.values)
''',
        8,
    ),
    (
        '11.6',
        'the present position is left out, except at the start',
        'wrong',
        '''class MyKept:
    def __init__(self):
        self.keys, self.values = [], []

    def step(self, q, k, v):
        keys, values = self.keys or [k], self.values or [v]
        e = np.array(keys) @ q / np.sqrt(len(q))
        a = np.exp(e - e.max())
        self.keys = self.keys + [k]
        self.values = self.values + [v]
        return a / a.sum() @ np.array(values)
''',
        6,
    ),
    (
        '11.6',
        'the scale is the root of the number of positions',
        'wrong',
        '''class MyKept:
    def __init__(self):
        self.keys, self.values = [], []

    def step(self, q, k, v):
        self.keys.append(k)
        self.values.append(v)
        e = np.array(self.keys) @ q / np.sqrt(len(self.keys))
        a = np.exp(e - e.max())
        return a / a.sum() @ np.array(self.values)
''',
        8,
    ),
    (
        '11.6',
        'the weights are not divided by their sum',
        'wrong',
        '''class MyKept:
    def __init__(self):
        self.keys, self.values = [], []

    def step(self, q, k, v):
        self.keys.append(k)
        self.values.append(v)
        e = np.array(self.keys) @ q / np.sqrt(len(q))
        a = np.exp(e - e.max())
        return a @ np.array(self.values)
''',
        10,
    ),
    (
        '11.6',
        'the keys are averaged, not the values',
        'wrong',
        '''class MyKept:
    def __init__(self):
        self.keys, self.values = [], []

    def step(self, q, k, v):
        self.keys.append(k)
        self.values.append(v)
        e = np.array(self.keys) @ q / np.sqrt(len(q))
        a = np.exp(e - e.max())
        return a / a.sum() @ np.array(self.keys)
''',
        10,
    ),
    (
        '11.6',
        'the present position alone, nothing is kept',
        'wrong',
        '''class MyKept:
    def __init__(self):
        self.keys, self.values = [], []

    def step(self, q, k, v):
        self.keys, self.values = [k], [v]
        e = np.array(self.keys) @ q / np.sqrt(len(q))
        a = np.exp(e - e.max())
        return a / a.sum() @ np.array(self.values)
''',
        6,
    ),
    (
        '11.6',
        'rows stacked in one array, keys and values together',
        'right',
        '''class MyKept:
    def __init__(self):
        self.seen = None

    def step(self, q, k, v):
        row = np.concatenate([k, v])[None]
        self.seen = row if self.seen is None else np.vstack([self.seen, row])
        keys, values = np.hsplit(self.seen, 2)
        e = keys.dot(q) * q.size**-0.5
        return np.exp(e - np.logaddexp.reduce(e)).dot(values)
''',
        None,
    ),
    (
        '11.7',
        'the pair with the symbol that is to be predicted is counted',
        'wrong',
        '''def predict(ids, k):
    n = np.ones((k, k))
    out = []
    for t in range(len(ids)):
        if t + 1 < len(ids):
            n[ids[t], ids[t + 1]] += 1
        out.append(n[ids[t]] / n[ids[t]].sum())
    return np.array(out)
''',
        6,
    ),
    (
        '11.7',
        'the newest pair is counted too late',
        'wrong',
        '''def predict(ids, k):
    n = np.ones((k, k))
    out = []
    for t in range(len(ids)):
        out.append(n[ids[t]] / n[ids[t]].sum())
        if t:
            n[ids[t - 1], ids[t]] += 1
    return np.array(out)
''',
        5,
    ),
    (
        '11.7',
        'single symbols are counted, the present one is not looked at',
        'wrong',
        '''def predict(ids, k):
    n = np.ones(k)
    out = []
    for i in ids:
        n[i] += 1
        out.append(n / n.sum())
    return np.array(out)
''',
        5,
    ),
    (
        '11.7',
        'three symbols, whatever k is',
        'wrong',
        '''def predict(ids, k):
    n = np.ones((k, k))
    out = []
    for t in range(len(ids)):
        if t:
            n[ids[t - 1], ids[t]] += 1
        seen = n[ids[t]] - 1
        out.append((seen + 1) / (seen.sum() + 3))
    return np.array(out)
''',
        8,
    ),
    (
        '11.7',
        'without the one that is added, 0/0 for a symbol that is new',
        'wrong',
        '''def predict(ids, k):
    n = np.zeros((k, k))
    out = []
    for t in range(len(ids)):
        if t:
            n[ids[t - 1], ids[t]] += 1
        out.append(n[ids[t]] / n[ids[t]].sum())
    return np.array(out)
''',
        2,
    ),
    (
        '11.7',
        'what stood before the present symbol instead of behind it',
        'wrong',
        '''def predict(ids, k):
    n = np.ones((k, k))
    out = []
    for t in range(len(ids)):
        if t:
            n[ids[t], ids[t - 1]] += 1
        out.append(n[ids[t]] / n[ids[t]].sum())
    return np.array(out)
''',
        6,
    ),
    (
        '11.7',
        'the pairs of the whole text, the future too',
        'wrong',
        '''def predict(ids, k):
    n = np.ones((k, k))
    np.add.at(n, (ids[:-1], ids[1:]), 1)
    return n[ids] / n[ids].sum(axis=1, keepdims=True)
''',
        3,
    ),
    (
        '11.7',
        'the rows are views of the table, which goes on changing',
        'wrong',
        '''def predict(ids, k):
    n = np.ones((k, k))
    out = []
    for t in range(len(ids)):
        if t:
            n[ids[t - 1], ids[t]] += 1
        out.append(n[ids[t]])
    out = np.array([row / row.sum() for row in out])
    return out
''',
        7,
    ),
    (
        '11.7',
        'running sums of one-hot pairs',
        'right',
        '''def predict(ids, k):
    x = np.eye(k)[np.asarray(ids)]
    pairs = np.einsum("ti,tj->tij", x[:-1], x[1:]).cumsum(axis=0)
    n = np.concatenate([np.zeros((1, k, k)), pairs]) + 1
    rows = np.einsum("ti,tij->tj", x, n)
    return rows / rows.sum(axis=-1, keepdims=True)
''',
        None,
    ),
    (
        '11.7',
        'counted anew at each place',
        'right',
        '''def predict(ids, k):
    ids = list(ids)
    table = []
    for t, i in enumerate(ids):
        after = [b for a, b in zip(ids[:t], ids[1 : t + 1]) if a == i]
        table.append([(after.count(j) + 1) / (len(after) + k) for j in range(k)])
    return np.array(table, dtype="float32")
''',
        None,
    ),
    (
        '11.8',
        'thinks that it is a matter of size',
        'wrong',
        '''my_reason = "one block has too few weights"
''',
        1,
    ),
    (
        '11.8',
        'takes what followed an earlier symbol for the future',
        'wrong',
        '''my_reason = "the mask hides what followed"
''',
        1,
    ),
    (
        '11.8',
        'overlooks that weights can be spread over several places',
        'wrong',
        '''my_reason = "a softmax can look at one place only"
''',
        1,
    ),
    (
        '11.1',
        'the answer for the words of the example below',
        'wrong',
        '''def most_frequent(words):
    return ("l", "o")
''',
        2,
    ),
    (
        '11.2',
        'the tokens are returned as they are',
        'wrong',
        '''def join(word, pair):
    return list(word)
''',
        2,
    ),
    (
        '11.7',
        'only the last row',
        'wrong',
        '''def predict(ids, k):
    n = np.ones((k, k))
    out = []
    for t in range(len(ids)):
        if t:
            n[ids[t - 1], ids[t]] += 1
        out.append(n[ids[t]] / n[ids[t]].sum())
    return out[-1]
''',
        8,
    ),
]
