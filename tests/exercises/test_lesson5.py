"""Lesson 5: what the checks say of typical wrong answers."""

import numpy as np
import pytest

from deepnlp.exercises import check
from deepnlp.models import SimpleRNNLM
from tests.exercises.tools import solution_of

# --- Values -----------------------------------------------------------------------------------

PERPLEXITIES = {
    "minus sign missing": lambda log_p: np.exp(np.mean(log_p)),
    "base of the logarithm": lambda log_p: 2 ** -np.mean(log_p),
    "sum instead of mean": lambda log_p: np.exp(-np.sum(log_p)),
    "arithmetic mean": lambda log_p: np.mean(np.exp(-log_p)),
    "not exponentiated": lambda log_p: -np.mean(log_p),
    "wrong value": lambda log_p: 7.0,
}


def softmax(s):
    e = np.exp(s - s.max())
    return e / e.sum()


TEMPERATURES = {
    "multiplied instead of divided": lambda s, tau: softmax(s * tau),
    "temperature after the softmax": lambda s, tau: softmax(s) / tau,
    "temperature not used": lambda s, tau: softmax(s),
    "not normalised": lambda s, tau: np.exp(s / tau),
    "not a number": lambda s, tau: np.exp(s / tau) / np.exp(s / tau).sum(),
}


@pytest.mark.parametrize("diagnosis", PERPLEXITIES)
def test_perplexities(diagnosis):
    assert check("5.1", PERPLEXITIES[diagnosis]).diagnosis == diagnosis


@pytest.mark.parametrize(
    ("number", "diagnosis"),
    [
        (10, "arithmetic mean"),
        (6.4, "mean of the probabilities"),
        (3, "bits instead of words"),
        (4, "wrong value"),
        ("8", "wrong type"),
    ],
)
def test_a_perplexity_in_the_head(number, diagnosis):
    assert check("5.2", number).diagnosis == diagnosis


@pytest.mark.parametrize("choice", ["gradients", "both", "neither"])
def test_choices(choice):
    assert check("5.5", choice).diagnosis == "wrong choice"


@pytest.mark.parametrize("diagnosis", TEMPERATURES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_temperatures(diagnosis):
    assert check("5.8", TEMPERATURES[diagnosis]).diagnosis == diagnosis


# --- Backward passes --------------------------------------------------------------------------


def test_step_with_the_derivative_at_the_input():
    class Wrong(solution_of("5.3")):
        def forward(self, x, h_prev):
            h = super().forward(x, h_prev)
            self.a = x @ self.Wx + h_prev @ self.Wh + self.b
            return h

        def backward(self, dh):
            da = dh * (1 - self.a**2)
            self.dWx, self.dWh, self.db = self.x.T @ da, self.h_prev.T @ da, da.sum(axis=0)
            return da @ self.Wx.T, da @ self.Wh.T

    assert check("5.3", Wrong).diagnosis == "derivative taken at the input instead of the output"


def test_step_with_the_transpose_forgotten():
    class Wrong(solution_of("5.3")):
        def backward(self, dh):
            dx, _ = super().backward(dh)
            return dx, dh * (1 - self.h**2) @ self.Wh

    assert check("5.3", Wrong).diagnosis == "transposed"


def test_step_without_the_derivative():
    class Wrong(solution_of("5.3")):
        def backward(self, dh):
            self.dWx, self.dWh, self.db = self.x.T @ dh, self.h_prev.T @ dh, dh.sum(axis=0)
            return dh @ self.Wx.T, dh @ self.Wh.T

    found = check("5.3", Wrong).diagnosis
    assert found == "derivative of the activation missing or of another function"


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


@pytest.mark.parametrize(
    ("change", "diagnosis"),
    [
        (lambda dx, dh_prev: (dh_prev, dx), "gradients in another order"),
        (lambda dx, dh_prev: dx, "wrong type"),
        (lambda dx, dh_prev: (dx, dh_prev, dx), "wrong type"),
        (lambda dx, dh_prev: [dx, 2 * dh_prev], "constant factor"),
    ],
)
def test_the_form_of_what_a_step_returns(change, diagnosis):
    assert check("5.3", step_with(change)).diagnosis == diagnosis


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

    assert check("5.4", Wrong).diagnosis == "wrong value"


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


def test_truncation_is_right_at_the_first_step_of_a_window():
    assert check("5.7", truncated(0)).ok


@pytest.mark.parametrize(
    ("wrong", "diagnosis"),
    [
        (lambda: truncated(99), "nothing is cut"),
        (lambda: truncated(1), "time off by one"),
        (lambda: truncated(2), "time off by one"),
        (lambda: truncated(0, drop_state=True), "state cut with the gradient"),
    ],
)
def test_truncation(wrong, diagnosis):
    assert check("5.7", wrong()).diagnosis == diagnosis


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
    "wrong type": lambda ids, N, T: [x for x, _ in solution_of("5.6")(ids, N, T)],
}


@pytest.mark.parametrize("diagnosis", WINDOWS)
def test_windows(diagnosis):
    assert check("5.6", WINDOWS[diagnosis]).diagnosis == diagnosis


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


def with_prompt(model, ids, length):
    return [*ids, *solution_of("5.9")(model, ids, length)]


@pytest.mark.parametrize(
    ("wrong", "diagnosis"),
    [
        (without_reset, "state not reset"),
        (without_prompt, "prompt not read"),
        (whole_text_again, "text fed again"),
        (with_prompt, "wrong shape"),
    ],
)
def test_continuations(wrong, diagnosis):
    assert check("5.9", wrong).diagnosis == diagnosis


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
