"""The marks of a submission: numbers are compared here, and causes asked for there."""

import inspect
import json
import os
import pickle
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import chdir, closing
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE, Popen, TimeoutExpired
from typing import Any

import numpy as np

from deepnlp.files.writing import to_json
from deepnlp.gradcheck.loading import failures_in_one_line, load_own
from deepnlp.gradcheck.own import build_own
from deepnlp.grading.assignment import Assignment, Task
from deepnlp.grading.process import end_with, limit, limit_memory
from deepnlp.grading.remote import START, WAIT, EndedError, Session, command_of, runner_of
from deepnlp.grading.results import Mark, Submission
from deepnlp.lessons.exercises.backward import gradient_of
from deepnlp.lessons.exercises.registry import judge
from deepnlp.lessons.exercises.tables import check_by_numbers, lesson_of, tables_of
from deepnlp.lessons.exercises.values import compare_values
from deepnlp.lessons.exercises.verdict import Verdict

RIGHT = Verdict.right("Right: every number agrees.")
NOT_READABLE, NOT_GRADED = "not readable", "not graded"
LEAST_SECONDS = 60.0  # the grader's own least processor time for an answer
TOO_MUCH = "It could not be graded: what it gave took more than {:g} seconds, or too much memory."


def grade(
    submission: Submission, assignment: Assignment, seed: int = 0, runner: str = ""
) -> list[Mark]:
    """Return the marks of a submission, one for each task.

    They are made in a process with limits of its own. Where it ends before it has all, the mark of
    the next task says so, and another process goes on.

    Parameters
    ----------
    submission : Submission
    assignment : Assignment
    seed : int
        Of the numbers on which functions are tried; that they are not known before is best.
    runner : str
        ``"wasi"`` or ``"process"``; by default WASI where it is installed.

    Raises
    ------
    ValueError
        If the assignment is at fault, or no process can be started.
    """
    marks: list[Mark] = []
    while left := assignment.tasks[len(marks) :]:
        job = submission, replace(assignment, tasks=left), seed, runner_of(runner), sys.path
        seconds = WAIT * (START + len(left) * 2 * _seconds(assignment))
        pipes: Any = {"stdin": PIPE, "stdout": PIPE, "cwd": os.sep}
        with Popen(command_of(__name__, os.getpid()), **pipes) as judge:
            try:
                said, _ = judge.communicate(pickle.dumps(job), seconds)
            except TimeoutExpired:
                judge.kill()
                said, _ = judge.communicate()
            finally:  # whatever has ended this process
                judge.kill()
        if not said:
            raise ValueError("the process that grades cannot start")
        lines = said.split(b"\n")[1:-1]
        for line in lines:
            table = json.loads(line)
            if "fault" in table:
                raise ValueError(table["fault"])
            marks.append(Mark(**table))
        if judge.returncode:
            task, why = left[len(lines)], TOO_MUCH.format(_seconds(assignment))
            marks.append(Mark(task.title, 0.0, task.points, False, NOT_GRADED, why, why))
    return marks


def main(parent: int) -> None:
    """Write a line of JSON for each mark of the submission that comes on standard input."""
    end_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    job = pickle.loads(sys.stdin.buffer.read())
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace")
    os.dup2(2, 1)  # what a reference prints is no mark
    print(file=out, flush=True)  # it has begun
    *given, path = job
    sys.path[:] = path
    try:
        for mark in judged(*given):
            print(to_json(vars(mark)), file=out, flush=True)
    except (ValueError, OSError) as error:
        print(to_json({"fault": str(error)}), file=out, flush=True)


def judged(
    submission: Submission, assignment: Assignment, seed: int, runner: str
) -> Iterator[Mark]:
    """Return the marks of a submission, made in this process."""
    lessons = {lesson_of(task.name) for task in assignment.tasks if ":" not in task.name} - {0}
    cells, error = [], ""
    _limit(assignment)
    try:
        cells = submission.cells()
    except Exception as unread:
        error = f"It cannot be read: {_told(unread)}"
    asked = {"cells": cells, "imports": assignment.imports, "lessons": lessons}
    limits = assignment.memory, int(2 * assignment.seconds * len(assignment.tasks)) + 30
    with closing(Session(asked, limits, assignment.seconds, runner)) as session:
        for task in assignment.tasks:
            expected = _expected(task, seed) if task.target else []
            if not error:
                session.start()
            _limit(assignment)
            yield _graded(task, session, expected, error)


def _seconds(assignment: Assignment) -> float:
    """Processor time for what the grader itself computes for an answer."""
    return max(LEAST_SECONDS, assignment.seconds)


def _limit(assignment: Assignment) -> None:
    """Let this process have so much memory and time from here on."""
    limit_memory(assignment.memory)
    limit(CPU=int(time.process_time() + _seconds(assignment)), CORE=0)


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:1000]


