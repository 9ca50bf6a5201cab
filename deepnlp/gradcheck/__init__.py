"""Checking a backward pass against numbers, and saying which mistake is in it.

The gradient that ``backward`` gives is compared with one from ``forward`` alone:

complex step (Squire and Trapp 1998)
    df/dx = Im f(x + i h) / h, with h = 1e-30. No difference is taken, so nothing cancels, and the
    result is exact to rounding, where f is analytic.
central differences
    df/dx = (4 D(h) - D(2h)) / 3, with D(h) = (f(x + h) - f(x - h)) / 2h and h = 1e-2 or less:
    right to about ten digits where f is smooth. Where D(h) and D(2h) disagree, f bends too much
    for this h or has a kink nearby (a ReLU's), and a smaller h steps around it.

The scalar f is a sum of all outputs, weighted at random: a plain sum would hide mistakes that
cancel (the gradient of a plain sum of softmax outputs is zero, whatever backward does).

All of this stands in sixty lines in :mod:`deepnlp.gradcheck.first`: begin there. Where the two
disagree, :mod:`deepnlp.diagnosis` looks for the mistake that would give exactly the gradient that
was found.
"""

from deepnlp.gradcheck.causes import CAUSES, Cause
from deepnlp.gradcheck.checker import METHODS, check_gradients
from deepnlp.gradcheck.comparing import compare
from deepnlp.gradcheck.numeric import numerical_gradient
from deepnlp.gradcheck.report import SCHEMA, VERSION, Check, Report, Row
from deepnlp.gradcheck.rules import TOLERANCES

__all__ = [
    "CAUSES", "METHODS", "SCHEMA", "TOLERANCES", "VERSION", "Cause", "Check", "Report", "Row",
    "check_gradients", "compare", "numerical_gradient",
]  # fmt: skip
