"""Every exercise of every lesson: the empty answer, right answers and wrong ones.

``RIGHT`` in ``test_lessonN.py`` has pairs of a name and a right answer in another style than the
solution; ``WRONG`` has a name, a wrong answer, its diagnosis, and where this is the same for
several mistakes (a wrong choice) words of the sentence.
"""

from importlib import import_module

import pytest

from deepnlp.lessons.exercises import EMPTY, check, exercises_of
from notebooks.build import sources
from tests.lessons.exercises.tools import (
    code_cells,
    exercise_cells,
    lesson_source,
    solution_of,
    verdict_of,
)

LESSONS = [int(path.stem[:2]) for path in sources()]
NAMES = [e.name for lesson in LESSONS for e in exercises_of(lesson)]
MODULES = [import_module(f"tests.lessons.exercises.test_lesson{lesson}") for lesson in LESSONS]
RIGHT = [case for module in MODULES for case in module.RIGHT]
WRONG = [case for module in MODULES for case in module.WRONG]
SAY_LITTLE = {"empty", "error", "wrong value", "wrong shape", "wrong type", "unknown"}


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


@pytest.mark.parametrize("name", NAMES)
def test_an_exercise_has_two_right_and_two_named_wrong_answers(name):
    assert len([answer for one, answer in RIGHT if one == name]) >= 2
    told = {tuple(case[2:]) for case in WRONG if case[0] == name and case[2] not in SAY_LITTLE}
    assert len(told) >= 2, "two mistakes that the reader is told by name"


def test_the_tables_name_exercises_that_there_are():
    assert {case[0] for case in [*RIGHT, *WRONG]} == set(NAMES)


def ids(cases):
    return [f"{case[0]}-{number}" for number, case in enumerate(cases)]


@pytest.mark.parametrize(("name", "answer"), RIGHT, ids=ids(RIGHT))
def test_a_right_answer_in_another_style_passes(name, answer):
    verdict = check(name, answer)
    assert verdict.ok, verdict.text


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("case", WRONG, ids=ids(WRONG))
def test_a_wrong_answer_is_told_its_mistake(case):
    name, answer, diagnosis, *words = case
    verdict = check(name, answer)
    assert not verdict.ok
    assert verdict.diagnosis == diagnosis, verdict.text
    for some in words:
        assert some in verdict.text


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("nothing", [None, ..., lambda *given: None])
def test_nothing_at_all_is_called_empty(name, nothing):
    answer, is_function = solution_of(name), callable(nothing)
    if is_function and (isinstance(answer, type) or not callable(answer)):
        return  # this exercise asks for a class, a number or a choice
    assert check(name, nothing).diagnosis == EMPTY
