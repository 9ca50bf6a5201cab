"""The exercises of the lessons: checks that say what is right, what is empty, and what is wrong.

In a lesson a reader writes a function or a class and hands it over: ``check("1.2", my_affine)``
prints a verdict and gives it back. A wrong backward pass is diagnosed by
:mod:`deepnlp.gradcheck`; a wrong value by :func:`compare_values`.

The exercises of lesson K are tables in ``lessonK.toml`` beside this file; what a table holds is
told in :mod:`deepnlp.lessons.exercises.tables`. ``lessonK.py``, where there is one, has functions
that the tables use.
"""

from deepnlp.lessons.exercises.backward import check_backward
from deepnlp.lessons.exercises.registry import Exercise, check, exercises_of, short_form
from deepnlp.lessons.exercises.values import compare_choice, compare_values
from deepnlp.lessons.exercises.verdict import EMPTY, Verdict

__all__ = [
    "EMPTY", "Exercise", "Verdict", "check", "check_backward", "compare_choice", "compare_values",
    "exercises_of", "short_form",
]  # fmt: skip
