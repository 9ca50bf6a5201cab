"""Exercises by name, and the call by which a reader has an answer checked."""

import ctypes
import os
import sys
import textwrap
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import deepnlp
from deepnlp.lessons.exercises.tables import Backward, check_code, check_table, lesson_of, tables_of
from deepnlp.lessons.exercises.verdict import EMPTY, WRONG_TYPE, RefusedError, Verdict, is_empty


@dataclass(frozen=True)
class Exercise:
    """An exercise of a lesson.

    Attributes
    ----------
    name : str
        Lesson and number, such as ``"6.3"``.
    stars : int
        1 to read off, 2 to work out, 3 to think about.
    title : str
    """

    name: str
    stars: int
    title: str

    @property
    def heading(self) -> str:
        """Name, stars and title, as in the heading of the lesson."""
        return f"Exercise {self.name} {'★' * self.stars} {self.title}"


def exercises_of(lesson: int | str) -> list[Exercise]:
    """Return the exercises of a lesson, or of a module beside which they stand, in order.

    Raises
    ------
    ValueError
        If there are none.
    """
    tables = tables_of(lesson)
    if not tables:
        raise ValueError(f"lesson {lesson} has no exercises")
    return [Exercise(name, table["stars"], table["title"]) for name, table in tables.items()]


def check(name: str, answer: Any) -> Verdict:
    """Check the answer to an exercise, print the verdict and return it.

    Parameters
    ----------
    name : str
        Such as ``"6.3"``; ``"mine:2.1"`` for the exercise 2.1 of ``mine.toml``, which stands beside
        the module ``mine``.
    answer : object
        The answer: a function, a class, a number or a choice. It may take a minute.

    Returns
    -------
    Verdict
        A wrong answer, or one that raises an error, is never an error here.

    Raises
    ------
    ValueError
        If there is no exercise of that name.
    """
    exercise = find_exercise(name)
    try:
        verdict = _within(SECONDS, lambda: judge(name, answer))
    except _TooLongError:
        text = f"It did not end within {SECONDS:g} seconds. Does each of its loops come to an end?"
        verdict = Verdict.wrong("endless", text)
    _right[name] = verdict.ok
    print(_shown(_report(exercise, verdict), verdict, name))
    return verdict


SECONDS = 60.0  # that an answer may take
_right: dict[str, bool] = {}  # the latest verdict on each exercise, by name


class _TooLongError(BaseException):
    """Ends an answer that takes too long, whichever errors it catches."""


def _within(seconds: float, work: Callable[[], Verdict]) -> Verdict:
    """Return a function's result; after some seconds an error in this thread ends it."""
    error = ctypes.c_ulong(threading.get_ident()), ctypes.py_object(_TooLongError)
    timer = threading.Timer(seconds, ctypes.pythonapi.PyThreadState_SetAsyncExc, error)
    timer.daemon = True
    with suppress(RuntimeError):  # in a browser there are no threads
        timer.start()
    try:
        return work()
    finally:
        timer.cancel()


def _shown(report: str, verdict: Verdict, name: str) -> str:
    """Return a report as its stream can show it: with a sign, in colour, and how many are right.

    Where a lesson is built, it stays as it is.
    """
    if "DEEPNLP_LESSON" in os.environ:
        return report
    sign, colour = SIGNS[verdict.diagnosis if verdict.diagnosis in SIGNS else "wrong"]
    if verdict.ok:
        lesson = lesson_of(name)
        done = sum(ok for other, ok in _right.items() if lesson_of(other) == lesson)
        report += f"\n  {done} of {len(tables_of(lesson))} exercises are right."
    if sys.stdout.isatty() or "ipykernel" in sys.modules:
        sign, report = f"\033[{colour}m{sign}", report.replace("\n", "\033[0m\n", 1)
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    text = f"{sign} {report}"
    if text.encode(encoding, "replace").decode(encoding) != text:
        text = text.translate(PLAIN).encode(encoding, "replace").decode(encoding)
    return text


SIGNS = {None: ("✓", 32), EMPTY: ("○", 33), "wrong": ("✗", 31)}  # with ANSI's colours
PLAIN = str.maketrans("★✓✗○", "*+-o")  # for a console without these signs


def short_form() -> bool:
    """Return whether a lesson runs in its short form, with experiments cut down for a test.

    Returns
    -------
    bool
        True where the environment variable ``DEEPNLP_LESSON`` is ``short``, and in a browser
        where it is not set.
    """
    default = "short" if sys.platform == "emscripten" else ""
    return os.environ.get("DEEPNLP_LESSON", default) == "short"


def find_exercise(name: str) -> Exercise:
    """Return the exercise of that name; a ValueError says which there are."""
    if not isinstance(name, str):
        raise ValueError(f'the name of an exercise is a text: check("{name}", ...)')
    lesson, key = lesson_of(name), name.rpartition(":")[2]
    is_one = isinstance(lesson, str) or lesson > 0
    known = {e.name: e for e in exercises_of(lesson)} if is_one else {}
    if key not in known:
        there = f"lesson {lesson} has {', '.join(known)}" if known else "a name is such as 1.2"
        raise ValueError(f"there is no exercise {name!r}; {there}")
    return known[key]


def judge(name: str, answer: Any, backward: Backward = check_code) -> Verdict:
    """Return the verdict on an answer, without a limit of time; nothing is printed.

    ``backward`` checks the gradients of a layer, as for :func:`check_table`.
    """
    if is_empty(answer):
        return Verdict.empty("there is no answer")
    try:
        return check_table(name, answer, backward)
    except RefusedError as refused:
        return refused.verdict
    except NotImplementedError:
        return Verdict.empty("it raises NotImplementedError")
    except Exception as error:  # whatever the reader's code may raise is part of the verdict
        if isinstance(error, AttributeError) and error.name in ("forward", "backward"):
            return Verdict.empty(f"{type(error.obj).__name__} has no {error.name}")
        if isinstance(error, TypeError) and not callable(answer) and "not callable" in str(error):
            text = "Hand over the function or the class itself, not what it gives; got a "
            return Verdict.wrong(WRONG_TYPE, f"{text}{type(answer).__name__}.")
        return Verdict.wrong("error", _describe(error))


_LIBRARIES = [Path(str(module.__file__)).parent for module in (deepnlp, np)]


def _describe(error: Exception) -> str:
    """Return an error in one sentence, with the reader's own line that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    of_reader = [f for f in frames if not any(map(Path(f.filename).is_relative_to, _LIBRARIES))]
    where = (
        f" In {of_reader[-1].name}: {of_reader[-1].line}"
        if of_reader and of_reader[-1].line
        else ""
    )
    return f"It raises {type(error).__name__}: {error}.{where}"


def _report(exercise: Exercise, verdict: Verdict) -> str:
    wrong = "empty" if verdict.diagnosis == EMPTY else f"wrong ({verdict.diagnosis})"
    state = "right" if verdict.ok else wrong
    lines = [f"{exercise.heading}: {state}"]
    for paragraph in verdict.text.splitlines():
        lines += textwrap.wrap(paragraph, 92, initial_indent="  ", subsequent_indent="  ")
    return "\n".join(lines)
