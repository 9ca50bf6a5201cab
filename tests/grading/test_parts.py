"""Messages, assignments, marks: the parts of the grader, without a process."""

import json
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from deepnlp.gradcheck import check_gradients
from deepnlp.grading import Assignment, Mark, Task, judging, remote, submissions_in, wire
from deepnlp.grading.results import class_page, report, write_results
from deepnlp.grading.worker import Worker
from deepnlp.lessons.exercises import Verdict, check
from deepnlp.testing import assert_gradients
from tests.lessons.exercises.test_answers import NAMES, answers, evaluated, solution_of

HERE = Path(__file__).parent
WRONG = Verdict.wrong("sign", "db has the wrong sign.")


class Loop(remote.Session):
    """A submission that answers in this process."""

    def __init__(self, text):
        super().__init__({}, (0, 0), 60.0)
        self.worker = Worker()
        self.worker.of_run([("submission.py", text, False)])

    def start(self):
        pass

    def begin(self):
        pass

    def ask(self, name, *given):
        question = wire.pack([name, (60.0, 60.0), *given], remote._described)
        reply = wire.unpack(self.worker.reply(question), lambda key: remote.Remote(self, key))
        if "value" in reply:
            return reply["value"]
        raise remote._as_error(*reply["error"])


def task_of(tmp_path, text):
    (tmp_path / "solution.py").write_text((HERE / "solution.txt").read_text("utf-8"))
    (tmp_path / "homework.toml").write_text(text, encoding="utf-8")
    return Assignment.load(tmp_path / "homework.toml").tasks


def marks_of(tmp_path, name):
    text = (HERE / "submissions" / f"{name}.txt").read_text("utf-8")
    tasks = task_of(tmp_path, (HERE / "assignment.toml").read_text("utf-8"))
    session = Loop(text.replace("import matplotlib.pyplot as plt\n", ""))
    return [mark_of(task, session) for task in tasks]


def mark_of(task, session):
    expected = judging._expected(task, 0) if task.target else []
    return judging._graded(task, session, expected)


@pytest.mark.parametrize(
    ("name", "scores"), [("right", [4, 2]), ("odd", [4, 2]), ("sign", [2, 1]), ("wrong", [0, 0])]
)
def test_answers_earn_what_they_deserve(tmp_path, name, scores):
    assert [mark.score for mark in marks_of(tmp_path, name)] == scores


def test_what_the_checks_say_in_its_own_process_earns_nothing(tmp_path):
    text = """
class MyAffine:
    def __init__(self, W, b): self.W, self.b = W, b
    def forward(self, x): return x @ self.W + self.b
    def backward(self, dy):
        self.dW, self.db = dy[0], dy[1]
        return dy @ self.W.T + 1
"""
    task = task_of(tmp_path, '[[exercise]]\nname = "1.5"\nanswer = "MyAffine"\npoints = 4\n'
                   'partial = {"sign" = 0.5}')[0]  # fmt: skip
    session = Loop(text)
    session.worker.of_verdict = lambda *given: (False, "sign", "It claims so.")
    mark = mark_of(task, session)
    assert (mark.score, mark.text) == (0, "It claims so.")
    session.worker.of_verdict = lambda *given: (True, None, "Right.")
    mark = mark_of(task, session)
    assert (mark.ok, mark.score) == (False, 0)
    assert "says that it is right" in mark.note


def test_a_fault_of_the_teacher_is_no_students_mistake(tmp_path):
    task = task_of(tmp_path, '[[exercise]]\ntarget = "affine"\nreference = "solution.py"\n'
                   'input = ["N=four"]\npoints = 2')[0]  # fmt: skip
    with pytest.raises(ValueError, match="N=four"):
        mark_of(task, Loop(""))


def test_what_a_line_hands_to_check_is_noted_and_not_run(tmp_path):
    session = Loop("a = 1\nprint(check('1.1', a), check('1.2', [a, 2]))\na = 3")
    assert session.ask("exercise", "1.1", "") == 3
    assert session.ask("exercise", "1.2", "") == [3, 2]
    assert session.ask("exercise", "1.3", "") is ...
    mark = mark_of(Task(points=1, name="1.1", answer="absent"), session)
    assert (mark.diagnosis, mark.text) == ("empty", "Not yet: there is no absent.")


def test_what_cannot_start_is_no_fault_of_a_submission():
    session = remote.Session({"cells": [], "imports": ["nowhere"], "lessons": []}, (999, 99), 9.0)
    with pytest.raises(ValueError, match="the runner process cannot start: No module named 'nowh"):
        session.start()
    assert session.process is None


@pytest.mark.parametrize(
    "name", ["1.7", *(pytest.param(n, marks=pytest.mark.slow) for n in NAMES if n != "1.7")]
)
def test_answers_of_the_lessons_earn_all_points_or_not_all(name):
    def mark_of(answer):
        session = Loop("")
        session.worker.of_exercise = lambda *given: answer
        return judging._graded(Task(points=1, name=name), session, [])

    assert mark_of(solution_of(name)).score == 1
    for text, answer in evaluated(name, answers(name)["right"]):
        assert mark_of(answer).score == 1, text
    for texts in answers(name)["wrong"].values():
        for text, answer in evaluated(name, texts)[:1]:
            assert mark_of(answer).score == 0, text


@pytest.mark.parametrize(
    "value",
    [None, True, 3, 2.5, "text", ..., 1 + 2j, Fraction(1, 3), (1, [2, {"a": {3}}]), np.int64(3)],
)
def test_a_value_comes_back_as_it_was(value):
    got = wire.unpack(wire.pack(value, id), str)
    assert got == value
    assert type(got) is type(value)


