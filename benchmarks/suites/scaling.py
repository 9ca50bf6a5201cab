"""``scaling``: the cost of a training step as sizes grow, and memory as the text grows."""

from __future__ import annotations

from typing import Any

from benchmarks.harness import Entry
from benchmarks.records import Record, find, ratio
from benchmarks.report import Table, number
from benchmarks.results import Result
from benchmarks.settings import Settings
from benchmarks.suites.lm import OURS, PYTORCH

BASE = {"V": 10_000, "N": 20, "T": 35, "H": 200}
VARIED = {
    "T": (9, 18, 35, 70, 140),
    "N": (5, 10, 20, 40, 80),
    "H": (50, 100, 200, 400, 800),
    "V": (1000, 3000, 10_000, 30_000),
}
QUICK_BASE = {"V": 50, "N": 2, "T": 3, "H": 4}
QUICK_VARIED = {"T": (3, 6), "V": (50,)}

TEXTS = {
    "perplexity": (10_000, 40_000, 160_000),
    "training": (100_000, 1_000_000, 10_000_000),
    "generation": (1_000, 4_000, 16_000),
}
QUICK_TEXTS = {"perplexity": (30, 60), "training": (30,), "generation": (3,)}
TEXT_SIZES = {"V": 1000, "N": 20, "T": 35, "H": 100}


def entries(settings: Settings) -> list[Entry]:
    """The contestants: one size varied at a time, then the lengths of the text."""
    places = {tuple(place.items()): place for _, place in varied(settings.quick)}  # each once
    found = [
        Entry(name, work, place, {"evaluate": False}, steps=5)
        for place in places.values()
        for name, work in ((OURS, "language_model"), (PYTORCH, "torch_language_model"))
    ]
    return found + [
        Entry(
            OURS,
            "memory_growth",
            {"work": work, "length": length},
            QUICK_BASE if settings.quick else TEXT_SIZES,
        )
        for work, lengths in (QUICK_TEXTS if settings.quick else TEXTS).items()
        for length in lengths
    ]


def varied(quick: bool) -> list[tuple[str, dict[str, int]]]:
    """The places of the grid: a letter, and all sizes with that one changed.

    Examples
    --------
    >>> varied(quick=True)[1]
    ('T', {'V': 50, 'N': 2, 'T': 6, 'H': 4})
    """
    base, values = (QUICK_BASE, QUICK_VARIED) if quick else (BASE, VARIED)
    return [(letter, base | {letter: n}) for letter in values for n in values[letter]]


def series(result: Result, letter: str, contestant: str) -> list[Record]:
    """The records along one letter."""
    places = [place for one, place in varied(result.options["quick"]) if one == letter]
    found = [find(result.records, contestant, place) for place in places]
    return [record for record in found if record]


def tables(result: Result) -> list[Table]:
    """Times along each letter, memory along the length of the text."""
    return [_times(result), _memory(result)]


def _times(result: Result) -> Table:
    rows = []
    for letter, place in varied(result.options["quick"]):
        ours, theirs = (find(result.records, who, place) for who in (OURS, PYTORCH))
        if not ours:
            continue
        tokens = place["N"] * place["T"]
        rows.append(
            [
                letter,
                f"{place[letter]:,}",
                number(ours.median("train_ms")),
                number(theirs.median("train_ms") if theirs else None),
                str(ratio(theirs, ours, "train_ms")) if theirs else "-",
                number(1000 * ours.median("train_ms") / tokens),
                number(ours.median("memory_mb")),
                number(theirs.median("memory_mb") if theirs else None),
            ]
        )
    base = QUICK_BASE if result.options["quick"] else BASE
    sizes = ", ".join(f"{letter} = {n:,}" for letter, n in base.items())
    headings = [
        "varied", ">to", ">deepnlp ms", ">PyTorch ms", ">times as fast", ">µs a token",
        ">deepnlp MB", ">PyTorch MB",
    ]  # fmt: skip
    return Table(f"A training step, one size changed at a time from {sizes}", headings, rows)


def _memory(result: Result) -> Table:
    rows = []
    for work in QUICK_TEXTS if result.options["quick"] else TEXTS:
        records = [record for record in result.records if record.at.get("work") == work]
        rows += [_memory_row(record, records[0]) for record in records]
    headings = ["work", ">length", ">MB grown", ">bytes a token more than the shortest"]
    return Table("Memory against the length of the text", headings, rows)


def _memory_row(record: Record, shortest: Record) -> list[str]:
    grown, length = record.median("memory_mb"), record.at["length"]
    more: Any = None
    if record is not shortest:
        tokens = length - shortest.at["length"]
        more = 2**20 * (grown - shortest.median("memory_mb")) / tokens
    return [record.at["work"], f"{length:,}", number(grown), number(more)]
