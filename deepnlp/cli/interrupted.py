"""Ctrl-C, from the first moment of a process: this is imported before anything that takes time."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

INTERRUPTED = 130  # the exit code: 128 + SIGINT, as in shells
MESSAGE = "deepnlp: interrupted\n"
PATIENCE = 2.0  # seconds that an interruption waits for the end of an import


def end_when_interrupted() -> None:
    """Let Ctrl-C end the process at once, as long as there is nothing to be put in order.

    Where Ctrl-C was ignored, as in the background of a script, it stays ignored.
    """

    def end(*_: object) -> None:
        try:
            os.write(2, MESSAGE.encode())
        finally:  # even if standard error is closed
            os._exit(INTERRUPTED)

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, end)


class Interruption:
    """Context in which Ctrl-C raises a KeyboardInterrupt, and which knows that it has.

    A module that is interrupted while it is imported may raise another error in its place, or go
    on as if nothing had happened. So the interruption waits until the import has ended, but no
    longer than PATIENCE: the module may be a user's file that does not end. Where C calls Python (a
    callback, the end of an object) nothing can be raised: then too it is raised a moment later. A
    second Ctrl-C within a second is the first one still. With ``last=True`` the process ends after
    the context, and Ctrl-C does nothing any more.
    """

    def __init__(self, last: bool = False) -> None:
        self.arrived, self.last = False, last
        self._when = -math.inf  # when the last one was raised
        self._asked = math.inf  # when an interruption came that waits for an import
        self._timer: Any = None

    def __enter__(self) -> Interruption:
        self._hook, sys.unraisablehook = sys.unraisablehook, self._raise_later
        self._before = signal.getsignal(signal.SIGINT)
        if self._before is not signal.SIG_IGN:
            _handle(self._note)
        return self

    def __exit__(self, *exception: object) -> None:
        _handle(signal.SIG_IGN if self.last else self._before)
        sys.unraisablehook = self._hook
        if self._timer is not None:
            self._timer.cancel()

    def _note(self, _signal: int, frame: Any) -> None:
        now = time.monotonic()
        if now - self._when < 1:
            return
        if importing(frame):
            self._asked = min(self._asked, now)
            if now - self._asked < PATIENCE:
                return self._soon()
        self.arrived, self._when, self._asked = True, now, math.inf
        raise KeyboardInterrupt

    def _raise_later(self, unraisable: Any) -> None:
        """Raise an interruption again that Python would have printed and forgotten."""
        if unraisable.exc_type is not KeyboardInterrupt:
            return self._hook(unraisable)
        self._when = -math.inf
        return self._soon()

    def _soon(self) -> None:
        """Interrupt again in a moment."""
        import threading

        self._timer = threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT))
        self._timer.daemon = True
        self._timer.start()


def _handle(handler: Any) -> None:
    """Set a handler, in the main thread only; None stands for one that Python did not set."""
    with contextlib.suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_DFL if handler is None else handler)


def importing(frame: Any) -> bool:
    """Return whether a frame, or one that has called it, imports a module."""
    while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return frame is not None
