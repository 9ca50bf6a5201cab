"""The doctor of a training: the gradients are right, and the loss still does not fall.

A *training* is a step that is made again and again: forward, backward, update. What is wrong with
one is found by experiments with the step itself: from the same weights, with this batch and with
that, once and forty times, along the update and against it. Each experiment is a function of a
:class:`~deepnlp.checkup.program.Program`, and everything is put back behind it.
"""

from deepnlp.checkup.report import CAUSES, SCHEMA, VERSION, Cause, Report, Row
from deepnlp.checkup.rules import check_optimizer
from deepnlp.checkup.training import EXPERIMENTS, check_training

__all__ = [
    "CAUSES", "EXPERIMENTS", "SCHEMA", "VERSION", "Cause", "Report", "Row", "check_optimizer",
    "check_training",
]  # fmt: skip
