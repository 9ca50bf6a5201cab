"""What the processes that run a table share: exit codes and locks."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path

BUSY = 75  # exit code: another process has this run
FAILED = 2
INTERRUPTED = 130


@contextlib.contextmanager
def locked(path: Path, patience: float) -> Iterator[bool]:
    """Hold a lock that no two processes hold at once; gives whether it was free in time.

    It ends with the process, however that ends. Where the system has no such locks, it is free.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, locked(Path(folder) / "a.lock", 0) as held:
    ...     held
    True
    """
    try:
        import fcntl
    except ImportError:
        yield True
        return
    end = time.monotonic() + patience
    with path.open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() > end:
                    yield False
                    return
                time.sleep(0.05)
        yield True