def _graded(task: Task, session: Session, expected: list[Any], error: str = "") -> Mark:
    """Return the mark of a task: points by the grader's numbers alone.

    What the checks beside the answer say of a mistake is the submission's own word, as its code
    could have changed them: it stands in the message and earns nothing.
    """
    try:
        if error:
            raise EndedError(NOT_READABLE, error)
        session.begin()
        trusted = _by_numbers(task, session, expected)
        its_own = _its_own(task, session, trusted)
    except EndedError as ended:
        trusted = its_own = Verdict.wrong(*ended.args)
    except Exception as raised:  # no error may cost another student a mark
        wrong = Verdict.wrong(NOT_GRADED, f"It could not be graded: {_told(raised)}")
        trusted = its_own = wrong
    decisive = its_own if trusted.ok else trusted
    notes = [f"{NOT_READABLE}: {text}"[:400] for text in [error, *map(str, session.unread)] if text]
    score = decisive.marks(task.points, task.partial)
    if its_own.ok and not trusted.ok:
        notes.append("its own process says that it is right")
        its_own = trusted
    diagnosis = (decisive if score else its_own).diagnosis
    text = its_own.text[:4000].encode("utf-8", "replace").decode()  # its message may be no text
    return Mark(task.title, score, task.points, its_own.ok, diagnosis, text, "; ".join(notes))


def _by_numbers(task: Task, session: Session, expected: list[Any]) -> Verdict:
    """Judge by the exercise's table, or by the expected values; the answer stays where it is."""
    try:
        if task.name:
            table = tables_of(lesson_of(task.name))[task.name.rpartition(":")[2]]
            session.may_change_layers = table.get("changes", False)
            answer = session.ask("exercise", task.name, task.answer)
            return judge(task.name, answer, check_by_numbers)
        theirs = session.ask("target", task.target)
        for reference, given, right, dys in expected:
            got = dict.fromkeys(right) | _values(reference, theirs, given, dys)[0]
            verdict = compare_values(got, right, tolerance=task.tolerance)
            if not verdict.ok:
                return verdict
        return RIGHT
    except NotImplementedError as error:
        return Verdict.empty(str(error) or "it raises NotImplementedError")
    except Exception as error:
        return Verdict.wrong("error", f"It raises {type(error).__name__}: {error}")


def _its_own(task: Task, session: Session, trusted: Verdict) -> Verdict:
    """Return the checks' verdict from the submission's process, which can read its code."""
    if ":" in task.name or (task.target and (trusted.ok or trusted.diagnosis == "empty")):
        return trusted
    asked = task.name, task.answer, task.target, task.input, task.weight
    try:
        ok, diagnosis, text = session.ask("verdict", *asked)
    except Exception:  # the check may fail where the answer does
        return trusted
    if ok or not isinstance(diagnosis, str) or not diagnosis.isprintable():
        return RIGHT if ok is True and task.name else trusted
    text = f"{trusted.text}\n{text}" if task.target else str(text)
    return Verdict.wrong(diagnosis[:80], text[:4000])


# --- A class or functions, beside the teacher's ---------------------------------------------------


def _expected(task: Task, seed: int) -> list[Any]:
    """Run the reference on random numbers: the function, its inputs, its values, the gradients."""
    with chdir(Path(task.reference).parent):  # of which it may import and read files
        reference, trials = load_own(f"{task.reference}:{task.target}"), []
    with failures_in_one_line(reference):
        for k in range(2):
            rng = np.random.default_rng([seed, k])
            _, *given = build_own(reference, task.input, task.weight, rng)
            trials.append((reference, given, *_values(reference, reference, given, rng)))
    return trials


def _values(reference: Any, tried: Any, given: Any, dys: Any) -> tuple[dict[str, Any], Any]:
    """Run a class, a function or a pair: its values by name, and the gradients of its outputs.

    ``tried`` is to be like ``own``. Given are the inputs, inputs by name, and the arguments of a
    class. ``dys`` is what arrives, or a generator that draws it.
    """
    inputs, named, made = deepcopy(given)
    layer, cache, weights = None, [], [k for k, v in made.items() if isinstance(v, np.ndarray)]
    if inspect.isclass(reference):
        ways: Any = reference
        layer, reference = tried(**made), (ways.forward, ways.backward)
        tried = layer.forward, layer.backward
    if not isinstance(reference, tuple):
        value = tried(*inputs, **named)
        count = dys if isinstance(dys, int) else len(value) if isinstance(value, tuple) else 1
        return _numbered("value", value, count), count
    outputs = tried[0](*inputs, **named)
    if layer is None:
        *outputs, last = outputs
        outputs, cache = tuple(outputs), [last]
    forward_takes, backward_takes = ([*inspect.signature(way).parameters] for way in reference)
    values = _numbered("the output", outputs, len(backward_takes) - 1)  # the cache, or self
    if isinstance(dys, np.random.Generator):
        dys = [dys.normal(size=np.shape(y)) for y in values.values()]
    gradients = tried[1](*dys, *cache)
    if not isinstance(gradients, dict):
        names = [f"d{name}" for name in forward_takes if name != "self"]
        is_one = not isinstance(gradients, tuple | list) or len(gradients) > len(names)
        gradients = dict(zip(names, [gradients] if is_one else gradients))
    gradients |= {f"d{name}": gradient_of(layer, name, k) for k, name in enumerate(weights)}
    return values | {name: value for name, value in gradients.items() if value is not None}, dys


def _numbered(name: str, value: Any, count: int) -> dict[str, Any]:
    """Return one value by name, or several with their numbers."""
    is_split = isinstance(value, tuple) or (isinstance(value, list) and count > 1)
    values = [*value][:count] if is_split else [value]
    return {f"{name} {k}" if count > 1 else name: each for k, each in enumerate(values, 1)}
