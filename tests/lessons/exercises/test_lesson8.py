"""Lesson 8: right answers in several styles, the typical wrong ones, and what each is told."""

import numpy as np

from deepnlp.lessons.exercises import check
from tests.lessons.exercises.tools import solution_of

# --- Right answers, each in another style -----------------------------------------------------


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


def last_by_loop(hs, lengths):
    return [row[length - 1] for row, length in zip(hs, lengths, strict=True)]


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


class JointByStates:
    """Hands the states over as tuples."""

    def __init__(self, encoder, decoder):
        self.parts = encoder, decoder

    def forward(self, x, lengths, y):
        encoder, decoder = self.parts
        self.outputs = encoder.forward(x, lengths=lengths)
        decoder.set_state(*encoder.state)
        return decoder.forward(y)

    def backward(self, dhs):
        encoder, decoder = self.parts
        dy = decoder.backward(dhs)
        return encoder.backward(np.zeros_like(self.outputs), *decoder.dstate0), dy


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


def accuracies_as_array(predicted, targets):
    return np.array(accuracies_by_loop(predicted, targets))


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


def score_by_product(log_p, alpha):
    return np.log(np.prod(np.exp(log_p))) / np.power(np.size(log_p), alpha)


RIGHT = [
    ("8.1", batch_by_rows),
    ("8.1", batch_in_place),
    ("8.2", last_by_loop),
    ("8.2", last_by_mask),
    ("8.3", JointByOutputs),
    ("8.3", JointByStates),
    ("8.4", accuracies_by_loop),
    ("8.4", accuracies_by_errors),
    ("8.4", accuracies_as_array),
    ("8.5", peeky_by_split),
    ("8.5", peeky_by_loop),
    ("8.6", mixed_in_place),
    ("8.6", mixed_by_columns),
    ("8.7", beam_by_loop),
    ("8.7", beam_by_partition),
    ("8.7", beam_of_stacked_states),
    ("8.8", score_by_loop),
    ("8.8", score_by_product),
]


# --- Wrong answers ----------------------------------------------------------------------------


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


BATCHES = [
    (batch(inputs=lambda s, t, end: padded([[*row, end] for row in t], 0)), "targets not shifted"),
    (batch(inputs=lambda s, t, end: padded([[end, *row, end] for row in t], 0),
           targets=lambda s, t, end: padded([[end, *row, end] for row in t], -1)),
     "targets not shifted"),
    (batch(inputs=lambda s, t, end: padded(t, 0)), "start mark missing"),
    (batch(inputs=lambda s, t, end: padded(t, 0), targets=lambda s, t, end: padded(t, -1)),
     "start mark missing"),
    (batch(inputs=lambda s, t, end: padded([[0, *row] for row in t], 0)), "another start mark"),
    (batch(targets=lambda s, t, end: padded(t, -1)), "end mark missing"),
    (batch(inputs=lambda s, t, end: padded([[end, *row[:-1]] for row in t], 0),
           targets=lambda s, t, end: padded(t, -1)), "end mark missing"),
    (batch(targets=lambda s, t, end: padded([[*row, end] for row in t], 0)),
     "padding counts as a target"),
    (batch(targets=lambda s, t, end: padded([[*row, end] for row in t], end)),
     "padding counts as a target"),
    (batch(inputs=lambda s, t, end: padded([[end, *row, end] for row in t], 0)),
     "end mark among the inputs"),
    (batch(inputs=lambda s, t, end: padded([[end, *row] for row in t], -1)), "no id as padding"),
    (batch(source=lambda s, t, end: padded(s, -1)), "no id as padding"),
    (batch(source=lambda s, t, end: padded(s, 0, front=True)), "padded at the front"),
    (batch(targets=lambda s, t, end: padded([[*row, end] for row in t], -1, front=True)),
     "padded at the front"),
    (batch(lengths=lambda s, t, end: np.array([max(map(len, s))] * len(s))),
     "lengths of the padded rows"),
    (batch(lengths=lambda s, t, end: np.array([*map(len, t)])), "lengths of the targets"),
    (batch(source=lambda s, t, end: padded([[*row, end] for row in s], 0)),
     "marks in the source"),
    (batch(source=lambda s, t, end: padded([row[::-1] for row in s], 0)), "source reversed"),
    (lambda s, t, end: (padded(s, 0), padded([[end, *row] for row in t], 0)), "wrong type"),
    (lambda s, t, end: (s, [*map(len, s)], t, t), "wrong type"),
]  # fmt: skip

