"""Says which process of a job is missing, or was the first to die: a program beside the job.

A killed process can say nothing, and ``mpiexec`` kills the others at once. ``processes.py`` starts
it on each machine with an address and the number of processes there. Each of these connects to the
address, says its name, such as "2 of 4 (PID 123 on pc)", and keeps the connection for its life.

Before that each process has a program of its own, with which it waits for the others: while MPI
starts, a process can do nothing itself.
"""

import os
import select
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

STARTERS = ("mpi", "hydra", "slurmstepd", "orted", "prted")  # what starts processes on a machine


def open_error_output(default: int = 2) -> int:
    """Open the standard error of the first ancestor named mpi..., such as mpiexec, or our own.

    What is written there is read, even if mpiexec ends before it passes on what processes say.
    """
    error_output = default
    with suppress(OSError):
        for pid, name in _ancestors():
            if name.startswith("mpi"):
                error_output = os.open(f"/proc/{pid}/fd/2", os.O_WRONLY)
    return error_output


def _ancestors() -> Iterator[tuple[int, str]]:
    """Yield PID and name of the process that started this one, of its parent, and so on."""
    pid = os.getppid()
    while pid > 1:
        name, fields = _stat(pid)
        yield pid, name
        pid = int(fields[1])


def _stat(pid: int) -> tuple[str, list[str]]:
    """Return the name of a process, and further fields, which begin with its state."""
    program, _, fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
    return program.partition("(")[2], fields.split()


def wait_for_meeting(rank: str, size: str, seconds: str) -> None:
    """End the process that started this one if it has not met all others of its job in time.

    The end of standard input says that it has, or is gone. The processes on this machine meet at
    addresses made of the PID of the program that started them all.
    """
    process = os.getppid()
    job = next((pid for pid, name in _ancestors() if name.startswith(STARTERS)), process)
    with socket.socket(socket.AF_UNIX) as here, socket.socket(socket.AF_UNIX) as speaker:
        here.bind(f"\0deepnlp-{job}-{rank}")
        if select.select([0], [], [], float(seconds))[0]:
            return
        with suppress(OSError):  # another speaks
            speaker.bind(f"\0deepnlp-{job}-speaker")
            sockets = Path("/proc/net/unix").read_text().split()
            names = {name.rpartition("-")[2] for name in sockets if f"@deepnlp-{job}-" in name}
            come = sorted(map(int, names - {"speaker"}))
            who = f"{len(come)} of {size} processes have come after {seconds} s"
            which = f"{', '.join(map(str, come))} on {os.uname().nodename}"
            said = f"{who} ({which}), and the job ends: the others failed or wait elsewhere"
            os.write(open_error_output(), f"deepnlp: {said}\n".encode())
        time.sleep(1)  # all that have come are counted
        os.kill(process, signal.SIGKILL)


def wait_for_death(address: str, number: str, seconds: str) -> None:
    """Wait for the first death; events of an epoll come in the order in which they happened.

    A process that is stopped for some seconds while others are not is killed.
    """
    deaths, names, out = select.epoll(), {}, open_error_output()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"\0{address}")
        listener.listen()
        print(flush=True)  # it listens
        for _ in range(int(number)):
            connection, _ = listener.accept()
            pid, _, name = connection.recv(1000).decode().partition(" ")
            names[connection.fileno()] = connection, name, int(pid)
            deaths.register(connection, select.EPOLLRDHUP)
    print(flush=True)  # it watches
    stopped: list[int] = []
    since, wait, why = time.monotonic(), float(seconds), "died"
    while not (events := deaths.poll(timeout=1, maxevents=1)):
        with suppress(OSError):  # one that has just died
            stopped = [pid for _, _, pid in names.values() if _stat(pid)[1][0] == "T"]
        if not 0 < len(stopped) < len(names):  # of all of them Ctrl-Z is the cause
            since = time.monotonic()
        elif time.monotonic() - since > wait:
            why = f"been stopped for {seconds} s"
            os.kill(stopped[0], signal.SIGKILL)
    died = f"process {names[events[0][0]][1]} has {why}, and the job ends: go on with --resume"
    os.write(out, f"deepnlp: {died}\n".encode())


if __name__ == "__main__":
    {"meeting": wait_for_meeting, "death": wait_for_death}[sys.argv[1]](*sys.argv[2:])
