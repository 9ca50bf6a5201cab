"""``bottleneck``: the cost of the softmax against the size m of the embedding behind L."""

from __future__ import annotations

from benchmarks.contestants.bottleneck import PLAIN, name_of
from benchmarks.harness import Entry
from benchmarks.records import Record, find
from benchmarks.report import Table, number
from benchmarks.results import Result
from benchmarks.settings import Settings
from benchmarks.suites.lm import OURS

N_HIDDEN = 600
VOCABULARIES = (10_000, 50_000)
BOTTLENECKS = (50, 100, 200, 300, 400, 600)
QUICK_BOTTLENECKS = (2, 4)


def entries(settings: Settings) -> list[Entry]:
    """One contestant for each vocabulary, which times every bottleneck."""
    vocabularies = (50, 60) if settings.quick else VOCABULARIES
    sizes = QUICK_BOTTLENECKS if settings.quick else BOTTLENECKS
    n = 8 if settings.quick else N_HIDDEN
    return [
        Entry(OURS, "bottleneck", {"V": V, "n": n}, {"bottlenecks": list(sizes)}, steps=5)
        for V in vocabularies
    ]


def multiplications(V: int, n: int, m: int | None) -> int:
    """Multiplications of the scores of one token: n m + m V behind L, n V without it.

    >>> multiplications(10_000, 600, 100), multiplications(10_000, 600, None)
    (1060000, 6000000)
    """
    return n * V if m is None else n * m + m * V


def shares(result: Result, V: int, n: int) -> dict[int, float]:
    """By m, the time as a share of that without L."""
    plain = _record(result, V, n, PLAIN)
    sizes = QUICK_BOTTLENECKS if result.options["quick"] else BOTTLENECKS
    return {
        m: _record(result, V, n, name_of(m)).median("train_ms") / plain.median("train_ms")
        for m in sizes
    }


def places(result: Result) -> list[tuple[int, int]]:
    """The vocabularies with the size of the hidden state."""
    return list(dict.fromkeys((one.at["V"], one.at["n"]) for one in result.records))


def tables(result: Result) -> list[Table]:
    """Multiplications, time and parameters by V and m."""
    rows = []
    for V, n in places(result):
        for m, share in [(None, 1.0), *shares(result, V, n).items()]:
            record = _record(result, V, n, PLAIN if m is None else name_of(m))
            parameters = record.median("parameters")
            products = multiplications(V, n, m)
            rows.append(
                [
                    f"{V:,}",
                    "without L" if m is None else str(m),
                    f"{products / 1e6:.2f}",
                    f"{products / multiplications(V, n, None):.2f}",
                    number(record.median("train_ms")),
                    f"{share:.2f}",
                    f"{parameters / 1e6:.2f}",
                ]
            )
    n = places(result)[0][1]
    headings = [
        ">V", ">m", ">million multiplications a token", ">share", ">ms forward and backward",
        ">share", ">million parameters",
    ]  # fmt: skip
    return [Table(f"Scores, softmax and loss from a hidden state of n = {n}", headings, rows)]


def _record(result: Result, V: int, n: int, row: str) -> Record:
    found = find(result.records, OURS, {"V": V, "n": n}, row)
    assert found is not None, row
    return found
