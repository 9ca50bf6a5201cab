"""Element-wise work on the host, shared out between threads.

NumPy's matrix products use all cores; its other operations use one. They let go of the
interpreter's lock while they compute, so threads of Python's own can take a part each.

This module is imported before NumPy, since it sets one thing that is read only then: the threads
of OpenBLAS wait for their next product in a busy loop, by default for some 25 milliseconds, in
which nothing else can run on their core. ``OPENBLAS_THREAD_TIMEOUT=16`` (2 to that many cycles,
some 25 microseconds) gives the core free at once. It has no effect where a program has imported
NumPy before deepnlp, nor where the variable is set already.
"""

from __future__ import annotations

import contextvars
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "16")


def threads() -> int:
    """How many threads share out the element-wise work on the host.

    Returns
    -------
    int
        What ``DEEPNLP_NUM_THREADS`` says; else what the matrix products are told by
        ``OPENBLAS_NUM_THREADS`` or ``OMP_NUM_THREADS``; else the number of cores of this process.
    """
    for variable in ("DEEPNLP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        value = os.environ.get(variable, "")
        if value.isdigit() and int(value) > 0:
            return int(value)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Pool:
    """Helpers of the calling thread, started when there is first work for them."""

    def __init__(self) -> None:
        self.helpers = threads() - 1
        self.executor = ThreadPoolExecutor(max(1, self.helpers), "deepnlp")


_pool: _Pool | None = None


def _forget_pool() -> None:
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)  # threads do not survive a fork


def in_parallel(work: Callable[[Any], None], pieces: Sequence[Any]) -> None:
    """Call ``work(piece)`` for every piece, shared out between threads.

    Worth it where a piece is large enough for NumPy to let go of the interpreter's lock. The
    result must not depend on the order: each piece writes what no other reads.

    Parameters
    ----------
    work : callable
    pieces : sequence

    Examples
    --------
    >>> numbers = [1, 2, 3]
    >>> def double(k):
    ...     numbers[k] *= 2
    >>> in_parallel(double, range(3))
    >>> numbers
    [2, 4, 6]
    """
    global _pool
    if len(pieces) < 2:  # as it is for each word of a text that is generated: lose no time
        for piece in pieces:
            work(piece)
        return
    pool = _pool = _pool or _Pool()
    shares = min(1 + pool.helpers, len(pieces))

    def share(k: int) -> None:
        for piece in pieces[k::shares]:
            work(piece)

    # A helper sees what the caller has set for its own context, such as numpy.errstate.
    others = [
        pool.executor.submit(contextvars.copy_context().run, share, k) for k in range(1, shares)
    ]
    try:
        share(0)
    finally:
        for other in others:
            other.result()
