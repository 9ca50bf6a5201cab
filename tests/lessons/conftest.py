"""Lessons, scripts and experiments run on a part of pydocs and draw no learning curves."""

from collections.abc import Iterator

import pytest

from deepnlp.tasks import Task
from tests.datasets.parts import sentences_of_a_part
from tests.training.tools import quick_figure


@pytest.fixture(scope="module", autouse=True)
def _quick() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("deepnlp.datasets.loading.pydocs_sentences", sentences_of_a_part)
        patch.setattr(Task, "draw", quick_figure)
        yield
