"""``layers``: each layer forward and backward, against PyTorch's where it has the same."""

from __future__ import annotations

from benchmarks.harness import Entry
from benchmarks.records import Record, find, ratio
from benchmarks.report import Table, number
from benchmarks.results import Result
from benchmarks.settings import Settings
from benchmarks.suites.lm import OURS, PYTORCH

H = 200
QUICK_H = 4


def entries(settings: Settings) -> list[Entry]:
    """The contestants: each library times all of its layers in one process."""
    at = {"H": QUICK_H if settings.quick else H}
    return [Entry(OURS, "layers", at), Entry(PYTORCH, "torch_layers", at)]


def tables(result: Result) -> list[Table]:
    """Times of every layer."""
    rows = []
    for ours in result.records:
        if ours.contestant == OURS:
            theirs = find(result.records, PYTORCH, ours.at, ours.row)
            cells = [cell for way in ("forward", "backward") for cell in _cells(ours, theirs, way)]
            rows.append([ours.row, *cells])
    sizes = ", ".join(f"{letter} = {n:,}" for letter, n in result.options["shape"].items())
    headings = ["layer"]
    for way in ("forward", "backward"):
        headings += [f">{way} ms", ">PyTorch ms", ">times as fast"]
    return [Table(f"Layers at {sizes}, H = {result.records[0].at['H']}", headings, rows)]


def _cells(ours: Record, theirs: Record | None, way: str) -> list[str]:
    name = f"{way}_ms"
    return [
        number(ours.median(name)),
        number(theirs.median(name) if theirs else None),
        str(ratio(theirs, ours, name)) if theirs else "-",
    ]
