"""The marks of a submission: numbers are compared here, and causes asked for there."""

import ast
import inspect
from contextlib import closing
from copy import deepcopy
from typing import Any

import numpy as np

from deepnlp.gradcheck.loading import failures_in_one_line, load_own
from deepnlp.gradcheck.own import build_own
from deepnlp.grading.assignment import Assignment, Task
from deepnlp.grading.forms import DATA
from deepnlp.grading.remote import EndedError, Session, runner_of
from deepnlp.grading.results import Mark, Submission
from deepnlp.lessons.exercises.backward import gradient_of
from deepnlp.lessons.exercises.registry import judge
from deepnlp.lessons.exercises.tables import check_by_numbers, lesson_of, tables_of
from deepnlp.lessons.exercises.values import compare_values
from deepnlp.lessons.exercises.verdict import Verdict

RIGHT = Verdict.right("Right: every number agrees.")


def grade(
    submission: Submission, assignment: Assignment, seed: int = 0, runner: str = ""
) -> list[Mark]:
    """The marks of a submission, one for each task.

    Parameters
    ----------
    submission : Submission
    assignment : Assignment
    seed : int
        Of the numbers on which functions are tried; that they are not known before is best.
    runner : str
        ``"wasi"`` or ``"process"``; by default WASI where it is installed.
    """
    lessons = {lesson_of(task.name) for task in assignment.tasks if ":" not in task.name} - {0}
    asked = {"cells": submission.cells, "imports": assignment.imports, "lessons": lessons}
    limits = assignment.memory, int(2 * assignment.seconds * len(assignment.tasks)) + 30
    text = "\n".join(text for _, text, _ in submission.cells)
    unusual, error = ", ".join(sorted(_unusual(text, assignment.imports))), submission.error
    with closing(Session(asked, limits, assignment.seconds, runner_of(runner))) as session:
        return [_graded(task, session, seed, unusual, error) for task in assignment.tasks]


def _graded(task: Task, session: Session, seed: int, unusual: str, error: str = "") -> Mark:
    """The mark of a task: right by the grader's numbers, and by the checks beside the answer.

    What those say of a mistake is the submission's own word, as its code could have changed them:
    it earns no points where the code uses what could.
    """
    notes = [f"uses {unusual}"] if unusual else []
    expected = _expected(task, seed) if task.target else []
    try:
        if error:
            raise EndedError("unreadable", error)
        session.begin()
        trusted = _by_numbers(task, session, expected)
        its_own = _its_own(task, session, trusted)
    except EndedError as ended:
        trusted = its_own = Verdict.wrong(*ended.args)
    if its_own.ok and not trusted.ok:
        notes.append("its own process says that it is right")
        its_own = trusted
    verdicts = [its_own] if trusted.ok else [trusted] if unusual else [trusted, its_own]
    score = max(verdict.marks(task.points, task.partial) for verdict in verdicts)
    ok, diagnosis = its_own.ok, its_own.diagnosis
    text = its_own.text.encode("utf-8", "replace").decode()  # what it raises may be no text
    return Mark(task.title, score, task.points, ok, diagnosis, text, "; ".join(notes))


def _by_numbers(task: Task, session: Session, expected: list[Any]) -> Verdict:
    """The verdict by the exercise's table, or by what is expected; the answer stays where it is."""
    try:
        if task.name:
            table = tables_of(lesson_of(task.name))[task.name.rpartition(":")[2]]
            session.may_change_layers = table.get("changes", False)
            answer = session.ask("exercise", task.name, task.answer)
            return judge(task.name, answer, check_by_numbers)
        theirs = session.ask("target", task.target)
        for own, given, right, dys in expected:
            got = dict.fromkeys(right) | _values(own, theirs, given, dys)[0]
            verdict = compare_values(got, right, tolerance=task.tolerance)
            if not verdict.ok:
                return verdict
        return RIGHT
    except NotImplementedError as error:
        return Verdict.empty(str(error) or "it raises NotImplementedError")
    except Exception as error:
        return Verdict.wrong("error", f"It raises {type(error).__name__}: {error}")


def _its_own(task: Task, session: Session, trusted: Verdict) -> Verdict:
    """What the checks say in the process of the submission, which can read its code."""
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
    """The teacher's own on random numbers: itself, what is given, what is right, what arrives."""
    own, trials = load_own(f"{task.reference}:{task.target}"), []
    with failures_in_one_line(own):
        for k in range(2):
            rng = np.random.default_rng([seed, k])
            _, *given = build_own(own, task.input, task.weight, rng)
            trials.append((own, given, *_values(own, own, given, rng)))
    return trials


def _values(own: Any, tried: Any, given: Any, dys: Any) -> tuple[dict[str, Any], Any]:
    """What a class, a function or a pair gives by name, and what arrives at its outputs.

    ``tried`` is to be like ``own``. Given are the inputs, inputs by name, and the arguments of a
    class. ``dys`` is what arrives, or a generator that draws it.
    """
    inputs, named, made = deepcopy(given)
    layer, cache, weights = None, [], [k for k, v in made.items() if isinstance(v, np.ndarray)]
    if inspect.isclass(own):
        ways: Any = own
        layer, own = tried(**made), (ways.forward, ways.backward)
        tried = layer.forward, layer.backward
    if not isinstance(own, tuple):
        value = tried(*inputs, **named)
        count = dys if isinstance(dys, int) else len(value) if isinstance(value, tuple) else 1
        return _numbered("value", value, count), count
    outputs = tried[0](*inputs, **named)
    if layer is None:
        *outputs, last = outputs
        outputs, cache = tuple(outputs), [last]
    forward_takes, backward_takes = ([*inspect.signature(way).parameters] for way in own)
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
    """One value by name, or several with their numbers."""
    is_split = isinstance(value, tuple) or (isinstance(value, list) and count > 1)
    values = [*value][:count] if is_split else [value]
    return {f"{name} {k}" if count > 1 else name: each for k, each in enumerate(values, 1)}


# --- What could change the checks -----------------------------------------------------------------


def _unusual(text: str, imports: list[str]) -> set[str]:
    """What in a text could change the checker: modules, names and assignments to modules."""
    try:
        nodes = [*ast.walk(ast.parse(text))]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    usual = {_first(name) for key in ("libraries", "shown", "usual") for name in DATA[key].split()}
    usual |= {*map(_first, imports)}
    changing, harmless = {*DATA["changing"].split()}, DATA["harmless"].split()
    pairs = [(getattr(node, "module", None) or each.name, each.asname or each.name)
             for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)
             for each in node.names]  # fmt: skip
    modules = {_first(name) for _, name in pairs}
    stored = {ast.unparse(node) for node in nodes if isinstance(node, ast.Attribute)
              and not isinstance(node.ctx, ast.Load)}  # fmt: skip
    parts = [value for node in nodes if not isinstance(node, ast.Constant | ast.FunctionDef)
             for _, value in ast.iter_fields(node)]  # fmt: skip
    names = [n for part in parts for n in (part if isinstance(part, list) else [part])]
    found = {origin for origin, _ in pairs if _first(origin) not in usual}
    found |= {name for name in stored if _first(name) in modules}
    return found | {n for n in names if isinstance(n, str) and (changing & {*n.split(".")}
                    or (n.startswith("__") and n not in harmless))}  # fmt: skip


def _first(name: str) -> str:
    return name.partition(".")[0]
