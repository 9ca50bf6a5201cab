"""The diagnosis: on the museum, on layers it was not made for, and on right ones."""

import math
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from deepnlp import Parameter, layers
from deepnlp.diagnosis.problem import Problem, distance
from deepnlp.diagnosis.reverse import Edit
from deepnlp.diagnosis.trace import follow, trace
from deepnlp.examples import EXAMPLES
from deepnlp.gradcheck import CAUSES, Cause, check_gradients
from deepnlp.gradcheck.subject import Subject
from tests.museum import (
    Sizes,
    exhibit,
    false_accusations,
    is_named,
    load_exhibits,
    provided_layers,
    score_exhibit,
)

HERE = Path(__file__).parent
EXHIBITS = {one.name: one for one in load_exhibits(HERE / "museum")}
REPAIRED = [one for one in load_exhibits(HERE / "repaired") if one.answer]
UNSEEN = {one.name: one for one in load_exhibits(HERE / "unseen") if one.answer}
BROKEN = {name: one for name, one in EXHIBITS.items() if one.answer}
RIGHT = [one for one in EXHIBITS.values() if not one.answer] + provided_layers()

# What the diagnosis can say besides, of which the museum need not show two.
BESIDES = {
    "another value in its place",
    "forward is wrong",
    "not a number",
    "not linear in dy",
    "second backward not refused",
    "state is not the last output",
    "term of a sum or product missing",
    "unknown",
}


def first_cause(report):
    return next(row.causes[0] for row in report.rows if row.causes)


# --- The museum -------------------------------------------------------------------------------


def test_the_museum_shows_every_cause_twice():
    assert len(BROKEN) >= 40
    shown = Counter(one.answer for one in BROKEN.values())
    assert {cause for cause in CAUSES if shown[cause] < 2} <= BESIDES
    for one in BROKEN.values():
        assert one.hint, one.name
        assert one.right, one.name


def test_the_cause_is_named_first():
    scores = [score_exhibit(one, shapes=4) for one in BROKEN.values()]
    assert all(one.shown == 4 for one in scores), [one for one in scores if one.shown < 4]
    assert sum(one.right for one in scores) >= 0.97 * sum(one.shown for one in scores), [
        one for one in scores if one.right < one.shown
    ]


@pytest.mark.parametrize("seed", range(4))
def test_no_right_layer_is_accused(seed):
    """1,000 right layers in four parts, which run side by side."""
    assert len(RIGHT) > 35
    assert false_accusations(RIGHT, 250, seed) == []


def test_layers_that_were_not_seen():
    scores = [score_exhibit(one, shapes=3, seed=1) for one in UNSEEN.values()]
    assert sum(one.right for one in scores) >= 0.9 * sum(one.shown for one in scores), [
        one for one in scores if one.right < one.shown
    ]


def test_layers_against_which_the_search_was_developed():
    assert len(REPAIRED) >= 95
    scores = [score_exhibit(one, shapes=1, seed=2) for one in REPAIRED]
    assert sum(one.right for one in scores) >= 0.95 * sum(one.shown for one in scores), [
        one for one in scores if one.right < one.shown
    ]


def test_a_cause_that_coincides_counts_only_in_such_a_shape():
    names = ["constant factor", "sign"]
    assert not is_named("sign", names, Sizes(3, 4, 5, 6, 7))
    assert is_named("sign", names, Sizes(4, 4, 5, 6, 7))
    assert is_named("sign", names, Sizes(1, 4, 5, 6, 7))
    assert not is_named("transposed", names, Sizes(1, 4, 5, 6, 7))


def test_an_exhibit_has_a_known_answer():
    with pytest.raises(ValueError, match="not a cause"):
        exhibit("bad luck", "", "", lambda kind, rng, s: (kind(), ()))


