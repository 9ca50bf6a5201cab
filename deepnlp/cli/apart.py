"""Somebody's code in a process of its own: it may run without an end, or end the program."""

import contextlib
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from multiprocessing import get_all_start_methods, get_context
from multiprocessing.connection import Connection
from typing import Any

from deepnlp.cli.mistakes import in_one_line, is_mistake
from deepnlp.errors import DeepNLPError

_LINES = 100_000_000  # the limit where there are neither processes nor signals
_LEAST = 20  # seconds that every process may take


class _TimeUpError(BaseException):
    """Not caught by a learner's ``except Exception``."""


def apart(work: Callable[..., Any], *given: Any, seconds: int) -> Any:
    """Return what a function of a module returns, called in a process of its own.

    Parameters
    ----------
    work : callable
    *given : object
        What it takes. What it returns and takes can be pickled.
    seconds : int
        Processor time after which it ends; four times as long by the clock, and 20 seconds.

    Raises
    ------
    DeepNLPError
        If it raises what the user can put right, does not end, or ends the program.
    """
    methods = get_all_start_methods()
    context: Any = get_context("fork" if "fork" in methods else "spawn")
    receiving, sending = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(sending, seconds, work, given), daemon=True)
    sys.stdout.flush()
    try:
        with warnings.catch_warnings(action="ignore"):  # of threads, which only compute
            process.start()
    except (ImportError, OSError, NotImplementedError):  # as in a browser
        with _ended(seconds), _counted():
            return work(*given)
    sending.close()
    until = time.monotonic() + 4 * seconds + _LEAST
    try:
        while not receiving.poll(0.05) and process.is_alive() and time.monotonic() < until:
            pass
        kind, value = receiving.recv() if receiving.poll() else ("none", None)
    except EOFError:
        kind, value = "none", None
    finally:
        is_late = time.monotonic() >= until
        if is_late or isinstance(sys.exc_info()[1], KeyboardInterrupt):
            process.kill()
        process.join()
    if kind == "answer":
        return value
    if kind == "mistake":
        raise DeepNLPError(value)
    if kind == "bug":
        print(value, file=sys.stderr)
        raise SystemExit(1)
    if is_late or process.exitcode == -getattr(signal, "SIGXCPU", 0):
        raise DeepNLPError(_too_long(seconds))
    raise DeepNLPError(f"the checked code ended the program, with exit code {process.exitcode}")


def _too_long(seconds: int) -> str:
    return f"the check took more than {seconds} s: does a loop of the checked code not end?"


def _answer(sending: Connection, seconds: int, work: Callable[..., Any], given: Any) -> None:
    """Send what a function returns or raises."""
    os.environ.setdefault("MPLBACKEND", "Agg")  # no window waits to be closed
    with contextlib.suppress(ImportError):  # not of every platform
        import resource

        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        resource.setrlimit(resource.RLIMIT_CPU, (seconds + 2, hard))
    try:
        with _ended(seconds):
            sending.send(("answer", work(*given)))
    except KeyboardInterrupt:
        return
    except Exception as error:
        said = in_one_line(error) if is_mistake(error) else traceback.format_exc()
        sending.send(("mistake" if is_mistake(error) else "bug", said))


@contextlib.contextmanager
def _ended(seconds: int) -> Iterator[None]:
    """Context that ends after so much processor time, where the platform can tell it."""
    is_main = threading.current_thread() is threading.main_thread()
    has_timer = is_main and hasattr(signal, "setitimer")

    def end(*_: Any) -> None:
        raise _TimeUpError

    if has_timer:
        before = signal.signal(signal.SIGPROF, end)
        signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    except _TimeUpError:
        raise DeepNLPError(_too_long(seconds)) from None
    finally:
        if has_timer:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.signal(signal.SIGPROF, before)


@contextlib.contextmanager
def _counted() -> Iterator[None]:
    """Context that ends after so many lines."""
    left, before = _LINES, sys.gettrace()

    def look(*_: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise _TimeUpError
        return look

    sys.settrace(look)
    try:
        yield
    finally:
        sys.settrace(before)
