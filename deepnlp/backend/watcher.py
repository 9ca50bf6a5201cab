"""Says which process of a job was the first to die: a program beside the job, which outlives it.

A killed process can say nothing, and ``mpiexec`` kills the others at once. ``processes.py`` starts
it on each machine with words such as "123 2 of 4 (PID 123 on pc)", a PID and a name.
"""

import os
import select
import sys
from contextlib import suppress
from pathlib import Path


def where_mpiexec_writes() -> str | None:
    """The standard error of the first of its ancestors that is called mpi..., such as mpiexec."""
    found, pid = None, os.getppid()
    while pid > 1:
        program, _, fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
        if program.partition("(")[2].startswith("mpi"):
            found = f"/proc/{pid}/fd/2"
        pid = int(fields.split()[1])
    return found


def main() -> None:
    """Wait for the first death; events of an epoll come in the order in which they happened."""
    deaths, names, out = select.epoll(), {}, 2
    with suppress(OSError):  # else mpiexec may be gone before it has passed on what is said
        if (path := where_mpiexec_writes()) is not None:
            out = os.open(path, os.O_WRONLY)
    for words in sys.argv[1:]:
        pid, _, name = words.partition(" ")
        file = os.pidfd_open(int(pid))
        deaths.register(file, select.EPOLLIN)
        names[file] = name
    print(flush=True)  # it watches
    ((file, _),) = deaths.poll(maxevents=1)
    died = f"deepnlp: process {names[file]} has died, and the job with it: go on with --resume"
    os.write(out, f"{died}\n".encode())


if __name__ == "__main__":
    main()
