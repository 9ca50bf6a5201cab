"""Answers to the exercises of lesson 8 that need several lines, and what several share."""

import numpy as np


def batch_by_rows(sources, targets, end):
    S, T = max(map(len, sources)), max(map(len, targets)) + 1
    source = np.array([[*row, *[end] * (S - len(row))] for row in sources])  # padded with the mark
    inputs = np.array([[end, *row, *[3] * (T - 1 - len(row))] for row in targets])
    wanted = np.array([[*row, end, *[-1] * (T - 1 - len(row))] for row in targets])
    return source, [len(row) for row in sources], inputs, wanted


def batch_in_place(sources, targets, end):
    N, lengths = len(sources), np.array([len(row) for row in sources])
    source = np.zeros((N, lengths.max()), dtype=int)
    T = 1 + max(len(row) for row in targets)
    inputs, wanted = np.full((N, T), end), np.full((N, T), -1)
    for n in range(N):
        source[n, : lengths[n]] = sources[n]
        wanted[n, : len(targets[n])] = targets[n]
        wanted[n, len(targets[n])] = end
    inputs[:, 1:] = np.where(wanted[:, :-1] < 0, 0, wanted[:, :-1])
    return source, lengths, inputs, wanted


def last_by_mask(hs, lengths):
    is_last = np.arange(hs.shape[1]) == np.asarray(lengths)[:, None] - 1
    return hs[is_last]


class JointByOutputs:
    """Gives dh to the encoder as the gradient of its output at the last step of each source."""

    def __init__(self, encoder, decoder):
        self.encoder, self.decoder = encoder, decoder

    def forward(self, x, lengths, y):
        self.shape, self.lengths = x.shape[:2], np.asarray(lengths)
        hs = self.encoder.forward(x, lengths)
        self.decoder.set_state(hs[np.arange(len(x)), self.lengths - 1], self.encoder.c)
        return self.decoder.forward(y)

    def backward(self, dhs):
        dy = self.decoder.backward(dhs)
        through = np.zeros((*self.shape, dhs.shape[2]))
        through[np.arange(len(through)), self.lengths - 1] = self.decoder.dh0
        return self.encoder.backward(through, dc=self.decoder.dc0), dy


def accuracies_by_loop(predicted, targets):
    tokens, texts = [], []
    for guess, truth in zip(predicted, targets, strict=True):
        right = [a == b for a, b in zip(guess, truth, strict=True) if b != -1]
        tokens += right
        texts.append(all(right))
    return sum(tokens) / len(tokens), sum(texts) / len(texts)


def accuracies_by_errors(predicted, targets):
    wrong = np.where(targets >= 0, predicted != targets, False)
    return 1 - wrong.sum() / (targets >= 0).sum(), float(np.mean(wrong.sum(axis=1) == 0))


def peeky_by_split(dz, D):
    dx, dh = np.split(dz, [D], axis=2)
    return dx, np.einsum("nth->nh", dh)


def peeky_by_loop(dz, D):
    dh = np.zeros((len(dz), dz.shape[2] - D))
    for t in range(dz.shape[1]):
        dh += dz[:, t, D:]
    return dz[:, :, :D].copy(), dh


def mixed_in_place(step, state, inputs, forced):
    read = inputs.copy()
    for t in range(read.shape[1] - 1):
        scores, state = step(read[:, t], state)
        own = np.argmax(scores, axis=-1)
        free = ~forced[:, t + 1]
        read[free, t + 1] = own[free]
    return read


def mixed_by_columns(step, state, inputs, forced):
    columns = [list(inputs[:, 0])]
    for given, is_given in zip(inputs.T[1:], forced.T[1:], strict=True):
        scores, state = step(np.array(columns[-1]), state)
        own = scores.argmax(1)
        columns.append([a if f else b for a, b, f in zip(given, own, is_given, strict=True)])
    return np.transpose(columns)


def beam_by_loop(totals, log_p, state, width):
    found = [
        (totals[k] + log_p[k, word], word, k)
        for k in range(len(totals))
        for word in range(log_p.shape[1])
    ]
    best = sorted(found, reverse=True)[:width]
    sums, words, rows = zip(*best, strict=True)
    return sums, words, rows, tuple(array[list(rows)] for array in state)


def beam_by_partition(totals, log_p, state, width):
    all_sums = (totals[:, None] + log_p).ravel()
    best = np.argpartition(-all_sums, width)[:width]
    best = best[np.argsort(-all_sums[best])]
    rows, words = np.unravel_index(best, log_p.shape)
    h, c = state
    return all_sums[best], words, rows, [h[rows], c[rows]]


def beam_of_stacked_states(totals, log_p, state, width):
    sums, words, rows, _ = beam_by_partition(totals, log_p, state, width)
    return sums, words, rows, np.stack(state)[:, rows]


def score_by_loop(log_p, alpha):
    total = 0.0
    for one in log_p:
        total += one
    return total * len(log_p) ** -alpha


def padded(rows, fill, front=False):
    T = max(map(len, rows))
    gaps = [[fill] * (T - len(row)) for row in rows]
    pairs = zip(rows, gaps, strict=True)
    return np.array([[*gap, *row] if front else [*row, *gap] for row, gap in pairs])


