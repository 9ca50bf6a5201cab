"""``lm``: the tied two-layer LSTM language model against PyTorch and against its bare products."""

from __future__ import annotations

from benchmarks.harness import Entry
from benchmarks.records import Goal, Ratio, find, places, ratio
from benchmarks.report import Table, number
from benchmarks.results import Result
from benchmarks.settings import Settings

OURS, PYTORCH, PRODUCTS = "deepnlp", "PyTorch", "products"

TRAIN_GOALS = {100: 1.5, 200: 1.25, 650: 1.0}
EVAL_GOALS = {100: 1.3, 200: 1.15, 650: 0.8}
PRODUCT_GOALS = {100: 1.3, 200: 1.2, 650: 1.08}
GPU_TRAIN_GOALS = {200: 1.0, 650: 1.0}

STEPS = {"train_ms": "training step", "eval_ms": "evaluation pass"}


def entries(settings: Settings) -> list[Entry]:
    """The contestants."""
    works = {
        OURS: "language_model",
        PYTORCH: "torch_language_model",
        PRODUCTS: "products",
    }
    return [Entry(name, work, {"H": H}) for H in settings.sizes for name, work in works.items()]


def goals(result: Result) -> list[Goal]:
    """The goals, which differ between CPU and GPU.

    Returns
    -------
    list of Goal
        Those whose size and contestants were measured.
    """
    found = []
    on_cpu = result.options["backend"] == "numpy"
    for (H,) in places(result.records, "H"):
        for name, wanted in (
            ("train_ms", TRAIN_GOALS if on_cpu else GPU_TRAIN_GOALS),
            ("eval_ms", EVAL_GOALS if on_cpu else {}),
        ):
            reached = speed(result, H, name)
            if H in wanted and reached:
                what = f"{STEPS[name]} at H = {H}, times as fast as PyTorch"
                found.append(Goal(what, "at least", wanted[H], reached))
        above = over_products(result, H, "train_ms")
        if on_cpu and H in PRODUCT_GOALS and above:
            what = f"training step at H = {H}, times its bare matrix products"
            found.append(Goal(what, "at most", PRODUCT_GOALS[H], above))
        memory = _ratio(result, OURS, PYTORCH, H, "memory_mb")
        if memory and H in TRAIN_GOALS:
            what = f"memory of training at H = {H}, times PyTorch's"
            found.append(Goal(what, "at most", 1.0, memory))
    return found


def speed(result: Result, H: int, name: str) -> Ratio | None:
    """How many times as fast as PyTorch: its time over ours."""
    return _ratio(result, PYTORCH, OURS, H, name)


def over_products(result: Result, H: int, name: str) -> Ratio | None:
    """How many times the bare products: our time over theirs."""
    return _ratio(result, OURS, PRODUCTS, H, name)


def tables(result: Result) -> list[Table]:
    """Training, evaluation, memory, and the goals."""
    found = [_times(result, name) for name in STEPS]
    rows = []
    for (H,) in places(result.records, "H"):
        ours, theirs = (find(result.records, name, {"H": H}) for name in (OURS, PYTORCH))
        rows.append(
            [str(H), *(number(one.median("memory_mb") if one else None) for one in (ours, theirs))]
        )
    title = "Peak memory of training, grown since import (MB)"
    found.append(Table(title, [">H", ">deepnlp", ">PyTorch"], rows))
    aimed = goals(result)
    if aimed:
        found.append(goal_table(aimed))
    return found


def goal_table(aimed: list[Goal]) -> Table:
    """Goals beside what was reached."""
    rows = [[goal.what, str(goal.reached), goal.verdict()] for goal in aimed]
    return Table("Goals", ["what", ">reached (rounds)", "goal"], rows)


def _times(result: Result, name: str) -> Table:
    """Times and tokens per second of one of the two steps."""
    tokens = result.options["shape"]["N"] * result.options["shape"]["T"]
    rows = []
    for (H,) in places(result.records, "H"):
        records = [find(result.records, who, {"H": H}) for who in (OURS, PYTORCH, PRODUCTS)]
        times = [one.median(name) if one else None for one in records]
        speeds = [1000 * tokens / ms if ms else None for ms in times[:2]]
        rows.append(
            [
                str(H),
                *map(number, times),
                *map(number, speeds),
                str(speed(result, H, name) or "-"),
                str(over_products(result, H, name) or "-"),
            ]
        )
    headings = [
        ">H", ">deepnlp ms", ">PyTorch ms", ">products ms", ">deepnlp tokens/s",
        ">PyTorch tokens/s", ">times as fast as PyTorch", ">times the products",
    ]  # fmt: skip
    return Table(STEPS[name].capitalize(), headings, rows)


def _ratio(result: Result, above: str, below: str, H: int, name: str) -> Ratio | None:
    one, other = (find(result.records, who, {"H": H}) for who in (above, below))
    return ratio(one, other, name) if one and other else None
