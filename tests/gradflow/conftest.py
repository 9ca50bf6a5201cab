"""Runs of these tests draw no learning curves, which would take most of their time."""

from tests.training.conftest import quick_figures  # noqa: F401
