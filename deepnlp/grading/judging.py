"""The marks of a submission: numbers are compared here, and causes asked for there."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np

from deepnlp.gradcheck.loading import load_own
from deepnlp.gradcheck.own import build_own
from deepnlp.grading.assignment import Assignment, Task
from deepnlp.grading.remote import EndedError, Session
from deepnlp.grading.results import Mark, Submission
from deepnlp.grading.worker import LIBRARIES, SHOWN
from deepnlp.lessons.exercises.backward import gradient_of
from deepnlp.lessons.exercises.registry import judge
from deepnlp.lessons.exercises.tables import check_by_numbers, lesson_of, tables_of
from deepnlp.lessons.exercises.values import compare_values
from deepnlp.lessons.exercises.verdict import Verdict

RIGHT = Verdict.right("Right: every number agrees.")


def grade(submission: Submission, assignment: Assignment, seed: int = 0) -> list[Mark]:
    """The marks of a submission, one for each task.

    Parameters
    ----------
    submission : Submission
    assignment : Assignment
    seed : int
        Of the numbers on which functions are tried; that they are not known before is best.
    """
    if submission.error:
        wrong = Verdict.wrong("unreadable", submission.error)
        return [_mark(task, wrong, wrong, "") for task in assignment.tasks]
    lessons = {lesson_of(task.name) for task in assignment.tasks if task.name}
    asked = {
        "cells": submission.cells,
        "imports": assignment.imports,
        "lessons": [lesson for lesson in lessons if isinstance(lesson, int)],
        "memory": assignment.memory,
        "seconds": int(2 * assignment.seconds * len(assignment.tasks)) + 30,
    }
    session = Session(asked, assignment.seconds)
    unusual = ", ".join(dict.fromkeys(_unusual(submission.text, assignment.imports)))
    try:
        return [_graded(task, session, seed, unusual) for task in assignment.tasks]
    finally:
        session.end()


def _graded(task: Task, session: Session, seed: int, unusual: str) -> Mark:
    """The mark of a task: right by the grader's numbers, and by the checks beside the answer.

    What those say of a mistake is the submission's own word, as its code could have changed them:
    it earns no points where the code uses what could.
    """
    note = f"uses {unusual}" if unusual else ""
    try:
        session.begin()
        trusted = _of_exercise(task, session) if task.name else _of_target(task, session, seed)
        its_own = _its_own(task, session, trusted)
    except EndedError as ended:
        trusted = its_own = Verdict.wrong(ended.diagnosis, ended.text)
    if not trusted.ok and its_own.ok:
        note = "; ".join(filter(None, [note, "its own process says that it is right"]))
        its_own = trusted
    return _mark(task, trusted, its_own, note, counts=not unusual)


def _mark(task: Task, trusted: Verdict, its_own: Verdict, note: str, counts: bool = True) -> Mark:
    is_right = trusted.ok and its_own.ok
    verdict = its_own if trusted.ok or not its_own.ok else trusted
    of_cause = [] if trusted.ok else [trusted]
    of_cause += [its_own] if not its_own.ok and (counts or trusted.ok) else []
    shares = [verdict.marks(task.points, task.partial) for verdict in of_cause]
    score = task.points if is_right else max(shares)
    return Mark(task.title, score, task.points, is_right, verdict.diagnosis, verdict.text, note)


def _its_own(task: Task, session: Session, trusted: Verdict) -> Verdict:
    """What the checks say in the process of the submission, which can read its code."""
    if task.target and not trusted.ok and trusted.diagnosis != "empty":
        question: tuple[Any, ...] = ("check", task.target, task.input, task.weight)
    elif isinstance(lesson_of(task.name), int) and task.name:
        question = ("verdict", task.name, task.answer)
    else:
        return trusted
    try:
        ok, diagnosis, text = session.ask(*question)
    except Exception:  # the check may fail where the answer does
        return trusted
    if ok or not isinstance(diagnosis, str):
        return RIGHT if ok is True and task.name else trusted
    return Verdict.wrong(diagnosis[:80], f"{trusted.text}\n{text}" if task.target else str(text))


# --- An exercise of a lesson, or of a course's own ----------------------------------------------


def _of_exercise(task: Task, session: Session) -> Verdict:
    """The verdict by the exercise's table, on an answer that stays where it is."""
    table = tables_of(lesson_of(task.name))[task.name.rpartition(":")[2]]
    session.may_change_layers = table.get("changes", False)
    try:
        answer = session.ask("exercise", task.name, task.answer)
    except Exception as error:
        return Verdict.wrong("error", f"It raises {type(error).__name__}: {error}")
    return judge(task.name, answer, check_by_numbers)


# --- A class or functions, beside the teacher's ---------------------------------------------------


def _of_target(task: Task, session: Session, seed: int) -> Verdict:
    """Compare what a class or functions give with what the teacher's give, on random numbers."""
    own = load_own(f"{task.reference}:{task.target}")
    try:
        theirs = session.ask("target", task.target)
        for k in range(2):
            rng = np.random.default_rng([seed, k])
            expected, got = _beside(own, theirs, task, rng)
            for name, right in expected.items():
                verdict = compare_values(got.get(name), right, name, task.tolerance)
                if not verdict.ok:
                    return verdict
    except NotImplementedError as error:
        return Verdict.empty(str(error) or "it raises NotImplementedError")
    except Exception as error:
        return Verdict.wrong("error", f"It raises {type(error).__name__}: {error}")
    return RIGHT


