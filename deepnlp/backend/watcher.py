"""Says which process of a job was the first to die: a program beside the job, which outlives it.

A killed process can say nothing, and ``mpiexec`` kills the others at once. ``processes.py`` starts
it on each machine with words such as "123 2 of 4 (PID 123 on pc)", a PID and a name.
"""

import os
import select
import sys
from contextlib import suppress
from pathlib import Path


def open_error_output(own: int = 2) -> int:
    """The standard error of the first ancestor called mpi..., such as mpiexec; else one's own.

    What is written there is read, even if mpiexec ends before it passes on what processes say.
    """
    found, pid = own, os.getppid()
    with suppress(OSError):
        while pid > 1:
            program, _, fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
            if program.partition("(")[2].startswith("mpi"):
                found = os.open(f"/proc/{pid}/fd/2", os.O_WRONLY)
            pid = int(fields.split()[1])
    return found


def main() -> None:
    """Wait for the first death; events of an epoll come in the order in which they happened."""
    deaths, names, out = select.epoll(), {}, open_error_output()
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
