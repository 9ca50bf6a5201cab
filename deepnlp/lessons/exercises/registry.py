"""Exercises by name, and the call by which a reader has an answer checked."""

from __future__ import annotations

import os
import textwrap
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import deepnlp
from deepnlp.lessons.exercises.tables import check_table, tables_of
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


def exercises_of(lesson: int) -> list[Exercise]:
    """The exercises of a lesson, in order.

    Raises
    ------
    ValueError
        If the lesson has none.
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
        Such as ``"6.3"``.
    answer : object
        The answer: a function, a class, a number or a choice.

    Returns
    -------
    Verdict
        A wrong answer, or one that raises an error, is never an error here.

    Raises
    ------
    ValueError
        If there is no exercise of that name.
    """
    exercise = _find(name)
    verdict = _judge(name, answer)
    print(_report(exercise, verdict))
    return verdict


def short_form() -> bool:
    """Whether a lesson runs in its short form, with experiments cut down for a quick test.

    Returns
    -------
    bool
        True where the environment variable ``DEEPNLP_LESSON`` is ``short``.
    """
    return os.environ.get("DEEPNLP_LESSON") == "short"


def _find(name: str) -> Exercise:
    if not isinstance(name, str):
        raise ValueError(f'the name of an exercise is a text: check("{name}", ...)')
    lesson = name.partition(".")[0]
    known = {e.name: e for e in exercises_of(int(lesson))} if lesson.isdigit() else {}
    if name not in known:
        there = f"lesson {lesson} has {', '.join(known)}" if known else "a name is such as 1.2"
        raise ValueError(f"there is no exercise {name!r}; {there}")
    return known[name]


def _judge(name: str, answer: Any) -> Verdict:
    if is_empty(answer):
        return Verdict.empty("there is no answer")
    try:
        return check_table(name, answer)
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
    """An error in one sentence, with the reader's own line that raised it."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if not any(map(Path(f.filename).is_relative_to, _LIBRARIES))]
    where = f" In {own[-1].name}: {own[-1].line}" if own and own[-1].line else ""
    return f"It raises {type(error).__name__}: {error}.{where}"


def _report(exercise: Exercise, verdict: Verdict) -> str:
    wrong = "empty" if verdict.diagnosis == EMPTY else f"wrong ({verdict.diagnosis})"
    state = "right" if verdict.ok else wrong
    lines = [f"{exercise.heading}: {state}"]
    for paragraph in verdict.text.splitlines():
        lines += textwrap.wrap(paragraph, 92, initial_indent="  ", subsequent_indent="  ")
    return "\n".join(lines)
