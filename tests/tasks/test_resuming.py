"""Runs of seq2seq and tagging that are stopped anywhere end with the same bits."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import deepnlp
from tests.tasks.tools import MAKERS
from tests.training.tools import Killed, end_of, stop_at


@pytest.fixture(scope="module", params=MAKERS)
def uninterrupted(request: Any, tmp_path_factory: Any) -> tuple[Any, Any]:
    """A maker of trainers, and the end of the run that nothing stopped."""
    make, folder = MAKERS[request.param], tmp_path_factory.mktemp(request.param)
    make(folder).fit()
    return make, end_of(folder)


@pytest.mark.parametrize("how", ["interrupt", "kill"])
@pytest.mark.parametrize("step", [2, 7, 13, 17])
def test_stopped_and_resumed(step: int, how: str, tmp_path: Path, uninterrupted: Any) -> None:
    make, whole = uninterrupted
    stopped = make(tmp_path)
    stop_at(stopped, step, how)
    if how == "kill":
        with pytest.raises(Killed):
            stopped.fit()
    else:
        assert stopped.fit().status == "interrupted"
    deepnlp.seed(99)
    assert make(tmp_path).fit(resume=True).status == "finished"
    assert end_of(tmp_path) == whole


PROCESS = """
import sys
import tests  # one BLAS thread
from pathlib import Path
from tests.tasks import tools
from tests.training.tools import SlowTrainer
tools.Trainer = SlowTrainer
tools.MAKERS[sys.argv[1]](Path(sys.argv[2])).fit()
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_a_process_that_is_killed(tmp_path: Path, uninterrupted: Any) -> None:
    make, whole = uninterrupted
    with subprocess.Popen(
        [sys.executable, "-c", PROCESS, make.__name__, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) == 14:
                process.kill()
                break
        process.stdout.read()
    assert process.returncode == -signal.SIGKILL
    make(tmp_path).fit(resume=True)
    assert end_of(tmp_path) == whole
