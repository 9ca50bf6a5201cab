"""The cause that is named first: of the broken layers of the collection, and of right ones."""

from collections import Counter
from functools import cache

import numpy as np
import pytest

from deepnlp.examples import SIZES
from deepnlp.gradcheck import CAUSES, Cause, check_gradients
from deepnlp.lessons.exercises import check as check_exercise
from tests.broken.collection import CASES, example, load, read, small_sizes
from tests.broken.judge import points, verdict
from tests.broken.museum import check, false_accusations, is_named, right_layers, score_case

MUSEUM = {case.name: case for case in read("museum").cases}

NOT_SHOWN = {"SingleAffine"}  # its rounding is within that of the differences

# What the diagnosis can say besides, of which the museum need not show two.
BESIDES = {
    "another value in its place",
    "forward is wrong",
    "gradients exchanged",
    "not a number",
    "not linear in dy",
    "second backward not refused",
    "state is not the last output",
    "term of a sum or product missing",
    "unknown",
}


def test_the_museum_shows_every_cause_twice():
    shown = Counter(case.accept[0] for case in MUSEUM.values())
    assert {cause for cause in CAUSES if shown[cause] < 2} <= BESIDES
    assert all(case.hint for case in MUSEUM.values())


@pytest.mark.parametrize(
    ("name", "every", "seed"), [("museum", 7, 0), ("unseen", 12, 1), ("repaired", 38, 2)]
)
def test_the_cause_is_named_first(name, every, seed):
    """A sample; ``python -m tests.broken --set museum`` and the others run them whole."""
    cases = [case for case in read(name).cases if case.accept][::every]
    scores = [score_case(case, shapes=1, seed=seed) for case in cases]
    assert [score for score in scores if score.right < 1 and score.name not in NOT_SHOWN] == []


@pytest.mark.parametrize(("name", "every"), [("first", 150), ("second", 155), ("fourth", 15)])
def test_a_sample_of_the_frozen_sets(name, every):
    """``python -m tests.broken --set first`` runs them whole."""
    verdicts = []
    for case in read(name).cases[::every]:
        layer, inputs = example(case, [11, 0])
        verdicts.append((verdict(check_gradients(layer, *inputs), case), case.name))
    assert [each for each in verdicts if each[0] != "right"] == []


@pytest.mark.parametrize("name", ["GLUGateAndTranspose", "BilinearTwo"])
def test_two_mistakes_are_both_named(name):
    """One each for the gradients that it spoils."""
    (case,) = [case for case in read("repaired").cases if case.name == name]
    layer, inputs = example(case, 5)
    report = check_gradients(layer, *inputs)
    names = {row.name: row.causes[0].name for row in report.rows if not row.ok}
    assert {name: names[name] for name, _ in case.rows} == dict(case.rows), str(report)


@pytest.mark.parametrize("case", read("exercise").cases[::4], ids=lambda case: case.name)
def test_a_wrong_answer_to_an_exercise_is_named(case):
    """The exercises gain from the diagnosis without a word of theirs."""
    found = check_exercise("6.4", load(case.family.layer, case.edits))
    assert found.diagnosis in case.accept, found.text
    text = found.text.replace("\n", " ")
    assert f"`{case.wrong}`" in text or points(text, case), text
    assert is_right(case.family.layer)


@cache
def is_right(layer):
    return check_exercise("6.4", load(layer)).ok


def test_no_right_layer_is_accused():
    """Every twentieth; their gradients are all checked in one shape elsewhere."""
    right = right_layers(read("museum"))
    assert len(right) > 90
    sample = {name: right[name] for name in [*right][::20]}
    assert false_accusations(sample, len(sample)) == []


def test_a_cause_that_coincides_counts_only_in_such_a_shape():
    names = ["constant factor", "sign"]
    sizes = SIZES._replace(N=3, T=4, D=5, H=6)
    assert not is_named("sign", names, sizes)
    assert is_named("sign", names, sizes._replace(N=4))
    assert is_named("sign", names, sizes._replace(N=1))
    assert not is_named("transposed", names, sizes._replace(N=1))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("LSTMOtherOrder", ["LSTM", "`blocks = df * f * (1 - f), di * i * (1 - i), dg"]),
        ("TimeRNNAssigns", ["TimeRNN", "Wh", "step 0"]),
        ("GRUForgetsShortcut", ["h_prev", "z * h_prev"]),
        ("TimeRNNStopsEarly", ["`for t in range(dhs.shape[1] - 1, 0, -1):`"]),
        ("AffineMeanWeight", ["params[0]", "1/N"]),
        ("TanhOfX", ["np.tanh(x)", "1 - x**2"]),
        ("TiedForgetsLookup", ["gradient of E", "np.tanh(self.E[ids])"]),
        ("LSTMSigmoidEverywhere", ["np.tanh(g)", "sigmoid"]),
    ],
)
def test_the_evidence_names_layer_parameter_gate_and_step(name, words):
    case = MUSEUM[name]
    drawn = {seed: small_sizes(np.random.default_rng(seed)) for seed in range(20)}
    seed = next(seed for seed, sizes in drawn.items() if sizes.N > 2 and len({*sizes}) > 3)
    _, report = check(case.family, case.edits, seed)
    assert [bool(row.causes) for row in report.rows] == [not row.ok for row in report.rows]
    cause = next(row.causes[0] for row in report.rows if row.causes)
    for word in words:
        assert word in cause.evidence
    assert f"likely cause: {cause.name}" in str(report)
    assert cause.distance < 1e-5


def test_causes_come_from_the_list_and_the_list_is_documented():
    with pytest.raises(ValueError, match="not in the list"):
        Cause("bad luck", "")
    text = CASES.parents[2].joinpath("docs", "diagnosis.md").read_text(encoding="utf-8")
    assert [name for name in CAUSES if f"| {name} |" not in text] == []
