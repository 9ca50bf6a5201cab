"""Answers to the exercises of lesson 8, written without a look at the checks. Plain data."""

SETUP = '''import numpy as np
END, V = 11, 12
'''

CASES = [
    (
        '8.1',
        'the mark at the end of the targets is missing',
        'wrong',
        '''def make_batch(sources, targets, end):
    N, S, T = len(sources), max(map(len, sources)), max(map(len, targets)) + 1
    source, inputs, out = np.zeros((N, S), int), np.zeros((N, T), int), np.full((N, T), -1)
    for n, (a, b) in enumerate(zip(sources, targets)):
        source[n, : len(a)] = a
        inputs[n, : len(b) + 1] = [end, *b]
        out[n, : len(b)] = b
    return source, np.array([len(a) for a in sources]), inputs, out
''',
        7,
    ),
    (
        '8.1',
        'the decoder does not read the mark first',
        'wrong',
        '''def make_batch(sources, targets, end):
    N, S, T = len(sources), max(map(len, sources)), max(map(len, targets)) + 1
    source, inputs, out = np.zeros((N, S), int), np.zeros((N, T), int), np.full((N, T), -1)
    for n, (a, b) in enumerate(zip(sources, targets)):
        source[n, : len(a)] = a
        inputs[n, : len(b) + 1] = [*b, end]
        out[n, : len(b) + 1] = [*b, end]
    return source, np.array([len(a) for a in sources]), inputs, out
''',
        6,
    ),
    (
        '8.1',
        'the targets are padded with 0, which is a symbol',
        'wrong',
        '''def make_batch(sources, targets, end):
    N, S, T = len(sources), max(map(len, sources)), max(map(len, targets)) + 1
    source, inputs, out = np.zeros((N, S), int), np.zeros((N, T), int), np.zeros((N, T), int)
    for n, (a, b) in enumerate(zip(sources, targets)):
        source[n, : len(a)] = a
        inputs[n, : len(b) + 1] = [end, *b]
        out[n, : len(b) + 1] = [*b, end]
    return source, np.array([len(a) for a in sources]), inputs, out
''',
        3,
    ),
    (
        '8.1',
        'the sources are padded in front',
        'wrong',
        '''def make_batch(sources, targets, end):
    N, S, T = len(sources), max(map(len, sources)), max(map(len, targets)) + 1
    source, inputs, out = np.zeros((N, S), int), np.zeros((N, T), int), np.full((N, T), -1)
    for n, (a, b) in enumerate(zip(sources, targets)):
        source[n, S - len(a) :] = a
        inputs[n, : len(b) + 1] = [end, *b]
        out[n, : len(b) + 1] = [*b, end]
    return source, np.array([len(a) for a in sources]), inputs, out
''',
        5,
    ),
    (
        '8.1',
        'all sources have the length of the longest',
        'wrong',
        '''def make_batch(sources, targets, end):
    N, S, T = len(sources), max(map(len, sources)), max(map(len, targets)) + 1
    source, inputs, out = np.zeros((N, S), int), np.zeros((N, T), int), np.full((N, T), -1)
    for n, (a, b) in enumerate(zip(sources, targets)):
        source[n, : len(a)] = a
        inputs[n, : len(b) + 1] = [end, *b]
        out[n, : len(b) + 1] = [*b, end]
    return source, np.full(N, S), inputs, out
''',
        8,
    ),
    (
        '8.1',
        'the lengths of the targets in place of those of the sources',
        'wrong',
        '''def make_batch(sources, targets, end):
    N, S, T = len(sources), max(map(len, sources)), max(map(len, targets)) + 1
    source, inputs, out = np.zeros((N, S), int), np.zeros((N, T), int), np.full((N, T), -1)
    for n, (a, b) in enumerate(zip(sources, targets)):
        source[n, : len(a)] = a
        inputs[n, : len(b) + 1] = [end, *b]
        out[n, : len(b) + 1] = [*b, end]
    return source, np.array([len(b) for b in targets]), inputs, out
''',
        8,
    ),
    (
        '8.1',
        'zip_longest, with the mark as the padding of ids',
        'right',
        '''def make_batch(sources, targets, end):
    from itertools import zip_longest

    def padded(rows, fill):
        return np.array(list(zip_longest(*rows, fillvalue=fill))).T

    inputs = padded([[end] + list(b) for b in targets], end)
    return padded(sources, end), np.array([*map(len, sources)]), inputs, padded([list(b) + [end] for b in targets], -1)
''',
        None,
    ),
    (
        '8.2',
        'the last place of the padded batch',
        'wrong',
        '''def last_states(hs, lengths):
    return hs[:, -1]
''',
        2,
    ),
    (
        '8.2',
        'one place behind the last symbol',
        'wrong',
        '''def last_states(hs, lengths):
    S = hs.shape[1]
    return hs[np.arange(len(hs)), np.minimum(lengths, S - 1)]
''',
        3,
    ),
    (
        '8.2',
        'all lengths are applied to each sequence',
        'wrong',
        '''def last_states(hs, lengths):
    return hs[:, lengths - 1]
''',
        2,
    ),
    (
        '8.2',
        'the mean of the states, padding left out',
        'wrong',
        '''def last_states(hs, lengths):
    return np.array([h[:n].mean(axis=0) for h, n in zip(hs, lengths)])
''',
        2,
    ),
    (
        '8.2',
        'a sum with a mask that is 1 at one place',
        'right',
        '''def last_states(hs, lengths):
    at_end = np.arange(1, hs.shape[1] + 1) == np.reshape(lengths, (-1, 1))
    return np.einsum("ns,nsh->nh", at_end.astype(hs.dtype), hs)
''',
        None,
    ),
    (
        '8.3',
        'the decoder starts from a memory of zeros',
        'wrong',
        '''class Joint:
    def __init__(self, encoder, decoder):
        self.encoder, self.decoder = encoder, decoder

    def forward(self, x, lengths, y):
        self.hs = self.encoder.forward(x, lengths)
        self.decoder.set_state(self.encoder.h, np.zeros_like(self.encoder.c))
        return self.decoder.forward(y)

    def backward(self, dhs):
        dy = self.decoder.backward(dhs)
        dx = self.encoder.backward(np.zeros_like(self.hs), self.decoder.dh0, self.decoder.dc0)
        return dx, dy
''',
        7,
    ),
    (
        '8.3',
        'the gradient of the memory does not go into the encoder',
        'wrong',
        '''class Joint:
    def __init__(self, encoder, decoder):
        self.encoder, self.decoder = encoder, decoder

    def forward(self, x, lengths, y):
        self.hs = self.encoder.forward(x, lengths)
        self.decoder.set_state(self.encoder.h, self.encoder.c)
        return self.decoder.forward(y)

    def backward(self, dhs):
        dy = self.decoder.backward(dhs)
        dx = self.encoder.backward(np.zeros_like(self.hs), self.decoder.dh0, np.zeros_like(self.decoder.dc0))
        return dx, dy
''',
        12,
    ),
    (
        '8.3',
        'the lengths are not told to the encoder',
        'wrong',
        '''class Joint:
    def __init__(self, encoder, decoder):
        self.encoder, self.decoder = encoder, decoder

    def forward(self, x, lengths, y):
        self.hs = self.encoder.forward(x)
        self.decoder.set_state(self.encoder.h, self.encoder.c)
        return self.decoder.forward(y)

    def backward(self, dhs):
        dy = self.decoder.backward(dhs)
        dx = self.encoder.backward(np.zeros_like(self.hs), self.decoder.dh0, self.decoder.dc0)
        return dx, dy
''',
        6,
    ),
    (
        '8.3',
        'h and c exchanged in the backward pass',
        'wrong',
        '''class Joint:
    def __init__(self, encoder, decoder):
        self.encoder, self.decoder = encoder, decoder

    def forward(self, x, lengths, y):
        self.hs = self.encoder.forward(x, lengths)
        self.decoder.set_state(self.encoder.h, self.encoder.c)
        return self.decoder.forward(y)

    def backward(self, dhs):
        dy = self.decoder.backward(dhs)
        dx = self.encoder.backward(np.zeros_like(self.hs), self.decoder.dc0, self.decoder.dh0)
        return dx, dy
''',
        12,
    ),
    (
        '8.3',
        'the gradient of the first state enters every output of the encoder',
        'wrong',
        '''class Joint:
    def __init__(self, encoder, decoder):
        self.encoder, self.decoder = encoder, decoder

    def forward(self, x, lengths, y):
        self.hs = self.encoder.forward(x, lengths)
        self.decoder.set_state(self.encoder.h, self.encoder.c)
        return self.decoder.forward(y)

    def backward(self, dhs):
        dy = self.decoder.backward(dhs)
        every = np.zeros_like(self.hs) + self.decoder.dh0[:, None]
        dx = self.encoder.backward(every, np.zeros_like(self.decoder.dh0), self.decoder.dc0)
        return dx, dy
''',
        13,
    ),
    (
        '8.3',
        "the decoder is not started from the encoder's state",
        'wrong',
        '''class Joint:
    def __init__(self, encoder, decoder):
        self.encoder, self.decoder = encoder, decoder

    def forward(self, x, lengths, y):
        self.hs = self.encoder.forward(x, lengths)
        self.decoder.set_state(np.zeros_like(self.encoder.h), np.zeros_like(self.encoder.c))
        return self.decoder.forward(y)

    def backward(self, dhs):
        dy = self.decoder.backward(dhs)
        dx = self.encoder.backward(np.zeros_like(self.hs), self.decoder.dh0, self.decoder.dc0)
        return dx, dy
''',
        7,
    ),
    (
        '8.3',
        'dy and dx are returned in the wrong order',
        'wrong',
        '''class Joint:
    def __init__(self, encoder, decoder):
        self.encoder, self.decoder = encoder, decoder

    def forward(self, x, lengths, y):
        self.hs = self.encoder.forward(x, lengths)
        self.decoder.set_state(self.encoder.h, self.encoder.c)
        return self.decoder.forward(y)

    def backward(self, dhs):
        dy = self.decoder.backward(dhs)
        dx = self.encoder.backward(np.zeros_like(self.hs), self.decoder.dh0, self.decoder.dc0)
        return dy, dx
''',
        13,
    ),
    (
        '8.3',
        'the gradient of h enters at the last output of each sequence',
        'right',
        '''class Joint:
    def __init__(self, encoder, decoder):
        self.encoder, self.decoder = encoder, decoder

    def forward(self, x, lengths, y):
        self.shape, self.ends = self.encoder.forward(x, lengths).shape, np.asarray(lengths) - 1
        self.decoder.set_state(self.encoder.h.copy(), self.encoder.c.copy())
        return self.decoder.forward(y)

    def backward(self, dhs):
        dy = self.decoder.backward(dhs)
        at_end = np.zeros(self.shape, dtype=dhs.dtype)
        at_end[np.arange(len(at_end)), self.ends] = self.decoder.dh0
        return self.encoder.backward(at_end, np.zeros_like(self.decoder.dh0), self.decoder.dc0), dy
''',
        None,
    ),
    (
        '8.4',
        'padding counts as a token that is missed',
        'wrong',
        '''def accuracies(predicted, targets):
    real = targets != -1
    hit = predicted == targets
    return hit.mean(), np.mean((hit | ~real).all(axis=1))
''',
        4,
    ),
    (
        '8.4',
        'padding must be predicted for a text to be right',
        'wrong',
        '''def accuracies(predicted, targets):
    real = targets != -1
    hit = predicted == targets
    return hit[real].mean(), np.mean(hit.all(axis=1))
''',
        4,
    ),
    (
        '8.4',
        'a mean of the shares of the texts, short ones weigh as much as long ones',
        'wrong',
        '''def accuracies(predicted, targets):
    real = targets != -1
    hit = (predicted == targets) & real
    tokens = np.mean(hit.sum(axis=1) / real.sum(axis=1))
    return tokens, np.mean(hit.sum(axis=1) == real.sum(axis=1))
''',
        4,
    ),
    (
        '8.4',
        'padding counts as right',
        'wrong',
        '''def accuracies(predicted, targets):
    real = targets != -1
    hit = predicted == targets
    hit |= ~real
    return hit.mean(), np.mean(hit.all(axis=1))
''',
        5,
    ),
    (
        '8.4',
        'a text with one right token is right',
        'wrong',
        '''def accuracies(predicted, targets):
    real = targets != -1
    hit = predicted == targets
    return hit[real].mean(), np.mean((hit & real).any(axis=1))
''',
        4,
    ),
    (
        '8.4',
        'a column without a mistake is counted, not a text',
        'wrong',
        '''def accuracies(predicted, targets):
    real = targets != -1
    hit = predicted == targets
    return hit[real].mean(), np.mean((hit | ~real).all(axis=0))
''',
        4,
    ),
    (
        '8.4',
        'counted in a loop',
        'right',
        '''def accuracies(predicted, targets):
    tokens, hits, whole = 0, 0, 0
    for row, truth in zip(predicted.tolist(), targets.tolist()):
        mine = [a == b for a, b in zip(row, truth) if b >= 0]
        tokens, hits, whole = tokens + len(mine), hits + sum(mine), whole + all(mine)
    return hits / tokens, whole / len(targets)
''',
        None,
    ),
    (
        '8.5',
        'the gradient of h at each step, not their sum',
        'wrong',
        '''def peeky_backward(dz, D):
    return dz[:, :, :D], dz[:, :, D:]
''',
        2,
    ),
    (
        '8.5',
        'the last step alone',
        'wrong',
        '''def peeky_backward(dz, D):
    return dz[:, :, :D], dz[:, -1, D:]
''',
        2,
    ),
    (
        '8.5',
        'the mean over the steps',
        'wrong',
        '''def peeky_backward(dz, D):
    dy, dh = np.split(dz, [D], axis=2)
    return dy, dh.mean(axis=1)
''',
        3,
    ),
    (
        '8.5',
        'h is taken for the first part',
        'wrong',
        '''def peeky_backward(dz, D):
    H = dz.shape[2] - D
    return dz[:, :, H:], dz[:, :, :H].sum(axis=1)
''',
        3,
    ),
    (
        '8.5',
        'the sum over the sequences instead of the steps',
        'wrong',
        '''def peeky_backward(dz, D):
    return dz[..., :D], dz[..., D:].sum(axis=0)
''',
        2,
    ),
    (
        '8.5',
        'a sum of steps by a product with ones',
        'right',
        '''def peeky_backward(dz, D):
    dy, at_steps = np.dsplit(dz, [D])
    return dy.copy(), np.ones(dz.shape[1]) @ at_steps
''',
        None,
    ),
    (
        '8.6',
        'the model reads the right symbols while it chooses its own',
        'wrong',
        '''def mixed_inputs(step, state, inputs, forced):
    read = inputs.copy()
    for t in range(1, inputs.shape[1]):
        scores, state = step(inputs[:, t - 1], state)
        own = scores.argmax(axis=1)
        read[:, t] = np.where(forced[:, t], inputs[:, t], own)
    return read
''',
        4,
    ),
    (
        '8.6',
        'forced and free are exchanged',
        'wrong',
        '''def mixed_inputs(step, state, inputs, forced):
    read = inputs.copy()
    for t in range(1, inputs.shape[1]):
        scores, state = step(read[:, t - 1], state)
        own = scores.argmax(axis=1)
        read[:, t] = np.where(forced[:, t], own, inputs[:, t])
    return read
''',
        6,
    ),
    (
        '8.6',
        'the state is not carried on',
        'wrong',
        '''def mixed_inputs(step, state, inputs, forced):
    read = inputs.copy()
    for t in range(1, inputs.shape[1]):
        scores, _ = step(read[:, t - 1], state)
        own = scores.argmax(axis=1)
        read[:, t] = np.where(forced[:, t], inputs[:, t], own)
    return read
''',
        4,
    ),
    (
        '8.6',
        'whether a step is forced is looked up one step too early',
        'wrong',
        '''def mixed_inputs(step, state, inputs, forced):
    read = inputs.copy()
    for t in range(1, inputs.shape[1]):
        scores, state = step(read[:, t - 1], state)
        own = scores.argmax(axis=1)
        read[:, t] = np.where(forced[:, t - 1], inputs[:, t], own)
    return read
''',
        6,
    ),
    (
        '8.6',
        'the first sequence decides for all',
        'wrong',
        '''def mixed_inputs(step, state, inputs, forced):
    read = inputs.copy()
    for t in range(1, inputs.shape[1]):
        scores, state = step(read[:, t - 1], state)
        own = scores.argmax(axis=1)
        read[:, t] = inputs[:, t] if forced[0, t] else own
    return read
''',
        6,
    ),
    (
        '8.6',
        'the right inputs of the caller are overwritten',
        'wrong',
        '''def mixed_inputs(step, state, inputs, forced):
    read = inputs
    for t in range(1, inputs.shape[1]):
        scores, state = step(read[:, t - 1], state)
        own = scores.argmax(axis=1)
        read[:, t] = np.where(forced[:, t], inputs[:, t], own)
    return read
''',
        2,
    ),
    (
        '8.6',
        'a list of columns',
        'right',
        '''def mixed_inputs(step, state, inputs, forced):
    columns = [inputs[:, 0]]
    for right, given in zip(inputs.T[1:], forced.T[1:]):
        scores, state = step(columns[-1], state)
        columns.append(np.choose(given.astype(int), [np.argmax(scores, axis=-1), right]))
    return np.column_stack(columns)
''',
        None,
    ),
    (
        '8.7',
        'the totals of the beginnings are not added',
        'wrong',
        '''def beam_step(totals, log_p, state, width):
    all_ = log_p.ravel()
    best = np.argsort(-all_, kind="stable")[:width]
    parents, ids = best // log_p.shape[1], best % log_p.shape[1]
    return all_[best], ids, parents, tuple(s[parents] for s in state)
''',
        2,
    ),
    (
        '8.7',
        'the state keeps its old order',
        'wrong',
        '''def beam_step(totals, log_p, state, width):
    all_ = (totals[:, None] + log_p).ravel()
    best = np.argsort(-all_, kind="stable")[:width]
    parents, ids = best // log_p.shape[1], best % log_p.shape[1]
    return all_[best], ids, parents, state
''',
        5,
    ),
    (
        '8.7',
        'ids and parents are exchanged',
        'wrong',
        '''def beam_step(totals, log_p, state, width):
    all_ = (totals[:, None] + log_p).ravel()
    best = np.argsort(-all_, kind="stable")[:width]
    ids, parents = best // log_p.shape[1], best % log_p.shape[1]
    return all_[best], ids, parents, tuple(s[ids] for s in state)
''',
        4,
    ),
    (
        '8.7',
        'each beginning keeps its own best continuation only',
        'wrong',
        '''def beam_step(totals, log_p, state, width):
    ids = log_p.argmax(axis=1)
    scores = totals + log_p.max(axis=1)
    parents = np.argsort(-scores)[:width]
    return scores[parents], ids[parents], parents, tuple(s[parents] for s in state)
''',
        2,
    ),
    (
        '8.7',
        'the least likely continuations',
        'wrong',
        '''def beam_step(totals, log_p, state, width):
    all_ = (totals[:, None] + log_p).ravel()
    best = np.argsort(all_, kind="stable")[:width]
    parents, ids = best // log_p.shape[1], best % log_p.shape[1]
    return all_[best], ids, parents, tuple(s[parents] for s in state)
''',
        3,
    ),
    (
        '8.7',
        'the logarithms are multiplied',
        'wrong',
        '''def beam_step(totals, log_p, state, width):
    all_ = -(totals[:, None] * log_p).ravel()
    best = np.argsort(-all_, kind="stable")[:width]
    parents, ids = best // log_p.shape[1], best % log_p.shape[1]
    return all_[best], ids, parents, tuple(s[parents] for s in state)
''',
        2,
    ),
    (
        '8.7',
        'the flat index is divided by the number of beginnings instead of symbols',
        'wrong',
        '''def beam_step(totals, log_p, state, width):
    all_ = (totals[:, None] + log_p).ravel()
    best = np.argsort(-all_, kind="stable")[:width]
    k = len(totals)
    parents, ids = best % k, best // k
    return all_[best], ids, parents, tuple(s[parents] for s in state)
''',
        5,
    ),
    (
        '8.7',
        'a heap of all candidates',
        'right',
        '''def beam_step(totals, log_p, state, width):
    import heapq

    every = ((totals[k] + row[i], i, k) for k, row in enumerate(log_p) for i in range(len(row)))
    new, ids, parents = map(np.array, zip(*heapq.nlargest(width, every)))
    h, c = state
    return new, ids, parents, (h.take(parents, axis=0), c.take(parents, axis=0))
''',
        None,
    ),
    (
        '8.8',
        'always the mean, whatever alpha is',
        'wrong',
        '''def score(log_p, alpha):
    return np.mean(log_p)
''',
        2,
    ),
    (
        '8.8',
        'alpha is a factor, not a power',
        'wrong',
        '''def score(log_p, alpha):
    return np.sum(log_p) / (alpha * len(log_p))
''',
        2,
    ),
    (
        '8.8',
        'the end is not counted in the length',
        'wrong',
        '''def score(log_p, alpha):
    return np.sum(log_p) / max(1, len(log_p) - 1) ** alpha
''',
        2,
    ),
    (
        '8.8',
        'the mean is divided once more',
        'wrong',
        '''def score(log_p, alpha):
    return np.mean(log_p) / len(log_p) ** alpha
''',
        2,
    ),
    (
        '8.8',
        'the power is taken of the sum',
        'wrong',
        '''def score(log_p, alpha):
    return -((-np.sum(log_p)) ** alpha) / len(log_p)
''',
        2,
    ),
    (
        '8.8',
        'each symbol divided on its own',
        'right',
        '''def score(log_p, alpha):
    from math import exp, log

    return sum(float(one) * exp(-alpha * log(len(log_p))) for one in log_p)
''',
        None,
    ),
    (
        '8.1',
        'the mark of the lesson, not the one that was given',
        'wrong',
        '''def make_batch(sources, targets, end):
    N, S, T = len(sources), max(map(len, sources)), max(map(len, targets)) + 1
    source, inputs, out = np.zeros((N, S), int), np.zeros((N, T), int), np.full((N, T), -1)
    for n, (a, b) in enumerate(zip(sources, targets)):
        source[n, : len(a)] = a
        inputs[n, : len(b) + 1] = [END, *b]
        out[n, : len(b) + 1] = [*b, END]
    return source, np.array([len(a) for a in sources]), inputs, out
''',
        6,
    ),
    (
        '8.4',
        'the shares are rounded down to whole numbers',
        'wrong',
        '''def accuracies(predicted, targets):
    real = targets != -1
    hit = (predicted == targets) & real
    return hit.sum() // real.sum(), (hit == real).all(axis=1).sum() // len(hit)
''',
        4,
    ),
    (
        '8.6',
        'the right inputs are returned, the model is never asked',
        'wrong',
        '''def mixed_inputs(step, state, inputs, forced):
    return inputs
''',
        2,
    ),
    (
        '8.1',
        'the targets are padded with the mark',
        'wrong',
        '''def make_batch(sources, targets, end):
    N = len(sources)
    lengths = np.array([len(s) for s in sources])
    T = max(len(t) for t in targets) + 1
    source = np.zeros((N, lengths.max()), dtype=int)
    inputs, wanted = np.full((N, T), end), np.full((N, T), end)
    for n, (s, t) in enumerate(zip(sources, targets)):
        source[n, : len(s)] = s
        inputs[n, 1 : len(t) + 1] = t
        wanted[n, : len(t)] = t
    return source, lengths, inputs, wanted
''',
        6,
    ),
    (
        '8.2',
        'the length of the first sequence for all',
        'wrong',
        '''def last_states(hs, lengths):
    return hs[:, lengths[0] - 1]
''',
        2,
    ),
    (
        '8.4',
        'the mark does not count',
        'wrong',
        '''def accuracies(predicted, targets):
    real = targets != -1
    for n in range(len(targets)):
        real[n, real[n].sum() - 1] = False
    right = predicted == targets
    return right[real].mean(), np.mean([right[n, real[n]].all() for n in range(len(targets))])
''',
        4,
    ),
    (
        '8.7',
        'the best one comes last',
        'wrong',
        '''def beam_step(totals, log_p, state, width):
    V = log_p.shape[1]
    every = (totals[:, None] + log_p).ravel()
    best = np.argsort(every)[-width:]
    parents, ids = best // V, best % V
    h, c = state
    return every[best], ids, parents, (h[parents], c[parents])
''',
        4,
    ),
    (
        '8.8',
        'a bonus for each symbol in place of a division',
        'wrong',
        '''def score(log_p, alpha):
    return np.sum(log_p) + alpha * len(log_p)
''',
        2,
    ),
]
