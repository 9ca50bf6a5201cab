"""What a submission may do of all that a process can: compute, and answer on one pipe.

On Linux a filter of system calls (seccomp) leaves it memory, the clock and the files that are open:
it can open none, has no network, starts no process and reaches no other one. The filter holds for
machine code too, and cannot be taken off. Elsewhere limits of the system and a hook of Python stand
in its way, which a determined attacker gets round.
"""

from __future__ import annotations

import ctypes
import platform
import struct
import sys
from contextlib import suppress
from typing import Any

# Numbers of the calls that are allowed, those of x86-64 and of AArch64: /usr/include/asm/unistd.h.
CALLS = {
    "read": (0, 63), "write": (1, 64), "close": (3, 57), "fstat": (5, 80), "lseek": (8, 62),
    "mmap": (9, 222), "mprotect": (10, 226), "munmap": (11, 215), "brk": (12, 214),
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139),
    "sched_yield": (24, 124), "mremap": (25, 216), "madvise": (28, 233), "nanosleep": (35, 101),
    "getpid": (39, 172), "exit": (60, 93), "getcwd": (79, 17), "times": (100, 153),
    "gettimeofday": (96, 169), "getrusage": (98, 165), "sigaltstack": (131, 132),
    "gettid": (186, 178), "futex": (202, 98), "sched_getaffinity": (204, 123),
    "clock_gettime": (228, 113), "clock_getres": (229, 114), "clock_nanosleep": (230, 115),
    "exit_group": (231, 94), "getrandom": (318, 278), "membarrier": (324, 283), "rseq": (334, 293),
}  # fmt: skip
MACHINES = {"x86_64": (0xC000003E, 0, 317), "aarch64": (0xC00000B7, 1, 277)}
"""By machine: its number for the filter, its column above, and the number of the call seccomp."""

LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06  # instructions of a filter
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050001, 0x80000000  # REFUSE: "operation not permitted"
NO_NEW_PRIVILEGES, FILTER, ALL_THREADS = 38, 1, 1

REFUSED = (
    "open", "os.", "socket.", "subprocess.", "shutil.", "ctypes.", "signal.", "pty.", "fcntl.",
    "webbrowser.", "urllib.", "http.", "ftplib.", "smtplib.", "glob.", "tempfile.", "mmap.",
    "resource.", "winreg.", "_winapi.", "msvcrt.",
)  # fmt: skip
"""Beginnings of the events of Python (PEP 578) that are refused."""


def close(memory: int, seconds: int) -> str:
    """Shut this process in, for good; gives the name of what does it.

    Parameters
    ----------
    memory : int
        Megabytes that it may take besides what it has.
    seconds : int
        Processor time after which the system ends it.
    """
    _limit(memory, seconds)
    kind = "seccomp" if _filter() else "hooks"
    sys.addaudithook(_refuse)
    return kind


def _refuse(event: str, _: Any) -> None:
    if event.startswith(REFUSED):
        raise PermissionError(f"{event}: a submission may not do this")


def _limit(memory: int, seconds: int) -> None:
    with suppress(ImportError, OSError, ValueError):
        import resource

        pages = 0
        with suppress(OSError), open("/proc/self/statm") as file:  # noqa: PTH123
            pages = int(file.read().split()[0])
        size = pages * resource.getpagesize() + memory * 2**20
        limits = {"AS": size, "CPU": seconds, "FSIZE": 0, "CORE": 0, "NPROC": 0}
        for name, limit in limits.items():
            with suppress(AttributeError, OSError, ValueError):
                resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (limit, limit))


def _filter() -> bool:
    """Put the filter of system calls on this process, where the system has one."""
    if sys.platform != "linux" or platform.machine() not in MACHINES or sys.maxsize < 2**32:
        return False
    machine, column, seccomp = MACHINES[platform.machine()]
    numbers = [each[column] for each in CALLS.values()]
    steps = [(LOAD, 0, 0, 4), (EQUAL, 1, 0, machine), (RETURN, 0, 0, KILL), (LOAD, 0, 0, 0)]
    for left, number in enumerate(reversed(numbers), 1):
        steps.insert(4, (EQUAL, left, 0, number))
    steps += [(RETURN, 0, 0, REFUSE), (RETURN, 0, 0, ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    program = struct.pack("@HP", len(steps), ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    return libc.syscall(seccomp, FILTER, ALL_THREADS, program) == 0