# --- What it says -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("LSTMOtherOrder", ["LSTMOtherOrder", "gates g and i are swapped"]),
        ("TimeRNNAssigns", ["TimeRNNAssigns", "Wh", "step 0"]),
        ("GRUForgetsShortcut", ["h_prev", "z * h_prev"]),
        ("TimeRNNStopsEarly", ["step 0"]),
        ("AffineMeanWeight", ["params[0]", "1/N"]),
        ("TanhOfX", ["np.tanh(x)", "1 - x^2"]),
        ("TiedForgetsLookup", ["gradient of E", "np.tanh(self.E[ids])"]),
        ("LSTMSigmoidEverywhere", ["np.tanh(g)", "sigmoid"]),
    ],
)
def test_the_evidence_names_layer_parameter_gate_and_step(name, words):
    for seed in range(20):
        sizes, report = EXHIBITS[name].check(seed)
        if not report.ok and sizes.N > 2 and len({*sizes}) > 3:
            break
    cause = first_cause(report)
    for word in words:
        assert word in cause.evidence
    assert f"likely cause: {cause.name}" in str(report)
    assert cause.distance < 1e-5


def test_what_is_not_known_is_said_to_be():
    class Strange(layers.Tanh):
        def backward(self, dy):
            dx = super().backward(dy).copy()
            dx[0, 1] *= 1.3
            dx[0, 1] *= 1.4
            return dx

    report = check_gradients(Strange(), np.random.default_rng(0).normal(size=(3, 4)))
    (row,) = report.rows
    assert [cause.name for cause in row.causes] == ["unknown"]
    evidence = row.causes[0].evidence
    assert "1 of 12 entries" in evidence
    assert "axis 1 only at [1]" in evidence


def test_two_mistakes_are_told_row_by_row():
    class Twice:
        def __init__(self, W, b):
            self.W, self.b = W, b

        def forward(self, x):
            self.x = x
            return x @ self.W + self.b

        def backward(self, dy):
            self.dW, self.db = -self.x.T @ dy, np.zeros_like(self.b)
            return dy @ self.W.T

    rng = np.random.default_rng(0)
    layer = Twice(rng.normal(size=(3, 5)), rng.normal(size=5))
    report = check_gradients(layer, rng.normal(size=(4, 3)))
    found = {row.name: row.causes[0].name for row in report.rows if not row.ok}
    assert found == {"W": "sign", "b": "zero or missing"}


def test_causes_come_from_the_list_and_the_list_is_documented():
    with pytest.raises(ValueError, match="not in the list"):
        Cause("bad luck", "")
    text = (HERE.parent / "docs" / "diagnosis.md").read_text(encoding="utf-8")
    assert [name for name in CAUSES if f"| {name} |" not in text] == []


def test_right_rows_have_no_causes():
    _, report = BROKEN["AffineForgotBias"].check(0)
    assert [bool(row.causes) for row in report.rows] == [not row.ok for row in report.rows]


# --- The tape ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_tape_gives_the_gradients_of_every_case(name):
    rng = np.random.default_rng(0)
    layer, inputs = EXAMPLES[name].build(rng, EXAMPLES[name].sizes)
    subject = Subject(layer, inputs)
    subject.draw_states(rng)
    subject.draw_weights(rng)
    analytic = subject.analytic_gradients()
    followed = trace(subject)
    assert followed is not None
    gradients = followed.gradients()
    assert max(distance(gradients[name], analytic[name]) for name in analytic) < 1e-12
    assert all(np.array_equal(subject.analytic_gradients()[k], analytic[k]) for k in analytic)


class ManyOperations:
    """A forward that uses a good part of what the tape can follow."""

    def __init__(self, W):
        self.W = W

    def forward(self, x):
        y = np.einsum("nd,dm->nm", x, self.W)
        y = np.where(y > 0, y, 0.5 * y) + np.abs(y).sum(axis=0) / np.float64(3.0)
        y = np.concatenate([y, y[:, ::-1] ** 2], axis=1)
        y -= y.mean(axis=1, keepdims=True)
        y = y / y.std(axis=1, keepdims=True)
        y = np.maximum(y, 0.1) + np.clip(y, -0.5, 0.5) + np.log1p(np.exp(-y))
        parts = np.split(y, 2, axis=1)
        out = np.zeros((len(x), parts[0].shape[1]))
        out[:, 0] = parts[0].max(axis=1)
        out[1:, 1:] += (
            np.sqrt(parts[1][1:, 1:] ** 2 + 1) * np.reciprocal(2 - np.sin(parts[0]))[1:, 1:]
        )
        out *= np.stack([np.cos(p) for p in parts]).sum(axis=0)
        return np.outer(out[0], out[1]).T.reshape(-1) - np.linalg.norm(out) + x[[0, 0, 1]].sum()

    def backward(self, dy):
        self.dW = np.zeros_like(self.W)
        return np.zeros((3, 4))


