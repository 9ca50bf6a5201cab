"""Runs of these tests draw no learning curves, which would take most of their time."""

from collections.abc import Iterator

import pytest

from deepnlp.tasks import Task
from tests.training.tools import quick_figure


@pytest.fixture(autouse=True, scope="package")
def quick_figures() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Task, "draw", quick_figure)
        yield
