"""Solutions of lesson 8; the builder folds each below its exercise."""

import numpy as np

from deepnlp.lessons.exercises import check


# %%
# Solution 8.1
def make_batch_solution(sources, targets, end):
    def padded(rows, fill):
        width = max(len(row) for row in rows)
        return np.array([row + [fill] * (width - len(row)) for row in rows])

    lengths = np.array([len(row) for row in sources])
    inputs = padded([[end, *row] for row in targets], 0)
    return padded(sources, 0), lengths, inputs, padded([[*row, end] for row in targets], -1)


check("8.1", make_batch_solution)


# %%
# Solution 8.2
def last_states_solution(hs, lengths):
    return hs[np.arange(len(hs)), lengths - 1]


check("8.2", last_states_solution)


# %%
# Solution 8.3
class JointSolution:
    def __init__(self, encoder, decoder):
        self.encoder, self.decoder = encoder, decoder

    def forward(self, x, lengths, y):
        self.shape = self.encoder.forward(x, lengths).shape
        self.decoder.set_state(self.encoder.h, self.encoder.c)
        return self.decoder.forward(y)

    def backward(self, dhs):
        dy = self.decoder.backward(dhs)
        unused = np.zeros(self.shape, dhs.dtype)  # of the encoder only the last state was used
        return self.encoder.backward(unused, self.decoder.dh0, self.decoder.dc0), dy


check("8.3", JointSolution)


# %%
# Solution 8.4
def accuracies_solution(predicted, targets):
    counts = targets != -1
    right = predicted == targets
    return right[counts].mean(), np.all(right | ~counts, axis=1).mean()


check("8.4", accuracies_solution)


# %%
# Solution 8.5
def peeky_backward_solution(dz, D):
    return dz[:, :, :D], dz[:, :, D:].sum(axis=1)


check("8.5", peeky_backward_solution)


# %%
# Solution 8.6
def mixed_inputs_solution(step, state, inputs, forced):
    read = [inputs[:, 0]]
    for t in range(1, inputs.shape[1]):
        scores, state = step(read[-1], state)
        read.append(np.where(forced[:, t], inputs[:, t], scores.argmax(axis=1)))
    return np.stack(read, axis=1)


check("8.6", mixed_inputs_solution)


# %%
# Solution 8.7
def beam_step_solution(totals, log_p, state, width):
    sums = totals[:, None] + log_p  # (k, V)
    best = np.argsort(-sums, axis=None)[:width]
    parents, ids = np.divmod(best, sums.shape[1])
    return sums.flat[best], ids, parents, tuple(array[parents] for array in state)


check("8.7", beam_step_solution)


# %%
# Solution 8.8
def score_solution(log_p, alpha):
    return np.sum(log_p) / len(log_p) ** alpha


check("8.8", score_solution)