def test_the_tape_follows_what_a_learner_may_write():
    rng = np.random.default_rng(0)
    layer, x = ManyOperations(rng.normal(size=(4, 3))), rng.normal(size=(3, 4))
    subject = Subject(layer, (x,))
    subject.draw_weights(rng)
    subject.analytic_gradients()
    followed = trace(subject)
    assert followed is not None
    gradients = followed.gradients()
    for name in ("x", "W"):
        assert distance(gradients[name], subject.numeric_gradient(name, "central")) < 1e-7


class LoopsAndWindows:
    """A forward with single numbers, in-place sums, windows and functions of ``math``."""

    def __init__(self, W, ids):
        self.W, self.ids = W, ids

    def forward(self, x):
        N, T = x.shape
        out = np.zeros((N, T - 2))
        for n in range(N):
            for t in range(T - 2):
                total = 0.0
                for k in range(3):
                    total += float(x[n, t + k]) * self.W[0, k]
                out[n, t] = math.tanh(total)
        windows = np.lib.stride_tricks.sliding_window_view(x, 3, axis=1)
        out += np.tensordot(windows, self.W[1], axes=(2, 0))
        summed = np.zeros((4, T - 2))
        np.add.at(summed, self.ids, out)
        best = np.take_along_axis(out, out.argmax(axis=1, keepdims=True), axis=1)
        padded = np.pad(summed, ((0, 0), (1, 1)))
        mixed = np.einsum("...i,ij", padded[:, 1:-1], np.outer(self.W[0, :1].repeat(T - 2), out[0]))
        return mixed.prod(axis=0) + best.max() + np.cumsum(out[0]) + math.erf(self.W[1, 2])

    def backward(self, dy):
        self.dW = np.zeros_like(self.W)
        return np.zeros((3, 5))


def test_the_tape_follows_loops_and_windows():
    rng = np.random.default_rng(0)
    layer, x = (
        LoopsAndWindows(rng.normal(size=(2, 3)), np.array([1, 1, 3])),
        rng.normal(size=(3, 5)),
    )
    subject = Subject(layer, (x,))
    subject.draw_weights(rng)
    subject.analytic_gradients()
    gradients = follow(subject).gradients()
    for name in ("x", "W"):
        assert distance(gradients[name], subject.numeric_gradient(name, "central")) < 1e-7


def test_edited_passes_side_by_side_are_those_one_by_one():
    rng = np.random.default_rng(0)
    layer = layers.TimeLSTM.init(3, 4, rng=rng)
    subject = Subject(layer, (rng.normal(size=(2, 3, 3)),))
    subject.draw_states(rng)
    subject.draw_weights(rng)
    subject.analytic_gradients()
    followed = follow(subject)
    edits = [Edit(scaled=(-1, float(k)), at=[k, k + 7]) for k in range(40)]
    together = list(followed.reverse.run(edits))
    for edit, found in zip(edits, together, strict=True):
        alone = followed.gradients(edit)
        assert max(distance(found[name], alone[name]) for name in alone) < 1e-12


def test_a_forward_that_cannot_be_followed_is_still_diagnosed():
    class Through:
        def forward(self, x):
            self.x = x
            return np.fft.ifft(np.fft.fft(x**2)).real

        def backward(self, dy):
            return -2 * self.x * dy

    x = np.random.default_rng(0).normal(size=(2, 3))
    report = check_gradients(Through(), x)
    assert report.method == "central"
    assert first_cause(report).name == "sign"
    subject = Subject(Through(), (x,))
    subject.draw_weights(np.random.default_rng(0))
    assert trace(subject) is None
    problem = Problem(subject, [])
    assert problem.trace is None
    assert "fft" in problem.not_followed
    with pytest.raises(ValueError, match="cannot be followed"):
        _ = problem.followed


# --- What else a layer must do ----------------------------------------------------------------


def checks_of(layer, *inputs):
    report = check_gradients(layer, *inputs)
    return report, {check.name: check for check in report.checks}


