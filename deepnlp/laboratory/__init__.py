"""Experiments on gradients: the table of cases that every layer must pass."""

from deepnlp.laboratory.cases import CASES, Case, check_all

__all__ = ["CASES", "Case", "check_all"]
