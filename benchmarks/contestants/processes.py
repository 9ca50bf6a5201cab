"""deepnlp: a training step in several processes, its parts apart; and sums of arrays alone.

The parts are measured so that they hold on a machine which is busy: computation by the time of the
processor, the exchange by the clock, and of each the least of all steps.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np

import deepnlp
from benchmarks.contestant import Answer
from benchmarks.contestants.windows import random_windows
from benchmarks.settings import Sizes, Spec
from deepnlp.backend.processes import Group
from deepnlp.models import RNNLM
from deepnlp.optimizers import SGD, clip_gradients
from deepnlp.tasks import Task
from deepnlp.training.slices import Slices

SUMS = (1_000, 10_000, 100_000, 1_000_000, 4_000_000, 16_000_000)  # numbers of float32
QUICK_SUMS = (10, 100)
REPEATS = 8


class Timed(Slices):
    """Slices that say how long the processor computed and the clock exchanged in a step."""

    computed = exchanged = 0.0

    def _sum(self, first: int, last: int, batch: Any, rows: Any) -> Any:
        begin = time.process_time()
        result = super()._sum(first, last, batch, rows)
        self.computed = time.process_time() - begin  # the outermost call returns last
        return result

    def _exchanged(self, loss: float, parts: Any) -> Any:
        self.group.any(False)  # all begin together: waiting for the slowest is not exchange
        begin = time.perf_counter()
        result = super()._exchanged(loss, parts)
        self.exchanged = time.perf_counter() - begin
        return result


def run(spec: Spec) -> Answer:
    """Start P processes with ``mpiexec``, and give what the first says.

    Parameters
    ----------
    spec : Spec
        Sizes V, N, T, H, and P; without H the sums alone.
    """
    options = {"steps": spec.steps, **spec.options}
    command = [sys.executable, "-m", "benchmarks.contestants.processes", json.dumps(options)]
    beside = str(Path(sys.executable).parent)  # where mpich's wheel puts it
    mpiexec = shutil.which("mpiexec", path=os.pathsep.join([beside, os.environ["PATH"]]))
    job = [mpiexec or "mpiexec", "-n", str(options["P"]), *command]
    done = subprocess.run(job, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[-500:] or f"mpiexec gave {done.returncode}")
    answer: Answer = json.loads(done.stdout.strip().splitlines()[-1])
    return answer


def step_in(group: Group, options: dict[str, Any]) -> Answer:
    """Milliseconds of the parts of a training step of one process, the least of each."""
    V, N, T, H = Sizes(*(options[letter] for letter in "VNTH"))
    deepnlp.seed(0)
    model = RNNLM(V, H, H, dropout=0.5)
    slices = Timed(model, Task(), options["slices"], group)
    optimizer, windows = SGD(model.parameters(), lr=1.0), cycle(random_windows(V, N, T))
    rows: list[dict[str, float]] = []
    for _ in range(options["steps"] + 1):
        batch, begin = next(windows), time.perf_counter()
        slices.learn(batch)
        cpu = time.process_time()
        clip_gradients(model.parameters(), max_norm=0.25)
        optimizer.step()
        updated = time.process_time() - cpu
        seconds = time.perf_counter() - begin
        rows.append(
            {
                "step_ms": seconds,
                "computed_ms": slices.computed,
                "exchanged_ms": slices.exchanged,
                "updated_ms": updated,
            }
        )
    least = {name: 1000 * min(row[name] for row in rows[1:]) for name in rows[0]}
    return {"step": least | {"numbers": float(sum(p.value.size for p in slices.weights))}}


def sums_in(group: Group, options: dict[str, Any]) -> Answer:
    """Milliseconds in which an array is added up over all processes, by its size."""
    found: Answer = {}
    for size in QUICK_SUMS if options["quick"] else SUMS:
        work = partial(group.add_up, np.ones(size, dtype="float32"))
        found[str(size)] = {"sum_ms": 1000 * _least(group, work)}
    found["0"] = {"sum_ms": 1000 * _least(group, lambda: group.gathered((0.0, [True])))}
    return found


def _least(group: Group, work: Callable[[], Any]) -> float:
    times = []
    for _ in range(REPEATS):
        group.any(False)
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return max(group.gathered(min(times)))


def main() -> None:
    """One of the processes."""
    options, group = json.loads(sys.argv[1]), Group.world()
    answer = (step_in if options.get("H") else sums_in)(group, options)
    if group.rank == 0:
        print(json.dumps(answer))


if __name__ == "__main__":
    main()
