"""Limits of a submission's process: it may compute, and answer on one pipe.

On Linux a filter of system calls (seccomp) leaves it memory, the clock and the files that are open:
it can open none, has no network, starts no process and reaches no other one. The filter holds for
machine code too, and cannot be taken off. Elsewhere limits of the system and a hook of Python stand
in its way, which a determined attacker gets round.
"""

import ctypes
import mmap
import os
import platform
import signal
import struct
import sys
import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from deepnlp.grading import wire
from deepnlp.grading.forms import DATA
from deepnlp.grading.worker import serve

LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06  # instructions of a filter
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050001, 0x80000000  # REFUSE: "operation not permitted"
NO_NEW_PRIVILEGES, PARENT_DIES, FILTER, ALL_THREADS = 38, 1, 1, 1
EVENTS = tuple(DATA["events"].split())


def main(parent: int, memory: int, seconds: int) -> None:
    """Answer on the standard streams of this process until the grader has no more questions.

    ``memory`` in megabytes and ``seconds`` of processor time are for all of it.
    """
    end_with(parent)
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    for number in (0, 1, 2):
        os.dup2(os.open(os.devnull, os.O_RDWR), number)

    serve(partial(wire.exchange, answers, questions), lambda: close(memory, seconds))


def end_with(parent: int) -> None:
    """Have this process end with its parent, however that ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PARENT_DIES, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
        return

    def wait() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def close(memory: int, seconds: int) -> None:
    """Shut this process in, for good.

    Parameters
    ----------
    memory : int
        Megabytes that it may take besides what it has.
    seconds : int
        Processor time after which the system ends it.
    """
    limit_memory(memory, for_good=True)
    limit(for_good=True, CPU=seconds, FSIZE=0, CORE=0, NPROC=0)
    _filter()
    sys.addaudithook(_refuse)


def _refuse(event: str, _: Any) -> None:
    if event.startswith(EVENTS):
        raise PermissionError(f"{event}: a submission may not do this")


def limit_memory(memory: int, for_good: bool = False) -> None:
    """Let this process take so many megabytes besides what it has, where the system can."""
    statm = Path("/proc/self/statm")
    pages = int(statm.read_text().split()[0]) if statm.exists() else 0
    limit(for_good, AS=pages * mmap.PAGESIZE + memory * 2**20)


def limit(for_good: bool = False, **limits: int | None) -> None:
    """Set limits of the system by name, as far as it has them: None is the highest that it may be.

    One that is not for good may be raised again.
    """
    with suppress(ImportError):
        import resource

        for name, value in limits.items():
            with suppress(AttributeError, OSError, ValueError):
                kind = getattr(resource, f"RLIMIT_{name}")
                highest = resource.getrlimit(kind)[1]
                soft = highest if value is None else value
                resource.setrlimit(kind, (soft, soft if for_good else highest))


def _filter() -> None:
    """Put the filter of system calls on this process, where the system has one."""
    machine, column, seccomp = DATA["machines"].get(platform.machine(), (0, 0, 0))
    if sys.platform != "linux" or not machine or sys.maxsize < 2**32:
        return
    steps = [(LOAD, 0, 0, 4), (EQUAL, 1, 0, machine), (RETURN, 0, 0, KILL), (LOAD, 0, 0, 0)]
    for number in (each[column] for each in DATA["calls"].values()):
        steps += [(EQUAL, 0, 1, number), (RETURN, 0, 0, ALLOW)]
    steps.append((RETURN, 0, 0, REFUSE))
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    program = struct.pack("@HP", len(steps), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    if libc.syscall(seccomp, FILTER, ALL_THREADS, program):
        raise OSError(ctypes.get_errno(), "the kernel takes no filter of system calls")
