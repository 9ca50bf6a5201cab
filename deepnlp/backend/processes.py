"""Work shared out between processes, on one machine or on several, through MPI.

A :class:`Group` is the processes of a job: of ``mpiexec -n 4``, four of them, each with its rank,
0 to 3. Rank 0 leads: it alone reads and writes the folder of a run. Sums over the ranks are made
in one tree, whatever the number of processes (:meth:`Group.add_up`).

mpi4py is imported by :meth:`Group.world` alone, so nobody else needs it.
"""

from __future__ import annotations

import atexit
import os
import platform
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

import numpy

from deepnlp.backend.watcher import open_error_output
from deepnlp.errors import DeepNLPError

if sys.platform == "linux":
    import fcntl

T = TypeVar("T")
Item = TypeVar("Item")

WATCHER = [sys.executable, "-I", "-S", str(Path(__file__).with_name("watcher.py"))]
#: Seconds in which all processes should meet, and for which one may be stopped.
LIMIT = float(os.environ.get("DEEPNLP_MPI_SECONDS", "60"))
#: How the programs that start processes say which it is, and of how many.
STARTERS = (("PMI_RANK", "PMI_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
            ("PMIX_RANK", "SLURM_NTASKS"), ("SLURM_PROCID", "SLURM_NTASKS"))  # fmt: skip
PATIENCE = 2.0  # seconds in which all processes should meet the error that one has met


class Group:
    """The processes that work together; without a communicator, this one alone.

    As a context it ends the whole job where one process fails, with a message that names it. An
    error that all processes meet, such as a wrong option, is raised in each.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm, optional

    Attributes
    ----------
    rank, size : int
        The number of this process, from 0, and how many there are.
    seconds : float
        Time spent in :meth:`add_up` and :meth:`folded`, waiting for other processes included.

    Examples
    --------
    >>> alone = Group()
    >>> alone.rank, alone.size, alone.gathered("a"), alone.any(False)
    (0, 1, ['a'], False)
    """

    def __init__(self, comm: Any = None) -> None:
        self._comm = comm
        self.rank: int = 0 if comm is None else comm.rank
        self.size: int = 1 if comm is None else comm.size
        if self.size & (self.size - 1):
            if self.rank:  # rank 0 says it
                raise SystemExit(2)
            raise ValueError(f"the number of processes should be a power of 2, got {self.size}")
        self.seconds, self._stderr = 0.0, 2
        self._spare = numpy.empty(0)
        self._farewell: Any = None if self.size == 1 else comm.Dup()
        places = self.gathered((os.getpid(), platform.node()))
        self._names = [f"PID {pid} on {node}" for pid, node in places]
        here = [rank for rank, (_, node) in enumerate(places) if node == platform.node()]
        if self.size > 1 and sys.platform == "linux":
            self._watch(here)

    def _watch(self, ranks: list[int]) -> None:
        """Have a process beside the job say which of the ranks here was the first to be killed."""
        first = min(ranks)
        watcher: Any = None
        address = f"deepnlp-{os.getpid()}-{time.time_ns()}"
        if self.rank == first:
            command = [*WATCHER, "death", address, str(len(ranks)), f"{LIMIT:g}"]
            pipes: Any = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}
            watcher = subprocess.Popen(command, start_new_session=True, **pipes)
            watcher.stdout.readline()  # it listens
        address = self.gathered(address)[first]
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(f"\0{address}")
            name = f"{self.rank} of {self.size} ({self._names[self.rank]})"
            connection.sendall(f"{os.getpid()} {name}".encode())
            # Of the files of a process that dies, the kernel closes those with high numbers first:
            # this one before that by which mpiexec learns of the death, and kills the others.
            self._life = fcntl.fcntl(connection.fileno(), fcntl.F_DUPFD_CLOEXEC, 512)
        if watcher is not None:
            with watcher.stdout:
                watcher.stdout.readline()  # it watches

            def end() -> None:  # before the first process of the job is gone
                watcher.kill()
                watcher.wait()

            atexit.register(end)
        self.gathered(None)

    @classmethod
    @cache
    def world(cls) -> Group:
        """Return the group of all processes that ``mpiexec`` has started, or this process alone."""
        places = ([os.environ.get(name, "") for name in names] for names in STARTERS)
        rank, size = next((place for place in places if all(place)), ("0", "1"))
        with ExitStack() as meeting:
            if int(size) > 1 and sys.platform == "linux":
                command = [*WATCHER, "meeting", rank, size, f"{LIMIT:g}"]
                pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL}
                meeting.enter_context(subprocess.Popen(command, start_new_session=True, **pipes))
            try:
                from mpi4py import MPI
            except (ImportError, RuntimeError) as error:  # the latter without a library of MPI
                advice = "pip install mpi4py mpich, or leave out distributed"
                raise DeepNLPError(f"several processes need mpi4py ({error}): {advice}") from error
            return cls(MPI.COMM_WORLD)

    def agree(self, **facts: Any) -> None:
        """Raise in all processes where one has other facts than rank 0, by its name."""
        first, *others = self.gathered(facts)
        for rank, other in enumerate(others, 1):
            for name in [*first, *(other.keys() - first)]:
                if (then := first.get(name)) != (now := other.get(name)):
                    who = f"process {rank} of {self.size} ({self._names[rank]})"
                    same = "all processes of a job need the same"
                    raise DeepNLPError(f"{who} has {name} {now!r}, process 0 {then!r}: {same}")

    def let_first_speak(self) -> None:
        """Shut the standard streams of all ranks but 0, for good; only a failure is still said."""
        if self.rank:
            self._stderr, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)

    # --- One process for all -----------------------------------------------------------------

    def first(self, work: Callable[[], T]) -> T | None:
        """Return the result of ``work()`` in rank 0, None in the others; raise its error in all."""
        result, error = None, None
        if self.rank == 0:
            try:
                result = work()
            except Exception as raised:
                if self.size == 1:
                    raise
                error = raised
        if (error := self.gathered(error)[0]) is not None:
            raise error
        return result

    def shared(self, work: Callable[[], T]) -> T:
        """Return the result of ``work()``, which rank 0 alone calls, in all processes."""
        result: Any = self.first(work)
        return self.gathered(result)[0]

    def in_turn(self, work: Callable[[], T]) -> T:
        """Call ``work()`` in rank 0 and then in the others, which find what it has fetched."""
        result: Any = self.first(work)
        return result if self.rank == 0 else work()

    def gathered(self, value: T) -> list[T]:
        """Return the values of all processes, by rank."""
        return self.folded([value], list.__add__)

    def any(self, flag: bool) -> bool:
        """Return whether a condition is true in any process."""
        return any(self.gathered(flag))

    # --- Sums over the ranks -----------------------------------------------------------------

    def add_up(self, numbers: Any) -> None:
        r"""Replace an array (n,) on the host by its sum over all ranks, the same bits in each.

        With P ranks, a power of two, s_r the array of rank r and b = 1, 2, 4, ..., P / 2:

        .. math:: s_r \leftarrow s_r + s_{r \oplus b}

        the pairwise tree (s_0 + s_1) + (s_2 + s_3). In round b two ranks exchange halves of what
        they are adding, so that each adds up n / P numbers in the end; in as many rounds back
        they exchange the sums (recursive halving and doubling; Thakur, Rabenseifner and Gropp
        2005). Together each sends 2 n (P - 1) / P numbers.

        Parameters
        ----------
        numbers : numpy.ndarray of float, shape (n,)
        """
        begin = time.perf_counter()
        if self._spare.size < numbers.size or self._spare.dtype != numbers.dtype:
            self._spare = numpy.empty(numbers.size, numbers.dtype)
        first, last, rounds = 0, numbers.size, []
        for bit in self._bits():
            low, high = (first, (first + last) // 2), ((first + last) // 2, last)
            kept, other = (high, low) if self.rank & bit else (low, high)
            theirs = self._spare[: kept[1] - kept[0]]
            self._exchange(numbers[slice(*other)], theirs, bit)
            numbers[slice(*kept)] += theirs
            rounds.append((bit, kept, other))
            first, last = kept
        for bit, kept, other in reversed(rounds):
            self._exchange(numbers[slice(*kept)], numbers[slice(*other)], bit)
        self.seconds += time.perf_counter() - begin

    def folded(self, value: T, add: Callable[[T, T], T]) -> T:
        """Add up objects of all ranks, in the same tree; ``add`` adds two of them."""
        begin = time.perf_counter()
        for bit in self._bits():
            partner = self.rank ^ bit
            sent = self._comm.isend(value, partner)
            while (message := self._comm.improbe(partner)) is None:
                os.sched_yield()  # there may be more processes than cores
            other = message.recv()
            sent.wait()
            value = add(other, value) if self.rank & bit else add(value, other)
        self.seconds += time.perf_counter() - begin
        return value

    def _bits(self) -> Iterator[int]:
        """1, 2, 4 and so on, below the number of processes."""
        return (1 << k for k in range(self.size.bit_length() - 1))

    def _exchange(self, mine: Any, theirs: Any, bit: int) -> None:
        partner = self.rank ^ bit
        sent, received = mine.view("uint8"), theirs.view("uint8")  # whatever the number type
        requests = self._comm.Isend(sent, partner), self._comm.Irecv(received, partner)
        while not all(request.Test() for request in requests):
            os.sched_yield()

    # --- The end -----------------------------------------------------------------------------

    def describe(self) -> str:
        """List the processes by rank, to explain a PID in a message of ``mpiexec``."""
        names = ", ".join(f"{rank} is {name}" for rank, name in enumerate(self._names))
        return f"{self.size} processes: {names}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        if error is None or self.size == 1:
            return
        all_met, end = self._farewell.Ibarrier(), time.monotonic() + PATIENCE
        while not all_met.Test():
            if time.monotonic() > end:
                who = f"process {self.rank} of {self.size} ({self._names[self.rank]})"
                said = f"{type(error).__name__}: {error}"
                message = f"deepnlp: {who} failed and ends the job: {said}\n"
                os.write(open_error_output(self._stderr), message.encode(errors="replace"))
                self._comm.Abort(2)
            time.sleep(0.01)


ALONE = Group()

_sharing: ContextVar[tuple[Group, int]] = ContextVar("sharing", default=(ALONE, 1))


@contextmanager
def sharing(group: Group, slices: int) -> Iterator[None]:
    """Context in which :func:`share_out` uses a group, and batches have this many slices."""
    token = _sharing.set((group, slices))
    try:
        yield
    finally:
        _sharing.reset(token)


def share_out(work: Callable[[Item], T], items: Sequence[Item]) -> list[T]:
    """``[work(item) for item in items]``, each item in one of the processes of :func:`sharing`.

    A call of ``share_out`` inside ``work`` stays in its process.

    >>> share_out(abs, [-1, 2])
    [1, 2]
    """
    group, slices = _sharing.get()
    with sharing(ALONE, slices):
        results = [work(item) for item in items[group.rank :: group.size]]
    by_rank = group.gathered(results)
    return [by_rank[k % group.size][k // group.size] for k in range(len(items))]


def cut(rows: int, number: int | None = None) -> list[slice]:
    """Cut rows into as many slices as :func:`sharing` says; with few rows some are empty.

    >>> cut(6, 4)
    [slice(0, 1, None), slice(1, 3, None), slice(3, 4, None), slice(4, 6, None)]
    """
    number = number or _sharing.get()[1]
    edges = [k * rows // number for k in range(number + 1)]
    return [slice(first, last) for first, last in pairwise(edges)]
