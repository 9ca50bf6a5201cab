"""Answers to the exercises that were written without a look at the checks.

``blind/lessonNN.py`` has ``SETUP``, what an answer may use, and ``CASES``: exercise, what is wrong,
"right" or "wrong", the code, and the line of the mistake.
"""

import linecache
import runpy
from pathlib import Path

import pytest

from tests.lessons.exercises.tools import CALL, exercise_cells, quietly

FILES = sorted(Path(__file__).with_name("blind").glob("lesson*.py"))
SAY_LITTLE = {"error", "wrong value", "wrong shape", "wrong type", "unknown", "empty"}


def verdicts(file):
    """The name, the kind and the verdict of each answer."""
    given = runpy.run_path(str(file))
    stubs = exercise_cells(int(file.stem[-2:]), solution=False)
    for number, (exercise, name, kind, source, _) in enumerate(given["CASES"]):
        handed = CALL.search(stubs[exercise])[2]
        names, place = {"__name__": "blind"}, f"<{file.stem} {number}>"
        linecache.cache[place] = len(source), None, source.splitlines(True), place
        exec(given["SETUP"], names)
        exec(compile(source, place, "exec"), names)
        answer = names["answer" if handed == "..." else handed]
        yield f"{exercise}: {name}", kind, quietly(exercise, answer)


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_blind_answers_are_judged(file):
    """None is judged wrongly, and of most wrong ones, 85 % or more, the mistake is named."""
    judged = list(verdicts(file))
    off = [name for name, kind, verdict in judged if verdict.ok != (kind == "right")]
    assert not off
    wrong = [(name, verdict) for name, kind, verdict in judged if kind == "wrong"]
    unnamed = [(name, verdict.text) for name, verdict in wrong if verdict.diagnosis in SAY_LITTLE]
    assert len(unnamed) <= 0.15 * len(wrong), unnamed
