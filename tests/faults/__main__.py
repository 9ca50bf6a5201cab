"""Attacks on run folders: ``python -m tests.faults kills | faults | pairs | mutants [TIMES]``.

Each prints lines of a table: what was tried, how often, what happened. ``kills`` tries TIMES kills
at a random moment and as many in a call of the system. The attempts are those of
:mod:`tests.faults.attacks`, the mutants those of :mod:`tests.faults.mutants`.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

os.environ["DEEPNLP_NUM_THREADS"] = "1"  # a forked process has one thread


def main() -> None:
    """Attack as often as is said."""
    kind = sys.argv[1]
    if kind == "mutants":
        from tests.faults.mutants import main as try_mutants

        try_mutants(sys.argv[2:])
        return
    from tests.faults.attacks import Attacks

    times = int(sys.argv[2]) if sys.argv[2:] else {"kills": 60, "faults": 60, "pairs": 24}[kind]
    with tempfile.TemporaryDirectory() as name:
        attacks = Attacks(Path(name))
        rows = {
            "kills": {
                "training killed at a random moment": attacks.kill_at_a_moment,
                "training killed in a chosen call of the system": attacks.kill_at_a_call,
            },
            "faults": {"a call of the system fails while a model trains": attacks.fault},
            "pairs": {"two processes in one run folder": attacks.pair},
        }[kind]
        for what, attack in rows.items():
            counts = Counter(attack() for _ in range(times))
            said = ", ".join(f"{count} {how}" for how, count in sorted(counts.items()))
            print(
                f"| {what} | {times} | {said} | `python -m tests.faults {kind} {times}` |",
                flush=True,
            )


if __name__ == "__main__":
    main()
