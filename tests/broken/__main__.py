"""Runs the checker over a set: python -m tests.broken [--set second] [--json FILE] [--jobs 2]."""

import argparse
import json
import os
import signal
import time
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from tests.broken.collection import SETS, SHAPES, Broken, Pair, example, make, read
from tests.broken.judge import (
    VERDICTS,
    Verdict,
    first_causes,
    located,
    named_of_pair,
    score,
    verdict,
)


@dataclass
class Outcome:
    """What the checker said of a case: a verdict and the first causes for each shape.

    ``located`` counts the shapes in which the report leads to the altered line.
    """

    case: Broken | Pair
    verdicts: list[Verdict]
    named: list[int]
    causes: list[list[tuple[str, str]]]
    seconds: float
    located: int = 0


def _too_long(*_: Any) -> None:
    raise TimeoutError("the check took too long")


def check(case: Broken | Pair, shapes: int, timeout: int) -> Outcome:
    """Check one case in its shapes."""
    from deepnlp.gradcheck import check_gradients

    warnings.simplefilter("ignore")
    signal.signal(signal.SIGPROF, _too_long)
    outcome = Outcome(case, [], [], [], 0.0)
    start = time.process_time()
    for shape in range(shapes):
        layer, inputs = example(case, [11, shape])
        signal.setitimer(signal.ITIMER_PROF, timeout)
        try:
            report = check_gradients(layer, *inputs)
        except Exception as error:
            outcome.verdicts.append("failed")
            outcome.named.append(0)
            outcome.causes.append([(type(error).__name__, str(error))])
            continue
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        outcome.causes.append(first_causes(report))
        if isinstance(case, Pair):
            outcome.named.append(named_of_pair(report, case))
        else:
            outcome.verdicts.append(verdict(report, case))
            outcome.located += located(report, case)
    outcome.seconds = time.process_time() - start
    return outcome


def table(outcomes: list[Outcome]) -> str:
    """Verdicts by family, and in all."""
    rows: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        rows.setdefault(outcome.case.family.name, []).append(outcome)
    lines = [f"{'family':28}" + "".join(f"{v:>11}" for v in VERDICTS) + f"{'seconds':>9}"]
    for name, members in [*rows.items(), ("all", outcomes)]:
        counts = Counter(score(o.verdicts) for o in members)
        cells = "".join(f"{counts[v] or '':>11}" for v in VERDICTS)
        lines.append(f"{name:28}{cells}{sum(o.seconds for o in members):9.1f}")
    counts = Counter(score(o.verdicts) for o in outcomes)
    shares = "".join(f"{100 * counts[v] / len(outcomes):10.1f}%" for v in VERDICTS)
    lines.append(f"{f'of {len(outcomes)}':28}{shares}")
    return "\n".join(lines)


def right_layers(name: str, every: int) -> str:
    """How many right layers of a set are accused or refused, and which."""
    from deepnlp.gradcheck import check_gradients

    warnings.simplefilter("ignore")
    families, found = read(name).right[::every], []
    for family in families:
        arguments, inputs = family.build(np.random.default_rng([11, 0]))
        try:
            report = check_gradients(make(family.layer, arguments), *inputs)
        except Exception as error:
            found.append(f"refused  {family.name}: {str(error)[:80]}")
            continue
        if not report.ok:
            wrong = ", ".join(row.name for row in report.rows if not row.ok)
            found.append(f"accused  {family.name}: {wrong}")
    accused = sum(line.startswith("accused") for line in found)
    head = f"{len(families)} right layers: {accused} accused, {len(found) - accused} refused"
    return "\n".join([head, *found])


def main() -> None:
    """Print the table; write what was not named right."""
    parser = argparse.ArgumentParser(prog="python -m tests.broken", description=__doc__)
    parser.add_argument("--set", choices=SETS, default="first")
    parser.add_argument("--json", type=Path, help="where to write the cases that are not right")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--shapes", type=int, default=SHAPES)
    parser.add_argument(
        "--timeout", type=int, default=60, help="seconds of processor time for one check"
    )
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("--every", type=int, default=1, help="each K-th case only")
    parser.add_argument("--right", action="store_true", help="the right layers of the set alone")
    options = parser.parse_args()
    if options.right:
        print(right_layers(options.set, options.every))
        return
    chosen = read(options.set)
    cases: list[Broken | Pair] = [case for case in chosen.cases if case.accept]
    cases = [case for case in [*cases, *chosen.pairs] if options.only in case.name]
    cases = cases[:: options.every]
    with ProcessPoolExecutor(options.jobs) as pool:
        done = list(pool.map(check, cases, repeat(options.shapes), repeat(options.timeout)))
    single = [o for o in done if isinstance(o.case, Broken)]
    pairs = [o for o in done if isinstance(o.case, Pair)]
    if single:
        print(table(single))
        least = max(1, options.shapes - 1)
        print(f"located to the line: {sum(o.located >= least for o in single)} of {len(single)}")
    if pairs:
        least = max(1, options.shapes - 1)
        both = [o for o in pairs if sum(n == 2 for n in o.named) >= least]
        print(f"pairs: both mistakes named in {len(both)} of {len(pairs)}")
    if options.json:
        wrong = [_failing(o) for o in single if score(o.verdicts) != "right" or not o.located]
        halves = [{"name": o.case.name, "named": o.named, "first": o.causes} for o in pairs]
        options.json.write_text(json.dumps({"cases": wrong, "pairs": halves}, indent=1))


def _failing(outcome: Outcome) -> dict[str, Any]:
    """What a reader of the list wants to know of a case that was not named."""
    case = outcome.case
    assert isinstance(case, Broken)
    return {
        "name": case.name,
        "score": score(outcome.verdicts),
        "located": outcome.located,
        "verdicts": outcome.verdicts,
        "truth": case.truth,
        "right": case.right,
        "wrong": case.wrong,
        "accept": case.accept,
        "place": case.place,
        "first": outcome.causes,
    }


if __name__ == "__main__":
    main()