LAST = [
    (lambda hs, n: hs[:, -1], "last step of the padded batch"),
    (lambda hs, n: hs[np.arange(len(hs)), np.minimum(n, hs.shape[1] - 1)], "one step too late"),
    (lambda hs, n: hs[range(len(hs)), n], "one step too late"),
    (lambda hs, n: hs[np.arange(len(hs)), n - 2], "one step too early"),
    (lambda hs, n: hs[:, 0], "the first state"),
    (lambda hs, n: hs[:, n - 1], "all rows at the steps of all lengths"),
    (lambda hs, n: hs.mean(axis=1), "mean over the steps"),
    (lambda hs, n: hs.sum(axis=1) / n[:, None], "mean over the steps"),
    (lambda hs, n: np.array([h[:k].mean(axis=0) for h, k in zip(hs, n, strict=True)]),
     "mean over the steps"),
    (lambda hs, n: hs[:, max(n) - 1], "last step of the padded batch"),
    (lambda hs, n: hs[:, min(n) - 1], "the shortest length for all"),
    (lambda hs, n: hs[0, n - 1], "states of the first row"),
    (lambda hs, n: hs[np.arange(len(hs)), n - 1].T, "transposed"),
]  # fmt: skip


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


def at_every_place(dh, zeros):
    return zeros + dh[:, None]


def encoder_first(self, dhs):
    dx = self.encoder.backward(np.zeros_like(self.hs), self.decoder.dh0, self.decoder.dc0)
    return dx, self.decoder.backward(dhs)


def decoder_only(self, dhs):
    return np.zeros((*self.hs.shape[:2], 3)), self.decoder.backward(dhs)


JOINTS = [
    (joint(hand_over=lambda e, hs: None), "decoder starts from zeros"),
    (joint(hand_over=lambda e, hs: (e.h,)), "memory cell not handed over"),
    (joint(hand_over=lambda e, hs: (e.c, e.h)), "h and c swapped"),
    (joint(hand_over=lambda e, hs: (hs[:, -1], e.c)), "last step of the padded batch"),
    (joint(lengths=False), "lengths not used"),
    (joint(of_decoder=lambda n: n), "the source's lengths given to the decoder"),
    (backward_with(lambda dh, dc, zeros, dhs, n: (dh, dc)), "error"),
    (backward_with(lambda dh, dc, zeros, dhs, n: (zeros, dh)), "dc forgotten"),
    (backward_with(lambda dh, dc, zeros, dhs, n: (zeros, None, dc)), "dh forgotten"),
    (backward_with(lambda dh, dc, zeros, dhs, n: (zeros,)), "no gradient through the state"),
    (joint(back=encoder_first), "no gradient through the state"),
    (joint(back=decoder_only), "no gradient through the state"),
    (backward_with(lambda dh, dc, zeros, dhs, n: (zeros, dc, dh)), "dh and dc swapped"),
    (backward_with(lambda dh, dc, zeros, dhs, n: (dhs, dh, dc)),
     "gradients of the decoder's outputs given to the encoder"),
    (backward_with(lambda dh, dc, zeros, dhs, n: (dhs,)),
     "gradients of the decoder's outputs given to the encoder"),
    (backward_with(lambda dh, dc, zeros, dhs, n: (at_last_place(dh, zeros), None, dc)),
     "dh at the last step of the padded batch"),
    (backward_with(lambda dh, dc, zeros, dhs, n: (at_last_place(dh, zeros),)),
     "dh at the last step of the padded batch"),
    (backward_with(lambda dh, dc, zeros, dhs, n: (at_last_place(dh, zeros), dh, dc)),
     "dh counted twice"),
    (backward_with(lambda dh, dc, zeros, dhs, n: (at_every_place(dh, zeros), None, dc)),
     "dh at every step"),
    (joint(order=lambda dx, dy: (dy, dx)), "dx and dy swapped"),
    (joint(order=lambda dx, dy: dx), "wrong type"),
    (joint(order=lambda dx, dy: None), "empty"),
]  # fmt: skip


