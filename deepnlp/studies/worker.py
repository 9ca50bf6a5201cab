"""One process of a study, which ``running.start`` begins: ``python -m deepnlp.studies.worker``.

The first line of standard input is a JSON object: ``backend``, and the arguments of
``training.train_run``. An error is written on standard output after ERROR. The process ends when
its standard input does, so that it does not outlive a parent that was killed.

What takes long to import is imported when Ctrl-C already ends the process without a word.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from typing import Any

CODES = {"finished": 0, "pruned": 0, "interrupted": 130, "busy": 75}  # busy: in another process
FAILED = 2
ERROR = "deepnlp: error: "


def main() -> int:
    """Train a run as the parent says; gives the exit code."""
    from deepnlp import backend
    from deepnlp.errors import DeepNLPError
    from deepnlp.studies.training import train_run

    job = _read_job()
    try:
        backend.use(job.pop("backend"))
        return CODES[train_run(**job)]
    except KeyboardInterrupt:
        return CODES["interrupted"]
    except (DeepNLPError, ValueError, TypeError, OSError, MemoryError) as error:
        message = " ".join(str(error).split()) or type(error).__name__
        print(f"{ERROR}{job['folder']}: {message}", flush=True)
        return FAILED


def _read_job() -> dict[str, Any]:
    """The job; from now on Ctrl-C is raised, and the end of the parent ends the process."""
    import json

    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    job: dict[str, Any] = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    return job


def _end_with_parent() -> None:
    """Wait for the end of standard input, which comes when the parent ends, in whatever way."""
    while os.read(0, 4096):
        pass
    os._exit(FAILED)


if __name__ == "__main__":
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, lambda *_: os._exit(CODES["interrupted"]))
    sys.exit(main())
