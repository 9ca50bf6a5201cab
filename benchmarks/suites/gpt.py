"""``gpt``: a training step of a GPT, and text with keys and values kept; against PyTorch."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.harness import Entry
from benchmarks.records import Goal, Ratio, Record, find, ratio
from benchmarks.report import Table, number
from benchmarks.results import Result
from benchmarks.settings import Settings
from benchmarks.suites.lm import OURS, PYTORCH, goal_table

SETTINGS = {
    "CPU": {"V": 65, "N": 12, "T": 64, "D": 128, "layers": 4, "heads": 4, "length": 256},
    "GPU": {"V": 65, "N": 64, "T": 256, "D": 384, "layers": 6, "heads": 6, "length": 256},
}
"""nanoGPT's settings for characters of Shakespeare; ``length`` is that of the text written."""

QUICK = {"V": 9, "N": 2, "T": 3, "D": 8, "layers": 1, "heads": 2, "length": 4}
MOST = 1.1  # times PyTorch's time


def entries(settings: Settings) -> list[Entry]:
    """The contestants, in the setting for the device."""
    name = "CPU" if settings.backend == "numpy" else "GPU"
    sizes = QUICK if settings.quick else SETTINGS[name]
    works = {OURS: "gpt", PYTORCH: "torch_gpt"}
    return [Entry(who, work, {"setting": name}, sizes) for who, work in works.items()]


def over_pytorch(result: Result, name: str) -> Ratio | None:
    """Our time over PyTorch's."""
    for setting in SETTINGS:
        ours, theirs = (find(result.records, who, {"setting": setting}) for who in (OURS, PYTORCH))
        if ours and theirs:
            return ratio(ours, theirs, name)
    return None


def goals(result: Result) -> list[Goal]:
    """The time of a training step."""
    reached = over_pytorch(result, "train_ms")
    if result.options["quick"] or not reached:
        return []
    return [Goal("training step of a GPT, times PyTorch's", "at most", MOST, reached)]


def by_keeping(record: Record) -> Ratio:
    """How many times as fast a text is written with keys and values kept."""
    kept, anew = (
        replace(record, rounds={"token_ms": record.rounds[name]}) for name in ("kept_ms", "anew_ms")
    )
    return ratio(anew, kept, "token_ms")


def tables(result: Result) -> list[Table]:
    """Training, and writing."""
    training, writing = [], []
    for record in result.records:
        names = "train_ms", "memory_mb"
        training.append([record.contestant, *(number(record.median(name)) for name in names)])
        speeds = [number(1000 / record.median(name)) for name in ("kept_ms", "anew_ms")]
        over = over_pytorch(result, "kept_ms") if record.contestant == OURS else None
        writing.append([record.contestant, *speeds, str(by_keeping(record)), str(over or "-")])
    headings = [
        "who", ">characters/s, keys and values kept", ">characters/s, all read anew",
        ">times as fast with them kept", ">times PyTorch's time with them kept",
    ]  # fmt: skip
    found = [
        Table("A GPT in nanoGPT's setting", ["who", ">training step ms", ">memory MB"], training),
        Table("A text written one character at a time", headings, writing),
    ]
    aimed = goals(result)
    return [*found, goal_table(aimed)] if aimed else found
