"""Kills and faults of ``deepnlp data fetch``: ``python -m tests.datasets.kills [TIMES]``.

A process fetches three files from the loopback interface. It is killed at a random moment, or by
strace at a system call, or a system call fails. After each, no file that has its name may be wrong;
in the end the same command must finish the work. It needs strace.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from deepnlp.datasets.fetching import DAMAGED, RIGHT, state_of
from deepnlp.datasets.manifest import Download
from tests.datasets.loopback import Loopback, file_of, running, set_of
from tests.datasets.test_fetching import COMMAND

# System calls of a whole fetch, and how many it makes.
CALLS = {
    "write": 160, "recvfrom": 73, "fsync": 6, "rename": 3, "unlink": 18, "mkdir": 6,
    "sendto": 3, "flock": 2,
}  # fmt: skip
FAULTS = ("ENOSPC", "EIO")


def throttled(body: bytes):
    """The file, also in part, at about 20 MB a second."""

    def answer(handler):
        first = int(handler.headers.get("Range", "bytes=0-")[6:-1])
        where = f"bytes {first}-{len(body) - 1}/{len(body)}"
        handler.reply(206 if first else 200, b"", len(body) - first, Content_Range=where)
        for k in range(first, len(body), 1 << 16):
            handler.wfile.write(body[k : k + (1 << 16)])
            time.sleep(0.003)

    return answer


def main() -> None:
    """Try each kind as often as is said, and count what came of it."""
    times = int(sys.argv[1]) if sys.argv[1:] else 20
    rng = random.Random(0)
    bodies = {f"w/{size}.txt": rng.randbytes(size) for size in (4_000_000, 400_000, 1)}
    one = set_of(*(Download((file_of(path, body),)) for path, body in bodies.items()))
    with running() as server, tempfile.TemporaryDirectory() as name:
        for path, body in bodies.items():
            server.serve(f"/{path}", throttled(body))
        for kind in ("kill at a moment", "kill at a call", "fault of a call"):
            counts: dict[str, int] = {}
            for number in range(times):
                folder = Path(name) / kind.replace(" ", "-") / str(number // 4)
                outcome = attempt(kind, number, server, one, folder, rng)
                counts[outcome] = counts.get(outcome, 0) + 1
                for file in one.files:
                    assert state_of(file, folder) != DAMAGED, (kind, number, file)
                if number % 4 == 3 or number == times - 1:  # four on one folder, then to the end
                    assert run([], server, one, folder).returncode == 0
                    assert {state_of(file, folder) for file in one.files} == {RIGHT}
                    assert not list(folder.rglob("*.part*"))
            print(kind, counts, "no file wrong, all finished by the same command", flush=True)


def attempt(kind, number, server, one, folder, rng) -> str:
    """One process that is disturbed; how it ended."""
    if kind == "kill at a moment":
        done = run([], server, one, folder, rng.uniform(0, 0.5))
    else:
        call = list(CALLS)[number % len(CALLS)]
        what = "signal=SIGKILL" if kind.startswith("kill") else f"error={FAULTS[number % 2]}"
        inject = f"inject={call}:{what}:when={rng.randint(1, CALLS[call])}"
        trace = ["strace", "-f", "-o", "/dev/null", "-e", f"trace={','.join(CALLS)}", "-e", inject]
        done = run(trace, server, one, folder)
    code = done.returncode
    if code == 2:
        assert done.stderr.decode().splitlines()[-1].startswith("deepnlp: error: ")
    assert b"Traceback" not in done.stderr, done.stderr.decode()
    return {0: "finished", 2: "error in one line"}.get(
        code, "killed" if code in (-9, 137) else str(code)
    )


def run(trace, server: Loopback, one, folder, seconds=None) -> subprocess.CompletedProcess[bytes]:
    """The command; killed some seconds after it first asks the server for something."""
    before = len(server.requests)
    arguments = [json.dumps(asdict(one)), server.address, str(folder)]
    process = subprocess.Popen(
        [*trace, sys.executable, "-c", COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    while seconds is not None and len(server.requests) == before and process.poll() is None:
        time.sleep(0.01)
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
    return subprocess.CompletedProcess([], process.returncode, out, err)


if __name__ == "__main__":
    main()