def right_where(p, t):
    return np.sum((p == t) & (t >= 0)) / np.sum(t >= 0)


def texts_where(p, t):
    return np.mean(np.all((p == t) | (t < 0), axis=1))


ACCURACIES = [
    (lambda p, t: (np.mean(p == t), texts_where(p, t)), "padding counted as wrong"),
    (lambda p, t: (np.mean((p == t) | (t < 0)), texts_where(p, t)), "padding counted as right"),
    (lambda p, t: (np.mean([right_where(a, b) for a, b in zip(p, t, strict=True)]),
                   texts_where(p, t)), "every text weighs the same"),
    (lambda p, t: (right_where(p, t), np.mean(np.all(p == t, axis=1))),
     "padding of a text counted as wrong"),
    (lambda p, t: (np.mean(p == t), np.mean(np.all(p == t, axis=1))), "padding counted as wrong"),
    (lambda p, t: (right_where(p, t), np.mean(np.any((p == t) & (t >= 0), axis=1))),
     "one right token is enough"),
    (lambda p, t: (right_where(p, t), right_where(p, t) ** t.shape[1]),
     "estimated from the tokens"),
    (lambda p, t: (texts_where(p, t), right_where(p, t)), "the two swapped"),
    (lambda p, t: (100 * right_where(p, t), 100 * texts_where(p, t)), "percent"),
    (lambda p, t: (np.sum((p == t) & (t >= 0)), np.sum(np.all((p == t) | (t < 0), axis=1))),
     "counts instead of shares"),
    (lambda p, t: (1 - right_where(p, t), 1 - texts_where(p, t)), "errors instead of hits"),
    (lambda p, t: (np.mean((p == t)[t > 0]), texts_where(p, t)), "id 0 taken for padding"),
    (lambda p, t: (np.sum(p == t) / len(t), texts_where(p, t)), "divided by the number of texts"),
    (lambda p, t: (np.mean((p == t)[(t >= 0) & (t != 9)]), texts_where(p, t)),
     "the mark not counted"),
    (lambda p, t: (right_where(p, t), texts_where(p, np.where(t == 9, -1, t))),
     "the mark not counted"),
    (lambda p, t: right_where(p, t), "wrong type"),
    (lambda p, t: np.array(right_where(p, t)), "wrong type"),
]  # fmt: skip


PEEKY = [
    (lambda dz, D: (dz[..., :D], dz[..., D:]), "not summed over the steps"),
    (lambda dz, D: (dz[..., :D], dz[:, -1, D:]), "the last step only"),
    (lambda dz, D: (dz[..., :D], dz[:, 0, D:]), "the first step only"),
    (lambda dz, D: (dz[..., :D], dz[..., D:].mean(axis=1)), "mean over the steps"),
    (lambda dz, D: (dz[..., :D], dz[..., D:].sum(axis=0)), "summed over the batch"),
    (lambda dz, D: (dz[..., :D], dz[..., D:].sum(axis=(0, 1))), "summed over the batch"),
    (lambda dz, D: (dz[..., -D:], dz[..., :-D].sum(axis=1)), "parts swapped"),
    (lambda dz, D: (dz[..., :D].sum(axis=1), dz[..., D:].sum(axis=1)), "dy summed as well"),
    (lambda dz, D: (dz[..., D:].sum(axis=1), dz[..., :D]), "dy and dh swapped"),
    (lambda dz, D: dz[..., :D], "wrong type"),
]  # fmt: skip


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


def mark_replaced(step, state, inputs, forced):
    read = inputs.copy()
    for t in range(inputs.shape[1]):
        scores, state = step(read[:, t], state)
        read[:, t] = np.where(forced[:, t], inputs[:, t], scores.argmax(axis=1))
    return read


def replaced_too_early(step, state, inputs, forced):
    """What the model says after input t stands in the place of input t."""
    read = inputs.copy()
    for t in range(1, inputs.shape[1]):
        scores, state = step(inputs[:, t], state)
        read[:, t] = np.where(forced[:, t], inputs[:, t], scores.argmax(axis=1))
    return read


