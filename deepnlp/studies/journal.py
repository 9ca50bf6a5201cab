"""Optuna's journal in a file, safe against processes that are killed."""

from __future__ import annotations

import contextlib
import json
import math
import os
from pathlib import Path
from typing import Any

from deepnlp.errors import DeepNLPError
from deepnlp.files.writing import locked


def require_optuna() -> Any:
    """The module, told to be quiet; an error that says how to install it where it is missing."""
    try:
        import optuna
    except ImportError:
        raise DeepNLPError(
            "a search needs Optuna, which is not installed: pip install 'deepnlp[search]'"
        ) from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def open_journal(path: Path) -> Any:
    """The storage of a study in a journal, which is begun where there is none."""
    require_optuna()
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    lock = JournalLock(path)
    with contextlib.closing(lock):
        lock.acquire()
        check_journal(path)
    return JournalStorage(JournalFileBackend(str(path), lock_obj=lock))


def check_journal(path: Path) -> None:
    """An error that names the first line which is no entry of a journal."""
    if not path.exists():
        return
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            whole = "op_code" in json.loads(line)
        except (ValueError, TypeError):
            whole = False
        if not whole:
            raise DeepNLPError(
                f"{path} is damaged in line {number}: bring back a copy of it, or begin another "
                "study"
            )


class JournalLock:
    """Whoever holds it may write to the journal; it ends with its process, however that ends.

    Optuna's own locks are files, which a killed process leaves behind. Whoever takes the lock also
    removes a last entry without an end, which a killed process was writing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._held = contextlib.ExitStack()

    def acquire(self) -> bool:
        """Wait for the lock; always true."""
        self._held.enter_context(locked(self.path.with_suffix(".lock"), math.inf))
        drop_unfinished(self.path)
        return True

    def release(self) -> None:
        """Let others write."""
        self._held.close()

    close = release


def drop_unfinished(path: Path) -> None:
    """Cut off what stands after the last end of a line."""
    content = path.read_bytes() if path.exists() else b""
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        os.truncate(path, whole)
