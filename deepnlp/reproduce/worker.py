"""One run of a table in a process of its own: ``python -m deepnlp.reproduce.worker``.

The first line of standard input is a JSON object: ``config``, the options; ``out``, the run folder;
``backend``; ``patience``, seconds to wait for another process of the same run. The process ends
when its standard input does, so that it does not outlive a parent that was killed.
"""

from __future__ import annotations

import sys
from pathlib import Path

from deepnlp.files.writing import locked
from deepnlp.reproduce.processes import BUSY, FAILED, INTERRUPTED, read_job


def main() -> int:
    """Train as the parent says; gives the exit code."""
    job = read_job()

    from deepnlp import backend
    from deepnlp.errors import DeepNLPError, DivergedError
    from deepnlp.training import RunFolder, TrainConfig, train

    out = Path(job["out"])
    with locked(out.with_name(f"{out.name}.lock"), job["patience"]) as held:
        if not held:
            return BUSY
        backend.use(job["backend"])
        resume = RunFolder(out).config.exists()
        try:
            result = train(TrainConfig(**job["config"]), out, resume=resume, overwrite=not resume)
        except DivergedError as error:  # also a result
            print(f"{out}: {error}", file=sys.stderr)
            return 0
        except (DeepNLPError, ValueError, TypeError, OSError, MemoryError) as error:
            said = " ".join(str(error).split()) or type(error).__name__
            print(f"deepnlp: error: {said}", file=sys.stderr)
            return FAILED
    return 0 if result.status == "finished" else INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
