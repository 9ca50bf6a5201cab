"""Calls of the system that kill the process, or fail, at a chosen moment."""

from __future__ import annotations

import builtins
import errno
import fcntl
import io
import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

CALLS = ("open", "write", "fsync", "replace", "unlink", "flock")
ERRORS = ("ENOSPC", "EIO", "EACCES")
KILL, SHORT = "kill", "short write"


class Injection:
    """From :meth:`install` on, the k-th such call for a file of a folder kills or fails.

    ``how`` is KILL, the name of an error, or SHORT, with which every write takes one byte less than
    it is given, as a system may. A write that is killed or fails has written half of its bytes.
    """

    def __init__(self, folder: Path, call: str = "", k: int = 0, how: str = "") -> None:
        self.folder, self.call, self.k, self.how = folder, call, k, how
        self.counts: Counter[str] = Counter()

    def install(self) -> None:
        """Put this in place of the calls, in this process for good."""
        opened = io.open

        def opening(file: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
            if isinstance(file, int) or not self._is_ours(file) or not {*mode} & {*"wxa"}:
                return opened(file, mode, *args, **options)
            self._count("open", file)
            if mode in ("xb", "wb"):
                return io.BufferedWriter(_Raw(self, file, mode.replace("b", "")))
            return opened(file, mode, *args, **options)

        io.open = builtins.open = opening  # type: ignore[assignment]
        os.fsync = self._before("fsync", os.fsync)
        os.replace = self._before("replace", os.replace, by_path=True)
        os.unlink = self._before("unlink", os.unlink, by_path=True)
        fcntl.flock = self._before("flock", fcntl.flock)

    def _before(self, call: str, function: Callable[..., Any], by_path: bool = False) -> Any:
        def counted(first: Any, *args: Any, **options: Any) -> Any:
            if not by_path or (self._is_ours(first) and Path(first).exists()):
                self._count(call, first)
            return function(first, *args, **options)

        return counted

    def _is_ours(self, file: Any) -> bool:
        return Path(os.fsdecode(file)).parent == self.folder

    def _count(self, call: str, file: Any, half: Callable[[], Any] = lambda: None) -> None:
        self.counts[call] += 1
        if (call, self.counts[call]) != (self.call, self.k) or self.how == SHORT:
            return
        half()
        if self.how == KILL:
            os.kill(os.getpid(), signal.SIGKILL)
        number = getattr(errno, self.how)
        named = [os.fspath(file)] if call in ("open", "replace", "unlink") else []
        raise OSError(number, os.strerror(number), *named)


class _Raw(io.FileIO):
    def __init__(self, injection: Injection, file: Any, mode: str) -> None:
        super().__init__(file, mode)
        self._injection = injection

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        write = super().write
        self._injection._count("write", self.name, lambda: write(view[: len(view) // 2]))
        short = self._injection.how == SHORT and len(view) > 1
        return write(view[:-1] if short else view) or 0