def coin_before(step, state, inputs, forced):
    return mixed()(step, state, inputs, np.roll(forced, 1, axis=1))


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


def one_coin(step, state, inputs, forced):
    return mixed()(step, state, inputs, np.repeat(forced[:, 1:2], inputs.shape[1], axis=1))


MIXED = [
    (mixed(pick=lambda given, own: (own, given)), "forced the wrong way round"),
    (mixed(last=lambda read, inputs, t: inputs[:, t - 1]), "the model read the target throughout"),
    (mixed(keep=False), "state not carried on"),
    (mixed(late=1), "one place too late"),
    (mark_replaced, "one place too early"),
    (replaced_too_early, "one place too early"),
    (mixed(pick=lambda given, own: (given, given)), "no input of its own"),
    (mixed(pick=lambda given, own: (own, own)), "only inputs of its own"),
    (mixed(last=lambda read, inputs, t: read[0]), "the model reads the mark at every step"),
    (mixed(choose=lambda s: s.argmin(axis=1)), "the least likely symbol"),
    (coin_before, "decision of the step before"),
    (free_then_mixed, "mixed only at the end"),
    (shifted, "start mark missing"),
    (one_coin, "one decision for the whole text"),
    (lambda step, state, inputs, forced: mixed()(step, state, inputs, forced)[:, 1:],
     "start mark missing"),
    (lambda step, state, inputs, forced: mixed()(step, state, inputs, forced).T, "transposed"),
]  # fmt: skip


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


def any_order(flat, width):
    return np.argsort(-flat)[:width][::-1]


def as_many_as_before(totals, log_p, state, width):
    return beam()(totals, log_p, state, len(totals))