def test_the_checks_of_a_right_layer():
    rng = np.random.default_rng(0)
    report, checks = checks_of(layers.TimeLSTM.init(3, 4, rng=rng), rng.normal(size=(2, 3, 3)))
    assert report.ok
    assert {name: check.note for name, check in checks.items()} == {
        "second backward": "refused",
        "two passes": "added up",
        "inputs": "left as they were",
        "outputs": "left as they were",
        "linear in dy": "the gradient for a sum of two dy is the sum",
        "state": "h is the last output",
    }


def test_a_layer_that_lets_backward_run_twice():
    class Lenient(layers.Tanh):
        __module__ = "deepnlp.layers.lenient"

        def saved(self):
            return self._kept

    report, checks = checks_of(Lenient(), np.ones((2, 2)))
    assert not report.ok
    assert not checks["second backward"].ok
    assert first_cause(report).name == "second backward not refused"


def test_an_output_that_is_written_over():
    class Buffer:
        def __init__(self):
            self.y = np.zeros((2, 2))

        def forward(self, x):
            self.y[...] = x
            return self.y

        def backward(self, dy):
            return dy

    report, checks = checks_of(Buffer(), np.random.default_rng(0).normal(size=(2, 2)))
    assert checks["outputs"].note == "an output is overwritten by the next forward"
    assert first_cause(report).name == "cache overwritten or mutated"


def test_a_state_that_is_not_the_last_output():
    class Late(layers.TimeRNN):
        def _finish(self, h):
            super()._finish(0.5 * h)

    rng = np.random.default_rng(0)
    report, checks = checks_of(Late.init(2, 3, rng=rng), rng.normal(size=(2, 3, 2)))
    assert not checks["state"].ok
    assert first_cause(report).name == "state is not the last output"


def test_gradients_that_are_assigned_to_a_parameter():
    class Assigns:
        def __init__(self, W):
            self.W = Parameter(W)

        def forward(self, x):
            self.x = x
            return x @ self.W.value

        def backward(self, dy):
            self.W.grad = self.x.T @ dy
            return dy @ self.W.value.T

    rng = np.random.default_rng(0)
    report, checks = checks_of(Assigns(rng.normal(size=(3, 2))), rng.normal(size=(4, 3)))
    assert [row.name for row in report.rows if not row.ok] == ["two passes"]
    assert "W" in checks["two passes"].note
    assert first_cause(report).name == "assigned instead of accumulated"


def test_random_numbers_and_states_of_ones_own_class_are_put_back():
    class Noisy:
        def __init__(self):
            self.h, self.calls, self.rng = None, 0, np.random.default_rng(0)

        def forward(self, x):
            self.h = np.zeros_like(x) if self.h is None else self.h
            self.calls += 1
            self.scale = self.calls * (self.rng.random(x.shape) + np.random.rand(*x.shape))
            self.h = np.tanh(self.scale * x + self.h)
            return self.h

        def backward(self, dy):
            return dy * (1 - self.h**2) * self.scale

    layer = Noisy()
    assert check_gradients(layer, np.random.default_rng(0).normal(size=(2, 3))).ok
    assert layer.calls == 0


# --- Along one direction ----------------------------------------------------------------------


def test_one_direction_for_a_large_model():
    rng = np.random.default_rng(0)
    layer = layers.TimeLSTM.init(20, 50, rng=rng)
    x = rng.normal(size=(4, 7, 20))
    report = check_gradients(layer, x, method="direction")
    assert report.ok
    assert [row.name for row in report.rows] == ["all gradients"]
    assert report.error < 1e-12


def test_one_direction_finds_the_wrong_gradient():
    class Wrong(layers.TimeLSTM):
        def backward(self, dhs):
            dx = super().backward(dhs)
            self.Wh.grad = 1.01 * self.Wh.grad
            return dx

    rng = np.random.default_rng(0)
    layer = Wrong.init(3, 4, rng=rng)
    report = check_gradients(layer, rng.normal(size=(2, 3, 3)), method="direction")
    assert [row.name for row in report.rows if not row.ok] == ["all gradients", "Wh"]


def test_one_direction_steps_around_kinks():
    rng = np.random.default_rng(0)
    layer = layers.TimeRNN.init(3, 4, rng=rng, activation="relu")
    assert check_gradients(layer, rng.normal(size=(2, 3, 3)), method="direction").ok


# --- Neighbouring causes ----------------------------------------------------------------------


