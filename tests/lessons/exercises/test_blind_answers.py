"""Answers to the exercises that were written without a look at the checks.

``blind/lessonNN.toml`` has ``setup``, what an answer may use, and for each exercise ``right``
answers with the ``wrong`` ones that are near them, by the name of the mistake: a text is the whole
answer, a list the edits of the right one, what stands there and what stands in its place in turn.
"""

import linecache
import tomllib
from itertools import count
from pathlib import Path

import pytest

from tests.lessons.exercises.tools import CALL, exercise_cells, quietly

FILES = sorted(Path(__file__).with_name("blind").glob("lesson*.toml"))
SAY_LITTLE = {"error", "wrong value", "wrong shape", "wrong type", "unknown", "empty"}


def edited(source, edits):
    """A source with the second text of each pair in the place of the first."""
    for before, after in zip(edits[::2], edits[1::2], strict=True):
        assert source.count(before) == 1, f"{before!r} should stand once in\n{source}"
        source = source.replace(before, after)
    return source


def answers(exercises):
    """The exercise, the name, the kind and the source of each answer."""
    for exercise, blocks in exercises.items():
        for block in blocks:
            if "right" in block:
                yield exercise, block.get("name", "right"), "right", block["right"]
            for name, wrong in block.get("wrong", {}).items():
                source = wrong if isinstance(wrong, str) else edited(block["right"], wrong)
                yield exercise, name, "wrong", source


def verdicts(file):
    """The name, the kind and the verdict of each answer."""
    exercises, number = tomllib.loads(file.read_text("utf-8")), count()
    setup, stubs = exercises.pop("setup"), exercise_cells(int(file.stem[-2:]), solution=False)
    for exercise, name, kind, source in answers(exercises):
        handed = CALL.search(stubs[exercise])[2]
        names, place = {"__name__": "blind"}, f"<{file.stem} {next(number)}>"
        linecache.cache[place] = len(source), None, source.splitlines(True), place
        exec(setup, names)
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
