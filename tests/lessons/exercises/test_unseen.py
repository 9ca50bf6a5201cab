"""Answers that were written without a look at the checks: ``unseen/lessonNN.py``.

A case is (exercise, what it does, "wrong" or "right", source, line of the mistake). No wrong answer
may pass, no right one may be refused, and nearly all mistakes are called by a name.
"""

from importlib import import_module
from pathlib import Path

import pytest

from tests.lessons.exercises.tools import CALL, exercise_cells, quietly

LESSONS = sorted(path.stem for path in Path(__file__).with_name("unseen").glob("lesson*.py"))
NO_NAME = {"error", "unknown", "wrong shape", "wrong value"}


def given(name, setup, source):
    """What a source hands over to ``check``."""
    names = {}
    exec(setup, names)
    exec(source, names)
    handed_over = CALL.search(exercise_cells(int(name.split(".")[0]), solution=False)[name])[2]
    return names["answer" if handed_over == "..." else handed_over]


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("lesson", LESSONS)
def test_unseen_answers_are_judged_right_and_mistakes_named(lesson):
    module = import_module(f"tests.lessons.exercises.unseen.{lesson}")
    judged = [
        (name, text, kind, quietly(name, given(name, module.SETUP, source)))
        for name, text, kind, source, _ in module.CASES
    ]
    off = [f"{n} {t}: {v.text}" for n, t, kind, v in judged if v.ok != (kind == "right")]
    assert not off, "\n".join(off)
    found = [verdict.diagnosis for *_, kind, verdict in judged if kind == "wrong"]
    assert sum(diagnosis not in NO_NAME for diagnosis in found) >= 0.85 * len(found)