BEAMS = [
    (beam(reorder=lambda state, rows, ids: state), "state not reordered"),
    (beam(reorder=lambda state, rows, ids: (state[0][rows], state[1])),
     "part of the state not reordered"),
    (beam(reorder=lambda state, rows, ids: tuple(a[ids % len(a)] for a in state)),
     "state reordered by the symbols"),
    (beam(reorder=lambda state, rows, ids: tuple(a[np.argsort(rows)] for a in state)),
     "state reordered the wrong way"),
    (beam(sums=lambda totals, log_p: log_p), "log-probabilities not summed"),
    (beam(kept=lambda flat, best, log_p: log_p.ravel()[best]), "only this step in the totals"),
    (beam(sums=lambda totals, log_p: totals[:, None] * log_p), "log-probabilities multiplied"),
    (beam(sums=lambda totals, log_p: totals[:, None] + np.exp(log_p)),
     "probabilities added to logarithms"),
    (beam(sums=lambda totals, log_p: np.exp(totals)[:, None] + log_p),
     "probabilities added to logarithms"),
    (beam(kept=lambda flat, best, log_p: np.exp(flat[best])), "probabilities in the totals"),
    (beam(sums=lambda totals, log_p: totals + log_p.T), "wrong value"),
    (beam(order=lambda flat, width: np.argsort(flat)[:width]), "the least likely ones"),
    (beam(order=any_order), "not the best one first"),
    (beam(order=lambda flat, width: np.argsort(-flat)), "all of them kept"),
    (beam(words=lambda best, k, V: best), "places in the flat array"),
    (beam(words=lambda best, k, V: best % k, parents=lambda best, k, V: best // k,
          reorder=lambda state, rows, ids: tuple(a[rows % len(a)] for a in state)),
     "divided by the width"),
    (beam(words=lambda best, k, V: best % k, parents=lambda best, k, V: best // k),
     "divided by the width"),
    (beam(reorder=lambda state, rows, ids: state[0][99]), "error"),
    (beam(reorder=lambda state, rows, ids: (state[1][rows], state[0][rows])), "h and c swapped"),
    (beam(reorder=lambda state, rows, ids: np.stack(state)), "state not reordered"),
    (as_many_as_before, "another number of rows"),
    (beam(words=lambda best, k, V: best // V, parents=lambda best, k, V: best % V,
          reorder=lambda state, rows, ids: tuple(a[ids] for a in state)),
     "ids and parents swapped"),
    (best_of_each_row, "one symbol for each beginning"),
    (children_of_the_best, "only the best beginning goes on"),
    (lambda totals, log_p, state, width: beam()(totals, log_p, state, width)[:3], "wrong type"),
    (beam(reorder=lambda state, rows, ids: None), "empty"),
]  # fmt: skip

SCORES = [
    (lambda p, a: np.sum(p), "not normalised"),
    (lambda p, a: np.mean(p), "the mean for every alpha"),
    (lambda p, a: np.sum(p) * len(p) ** a, "multiplied by the length"),
    (lambda p, a: np.sum(p) / (a * len(p)) if a else np.sum(p), "alpha times the length"),
    (lambda p, a: np.sum(p) / (len(p) - 1) ** a, "end not counted"),
    (lambda p, a: np.sum(p[:-1]) / len(p) ** a, "end not summed"),
    (lambda p, a: np.sum(p) / (len(p) + 1) ** a, "end counted twice"),
    (lambda p, a: np.exp(np.sum(p)) / len(p) ** a, "probability instead of logarithm"),
    (lambda p, a: np.exp(np.sum(p) / len(p) ** a), "probability instead of logarithm"),
    (lambda p, a: np.sum(np.exp(p)) / len(p) ** a, "probabilities added"),
    (lambda p, a: -np.sum(p) / len(p) ** a, "sign"),
    (lambda p, a: np.mean(p) ** a, "power or logarithm of a negative number"),
    (lambda p, a: np.sum(np.log(p)) / len(p) ** a, "power or logarithm of a negative number"),
    (lambda p, a: np.sum(p) / ((5 + len(p)) / 6) ** a, "the penalty of Wu et al."),
    (lambda p, a: p / len(p) ** a, "not summed"),
    (lambda p, a: np.sum(p) / len(p) ** (1 / a) if a else np.sum(p), "wrong value"),
]  # fmt: skip

WRONG = [
    (name, answer, diagnosis)
    for name, cases in {
        "8.1": BATCHES, "8.2": LAST, "8.3": JOINTS, "8.4": ACCURACIES,
        "8.5": PEEKY, "8.6": MIXED, "8.7": BEAMS, "8.8": SCORES,
    }.items()
    for answer, diagnosis in cases
]  # fmt: skip


def test_a_solution_with_other_options_of_numpy_is_still_right():
    last = solution_of("8.2")
    assert check("8.2", lambda hs, lengths: np.array(last(hs, np.asarray(lengths)))).ok


WRONG += [
    ("8.1", batch(lengths=lambda s, t, end: np.array([*map(len, s)]) + 1),
     "marks counted in the lengths"),
    ("8.1", batch(inputs=lambda s, t, end: padded([[end, *row[::-1]] for row in t], 0)),
     "targets reversed"),
    ("8.2", lambda hs, n: hs.max(axis=1), "largest instead of last"),
    ("8.2", lambda hs, n: hs[np.arange(len(hs)), -n], "counted from the end"),
    ("8.3", joint(hand_over=lambda encoder, hs: (encoder.h, encoder.h)), "h in place of c"),
    ("8.3", backward_with(lambda dh, dc, zeros, dhs, n: (zeros, dhs[:, 0], dc)),
     "gradient of the first output in place of dh0"),
    ("8.4", lambda p, t: (right_where(p, t), np.mean(((p != t) & (t >= 0)).sum(axis=1) <= 1)),
     "one mistake allowed"),
    ("8.5", lambda dz, D: (dz[..., :D], dz[..., D:].max(axis=1)), "largest instead of the sum"),
    ("8.5", lambda dz, D: (dz[:, :D], dz[:, D:].sum(axis=1)), "cut along the steps"),
    ("8.6", mixed(choose=lambda s: s.argsort(axis=1)[:, -2]), "the second likeliest symbol"),
    ("8.7", beam(sums=lambda totals, log_p: totals[:, None] - log_p),
     "log-probabilities taken off"),
    ("8.8", lambda p, a: np.max(p) / len(p) ** a, "the best symbol alone"),
    ("8.8", lambda p, a: np.sum(p) - a * len(p), "a bonus for each symbol"),
]  # fmt: skip