def test_arrays_and_lazy_values_come_back():
    array = np.arange(6.0).reshape(2, 3).T
    for each in (array, array[:0], array.astype("F"), array.astype(object)):
        np.testing.assert_array_equal(wire.unpack(wire.pack(each, id), str), each)
    assert wire.unpack(wire.pack((n * n for n in range(3)), id), str) == [0, 1, 4]


@pytest.mark.parametrize(
    "tree",
    [["array", "O", "AAAAAAAAAAA=", 1], ["array", "<f8", "AAAA", 1], ["array", "<f8", "", 10**12],
     ["array", "i4,i4", "", 0], ["array", "<f8", "", 0, 10**9],
     ["nonsense"], [], [[]], ["dict", 1], ["fraction", "x"], ["fraction", "1e999999999", 1],
     ["set", *range(10_001)], ["fraction", 1, 0], ["complex", 10**400, 1]],
)  # fmt: skip
def test_a_broken_message_is_refused(tree):
    with pytest.raises(ValueError, match="no message"):
        wire.unpack(json.dumps(tree).encode(), str)


@pytest.mark.parametrize("text", [b"", b"{", b"[" * 10**6, b"9" * 10**5, b"\xff"])
def test_what_is_no_json_is_no_message(text):
    with pytest.raises(ValueError, match="no message"):
        wire.unpack(text, str)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected one or more tables"),
        ('[[exercise]]\nname = "1.5"', "an exercise needs points"),
        ('[[exercise]]\nname = "1.5"\npoints = 0', "points should be above 0"),
        ("[[exercise]]\npoints = 1", "either a name"),
        ('[[exercise]]\nname = "1.99"\npoints = 1', "there is no exercise '1.99'"),
        ('[[exercise]]\ntarget = "affine"\npoints = 1', "needs a reference"),
        ('[[exercise]]\nname = "1.5"\npoint = 1', "point is unknown: expected one of points"),
        ('partial = 3\n[[exercise]]\nname = "1.5"\npoints = 1', "partial should be a dict"),
        ('[[exercise]]\nname = "1.5"\npoints = 1\npartial = 3', "partial should be a dict"),
        ('seconds = "x"\n[[exercise]]\nname = "1.5"\npoints = 1', "seconds should be a float"),
    ],
)
def test_a_mistake_in_an_assignment_is_named(tmp_path, text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        task_of(tmp_path, text)


def test_submissions_by_name(tmp_path):
    (tmp_path / "ada.py").write_text("x = 1")
    (tmp_path / "ben").mkdir()
    (tmp_path / "ben" / "hw.ipynb").write_text("{}")
    (tmp_path / "Ada.ipynb").write_text(json.dumps({"cells": []}))
    assert [each.name for each in submissions_in([str(tmp_path)])] == ["Ada", "ada_", "ben"]
    (tmp_path / "ben" / "other.py").write_text("")
    handed_in = submissions_in([str(tmp_path)])
    with pytest.raises(ValueError, match=r"one notebook or module, got 2: hw\.ipynb, other"):
        handed_in[2].cells()
    (tmp_path / "long.py").write_text("x = 1\n" * 200_000)
    with pytest.raises(ValueError, match=r"long\.py has more than 1 MB of code"):
        submissions_in([str(tmp_path / "long.py")])[0].cells()
    with pytest.raises(FileNotFoundError, match=r"no submission .*nowhere"):
        submissions_in(["nowhere"])


MARKS = {"ada": [Mark("A", 2, 2, True, None, "Right.")],
         "=1+1": [Mark("A", 0.5, 2, False, "<b>", "Wrong: <x>.", "uses os")]}  # fmt: skip


def test_results_for_systems_and_people(tmp_path):
    assert report(MARKS["ada"], "gradescope")["tests"][0]["status"] == "passed"
    half = report(MARKS["=1+1"], "classroom50")
    assert (half["score"], half["max-score"]) == (50, 200)
    assert {type(half["score"]), type(half["tests"][0]["score"])} == {int}
    write_results(tmp_path, MARKS, Assignment([], "One & two"))
    assert "'=1+1,0.5,2" in (tmp_path / "marks.csv").read_text("utf-8")
    page = class_page(MARKS, Assignment([], "One & two"))
    assert "One &amp; two" in page
    assert "&lt;b&gt;" in page


def test_a_verdict_raises_and_counts(capsys):
    with pytest.raises(AssertionError, match="db has the wrong sign"):
        WRONG.or_raise()
    assert (WRONG.marks(4), WRONG.marks(4, {"sign": 0.25})) == (0.0, 1.0)
    assert check("6.2", 1.8 ** (1 / 20)).or_raise().marks(3) == 3.0
    assert capsys.readouterr().err == ""


class Negated:
    def __init__(self, W):
        self.W = W

    def forward(self, x):
        self.x = x
        return x @ self.W

    def backward(self, dy):
        self.dW = -self.x.T @ dy
        return dy @ self.W.T


def test_a_wrong_gradient_is_a_failed_test_that_names_the_cause():
    x, W = np.random.default_rng(0).normal(size=(2, 3, 3))
    with pytest.raises(AssertionError, match=r"^Negated: wrong: W\. sign: .*line \d+") as failure:
        assert_gradients(Negated(W), x)
    assert "likely cause: sign" in str(failure.value)
    report = check_gradients(Negated(W), x, quiet=True)
    assert (report.diagnosis, report.marks(2, {"sign": 0.5})) == ("sign", 1.0)