def _beside(own: Any, theirs: Any, task: Task, rng: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What both give by name: outputs, and gradients of inputs and weights."""
    made: dict[str, Any] = {}
    if inspect.isclass(own):

        def keep(self: Any, **arguments: Any) -> None:
            made.update(deepcopy(arguments))
            own.__init__(self, **arguments)

        signature = inspect.signature(own)
        space = {"__init__": keep, "__signature__": signature}
        built, inputs, named = build_own(
            type(own.__name__, (own,), space), task.input, task.weight, rng
        )
        count = len(inspect.signature(built.backward).parameters)
        weights = [n for n, v in made.items() if isinstance(v, np.ndarray)]
        tried = partial(
            _of_class, inputs=inputs, named=named, count=count, weights=weights, rng=rng
        )
        expected, dys = tried(own(**deepcopy(made)), dys=None)
        return expected, tried(theirs(**made), dys=dys)[0]
    _, inputs, named = build_own(own, task.input, task.weight, rng)
    if not isinstance(own, tuple):
        value = own(*deepcopy(inputs), **named)
        count = len(value) if isinstance(value, tuple) else 1
        return _numbered("value", value, count), _numbered("value", theirs(*inputs, **named), count)
    count = len(inspect.signature(own[1]).parameters) - 1
    names = [f"d{name}" for name in inspect.signature(own[0]).parameters]
    tried = partial(_of_pair, inputs=inputs, named=named, count=count, names=names, rng=rng)
    expected, dys = tried(own, dys=None)
    return expected, tried(theirs, dys=dys)[0]


def _of_pair(
    pair: Any, inputs: Any, named: Any, count: int, names: list[str], rng: Any, dys: Any
) -> tuple[dict[str, Any], Any]:
    """The outputs of a forward function, and the gradients that the backward one gives."""
    *outputs, cache = pair[0](*deepcopy(inputs), **named)
    dys = [rng.normal(size=np.shape(y)) for y in outputs[:count]] if dys is None else dys
    given = pair[1](*dys, cache)
    values = _numbered("the output", tuple(outputs), count)
    if isinstance(given, dict):
        return values | given, dys
    return values | dict(zip(names, given if isinstance(given, tuple | list) else [given])), dys


def _of_class(
    layer: Any, inputs: Any, named: Any, count: int, weights: list[str], rng: Any, dys: Any
) -> tuple[dict[str, Any], Any]:
    """The outputs of a layer, what its backward gives, and the gradients that it keeps."""
    outputs = layer.forward(*deepcopy(inputs), **named)
    values = _numbered("the output", outputs, count)
    dys = [rng.normal(size=np.shape(values[name])) for name in values] if dys is None else dys
    given = layer.backward(*dys)
    values |= _numbered("dx", given, len(given) if isinstance(given, tuple) else 1)
    kept = {f"d{name}": gradient_of(layer, name, k) for k, name in enumerate(weights)}
    return values | {name: value for name, value in kept.items() if value is not None}, dys


def _numbered(name: str, value: Any, count: int) -> dict[str, Any]:
    """One value by name, or several with their numbers."""
    values = [*value] if isinstance(value, tuple | list) and count > 1 else [value]
    values = [*value] if isinstance(value, tuple) else values
    many = count > 1
    return {f"{name} {k}" if many else name: each for k, each in enumerate(values[:count], 1)}


# --- What could change the checks -----------------------------------------------------------------

ALLOWED = ("__init__", "__call__", "__name__", "__class__", "__future__", "__file__", "__version__")
REFUSED = {"eval", "exec", "compile", "open", "setattr", "delattr", "globals", "vars", "__import__"}


def _unusual(text: str, imports: list[str]) -> Iterator[str]:
    """What in a text could change the checker: modules, names and assignments to modules."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError):
        return
    usual = {name.partition(".")[0] for name in (*LIBRARIES, *SHOWN, *imports)} - {"weakref"}
    usual |= {"numpy", "__future__", "copy", "collections", "tqdm"}
    modules: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = getattr(node, "module", None) or ""
            named = [module] if module else [alias.name for alias in node.names]
            modules |= {(a.asname or a.name).partition(".")[0] for a in node.names}
            yield from (n for n in named if n.partition(".")[0] not in usual or n in _CHECKS)
            yield from (n for n in named if n.startswith(("deepnlp.grad", "deepnlp.diag")))
    for node in nodes:
        if isinstance(node, ast.Name) and node.id in REFUSED:
            yield node.id
        elif isinstance(node, ast.Attribute):
            if node.attr.startswith("__") and node.attr not in ALLOWED:
                yield node.attr
            root = node.value
            while isinstance(root, ast.Attribute):
                root = root.value
            if isinstance(node.ctx, ast.Store) and getattr(root, "id", "") in modules:
                yield ast.unparse(node)


_CHECKS = ("deepnlp.lessons.exercises.registry", "deepnlp.lessons.exercises.tables")