def batch(**parts):
    """A right batch in which some parts are made in another way."""

    def answer(sources, targets, end):
        right = {
            "source": lambda s, t, end: padded(s, 0),
            "lengths": lambda s, t, end: np.array([*map(len, s)]),
            "inputs": lambda s, t, end: padded([[end, *row] for row in t], 0),
            "targets": lambda s, t, end: padded([[*row, end] for row in t], -1),
        }
        return tuple(make(sources, targets, end) for make in (right | parts).values())

    return answer


def joint(
    lengths=True,
    of_decoder=lambda n: None,
    hand_over=lambda encoder, hs: encoder.state,
    back=None,
    order=lambda dx, dy: (dx, dy),
):
    """The solution of 8.3 with a mistake in it."""

    class Wrong:
        def __init__(self, encoder, decoder):
            self.encoder, self.decoder = encoder, decoder

        def forward(self, x, n, y):
            self.hs, self.n = self.encoder.forward(x, n if lengths else None), n
            state = hand_over(self.encoder, self.hs)
            if state is not None:
                self.decoder.set_state(*state)
            return self.decoder.forward(y, of_decoder(n))

        def backward(self, dhs):
            if back is not None:
                return back(self, dhs)
            dy = self.decoder.backward(dhs)
            dx = self.encoder.backward(np.zeros_like(self.hs), *self.decoder.dstate0)
            return order(dx, dy)

    return Wrong


def backward_with(make):
    """A backward that gives the encoder what ``make(dh0, dc0, zeros, dhs, lengths)`` says."""

    def back(self, dhs):
        dy = self.decoder.backward(dhs)
        zeros = np.zeros_like(self.hs)
        given = make(self.decoder.dh0, self.decoder.dc0, zeros, dhs, np.asarray(self.n))
        return self.encoder.backward(*given), dy

    return joint(back=back)


def at_last_place(dh, zeros):
    zeros = zeros.copy()
    zeros[:, -1] = dh
    return zeros


def encoder_first(self, dhs):
    dx = self.encoder.backward(np.zeros_like(self.hs), self.decoder.dh0, self.decoder.dc0)
    return dx, self.decoder.backward(dhs)


def right_where(p, t):
    return np.sum((p == t) & (t >= 0)) / np.sum(t >= 0)


def texts_where(p, t):
    return np.mean(np.all((p == t) | (t < 0), axis=1))


def mixed(
    first=1, last=lambda read, inputs, t: read[-1], keep=True, pick=None, choose=None, late=0
):
    """The solution of 8.6 with a mistake in it."""

    def answer(step, state, inputs, forced):
        read, owns = [inputs[:, 0]], [inputs[:, 0]]
        for t in range(1, inputs.shape[1]):
            scores, new = step(last(read, inputs, t), state)
            state = new if keep else state
            own = (choose or (lambda s: s.argmax(axis=1)))(scores)
            owns.append(own)
            pair = (inputs[:, t], owns[-1 - late])
            read.append(np.where(forced[:, t], *(pair if pick is None else pick(*pair))))
        return np.stack(read, axis=1)

    return answer


def replaced_early(step, state, inputs, forced, begin, mixing):
    """What the model says after input t stands in the place of input t."""
    read = inputs.copy()
    for t in range(begin, inputs.shape[1]):
        scores, state = step((read if mixing else inputs)[:, t], state)
        read[:, t] = np.where(forced[:, t], inputs[:, t], scores.argmax(axis=1))
    return read


def free_then_mixed(step, state, inputs, forced):
    own = [inputs[:, 0]]
    for _ in range(1, inputs.shape[1]):
        scores, state = step(own[-1], state)
        own.append(scores.argmax(axis=1))
    return np.where(forced, inputs, np.stack(own, axis=1))


def shifted(step, state, inputs, forced):
    """The choice after the last input stands in the last column."""
    read = mixed()(step, state, inputs, forced)
    for column in read.T:
        scores, state = step(column, state)
    return np.column_stack([read[:, 1:], scores.argmax(axis=1)])


def beam(
    sums=lambda totals, log_p: totals[:, None] + log_p,
    order=lambda flat, width: np.argsort(-flat)[:width],
    kept=lambda flat, best, log_p: flat[best],
    words=lambda best, k, V: best % V,
    parents=lambda best, k, V: best // V,
    reorder=lambda state, parents, words: tuple(array[parents] for array in state),
):
    """The solution of 8.7 with a mistake in it."""

    def answer(totals, log_p, state, width):
        flat = sums(totals, log_p).ravel()
        best = order(flat, width)
        k, V = log_p.shape
        rows, ids = parents(best, k, V), words(best, k, V)
        return kept(flat, best, log_p), ids, rows, reorder(state, rows, ids)

    return answer


def best_of_each_row(totals, log_p, state, width):
    """One child for each beginning: several greedy searches side by side."""
    ids = log_p.argmax(axis=1)
    rows = np.arange(len(totals))
    found = totals + log_p.max(axis=1)
    order = np.argsort(-found)
    return found[order], ids[order], rows[order], tuple(a[order] for a in state)


def children_of_the_best(totals, log_p, state, width):
    """Only the best beginning is continued."""
    row = totals.argmax()
    ids = np.argsort(-log_p[row])[:width]
    rows = np.full(width, row)
    return totals[row] + log_p[row, ids], ids, rows, tuple(a[rows] for a in state)


def by_partition(totals, log_p, state, width):
    sums = (totals[:, None] + log_p).ravel()
    best = np.roll(np.argsort(-sums)[:width], 1)  # as np.argpartition may give them
    parents, ids = np.divmod(best, log_p.shape[1])
    return sums[best], ids, parents, tuple(array[parents] for array in state)
