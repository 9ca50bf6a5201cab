"""The comparison: every contestant in its own process, all of them in turn, round after round.

Inside one process the idle threads of one library (OpenBLAS, OpenMP) spin for a while after every
call and slow the other. In turn, so that a machine which is busy for a moment slows all alike; in
another order each round, so that nobody always runs first.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from benchmarks.contestant import Answer
from benchmarks.machine import ROOT
from benchmarks.records import Record
from benchmarks.settings import Settings, Spec
from deepnlp.errors import DeepNLPError

COMMAND = [sys.executable, "-m", "benchmarks.contestant"]
THREADS = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "DEEPNLP_NUM_THREADS",
)


@dataclass(frozen=True)
class Entry:
    """A contestant at one place of the grid.

    Parameters
    ----------
    contestant : str
        Its name in tables: "deepnlp", "PyTorch", "products".
    work : str
        Name of its file in ``benchmarks/contestants``.
    at : dict
        The sizes that tell this place from others. Who has the same competes.
    options : dict
        What else the work is told; a race adds the number of the ``round``, from 0.
    steps : int
        Timed repetitions in a process, at least.
    """

    contestant: str
    work: str
    at: dict[str, Any] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    steps: int = 10

    def spec(self, settings: Settings) -> Spec:
        """The input of this contestant's process."""
        spec = Spec(
            self.work,
            settings.shape | self.options | self.at,
            settings.backend,
            settings.threads,
            settings.tf32,
            steps=self.steps,
        )
        return replace(spec, warmup=1, steps=1, seconds=0.0) if settings.quick else spec


def race(
    entries: Sequence[Entry],
    settings: Settings,
    tell: Callable[[str], object],
) -> list[Record]:
    """Run all contestants in all rounds.

    Parameters
    ----------
    entries : sequence of Entry
    settings : Settings
    tell : callable
        Called with a line before each start.

    Returns
    -------
    list of Record
        In the order of the entries, and within one of the rows of its answer.

    Raises
    ------
    DeepNLPError
        If a contestant fails.
    """
    rows: dict[int, dict[str, dict[str, list[float]]]] = {k: {} for k in range(len(entries))}
    for number in range(settings.rounds):
        for k in starting_order(entries, number):
            entry = entries[k]
            sizes = " ".join(f"{letter} {value}" for letter, value in entry.at.items())
            tell(f"round {number + 1}/{settings.rounds}  {entry.contestant}  {sizes}".rstrip())
            told = replace(entry, options=entry.options | {"round": number})
            for row, values in start(told, settings).items():
                times = rows[k].setdefault(row, {})
                for name, value in values.items():
                    times.setdefault(name, []).append(value)
    return [
        Record(entry.contestant, row, entry.at, times)
        for k, entry in enumerate(entries)
        for row, times in rows[k].items()
    ]


def starting_order(entries: Sequence[Entry], number: int) -> Iterator[int]:
    """Indices of the entries in a round: place after place, at each another contestant first.

    Parameters
    ----------
    entries : sequence of Entry
    number : int
        Of the round, from 0.

    Examples
    --------
    >>> entries = [Entry(name, "", {"H": H}) for H in (1, 2) for name in ("a", "b")]
    >>> list(starting_order(entries, 0)), list(starting_order(entries, 1))
    ([0, 1, 2, 3], [1, 0, 3, 2])
    """
    places: dict[str, list[int]] = {}
    for k, entry in enumerate(entries):
        places.setdefault(json.dumps(entry.at), []).append(k)
    for members in places.values():
        first = number % len(members)
        yield from members[first:] + members[:first]


def start(entry: Entry, settings: Settings) -> Answer:
    """Run one contestant in a fresh process, and wait for its result.

    Raises
    ------
    DeepNLPError
        If it fails: with its last line.
    """
    environment = os.environ | dict.fromkeys(THREADS, str(settings.threads))
    environment |= {"DEEPNLP_TF32": str(int(settings.tf32)), "DEEPNLP_KERNELS": "quick"}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        COMMAND,
        input=json.dumps(asdict(entry.spec(settings))),
        capture_output=True,
        encoding="utf-8",
        env=environment,
        check=False,
    )
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise DeepNLPError(f"the contestant {entry.contestant} ({entry.work}) failed: {said[-1]}")
    answer: Answer = json.loads(done.stdout)
    return answer
