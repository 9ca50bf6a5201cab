"""Lesson 5: what the checks say of typical wrong answers."""

import numpy as np

from deepnlp.lessons.exercises import check
from deepnlp.models import SimpleRNNLM
from tests.lessons.exercises.right_answers import right_answers
from tests.lessons.exercises.tools import solution_of

# --- Values -----------------------------------------------------------------------------------

PERPLEXITIES = {
    "minus sign missing": lambda log_p: np.exp(np.mean(log_p)),
    "base of the logarithm": lambda log_p: 2 ** -np.mean(log_p),
    "sum instead of mean": lambda log_p: np.exp(-np.sum(log_p)),
    "arithmetic mean": lambda log_p: np.mean(np.exp(-log_p)),
    "not exponentiated": lambda log_p: -np.mean(log_p),
    "mean of the probabilities": lambda log_p: 1 / np.mean(np.exp(log_p)),
    "not averaged": lambda log_p: np.exp(-log_p),
    "wrong value": lambda log_p: 7.0,
}


def softmax(s):
    e = np.exp(s - s.max())
    return e / e.sum()


TEMPERATURES = {
    "multiplied instead of divided": lambda s, tau: softmax(s * tau),
    "temperature after the softmax": lambda s, tau: softmax(s) / tau,
    "temperature not used": lambda s, tau: softmax(s),
    "temperature squared": lambda s, tau: softmax(s / tau**2),
    "softmax missing": lambda s, tau: s / tau,
    "not normalised": lambda s, tau: np.exp(s / tau),
    "not a number": lambda s, tau: np.exp(s / tau) / np.exp(s / tau).sum(),
}


WRONG = [("5.1", answer, told) for told, answer in PERPLEXITIES.items()]
WRONG += [("5.8", answer, told) for told, answer in TEMPERATURES.items()]
WRONG += [
    ("5.2", number, told)
    for number, told in [
        (10, "arithmetic mean"),
        (6.4, "mean of the probabilities"),
        (3, "bits instead of words"),
        (64, "the product of both"),
        (1 / 8, "the probability instead of the perplexity"),
        (4, "one of the words alone"),
        (5, "wrong value"),
        ("8", "wrong type"),
    ]
]


WRONG += [
    ("5.5", "gradients", "wrong choice", "The other way round"),
    ("5.5", "both", "wrong choice", "sends no gradient"),
    ("5.5", "neither", "wrong choice", "the state is carried"),
]


# --- Backward passes --------------------------------------------------------------------------


AT_THE_INPUT = "derivative taken at the input instead of the output"
SLOPE_MISSING = "derivative of the activation missing or of another function"


class SlopeAtTheInput(solution_of("5.3")):
    def forward(self, x, h_prev):
        h = super().forward(x, h_prev)
        self.a = x @ self.Wx + h_prev @ self.Wh + self.b
        return h

    def backward(self, dh):
        da = dh * (1 - self.a**2)
        self.dWx, self.dWh, self.db = self.x.T @ da, self.h_prev.T @ da, da.sum(axis=0)
        return da @ self.Wx.T, da @ self.Wh.T


class TransposeForgotten(solution_of("5.3")):
    def backward(self, dh):
        dx, _ = super().backward(dh)
        return dx, dh * (1 - self.h**2) @ self.Wh


class WithoutTheSlope(solution_of("5.3")):
    def backward(self, dh):
        self.dWx, self.dWh, self.db = self.x.T @ dh, self.h_prev.T @ dh, dh.sum(axis=0)
        return dh @ self.Wx.T, dh @ self.Wh.T


def step_with(change):
    """A solution of 5.3 whose gradients are changed on their way out."""

    class Wrong(solution_of("5.3")):
        def backward(self, dh):
            return change(*super().backward(dh))

    return Wrong


