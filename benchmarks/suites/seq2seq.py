"""``seq2seq``: a training step of encoder and decoder; a GRU beside an LSTM; against PyTorch."""

from __future__ import annotations

from typing import Any

from benchmarks.harness import Entry
from benchmarks.records import Goal, Ratio, Record, find, places, ratio
from benchmarks.report import Table, number
from benchmarks.results import Result
from benchmarks.settings import Settings
from benchmarks.suites.lm import OURS, PYTORCH, goal_table

SIZES = {"V": 10_000, "N": 64, "T": 20, "H": 256}
QUICK_SIZES = {"V": 20, "N": 2, "T": 5, "H": 4}

KINDS: dict[str, dict[str, Any]] = {
    "none": {},
    "dot": {"attention": "dot"},
    "dot, input feeding": {"attention": "dot", "input_feeding": True},
    "additive": {"attention": "additive"},
    "general, bidirectional encoder": {"attention": "general", "bidirectional": True},
}
"""Options of the model, by name."""

CELL_SIZES = (
    {"N": 64, "T": 20, "H": 256},
    {"N": 20, "T": 35, "H": 200},
    {"N": 20, "T": 35, "H": 650},
)
QUICK_CELL_SIZES = ({"N": 2, "T": 3, "H": 4},)
CELLS = {"TimeLSTM": "LSTM", "TimeGRU": "GRU", "TimeGRU, reset after": "GRU, reset after"}
"""Names of the layers that are timed, and what they are called in the table."""


def entries(settings: Settings) -> list[Entry]:
    """The contestants: every kind of decoder, then the cells at some sizes."""
    sizes = QUICK_SIZES if settings.quick else SIZES
    found = [
        Entry(name, work, {"attention": kind}, {**sizes, "model": options}, steps=5)
        for kind, options in KINDS.items()
        for name, work in ((OURS, "seq2seq"), (PYTORCH, "torch_seq2seq"))
    ]
    return found + [
        Entry(name, work, at, {"only": list(CELLS)})
        for at in (QUICK_CELL_SIZES if settings.quick else CELL_SIZES)
        for name, work in ((OURS, "layers"), (PYTORCH, "torch_layers"))
    ]


def speed(result: Result, kind: str) -> Ratio | None:
    """How many times as fast as PyTorch."""
    ours, theirs = (find(result.records, who, {"attention": kind}) for who in (OURS, PYTORCH))
    return ratio(theirs, ours, "train_ms") if ours and theirs else None


def goals(result: Result) -> list[Goal]:
    """PyTorch's speed."""
    if result.options["quick"]:
        return []
    return [
        Goal(f"step of a Seq2Seq, attention {kind}, times as fast as PyTorch", "at least", 1, found)
        for kind in KINDS
        if (found := speed(result, kind))
    ]


def tables(result: Result) -> list[Table]:
    """Training steps, and the cells."""
    found = [_steps(result), _cells(result)]
    aimed = goals(result)
    return [*found, goal_table(aimed)] if aimed else found


def _steps(result: Result) -> Table:
    """Time, target tokens per second and memory of a training step."""
    rows = []
    for (kind,) in places(result.records, "attention"):
        both = [find(result.records, who, {"attention": kind}) for who in (OURS, PYTORCH)]
        cells = [
            number(one.median(name) if one else None)
            for name in ("train_ms", "tokens_per_s", "memory_mb")
            for one in both
        ]
        rows.append([kind, *cells[:4], str(speed(result, kind) or "-"), *cells[4:]])
    headings = [
        "attention", ">deepnlp ms", ">PyTorch ms", ">deepnlp target tokens/s",
        ">PyTorch target tokens/s", ">times as fast", ">deepnlp MB", ">PyTorch MB",
    ]  # fmt: skip
    shape = QUICK_SIZES if result.options["quick"] else SIZES
    sizes = ", ".join(f"{letter} = {n:,}" for letter, n in shape.items())
    return Table(f"A training step of a Seq2Seq at {sizes}", headings, rows)


def _cells(result: Result) -> Table:
    """Forward and backward together, and parameters: a GRU beside an LSTM."""
    rows = []
    for place in places(result.records, "N", "T", "H"):
        at = dict(zip("NTH", place, strict=True))
        for layer, name in CELLS.items():
            cells = []
            for who in (OURS, PYTORCH):
                one, lstm = (_both_ways(result, who, at, row) for row in (layer, "TimeLSTM"))
                cells += [
                    number(one.median("ms") if one else None),
                    str(ratio(one, lstm, "ms")) if one and lstm and one is not lstm else "-",
                    f"{one.median('parameters'):,.0f}" if one else "-",
                    f"{ratio(one, lstm, 'parameters').value:.2f}" if one and lstm else "-",
                ]
            rows.append([*map(str, place), name, *cells])
    headings = [">N", ">T", ">H", "cell"]
    for who in (OURS, PYTORCH):
        headings += [f">{who} ms", ">of the LSTM's", f">{who} parameters", ">of the LSTM's"]
    return Table("A GRU beside an LSTM, D = H: forward and backward together", headings, rows)


def _both_ways(result: Result, who: str, at: dict[str, int], layer: str) -> Record | None:
    """Forward and backward of a layer as one time, None where it was not measured."""
    record = find(result.records, who, at, layer)
    if record is None:
        return None
    ways = zip(record.rounds["forward_ms"], record.rounds["backward_ms"], strict=True)
    sums = {"ms": [sum(both) for both in ways], "parameters": record.rounds["parameters"]}
    return Record(who, layer, record.at, sums)
