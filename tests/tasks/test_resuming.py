"""Runs of seq2seq and tagging that are stopped anywhere end with the same bits."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from tests.tasks.tools import MAKERS
from tests.training.tools import end_of, killed_and_resumed, stopped_and_resumed


@pytest.fixture(scope="module", params=MAKERS)
def uninterrupted(request: Any, tmp_path_factory: Any) -> tuple[Any, Any]:
    """A maker of trainers, and the end of the run that nothing stopped."""
    make, folder = MAKERS[request.param], tmp_path_factory.mktemp(request.param)
    make(folder).fit()
    return make, end_of(folder)


@pytest.mark.parametrize(
    ("step", "how"), [(2, "kill"), (7, "interrupt"), (13, "kill"), (17, "interrupt")]
)
def test_stopped_and_resumed(step: int, how: str, tmp_path: Path, uninterrupted: Any) -> None:
    make, whole = uninterrupted
    assert stopped_and_resumed(make, tmp_path, step, how) == whole


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_a_process_that_is_killed(tmp_path: Path, uninterrupted: Any) -> None:
    make, whole = uninterrupted
    assert killed_and_resumed(make, tmp_path, 14) == whole
