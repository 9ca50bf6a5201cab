"""Marks for submissions: ``deepnlp grade``.

What a student has handed in runs in a process of its own (:mod:`deepnlp.grading.worker`), shut in
by the operating system (:mod:`deepnlp.grading.process`) or by WebAssembly
(:mod:`deepnlp.grading.wasi`). The grader hands it numbers and gets
numbers back (:mod:`deepnlp.grading.wire`), and decides from these, with solutions that never leave
the grader. docs/grading.md says what this is safe against.
"""

from deepnlp.grading.assignment import Assignment, Task
from deepnlp.grading.judging import grade
from deepnlp.grading.results import Mark, Submission, submissions_in

__all__ = ["Assignment", "Mark", "Submission", "Task", "grade", "submissions_in"]