def test_a_step_that_forgets_what_arrives():
    class Wrong(solution_of("5.3")):
        def backward(self, dh):
            return super().backward(np.ones_like(dh))

    verdict = check("5.3", Wrong)
    assert verdict.diagnosis == "arriving gradient not used"
    assert "for every dh" in verdict.text


WRONG += [
    ("5.3", SlopeAtTheInput, AT_THE_INPUT),
    ("5.3", TransposeForgotten, "transposed"),
    ("5.3", WithoutTheSlope, SLOPE_MISSING),
]
WRONG += [
    ("5.3", step_with(change), told)
    for change, told in [
        (lambda dx, dh_prev: (dh_prev, dx), "gradients in another order"),
        (lambda dx, dh_prev: dx, "wrong type"),
        (lambda dx, dh_prev: (dx, dh_prev, dx), "wrong type"),
        (lambda dx, dh_prev: [dx, 2 * dh_prev], "constant factor"),
    ]
]


def through_time(carry=True, accumulate=True):
    """A solution of 5.4 that forgets the path through time, or assigns for adding."""

    class Wrong(solution_of("5.4")):
        def backward(self, dhs):
            dx = np.empty_like(self.x)
            self.dWx, self.dWh = np.zeros_like(self.Wx), np.zeros_like(self.Wh)
            self.db = np.zeros_like(self.b)
            dh_next = 0.0
            for t in reversed(range(self.x.shape[1])):
                da = (dhs[:, t] + dh_next) * (1 - self.h[t + 1] ** 2)
                dWx, dWh, db = self.x[:, t].T @ da, self.h[t].T @ da, da.sum(axis=0)
                if accumulate:
                    self.dWx, self.dWh, self.db = self.dWx + dWx, self.dWh + dWh, self.db + db
                else:
                    self.dWx, self.dWh, self.db = dWx, dWh, db
                dx[:, t] = da @ self.Wx.T
                dh_next = da @ self.Wh.T if carry else 0.0
            return dx

    return Wrong


def test_through_time_is_right_with_both():
    assert check("5.4", through_time()).ok


def test_through_time_without_the_path_from_the_next_step():
    verdict = check("5.4", through_time(carry=False))
    assert verdict.diagnosis == "path through h_prev dropped"
    assert "da_(t+1)" in verdict.text


def test_through_time_that_keeps_one_step_only():
    verdict = check("5.4", through_time(accumulate=False))
    assert verdict.diagnosis in (
        "assigned instead of accumulated",
        "bias gradient not summed over T",
    )
    assert "+= in the loop" in verdict.text


def test_the_forward_of_time_is_checked():
    class Wrong(solution_of("5.4")):
        def forward(self, x):
            return super().forward(x)[:, ::-1]

    assert check("5.4", Wrong).diagnosis == "in reverse order"


def truncated(rest_of_division, drop_state=False):
    """A solution of 5.7 that cuts elsewhere, or takes the state before a window for zero."""

    class Wrong(solution_of("5.7")):
        def backward(self, dhs):
            dx = np.empty_like(self.x)
            self.dWx, self.dWh = np.zeros_like(self.Wx), np.zeros_like(self.Wh)
            self.db = np.zeros_like(self.b)
            dh_next = 0.0
            for t in reversed(range(self.x.shape[1])):
                da = (dhs[:, t] + dh_next) * (1 - self.h[t + 1] ** 2)
                first = t % self.window == rest_of_division
                self.dWx += self.x[:, t].T @ da
                if not (drop_state and first):
                    self.dWh += self.h[t].T @ da
                self.db += da.sum(axis=0)
                dx[:, t] = da @ self.Wx.T
                dh_next = 0.0 if first else da @ self.Wh.T
            return dx

    return Wrong


class ForwardInWindows(solution_of("5.7")):
    """Each window from a state of zeros."""

    def forward(self, x):
        starts = range(0, x.shape[1], self.window)
        return np.concatenate(
            [super(ForwardInWindows, self).forward(x[:, k : k + self.window]) for k in starts],
            axis=1,
        )


