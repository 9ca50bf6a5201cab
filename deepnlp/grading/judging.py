"""The marks of a submission: numbers are compared here, and causes asked for there."""

import ast
import inspect
from copy import deepcopy
from typing import Any

import numpy as np

from deepnlp.gradcheck.loading import load_own
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
    lessons = [lesson_of(task.name) for task in assignment.tasks]
    numbers = [lesson for lesson in lessons if isinstance(lesson, int) and lesson]
    asked = {"cells": submission.cells, "imports": assignment.imports, "lessons": numbers}
    limits = assignment.memory, int(2 * assignment.seconds * len(lessons)) + 30
    session = Session(asked, limits, assignment.seconds, runner_of(runner))
    text = "\n".join(text for _, text, _ in submission.cells)
    unusual = ", ".join(sorted(_unusual(text, assignment.imports)))
    error = submission.error
    try:
        return [_graded(task, session, seed, unusual, error) for task in assignment.tasks]
    finally:
        session.end()


def _graded(task: Task, session: Session, seed: int, unusual: str, error: str = "") -> Mark:
    """The mark of a task: right by the grader's numbers, and by the checks beside the answer.

    What those say of a mistake is the submission's own word, as its code could have changed them:
    it earns no points where the code uses what could.
    """
    notes = [f"uses {unusual}"] if unusual else []
    try:
        if error:
            raise EndedError("unreadable", error)
        session.begin()
        trusted = _of_exercise(task, session) if task.name else _of_target(task, session, seed)
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


def _its_own(task: Task, session: Session, trusted: Verdict) -> Verdict:
    """What the checks say in the process of the submission, which can read its code."""
    question: Any = ("verdict", task.name, task.answer)
    if task.target:
        question = ("check", task.target, task.input, task.weight)
    if ":" in task.name or (task.target and (trusted.ok or trusted.diagnosis == "empty")):
        return trusted
    try:
        ok, diagnosis, text = session.ask(*question)
    except Exception:  # the check may fail where the answer does
        return trusted
    if ok or not isinstance(diagnosis, str) or not diagnosis.isprintable():
        return RIGHT if ok is True and task.name else trusted
    text = f"{trusted.text}\n{text}" if task.target else str(text)
    return Verdict.wrong(diagnosis[:80], text[:4000])


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
            rng, made = np.random.default_rng([seed, k]), dict[str, Any]()
            given = made, *build_own(own, task.input, task.weight, rng, made)[1:]
            right, dys = _values(own, own, *given, rng)
            got = dict.fromkeys(right) | _values(own, theirs, *given, dys)[0]
            verdict = compare_values(got, right, tolerance=task.tolerance)
            if not verdict.ok:
                return verdict
    except NotImplementedError as error:
        return Verdict.empty(str(error) or "it raises NotImplementedError")
    except Exception as error:
        return Verdict.wrong("error", f"It raises {type(error).__name__}: {error}")
    return RIGHT


def _values(
    own: Any, tried: Any, made: dict[str, Any], inputs: list[Any], named: dict[str, Any], dys: Any
) -> tuple[dict[str, Any], Any]:
    """What a class, a function or a pair gives by name, and what arrives at its outputs.

    ``tried`` is to be like ``own``, a class with the arguments ``made``. ``dys`` is what arrives,
    or a generator that draws it.
    """
    inputs, cache, layer, is_class = deepcopy(inputs), [], None, inspect.isclass(own)
    if is_class:
        layer, own = tried(**deepcopy(made)), (own.forward, own.backward)
        outputs, backward = layer.forward(*inputs, **named), layer.backward
    elif isinstance(own, tuple):
        *outputs, last = tried[0](*inputs, **named)
        outputs, backward, cache = tuple(outputs), tried[1], [last]
    else:
        value = tried(*inputs, **named)
        count = dys if isinstance(dys, int) else len(value) if isinstance(value, tuple) else 1
        return _numbered("value", value, count), count
    forward_takes, backward_takes = ([*inspect.signature(way).parameters] for way in own)
    values = _numbered("the output", outputs, len(backward_takes) - 1)  # the cache, or self
    if isinstance(dys, np.random.Generator):
        dys = [dys.normal(size=np.shape(y)) for y in values.values()]
    given = backward(*dys, *cache)
    if not isinstance(given, dict):
        names = [f"d{name}" for name in forward_takes if name != "self"]
        is_one = not isinstance(given, tuple | list) or len(given) > len(names)
        given = dict(zip(names, [given] if is_one else given))
    weights = [name for name, value in made.items() if isinstance(value, np.ndarray)]
    given |= {f"d{name}": gradient_of(layer, name, k) for k, name in enumerate(weights)}
    return values | {name: value for name, value in given.items() if value is not None}, dys


def _numbered(name: str, value: Any, count: int) -> dict[str, Any]:
    """One value by name, or several with their numbers."""
    is_split = isinstance(value, tuple) or (isinstance(value, list) and count > 1)
    values = [*value][:count] if is_split else [value]
    return {f"{name} {k}" if count > 1 else name: each for k, each in enumerate(values, 1)}


# --- What could change the checks -----------------------------------------------------------------


def _unusual(text: str, imports: list[str]) -> set[str]:
    """What in a text could change the checker: modules, names and assignments to modules."""
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    libraries = [*DATA["libraries"].split(), *DATA["shown"].split(), *imports]
    usual = {name.partition(".")[0] for name in libraries} | {*DATA["usual"].split()}
    changing, harmless = {*DATA["changing"].split()}, DATA["harmless"].split()
    imported = [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]
    pairs = [(getattr(node, "module", None), each) for node in imported for each in node.names]
    origins = {module or each.name for module, each in pairs}
    modules = {(each.asname or each.name).partition(".")[0] for _, each in pairs}
    fields = [value for node in nodes if not isinstance(node, ast.Constant | ast.FunctionDef)
              for _, value in ast.iter_fields(node)]  # fmt: skip
    names = {name for each in fields for name in (each if isinstance(each, list) else [each])
             if isinstance(name, str)}  # fmt: skip
    stored = {ast.unparse(node) for node in nodes if isinstance(node, ast.Attribute)
              and not isinstance(node.ctx, ast.Load)}  # fmt: skip
    found = {name for name in origins if name.partition(".")[0] not in usual}
    found |= {name for name in stored if name.partition(".")[0] in modules}
    found |= {name for name in names if changing & {*name.split(".")}}
    return found | {n for n in names if n.startswith("__") and n not in harmless}
