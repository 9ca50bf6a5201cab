"""One process of a study, which ``running.start`` begins: ``python -m deepnlp.studies.worker``.

The first line of standard input is a JSON object: ``backend``; for a run of a table ``config``, its
options, ``out``, its folder, and ``patience``, seconds to wait for another process of the same run;
for the trials of a search ``study``, the folder. A second line asks it to stop. On standard output
it writes a line for each trial that has ended; an error begins with ERROR. It ends when its
standard input does, so that it does not outlive a parent that was killed.

What takes long to import is imported when Ctrl-C already ends the process without a word.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any

CODES = {"finished": 0, "interrupted": 130, "busy": 75}  # busy: another process has this run
FAILED = 2
ERROR = "deepnlp: error: "


def main() -> int:
    """Work as the parent says; gives the exit code."""
    from pathlib import Path

    from deepnlp import backend
    from deepnlp.errors import DeepNLPError
    from deepnlp.studies.training import run_row, run_trials

    stopping = threading.Event()
    job = _read_job(stopping)
    try:
        backend.use(job["backend"])
        if "study" in job:
            return CODES[run_trials(Path(job["study"]), stopping.is_set, _report)]
        return CODES[run_row(job["config"], Path(job["out"]), job["patience"])]
    except KeyboardInterrupt:
        return CODES["interrupted"]
    except (DeepNLPError, ValueError, TypeError, OSError, MemoryError) as error:
        _report(ERROR + (" ".join(str(error).split()) or type(error).__name__))
        return FAILED


def _read_job(stopping: threading.Event) -> dict[str, Any]:
    """The job; from now on Ctrl-C is raised, and the end of the parent ends the process."""
    import json

    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    job: dict[str, Any] = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, args=[stopping], daemon=True).start()
    return job


def _end_with_parent(stopping: threading.Event) -> None:
    """Wait for the end of standard input, which comes when the parent ends, in whatever way."""
    while os.read(0, 4096):
        stopping.set()
    os._exit(FAILED)


def _report(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda *_: os._exit(CODES["interrupted"]))
    sys.exit(main())
