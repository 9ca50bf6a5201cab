"""Every exercise of every lesson: the empty answer is found empty, the solution is right."""

import pytest

from deepnlp.exercises import EMPTY, exercises_of
from notebooks.build import sources
from tests.exercises.tools import code_cells, exercise_cells, lesson_source, verdict_of

LESSONS = [int(path.stem[:2]) for path in sources()]
NAMES = [e.name for lesson in LESSONS for e in exercises_of(lesson)]


@pytest.mark.parametrize("lesson", LESSONS)
def test_a_lesson_has_eight_exercises_of_three_grades(lesson):
    exercises = exercises_of(lesson)
    assert len(exercises) >= 8
    assert {e.stars for e in exercises} == {1, 2, 3}
    assert len({e.title for e in exercises}) == len(exercises)


@pytest.mark.parametrize("lesson", LESSONS)
def test_the_lesson_asks_and_answers_every_exercise(lesson):
    names = [e.name for e in exercises_of(lesson)]
    assert list(exercise_cells(lesson, solution=False)) == names
    assert list(exercise_cells(lesson, solution=True)) == names
    text = lesson_source(lesson).read_text(encoding="utf-8")
    for e in exercises_of(lesson):
        assert f"### {e.heading}\n" in text, f"the heading should read: ### {e.heading}"


@pytest.mark.parametrize("lesson", LESSONS)
def test_solutions_are_folded_away(lesson):
    for cell in code_cells(lesson_source(lesson)):
        is_solution = cell.source.startswith("# Solution ")
        assert is_solution == ("solution" in cell.metadata.get("tags", []))
        folded = cell.metadata.get("jupyter", {}).get("source_hidden", False)
        assert is_solution == folded, cell.source[:40]


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_answer_is_called_empty(name):
    verdict, _ = verdict_of(name, solution=False)
    assert not verdict.ok
    assert verdict.diagnosis == EMPTY, verdict.text


@pytest.mark.parametrize("name", NAMES)
def test_the_solution_passes(name):
    verdict, _ = verdict_of(name, solution=True)
    assert verdict.ok, verdict.text
