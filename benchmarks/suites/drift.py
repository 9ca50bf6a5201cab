"""``drift``: how far 10,000 training steps in float32 come apart from those in float64."""

from __future__ import annotations

from benchmarks.harness import Entry
from benchmarks.records import Goal, Ratio
from benchmarks.report import Table
from benchmarks.results import Result
from benchmarks.settings import Settings
from benchmarks.suites.lm import OURS

SIZES = {"V": 1000, "N": 8, "T": 16, "H": 32, "length": 10_000}
QUICK_SIZES = {"V": 50, "N": 2, "T": 3, "H": 4, "length": 100}

BOUNDS = {
    "step_loss": ("loss of one step", 1e-5),
    "step_gradient": ("gradient of one step", 1e-4),
    "loss": ("mean loss of 200 steps", 5e-3),
    "perplexity": ("perplexity on the validation split in the end", 1e-2),
}
"""What is measured, and the largest relative error that is right."""


def entries(settings: Settings) -> list[Entry]:
    """One contestant, which trains with each optimizer."""
    return [Entry(OURS, "drift", QUICK_SIZES if settings.quick else SIZES, steps=1)]


def goals(result: Result) -> list[Goal]:
    """Every bound for every optimizer."""
    if result.options["quick"]:
        return []
    found = []
    for record in result.records:
        for name, (what, bound) in BOUNDS.items():
            rounds = record.rounds[name]
            reached = Ratio(record.median(name), min(rounds), max(rounds))
            what = f"{what} in float32, {record.row}: error relative to float64"
            found.append(Goal(what, "at most", bound, reached))
    return found


def tables(result: Result) -> list[Table]:
    """The errors beside their bounds."""
    rows = [
        [record.row, what, f"{record.median(name):.1e}", f"{bound:.0e}"]
        for record in result.records
        for name, (what, bound) in BOUNDS.items()
    ]
    rows += [
        [record.row, "all weights in the end", f"{record.median('weights'):.1e}", "-"]
        for record in result.records
    ]
    steps = result.records[0].at["length"]
    title = f"Largest error of float32 relative to float64 in {steps:,} training steps"
    return [Table(title, ["optimizer", "of", ">error", ">bound"], sorted(rows))]