WRONG += [("5.7", ForwardInWindows, "state reset in forward")]


def test_truncation_is_right_at_the_first_step_of_a_window():
    assert check("5.7", truncated(0)).ok


WRONG += [
    ("5.4", through_time(carry=False), "path through h_prev dropped", "da_(t+1)"),
    ("5.4", through_time(accumulate=False), "assigned instead of accumulated"),
]
WRONG += [
    ("5.7", wrong(), told)
    for wrong, told in [
        (lambda: truncated(99), "nothing is cut"),
        (lambda: truncated(1), "time off by one"),
        (lambda: truncated(2), "time off by one"),
        (lambda: truncated(0, drop_state=True), "state cut with the gradient"),
    ]
]


# --- Windows and continuations ------------------------------------------------------------------


def windows_in_a_row(ids, N, T):
    """The classic mistake: neighbouring windows of the stream are the rows of a batch."""
    size = N * T
    return [
        (ids[k : k + size].reshape(N, T), ids[k + 1 : k + size + 1].reshape(N, T))
        for k in range(0, len(ids) - size, size)
    ]


WINDOWS = {
    "rows do not go on": windows_in_a_row,
    "targets not shifted": lambda ids, N, T: [(x, x) for x, _ in solution_of("5.6")(ids, N, T)],
    "last window lost": lambda ids, N, T: solution_of("5.6")(ids, N, T)[:-1],
    "wrong value": lambda ids, N, T: solution_of("5.6")(ids, N, T + 1),
    "wrong shape": lambda ids, N, T: [(x.T, t.T) for x, t in solution_of("5.6")(ids, N, T)],
    "inputs and targets exchanged": lambda ids, N, T: [
        (t, x) for x, t in solution_of("5.6")(ids, N, T)
    ],
    "rows in another order": lambda ids, N, T: [
        (x[::-1], t[::-1]) for x, t in solution_of("5.6")(ids, N, T)
    ],
    "wrong type": lambda ids, N, T: [x for x, _ in solution_of("5.6")(ids, N, T)],
}


WRONG += [("5.6", answer, told) for told, answer in WINDOWS.items()]


def likeliest(model, ids):
    return int(model.logits(np.array([ids]))[0, -1].argmax())


def without_reset(model, ids, length):
    found = [likeliest(model, ids)]
    while len(found) < length:
        found.append(likeliest(model, found[-1:]))
    return found


def without_prompt(model, ids, length):
    model.reset_state()
    return without_reset(model, ids[-1:], length)


def whole_text_again(model: SimpleRNNLM, ids, length):
    model.reset_state()
    text = list(ids)
    for _ in range(length):
        text.append(likeliest(model, text))
    return text[len(ids) :]


def one_word(model, ids, length):
    return solution_of("5.9")(model, ids, 1) * length


def forgetful(model, ids, length):
    found = solution_of("5.9")(model, ids, 1)
    while len(found) < length:
        found += solution_of("5.9")(model, found[-1:], 1)
    return found


def with_prompt(model, ids, length):
    return [*ids, *solution_of("5.9")(model, ids, length)]


WRONG += [
    ("5.9", wrong, told)
    for wrong, told in [
        (without_reset, "state not reset"),
        (without_prompt, "prompt not read"),
        (whole_text_again, "text fed again"),
        (with_prompt, "wrong shape"),
    ]
]
WRONG += [
    ("5.9", one_word, "one word repeated"),
    ("5.9", forgetful, "state reset before each word"),
]
RIGHT = right_answers(5)


def test_reading_the_whole_text_again_is_refused():
    def slow(model, ids, length):
        text = list(ids)
        for _ in range(length):
            model.reset_state()
            text.append(likeliest(model, text))
        return text[len(ids) :]

    verdict = check("5.9", slow)
    assert verdict.diagnosis == "text read again"
    assert "126 ids" in verdict.text  # five at first, one more each time
    assert "17 are enough" in verdict.text
