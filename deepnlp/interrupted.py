"""Ctrl-C, from the first moment of a process: this is imported before anything that takes time.

``python -m deepnlp.interrupted MODULE`` runs a module so guarded, and says nothing.
"""

from __future__ import annotations

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


def end_when_interrupted(message: str = MESSAGE) -> None:
    """From now on Ctrl-C ends the process at once: there is nothing yet to be put in order.

    Where it was ignored, as in the background of a script, it stays so.
    """

    def end(*_: object) -> None:
        try:
            os.write(2, message.encode())
        finally:  # also where nobody can read it
            os._exit(INTERRUPTED)

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, end)


class Interruption:
    """Context in which Ctrl-C raises a KeyboardInterrupt, and which knows that it has.

    An extension module that is interrupted while it is imported may raise another error in its
    place. Where C calls Python (a callback, the end of an object) nothing can be raised: then it
    is raised a moment later. A second Ctrl-C within a second is the first one still. With
    ``last=True`` the process ends after the context, and Ctrl-C does nothing any more.
    """

    def __init__(self, last: bool = False) -> None:
        self.arrived, self.last = False, last
        self._before: Any = None
        self._hook: Any = None
        self._when = 0.0

    def __enter__(self) -> Interruption:
        self._hook, sys.unraisablehook = sys.unraisablehook, self._raise_later
        self._before = signal.getsignal(signal.SIGINT)
        if self._before is not signal.SIG_IGN:
            self._handle(self._note)
        return self

    def __exit__(self, *exception: object) -> None:
        self._handle(signal.SIG_IGN if self.last else self._before)
        sys.unraisablehook = self._hook

    def ignore(self) -> None:
        """Let a second one do nothing: the first has ended all there was."""
        self._handle(signal.SIG_IGN)

    def _handle(self, handler: Any) -> None:
        """Set a handler, in the main thread only; None stands for one that Python did not set."""
        import threading

        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, signal.SIG_DFL if handler is None else handler)

    def _note(self, *_: object) -> None:
        now = time.monotonic()
        if self.arrived and now - self._when < 1:
            return
        self.arrived, self._when = True, now
        raise KeyboardInterrupt

    def _raise_later(self, unraisable: Any) -> None:
        """Raise an interruption again that Python would have printed and forgotten."""
        if unraisable.exc_type is not KeyboardInterrupt:
            self._hook(unraisable)
            return
        import threading

        self._when = -math.inf
        again = threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT))
        again.daemon = True
        again.start()


if __name__ == "__main__":
    end_when_interrupted(message="")
    import runpy

    runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
