"""A training step of two checkouts in turns: is the new one as fast as the old one?

git worktree add ../before v0.1.0
python -m benchmarks.turns ../before                        at H = 100, 200 and 650
python -m benchmarks.turns ../before --hidden 650 --rounds 20

The model is the tied two-layer LSTM at V = 10,000, N = 20 and T = 35. Each measurement is a
process of its own, with one thread; the checkouts take turns, and the other begins each round. The
times are processor time of the median step, the ratio that of the medians over the rounds, with
its lowest and highest round.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from statistics import median

from benchmarks.harness import THREADS
from deepnlp.files.tables import table

ROOT = Path(__file__).parents[1]

STEPS = """
import sys, time
from statistics import median
import numpy as np
import deepnlp
from deepnlp.models import RNNLM
from deepnlp.optimizers import SGD, clip_gradients

H, steps = int(sys.argv[1]), int(sys.argv[2])
deepnlp.seed(0)
model = RNNLM(10_000, H, H, layers=2, cell="lstm", tie="tied", dropout=0.5)
optimizer = SGD(model.parameters(), lr=1.0)
ids = np.random.default_rng(0).integers(0, 10_000, (20, 36))
times = []
for _ in range(steps + 2):
    before = time.process_time()
    model.forward(ids[:, :-1], ids[:, 1:])
    model.zero_grad()
    model.backward()
    clip_gradients(model.parameters(), 0.25)
    optimizer.step()
    times.append(time.process_time() - before)
print(1000 * median(times[2:]))
"""


def step_ms(checkout: Path, H: int, steps: int) -> float:
    """Return the processor time of a training step of a checkout, in milliseconds."""
    environment = {**os.environ, **dict.fromkeys(THREADS, "1"), "PYTHONPATH": str(checkout)}
    command = [sys.executable, "-c", STEPS, str(H), str(steps)]
    answer = subprocess.run(
        command, cwd=checkout, env=environment, check=True, stdout=subprocess.PIPE
    )
    return float(answer.stdout)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("before", type=Path, help="another checkout")
    parser.add_argument("--hidden", type=int, nargs="+", default=[100, 200, 650])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=10, help="timed steps of a process")
    options = parser.parse_args()
    checkouts = [options.before.resolve(), ROOT]
    rows = []
    for H in options.hidden:
        times: dict[Path, list[float]] = {checkout: [] for checkout in checkouts}
        for number in range(options.rounds):
            for checkout in checkouts[:: 1 if number % 2 == 0 else -1]:
                times[checkout].append(step_ms(checkout, H, options.steps))
        old, new = times.values()
        ratios = [b / a for a, b in zip(old, new)]
        ratio = f"{median(new) / median(old):.3f} ({min(ratios):.3f} to {max(ratios):.3f})"
        rows.append([str(H), f"{median(old):.1f}", f"{median(new):.1f}", ratio])
    print(table([">H", ">before, ms", ">now, ms", ">now / before"], rows))


if __name__ == "__main__":
    main()
