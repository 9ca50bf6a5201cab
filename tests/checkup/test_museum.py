"""Right trainings are not accused, wrong ones are named, and everything is put back."""

import os
from pathlib import Path

import numpy
import pytest

import deepnlp.checkup
from deepnlp.checkup import CAUSES, check_training
from deepnlp.checkup.forms import program_of
from deepnlp.checkup.keeping import State
from tests.checkup.museum import CASES, PROGRAMS, handed

LONG = pytest.mark.skipif("DEEPNLP_FUZZ" not in os.environ, reason="DEEPNLP_FUZZ=1 tries all")
QUICK = (10, 12, 15, 25)  # one by one the direction, the gradients, the data, one weight


def check(number):
    case = CASES[number]
    report = check_training(**handed(case["program"], case["edits"]))
    names = [one.name for one in report.causes]
    assert names[:1] == [case["cause"]], f"{case}\n{report}"


@pytest.mark.parametrize("number", QUICK)
def test_a_mistake_is_named(number):
    check(number)


@LONG
@pytest.mark.parametrize("number", sorted({*range(len(CASES))} - {*QUICK}))
def test_every_mistake_is_named(number):
    check(number)


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in ("book", "course") else LONG) for n in PROGRAMS]
)
def test_a_right_program_is_not_accused_and_all_is_put_back(name):
    given = handed(name)
    before = State(*given.values())
    numpy.random.seed(11)
    drawn = numpy.random.get_state()[1].copy()
    report = check_training(**given)
    assert not report.causes, report
    assert not before.changes()
    assert (numpy.random.get_state()[1] == drawn).all()


def test_every_cause_of_the_table_is_named_somewhere():
    home = Path(deepnlp.checkup.__file__).parent
    text = "".join(path.read_text("utf-8") for path in [*home.glob("*.py"), home / "rules.toml"])
    assert not [name for name in CAUSES if f'"{name}"' not in text]


def test_what_cannot_be_tried_is_said():
    with pytest.raises(TypeError, match="batches were not given"):
        check_training(lambda x, t: 0.0)
    with pytest.raises(TypeError, match="how is a object trained"):
        check_training(object(), [(numpy.zeros(2), numpy.zeros(2))])
    report = check_training(lambda x, t: 1 / 0, [(numpy.zeros((3, 2)), numpy.zeros(3))] * 2)
    assert report.diagnosis == "the step ends in an error"
    assert "ZeroDivisionError" in str(report)


def test_gradients_that_are_added_up_on_purpose():
    W, kept = numpy.zeros(3), {"g": numpy.zeros(3), "n": 0}
    rng = numpy.random.default_rng(0)
    batches = [(x, x @ [1.0, 2.0, -1.0]) for x in rng.normal(size=(6, 8, 3))]

    def step(x, t):
        error = x @ W - t
        kept["g"] += x.T @ error / len(x)
        kept["n"] += 1
        if kept["n"] % 3 == 0:
            W[:] -= 0.1 * kept["g"] / 3
            kept["g"][:] = 0
        return (error**2).mean()

    program = program_of(step, batches, None, None, {})
    assert program.period == 3
    assert check_training(step, batches).ok


def test_the_page_has_a_row_for_each_cause():
    page = Path(__file__).parents[2] / "docs" / "check-your-training.md"
    rows = [line.split(" | ") for line in page.read_text("utf-8").splitlines() if " | " in line]
    named = {row[0].removeprefix("| "): row[1] for row in rows if len(row) == 3}
    assert {name: named.get(name) for name in CAUSES} == CAUSES
