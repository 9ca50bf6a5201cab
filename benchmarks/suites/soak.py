"""``soak``: memory over minutes or hours of training, generating and evaluating in turn."""

from __future__ import annotations

from benchmarks.harness import Entry
from benchmarks.records import Goal, Ratio
from benchmarks.report import Table, number
from benchmarks.results import Result
from benchmarks.settings import Settings
from benchmarks.suites.lm import OURS

SIZES = {"V": 1000, "N": 10, "T": 20, "H": 50}
QUICK_SIZES = {"V": 50, "N": 2, "T": 3, "H": 4}
MINUTES = 2
BOUND_MB = 1.0


def entries(settings: Settings) -> list[Entry]:
    """One contestant, for some minutes."""
    seconds = 0 if settings.quick else 60 * (settings.minutes or MINUTES)
    sizes = QUICK_SIZES if settings.quick else SIZES
    return [Entry(OURS, "soak", {"seconds_in_all": seconds}, sizes, steps=1)]


def goals(result: Result) -> list[Goal]:
    """No growth beyond what a reading of the memory varies by."""
    if result.options["quick"]:
        return []
    (record,) = result.records
    found = []
    for name, what in (("grown_mb", "the process"), ("objects_grown_mb", "Python's objects")):
        rounds = record.rounds[name]
        reached = Ratio(record.median(name), min(rounds), max(rounds))
        what = f"memory of {what} that the second half of a soak holds more than the first, MB"
        found.append(Goal(what, "at most", BOUND_MB, reached))
    return found


def tables(result: Result) -> list[Table]:
    """Report the work that was done and the memory that was held."""
    (record,) = result.records
    names = ("minutes", "steps", "generated", "evaluated")
    done = [number(record.median(name)) for name in names]
    held = [
        f"{record.median(name):.2f}"
        for name in ("held_mb", "grown_mb", "objects_mb", "objects_grown_mb")
    ]
    headings = [
        ">minutes", ">training steps", ">words generated", ">words evaluated", ">process MB",
        ">its growth", ">objects MB", ">their growth",
    ]  # fmt: skip
    return [Table("Memory at the end, and its growth", headings, [[*done, *held]])]
