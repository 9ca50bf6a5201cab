"""``scan``: a recurrent layer that is a scan, against an LSTM, its bare products, and PyTorch."""

from __future__ import annotations

from benchmarks.contestants.scan import KINDS
from benchmarks.harness import Entry
from benchmarks.records import Goal, Ratio, find, ratio
from benchmarks.report import Table, number
from benchmarks.results import Result
from benchmarks.settings import Settings
from benchmarks.suites.lm import OURS, PYTORCH, goal_table

LENGTHS, QUICK_LENGTHS = (35, 128, 1024), (3,)
FASTER, MOST = 6.0, 1.25  # than an LSTM; times the bare products


def entries(settings: Settings) -> list[Entry]:
    """Both libraries at every H and T."""
    lengths = QUICK_LENGTHS if settings.quick else LENGTHS
    sizes = (4,) if settings.quick else settings.sizes
    works = {OURS: "scan", PYTORCH: "torch_scan"}
    places = [{"H": H, "T": T} for H in sizes for T in lengths]
    return [Entry(who, work, at, steps=5) for at in places for who, work in works.items()]


def over(result: Result, at: dict[str, int], row: str, who: str = OURS) -> Ratio | None:
    """The time of a row over that of the minGRU."""
    theirs, ours = find(result.records, who, at, row), find(result.records, OURS, at, "TimeMinGRU")
    return ratio(theirs, ours, "step_ms") if theirs and ours else None


def places(result: Result) -> list[dict[str, int]]:
    """The sizes, each once."""
    return [r.at for r in result.records if (r.contestant, r.row) == (OURS, "TimeMinGRU")]


def goals(result: Result) -> list[Goal]:
    """Against the LSTM, the bare products and the same scan in torch operations."""
    if result.options["quick"]:
        return []
    found = []
    for at in places(result):
        size = f"H = {at['H']}, T = {at['T']}"
        ours, bare = (find(result.records, OURS, at, row) for row in ("TimeMinGRU", "products"))
        of_lstm, of_torch = over(result, at, "TimeLSTM"), over(result, at, "scan", PYTORCH)
        if ours and bare and of_lstm:
            found.append(
                Goal(f"minGRU, {size}, times the LSTM's speed", "at least", FASTER, of_lstm)
            )
            over_bare = ratio(ours, bare, "step_ms")
            found.append(Goal(f"minGRU, {size}, times its products", "at most", MOST, over_bare))
        if of_torch:
            found.append(
                Goal(f"minGRU, {size}, times the speed of PyTorch's scan", "at least", 1, of_torch)
            )
    return found


def tables(result: Result) -> list[Table]:
    """Milliseconds of every layer, and the ratios."""
    times, ratios = [], []
    for at in places(result):
        size = [str(at["H"]), str(at["T"])]
        records = [find(result.records, OURS, at, kind) for kind in KINDS]
        times.append(
            size + [number(record.median("step_ms")) if record else "-" for record in records]
        )
        others = [("TimeLSTM", OURS), ("products", OURS), ("loop", PYTORCH), ("scan", PYTORCH)]
        reached = [over(result, at, row, who) for row, who in others]
        ratios.append(size + [str(each) if each else "-" for each in reached])
    sizes = [">H", ">T"]
    found = [
        Table("Forward and backward, ms", [*sizes, *(f">{kind}" for kind in KINDS)], times),
        Table(
            "The time of others over that of TimeMinGRU",
            [*sizes, ">TimeLSTM", ">its products", ">PyTorch's loop", ">PyTorch's scan"], ratios,
        ),
    ]  # fmt: skip
    aimed = goals(result)
    return [*found, goal_table(aimed)] if aimed else found
