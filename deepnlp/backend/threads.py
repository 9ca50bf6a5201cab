"""Work on the host, shared out between threads of our own; one BLAS thread meanwhile.

OpenBLAS can share out a matrix product itself, but its threads wait for each other in busy loops.
Beside another busy program they wait for a thread that has no core, and a training step takes up
to ten times as long. So inside deepnlp's calls BLAS runs on one thread (:func:`one_blas_thread`),
and large products and element-wise work are cut into pieces that the threads of
:func:`in_parallel` take one after the other. These threads sleep when there is no work.

How a piece of work is cut depends on its shape alone, never on the number of threads, and no cut
goes through a sum. So every number of threads gives the same bits. ``DEEPNLP_NUM_THREADS`` sets
that number.
"""

import math
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from contextvars import ContextVar, copy_context
from functools import partial
from queue import SimpleQueue
from types import FrameType
from typing import Any

import numpy
from threadpoolctl import ThreadpoolController

from deepnlp.backend.checks import check_number

_BLOCK = 1 << 18  # numbers; as many float32 as a core's own cache holds, with room to spare


def _number_from_environment() -> int:
    for variable in ("DEEPNLP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        value = os.environ.get(variable, "")
        if value.isdigit() and int(value) > 0:
            return int(value)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _keep_freed_memory() -> None:
    """Have GNU's C library keep up to 64 MB that were freed, for the arrays of the next step.

    It keeps twice the largest block that was ever freed, of those up to 32 MB, and gives the rest
    back to the system, from which every training step would ask for it again. So a block of that
    size is freed once; it is never written, and so takes no memory.
    """
    numpy.empty((1 << 25) - (1 << 16), dtype="uint8")


_keep_freed_memory()

_inside: ContextVar[bool] = ContextVar("inside", default=False)
"""Whether what runs is a piece of work that was shared out."""

_waiting: ContextVar[Any] = ContextVar("waiting", default=None)  # see later()

_last = threading.local()  # the round that each calling thread began last


class _Round:
    """Pieces of work that the caller and its helpers take one after the other.

    Whatever interrupts the caller, no round is taken for another: a helper that comes late finds
    its round closed, and the next round begins when nobody works on the one before. There is no
    lock that an interrupted caller could leave locked.
    """

    def __init__(self, work: Callable[[Any], object], pieces: Sequence[Any]) -> None:
        self._work, self._pieces = work, deque(pieces)
        # Whoever calls next(), which holds the interpreter's lock, may take a piece.
        self._left = iter(pieces)
        self._closed = False
        self._begun: list[None] = []  # an entry for each helper that has come
        self._ended: list[None] = []  # and for each that has gone
        self._gone: SimpleQueue[None] = SimpleQueue()  # wakes the caller
        self.error: BaseException | None = None

    def take(self, pop: Callable[[], Any] | None = None) -> None:
        """Work on pieces until none is left; after an error no thread begins another.

        The caller goes forward and helpers go backward, so that each finds in its own cache the
        rows that it wrote in the round before.
        """
        _inside.set(True)
        pop = pop or self._pieces.popleft
        try:
            for _ in self._left:
                self._work(pop())
        finally:
            for _ in self._left:
                pass

    def help(self) -> None:
        """Work in a helper thread, unless the round is over."""
        self._begun.append(None)  # from here on the caller waits
        try:
            if not self._closed:
                self.take(self._pieces.pop)
        except BaseException as error:  # raised again in the caller's thread
            self.error = error
        self._ended.append(None)
        self._gone.put(None)

    def close(self) -> None:
        """Wait for the helpers that have begun; Ctrl-C meanwhile is raised afterwards."""
        interrupt = None
        while not self._closed or len(self._ended) < len(self._begun):
            try:
                self._closed = True
                while len(self._ended) < len(self._begun):
                    self._gone.get()
            except KeyboardInterrupt as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt

    def after_fork(self) -> None:
        """Go on alone: the helpers are not there."""
        self._begun, self._ended = [], []


class _Pool:
    """The helpers, which sleep while there is nothing to do."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self.leisure: deque[Callable[[], None]] = deque()  # jobs for when there is no other
        self._started = 0

    def share(self, work: Callable[[Any], object], pieces: Sequence[Any], least: int = 2) -> None:
        """Call ``work(piece)`` for every piece; each thread takes the next piece that is left."""
        alone = _inside.get() or len(pieces) < least
        helpers = 0 if alone else self._helpers(min(self.size, len(pieces)) - 1)
        if helpers < 1:  # one thread, few pieces, or work within work
            for piece in pieces:
                work(piece)
            return
        if hasattr(_last, "round"):
            _last.round.close()
        _last.round = this = _Round(work, pieces)
        try:
            for _ in range(helpers - self._jobs.qsize()):  # the others have not come yet
                # A helper sees what the caller has set for its own context, as by numpy.errstate.
                self._jobs.put(partial(copy_context().run, this.help))
            copy_context().run(this.take)
        finally:
            this.close()
            del _last.round  # it holds the arrays of the caller
        if this.error is not None:
            raise this.error

    def share_later(self, work: Callable[[Any], object], pieces: Sequence[Any]) -> list[_Round]:
        """Begin rounds of one piece each, for helpers that have come for another round."""
        if _inside.get() or self._helpers(self.size - 1) < 1:
            for piece in pieces:
                work(piece)
            return []
        rounds = [_Round(work, [piece]) for piece in pieces]
        self.leisure += [partial(copy_context().run, this.help) for this in rounds]
        return rounds

    def end(self) -> None:
        """Let the helpers end once the work at hand is done, and those that are started later."""
        self._jobs.put(None)

    def _helpers(self, wanted: int) -> int:
        """Return how many helpers there are, ``wanted`` at most."""
        try:
            while self._started < wanted:
                threading.Thread(target=self._help, name="deepnlp", daemon=True).start()
                self._started += 1
        except RuntimeError:  # the system gives no more threads
            pass
        return min(self._started, wanted)

    def _help(self) -> None:
        while (job := self._next()) is not None:
            job()
            del job  # it holds the arrays of the caller
        self._jobs.put(None)  # for the other helpers

    def _next(self) -> Callable[[], None] | None:
        if self._jobs.empty() and self.leisure:
            with suppress(IndexError):  # another helper was quicker
                return self.leisure.popleft()
        return self._jobs.get()


_pool = _Pool(_number_from_environment())


def _after_fork() -> None:
    """Threads do not survive a fork, nor what they had set."""
    global _pool
    _pool = _Pool(_pool.size)
    _one_blas_thread.after_fork()
    rounds, _ = _waiting.get() or ([], [])
    for this in [*rounds, *vars(_last).values()]:
        this.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def number() -> int:
    """Return how many threads share out work on the host.

    Returns
    -------
    int
        What :func:`use` set; by default ``DEEPNLP_NUM_THREADS`` of the environment, else
        ``OPENBLAS_NUM_THREADS`` or ``OMP_NUM_THREADS``, else the number of cores of this process.
    """
    return _pool.size


def use(number: int) -> None:
    """Set how many threads share out work on the host. Results do not depend on it.

    Parameters
    ----------
    number : int
        One or more.

    Raises
    ------
    ValueError
        If it is less.
    """
    global _pool
    check_number("the number of threads", number, whole=True, low=1)
    _pool.end()
    _pool = _Pool(number)


def in_parallel(work: Callable[[Any], object], pieces: Sequence[Any], least: int = 2) -> None:
    """Call ``work(piece)`` for every piece, shared out between threads if there are ``least``.

    This pays where a piece is large enough for NumPy to release the interpreter's lock. The result
    must not depend on the order: each piece writes what no other piece reads.

    >>> numbers = [1, 2, 3]
    >>> def double(k):
    ...     numbers[k] *= 2
    >>> in_parallel(double, range(3))
    >>> numbers
    [2, 4, 6]
    """
    _pool.share(work, pieces, least)


@contextmanager
def later() -> Iterator[None]:
    """Context in which the work of :func:`in_parallel_later` goes on beside the caller's own.

    Threads that would wait for the next :func:`in_parallel` work on it meanwhile.

    >>> numbers = [1, 2, 3]
    >>> with later():
    ...     in_parallel_later(numbers.append, [4], numbers.reverse)
    ...     numbers[0] = 7
    >>> numbers
    [4, 3, 2, 7]
    """
    waiting: tuple[list[_Round], list[Callable[[], None]]] = [], []
    rounds, ends = waiting
    token = _waiting.set(waiting)
    try:
        yield
        for this in rounds:
            copy_context().run(this.take)
    finally:
        _waiting.reset(token)
        for this in rounds:
            this.close()
        _pool.leisure.clear()  # it holds the arrays of the caller; other callers go on alone
    for this in rounds:
        if this.error is not None:
            raise this.error
    for end in ends:
        end()


def in_parallel_later(
    work: Callable[[Any], object], pieces: Sequence[Any], end: Callable[[], None]
) -> None:
    """Call ``work(piece)`` for every piece, and then ``end()``: by the end of :func:`later`.

    In that context helpers work on the pieces when there is nothing else to do, and ``end`` is
    called in the order of the calls. Outside of it everything is done at once.
    """
    if (waiting := _waiting.get()) is None:
        in_parallel(work, pieces)
        end()
    else:
        rounds, ends = waiting
        rounds += _pool.share_later(work, pieces)
        ends.append(end)


class _OneBlasThread:
    """Context in which NumPy's BLAS has one thread; it may be nested, and used by any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._own = threading.local()  # the depth of each thread
        self._inside: set[int] = set()  # the threads whose depth is not 0
        self._libraries: list[Any] | None = None
        self._before: list[int] = []  # how many threads BLAS had, while it has one

    def __enter__(self) -> None:
        frame = sys._getframe(1)
        depth: int = getattr(self._own, "depth", 0)
        # Ctrl-C in the middle of an exit may have left a depth
        if depth and _is_called_by(frame, self._own.outermost):
            self._own.depth = depth + 1
            return
        self._own.outermost = frame
        self._go(1)

    def __exit__(self, *_: object) -> None:
        if self._own.depth > 1:
            self._own.depth -= 1
        else:
            self._go(0)

    def _go(self, depth: int) -> None:
        """Let the calling thread be inside, with a depth of 1, or outside, with 0."""
        self._own.depth, me = depth, threading.get_ident()
        with self._lock:
            if depth:
                self._inside.add(me)
            else:
                self._inside.discard(me)
                self._own.outermost = None
            self._settle()

    def _settle(self) -> None:
        """Give BLAS one thread, or as many as before once nobody is inside."""
        if self._libraries is None:
            self._libraries = ThreadpoolController().select(user_api="blas").lib_controllers
        if self._inside and not self._before:
            self._before = [library.get_num_threads() for library in self._libraries]
            self._set([1] * len(self._before))
        elif not self._inside and self._before:
            self._set(self._before)
            self._before = []

    def after_fork(self) -> None:
        """Go on without the threads of the parent, one of which may have been inside."""
        self._lock = threading.Lock()
        self._inside &= {threading.get_ident()}
        self._settle()

    def _set(self, numbers: list[int]) -> None:
        for library, before, number in zip(self._libraries or (), self._before, numbers):
            if before != 1:
                # threadpoolctl 3.8 ignores all threads but the first that sets a number; here any
                # thread may be the last to leave.
                getattr(library, "_real_set_num_threads", library.set_num_threads)(number)


def _is_called_by(frame: FrameType | None, caller: FrameType | None) -> bool:
    """Return whether a frame is another, or was called from there."""
    while frame is not None and frame is not caller:
        frame = frame.f_back
    return frame is not None


_one_blas_thread = _OneBlasThread()


def one_blas_thread() -> AbstractContextManager[None]:
    """Context in which NumPy's matrix products run on the calling thread alone.

    Afterwards BLAS has as many threads as before, for the products of the user's program.

    Examples
    --------
    >>> import numpy
    >>> with one_blas_thread():
    ...     numpy.eye(2) @ numpy.ones(2)
    array([1., 1.])
    """
    return _one_blas_thread


def cache_blocks(shape: tuple[int, ...], arrays: int) -> list[Any]:
    """Return slices of rows, each small enough to stay in the cache of one core.

    A formula of several operations, applied block by block, reads and writes memory once instead
    of once per operation.

    Parameters
    ----------
    shape : tuple of int
        Of an array; its rows are along the first axis.
    arrays : int
        How many arrays of this shape the formula goes through.

    Returns
    -------
    list of slice
        Of an array that is small enough as a whole, the index of all of it.

    Examples
    --------
    >>> cache_blocks((10, 1 << 14), arrays=4)
    [slice(0, 4, None), slice(4, 8, None), slice(8, 12, None)]
    """
    if math.prod(shape) * arrays <= _BLOCK:
        return [...]
    n = shape[0]
    rows = max(1, _BLOCK // (arrays * max(1, math.prod(shape[1:]))))
    return slices(n, rows)


def even_blocks(shape: tuple[int, ...], arrays: int) -> list[Any]:
    """Return an even number of blocks of one size, so that no thread has more to do.

    >>> even_blocks((12, 1 << 14), arrays=2)
    [slice(0, 6, None), slice(6, 12, None)]
    """
    blocks = cache_blocks(shape, arrays)
    number = len(blocks) + len(blocks) % 2
    return blocks if len(blocks) < 2 else slices(shape[0], -(-shape[0] // number))


def slices(size: int, width: int) -> list[Any]:
    """Return slices of an axis, each ``width`` long but the last."""
    return [slice(start, start + width) for start in range(0, size, width)]
