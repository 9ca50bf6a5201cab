"""``precision``: what TF32 costs in accuracy."""

from __future__ import annotations

from benchmarks.harness import Entry
from benchmarks.report import Table
from benchmarks.results import Result
from benchmarks.settings import Settings
from benchmarks.suites.lm import OURS


def entries(settings: Settings) -> list[Entry]:
    """One contestant per size."""
    return [Entry(OURS, "precision", {"H": H}, steps=1) for H in settings.sizes]


def tables(result: Result) -> list[Table]:
    """Relative errors of a product by number type and size."""
    rows = [
        [
            record.row,
            str(record.at["H"]),
            f"{record.median('largest'):.1e}",
            f"{record.median('mean_square'):.1e}",
        ]
        for record in sorted(result.records, key=lambda record: record.row)
    ]
    headings = ["product in", ">H", ">largest error", ">root mean square error"]
    return [
        Table("Relative error of the product of hidden states and output weight", headings, rows)
    ]
