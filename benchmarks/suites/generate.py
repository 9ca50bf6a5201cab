"""``generate``: sampled tokens per second, for one text and for 64 together, against PyTorch."""

from __future__ import annotations

from benchmarks.harness import Entry
from benchmarks.records import Goal, Ratio, find, places, ratio
from benchmarks.report import Table, number
from benchmarks.results import Result
from benchmarks.settings import Settings
from benchmarks.suites.lm import OURS, PYTORCH, goal_table

BATCHES = (1, 64)
WANTED = 4.0
"""Times as fast as PyTorch at batch 1."""


def entries(settings: Settings) -> list[Entry]:
    """The contestants."""
    return [
        Entry(name, work, {"H": H, "B": B}, steps=100)
        for H in settings.sizes
        for B in BATCHES
        for name, work in ((OURS, "generation"), (PYTORCH, "torch_generation"))
    ]


def speed(result: Result, H: int, B: int) -> Ratio | None:
    """How many times as fast as PyTorch."""
    ours, theirs = (find(result.records, who, {"H": H, "B": B}) for who in (OURS, PYTORCH))
    return ratio(theirs, ours, "token_ms") if ours and theirs else None


def goals(result: Result) -> list[Goal]:
    """Four times PyTorch's speed at batch 1, on a CPU."""
    if result.options["backend"] != "numpy" or result.options["quick"]:
        return []
    return [
        Goal(f"generation at H = {H}, batch 1, times as fast as PyTorch", "at least", WANTED, found)
        for H, B in places(result.records, "H", "B")
        if B == 1 and (found := speed(result, H, B))
    ]


def tables(result: Result) -> list[Table]:
    """Time per step and tokens per second."""
    rows = []
    for H, B in places(result.records, "H", "B"):
        records = [find(result.records, who, {"H": H, "B": B}) for who in (OURS, PYTORCH)]
        times = [one.median("token_ms") if one else None for one in records]
        speeds = [1000 * B / ms if ms else None for ms in times]
        rows.append(
            [str(H), str(B), *map(number, times), *map(number, speeds),
             str(speed(result, H, B) or "-")]
        )  # fmt: skip
    headings = [
        ">H", ">batch", ">deepnlp ms per step", ">PyTorch ms per step", ">deepnlp tokens/s",
        ">PyTorch tokens/s", ">times as fast",
    ]  # fmt: skip
    found = [Table("Sampling at temperature 1", headings, rows)]
    aimed = goals(result)
    return [*found, goal_table(aimed)] if aimed else found
