"""Training in processes of their own: how they are started, and exit codes."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import deepnlp
from deepnlp.datasets.files import data_folder

BUSY = 75  # exit code: another process has this run
FAILED = 2
INTERRUPTED = 130

told_to_stop = threading.Event()
"""Set in a process that was started here, when it is interrupted."""


def start(module: str, job: Mapping[str, Any], **options: Any) -> subprocess.Popen[str]:
    """Start ``python -m MODULE``, whose first line of standard input is a job in JSON.

    An interruption from the keyboard does not reach it unless it is passed on.
    """
    source = str(Path(deepnlp.__file__).parents[1])
    paths = [source, *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {
        **os.environ,
        "DEEPNLP_DATA": str(data_folder().resolve()),
        "PYTHONPATH": os.pathsep.join(paths),
        **options.pop("env", {}),
    }
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "deepnlp.cli.interrupted",
            module,
        ],  # guarded from the first import
        stdin=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
        **options,
    )
    _tell(process, json.dumps(job))
    return process


def read_job() -> dict[str, Any]:
    """The job, in the process that was started, which from now on ends when its parent does."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # all is imported
    job: dict[str, Any] = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    return job


def _end_with_parent() -> None:
    """Wait for the end of standard input, which comes when the parent ends, in whatever way."""
    while os.read(0, 4096):
        told_to_stop.set()
    os._exit(FAILED)


def interrupt(process: subprocess.Popen[str]) -> None:
    """Pass an interruption on: to the run at hand, and to what may follow it in the process."""
    _tell(process, "stop")
    process.send_signal(signal.SIGINT)


def _tell(process: subprocess.Popen[str], line: str) -> None:
    """Write a line to the standard input of a process; one that has ended takes no notice."""
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):
        os.write(process.stdin.fileno(), f"{line}\n".encode())
