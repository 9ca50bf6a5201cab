"""Says which process of a job was the first to die: a program beside the job, which outlives it.

A killed process can say nothing, and ``mpiexec`` kills the others at once. ``processes.py`` starts
it on each machine with an address and the number of processes there. Each of these connects to the
address, says its name, such as "2 of 4 (PID 123 on pc)", and keeps the connection for its life.
"""

import os
import select
import socket
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
    address, number = sys.argv[1:]
    deaths, names, out = select.epoll(), {}, open_error_output()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"\0{address}")
        listener.listen()
        print(flush=True)  # it listens
        for _ in range(int(number)):
            connection, _ = listener.accept()
            names[connection.fileno()] = connection, connection.recv(1000).decode()
            deaths.register(connection, select.EPOLLRDHUP)
    print(flush=True)  # it watches
    ((file, _),) = deaths.poll(maxevents=1)
    died = f"deepnlp: process {names[file][1]} has died, and the job with it: go on with --resume"
    os.write(out, f"{died}\n".encode())


if __name__ == "__main__":
    main()
