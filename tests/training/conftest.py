"""Runs of these tests draw no learning curves, which would take most of their time."""

from collections.abc import Iterator
from typing import Any

import pytest

from deepnlp.tasks import Task
from tests.training.tools import end_of, quick_figure, tiny_trainer


@pytest.fixture(autouse=True, scope="package")
def quick_figures() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Task, "draw", quick_figure)
        yield


@pytest.fixture(scope="package")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The end of a run of ``tiny_trainer`` that nothing stopped."""
    folder = tmp_path_factory.mktemp("whole")
    tiny_trainer(folder).fit()
    return end_of(folder)
