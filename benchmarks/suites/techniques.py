"""``techniques``: the effect of each technique, one change at a time."""

from __future__ import annotations

from benchmarks.contestants.techniques import KERNELS
from benchmarks.harness import Entry
from benchmarks.records import Record, places
from benchmarks.report import Table, number
from benchmarks.results import Result
from benchmarks.settings import Settings
from benchmarks.suites.lm import OURS


def entries(settings: Settings) -> list[Entry]:
    """One contestant per size, which runs all pairs."""
    return [Entry(OURS, "techniques", {"H": H}, steps=5) for H in settings.sizes]


def saved(record: Record) -> float:
    """Milliseconds that a technique saves."""
    return record.median("without_ms") - record.median("with_ms")


def gain(record: Record) -> float:
    """How many times as fast with a technique as without."""
    return record.median("without_ms") / record.median("with_ms")


def tables(result: Result) -> list[Table]:
    """The kernels, in a whole training step; the others, each alone."""
    whole = [record for record in result.records if record.row.startswith(KERNELS)]
    alone = [record for record in result.records if not record.row.startswith(KERNELS)]
    found = [_table("A training step, some kernels in their plain form", "plain", whole)]
    if alone:
        found.append(_table("Techniques by themselves", "technique", alone))
    return found


def _table(title: str, heading: str, records: list[Record]) -> Table:
    rows = []
    for name in dict.fromkeys(record.row for record in records):
        for (H,) in places(records, "H"):
            record = next(one for one in records if (one.row, one.at["H"]) == (name, H))
            rows.append(
                [
                    name.removeprefix(KERNELS),
                    str(H),
                    number(record.median("without_ms")),
                    number(record.median("with_ms")),
                    number(saved(record)),
                    f"{gain(record):.2f}",
                ]
            )
    headings = [heading, ">H", ">ms without", ">ms with", ">ms saved", ">ratio"]
    return Table(title, headings, rows)