@pytest.mark.parametrize("off", [3e-7, 3e-6, 9e-6])
def test_a_factor_that_prints_as_one_is_no_cause(off):
    class Nearly(layers.TimeLSTM):
        def backward(self, dhs):
            dx = super().backward(dhs)
            self.Wh.grad = (1 + off) * self.Wh.grad
            return dx

    rng = np.random.default_rng(0)
    report = check_gradients(Nearly.init(3, 4, rng=rng), rng.normal(size=(2, 3, 3)))
    assert [row.name for row in report.rows if not row.ok] == ["Wh"]
    (cause,) = report.causes
    assert cause.name == "epsilon added inside a function"
    assert f"{off:.1e}" in cause.evidence


class Residual:
    """y = x + tanh(x)."""

    def forward(self, x):
        self.h = np.tanh(x)
        return x + self.h

    def backward(self, dy):
        return dy * (1 - self.h**2)


class Scaled:
    """y = x sum(x)."""

    def forward(self, x):
        self.x, self.total = x, x.sum()
        return x * self.total

    def backward(self, dy):
        return dy * self.total


@pytest.mark.parametrize("kind", [Residual, Scaled])
def test_a_term_that_is_missing_was_not_assigned(kind):
    report = check_gradients(kind(), np.random.default_rng(0).normal(size=(3, 4)))
    assert first_cause(report).name == "term of a sum or product missing"


def test_gates_without_names_are_blocks():
    class Gated:
        def __init__(self, W):
            self.W = W

        def forward(self, x):
            self.x = x
            self.s = np.tanh(x @ self.W).reshape(len(x), 4, -1)
            return self.s[:, 0] * self.s[:, 1] + self.s[:, 2] ** 2 * self.s[:, 3]

        def backward(self, dy):
            a, b, c, d = (self.s[:, k] for k in range(4))
            ds = np.stack((dy * b, dy * a, 2 * dy * c * d, -dy * c**2), axis=1)
            da = (ds * (1 - self.s**2)).reshape(len(dy), -1)
            self.dW = self.x.T @ da
            da[:, -len(dy[0]) :] *= -1
            return da @ self.W.T

    rng = np.random.default_rng(0)
    report = check_gradients(Gated(rng.normal(size=(3, 20))), rng.normal(size=(4, 3)))
    assert first_cause(report).name == "sign"
    assert "block 4 of 4 is -1 times" in first_cause(report).evidence


# --- Speed, and single numbers ------------------------------------------------------------------


class StrangeLSTM(EXHIBITS["TimeLSTM"].kind):
    """Two mistakes that are no single edit and no small change."""

    def step_back(self, dh, dc, step):
        da, dc_next = super().step_back(dh, dc, step)
        k = np.arange(da.shape[1])
        da = da * (1 + 0.1 * k) + 0.2 * da[:, ::-1] * np.cos(k)
        return da, dc_next * (1 + 0.3 * k[: dc_next.shape[1]]) - 0.1 * dc_next[:, ::-1]


def seconds_of_an_unknown():
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(8, 32)), 0.3 * rng.normal(size=(8, 32)), rng.normal(size=32)
    started = time.process_time()
    report = check_gradients(StrangeLSTM(*weights), rng.normal(size=(4, 10, 8)))
    assert {cause.name for cause in report.causes} == {"unknown"}
    return time.process_time() - started


def test_an_unknown_takes_no_more_than_seconds():
    """In a process of its own, which does not hold what hundreds of other tests have left."""
    code = "from tests.test_diagnosis import seconds_of_an_unknown as f; print(f())"
    root = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < 6  # about 2.5 on a machine that does nothing else


def test_a_multiple_of_one_number_is_not_named():
    class Scale:
        def __init__(self, a):
            self.a = a

        def forward(self, x):
            self.x = x
            return self.a * np.tanh(x)

        def backward(self, dy):
            self.da = 3.7 * (dy * np.tanh(self.x)).sum(keepdims=True).reshape(1)
            return dy * self.a * (1 - np.tanh(self.x) ** 2)

    rng = np.random.default_rng(0)
    report = check_gradients(Scale(rng.normal(size=1)), rng.normal(size=(3, 4)))
    for cause in next(row for row in report.rows if row.name == "a").causes:
        assert cause.name != "constant factor"
