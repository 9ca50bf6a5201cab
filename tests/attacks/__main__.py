"""``python -m tests.attacks``: attack, and print a table; exit code 1 where something is wrong."""

from __future__ import annotations

import argparse
import collections
import os
import signal
import tempfile
from pathlib import Path

import matplotlib


def main() -> int:
    """Run what was asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.attacks", description=__doc__)
    parser.add_argument("--count", type=int, default=300, help="random command lines (300)")
    parser.add_argument("--values", type=int, default=1000, help="random calls (1000)")
    parser.add_argument("--interruptions", type=int, default=0, help="Ctrl-C so many times (0)")
    parser.add_argument("--streams", action="store_true", help="close and fill standard streams")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", help="kinds of fixed command lines; all by default")
    arguments = parser.parse_args()
    matplotlib.use("Agg")
    os.environ |= {"DEEPNLP_NUM_THREADS": "1", "DEEPNLP_MIRROR": "http://127.0.0.1:9/"}
    signal.signal(signal.SIGINT, signal.default_int_handler)

    from tests.attacks import commands, library, processes, workplace

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "place"
        place.mkdir()
        os.environ["DEEPNLP_DATA"] = str(place / "folder")
        workplace.fill(place)
        lines = [one for one in commands.fixed() if not arguments.only or one[0] in arguments.only]
        lines += commands.drawn(arguments.count, arguments.seed)
        seen: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
        wrong = 0
        for kind, line in lines:
            outcome = commands.attack(kind, line)
            seen[f"command, {kind}"][outcome.verdict] += 1
            if outcome.verdict.isupper():
                wrong += 1
                shown = [word if len(word) < 80 else f"{word[:20]}..." for word in line]
                print(f"{outcome.verdict}: {shown} {outcome.changed}\n{outcome.err[-600:]}\n")
        others = [*processes.interruptions(arguments.interruptions, arguments.seed)]
        others += processes.streams() if arguments.streams else []
        os.chdir("/")
    others += library.calls(arguments.values, arguments.seed)
    for kind, verdict, said in others:
        seen[kind][verdict] += 1
        if verdict.isupper():
            wrong += 1
            print(f"{verdict}: {kind}: {said}\n")
    print("| what was tried | how often | what happened |\n|---|---:|---|")
    for kind, counts in sorted(seen.items()):
        said = ", ".join(f"{count} {verdict}" for verdict, count in counts.most_common())
        print(f"| {kind} | {sum(counts.values())} | {said} |")
    total = sum(sum(counts.values()) for counts in seen.values())
    print(f"\n{total} attacks, {wrong} of them wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
