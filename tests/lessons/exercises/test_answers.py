"""Every exercise of every lesson: no answer, right answers and wrong ones.

``answers/lessonK.toml`` has for each exercise ``right`` answers in other styles than the solution,
and ``wrong`` ones by the diagnosis that they should get; ``says`` has words of the sentence on it.
Answers are Python expressions that may use the names below and those of ``setup``, where answers of
several lines stand.
"""

import linecache
import math
import re
import tomllib
from fractions import Fraction
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest

from deepnlp import layers
from deepnlp.backend.functions import sigmoid, softmax
from deepnlp.lessons.exercises import EMPTY, exercises_of
from notebooks.build import sources
from tests.lessons.exercises.tools import (
    adding,
    answer_in_lesson,
    changed,
    code_cells,
    deaf,
    exercise_cells,
    lesson_sources,
    quietly,
    solution_of,
)

LESSONS = sorted({int(path.stem[:2]) for path in sources()})
NAMES = [e.name for lesson in LESSONS for e in exercises_of(lesson)]
SAY_LITTLE = {"empty", "error", "wrong value", "wrong shape", "wrong type", "unknown"}
SHARED = {
    "np": np, "math": math, "partial": partial, "Fraction": Fraction, "layers": layers,
    "sigmoid": sigmoid, "softmax": softmax, "changed": changed, "deaf": deaf, "adding": adding,
    "solution_of": solution_of,
}  # fmt: skip


@cache
def answers_of(lesson):
    """Return the answers by exercise, and the names that they use."""
    file = Path(__file__).with_name("answers").joinpath(f"lesson{lesson}.toml")
    exercises, names = tomllib.loads(file.read_text("utf-8")), {"__name__": file.stem, **SHARED}
    setup, place = exercises.pop("setup"), f"<{file.stem}>"
    linecache.cache[place] = len(setup), None, setup.splitlines(True), place
    exec(compile(setup, place, "exec"), names)
    return exercises, names


def evaluated(name, texts):
    """Pairs of a text and the answer."""
    _, names = answers_of(int(name.split(".")[0]))
    return [(text, eval(text, names)) for text in ([texts] if isinstance(texts, str) else texts)]


def answers(name):
    return answers_of(int(name.split(".")[0]))[0][name]


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
    assert list(answers_of(lesson)[0]) == names
    text = "".join(path.read_text(encoding="utf-8") for path in lesson_sources(lesson))
    for e in exercises_of(lesson):
        heading = rf"### {re.escape(e.heading)}( · further)?\n"
        assert re.search(heading, text), f"the heading should read: ### {e.heading}"


@pytest.mark.parametrize("lesson", LESSONS)
def test_solutions_are_folded_away(lesson):
    for cell in (cell for path in lesson_sources(lesson) for cell in code_cells(path)):
        is_solution = cell.source.startswith("# Solution ")
        assert is_solution == ("solution" in cell.metadata.get("tags", []))
        folded = cell.metadata.get("jupyter", {}).get("source_hidden", False)
        assert is_solution == folded, cell.source[:40]


@pytest.mark.parametrize("name", NAMES)
def test_no_answer_is_called_empty(name):
    solution = solution_of(name)
    nothing = [answer_in_lesson(name, solution=False), None, ...]
    if callable(solution) and not isinstance(solution, type):
        nothing.append(lambda *given: None)
    for answer in nothing:
        assert quietly(name, answer).diagnosis == EMPTY


@pytest.mark.parametrize("name", NAMES)
def test_right_answers_pass(name):
    others = evaluated(name, answers(name)["right"])
    assert len(others) >= 2
    for text, answer in [("the solution", solution_of(name)), *others]:
        verdict = quietly(name, answer)
        assert verdict.ok, f"{text}: {verdict.text}"


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", NAMES)
def test_wrong_answers_get_the_names_of_their_mistakes(name):
    sentences, off = set(), []
    for diagnosis, texts in answers(name)["wrong"].items():
        words = answers(name).get("says", {}).get(diagnosis, "")
        for text, answer in evaluated(name, texts):
            verdict = quietly(name, answer)
            if verdict.diagnosis != diagnosis or words not in verdict.text:
                off.append(f"{text}: {verdict.diagnosis}, not {diagnosis}: {verdict.text}")
            elif diagnosis not in SAY_LITTLE:
                sentences.add(verdict.text)
    assert not off, "\n".join(off)
    assert len(sentences) >= 2, "two mistakes that the reader is told by name"


def test_two_mistakes_are_both_told():
    both = "changed(Mine, **SUM, **NO_SCORE_PATH)"
    ((_, answer),) = evaluated("9.3", both)
    text = quietly("9.3", answer).text
    assert "scores" in text
    assert "sum" in text


def test_layers_of_the_reader_train_like_those_of_the_package():
    namespace = {}
    cells = [cell.source for cell in code_cells(lesson_sources(1)[0])]
    parts = ("def train(", "def network(")
    (training,) = [code for code in cells if all(part in code for part in parts)]
    (plugged,) = [code for code in cells if "def train_by_hand(" in code]
    setup = "from deepnlp import Sequential\nfrom deepnlp.layers import *\nshort = True\n"
    first = next(code for code in cells if "import numpy" in code)
    data = "x, t = spiral(n_per_class=100, rng=np.random.default_rng(1984))\n"
    exec(first + "\n" + setup + data + training, namespace)
    mine = {"1.5": "MyAffine", "1.6": "MySigmoid", "1.7": "MySoftmaxWithLoss"}
    namespace |= {name: solution_of(number) for number, name in mine.items()}
    exec(plugged, namespace)
    assert all(namespace["passed"])
    ours = namespace["train_by_hand"](*namespace["mine"].values())
    assert ours == pytest.approx(namespace["history"]["10 hidden units"][-1], rel=0.02)
