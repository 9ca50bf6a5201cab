"""Attacks on run folders: ``python -m tests.faults KIND [TIMES]``.

KIND is one of kills, faults, pairs, or several of them (``kills,pairs``); or threads. Each prints
lines of a table: what was tried, how often, what happened. Of kills there are TIMES at a random
moment and as many in a call of the system. The attempts are those of :mod:`tests.faults.attacks`.

``python -m tests.faults mutants run OUTPUT.jsonl`` tries changed lines of the package on the tests,
and ``... mutants show OUTPUT.jsonl [ANOTHER.jsonl]`` prints how many were noticed, by area, and
those that were not: see :mod:`tests.faults.noticing`.
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
        from tests.faults.noticing import main as mutants

        mutants(sys.argv[2:])
        return
    usual = {"kills": 60, "faults": 60, "pairs": 24, "threads": 300}
    kinds = kind.split(",")
    times = {kind: int(sys.argv[2]) if sys.argv[2:] else usual[kind] for kind in kinds}
    if kind == "threads":
        from tests.test_threads_of_a_model import in_two_threads

        show("one model in two threads at once", in_two_threads(times[kind]))
        return
    from tests.faults.attacks import Attacks

    with tempfile.TemporaryDirectory() as name:
        attacks = Attacks(Path(name))
        rows = {
            "kills": {
                "training killed at a random moment": attacks.kill_at_a_moment,
                "training killed in a chosen call of the system": attacks.kill_at_a_call,
            },
            "faults": {"a call of the system fails while a model trains": attacks.fault},
            "pairs": {"two processes in one run folder": attacks.pair},
        }
        for kind in kinds:
            for what, attack in rows[kind].items():
                show(what, Counter(attack() for _ in range(times[kind])))


def show(what: str, counts: Counter[str]) -> None:
    """A line of a table."""
    said = ", ".join(f"{count} {how}" for how, count in sorted(counts.items()))
    command = f"`python -m tests.faults {sys.argv[1]} {counts.total()}`"
    print(f"| {what} | {counts.total()} | {said} | {command} |", flush=True)


if __name__ == "__main__":
    main()
