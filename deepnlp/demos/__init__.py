"""Demonstrations: an experiment each, with a figure and a table, in under a minute.

A demonstration is a function ``run(config) -> result`` in a file of its own. It is pure: the
result follows from the config, its seed included. The result gives ``table()``, ``to_dict()`` and
``figure()``.
"""

from deepnlp.demos.registry import DEMOS, Demonstration
from deepnlp.demos.result import Result

__all__ = ["DEMOS", "Demonstration", "Result"]
