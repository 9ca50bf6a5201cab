"""``profile``: where the time of a training step goes, its bare products, and the roofline."""

from __future__ import annotations

from typing import NamedTuple

from benchmarks.harness import Entry
from benchmarks.records import Record, find, places
from benchmarks.report import Table, number
from benchmarks.results import Result
from benchmarks.settings import Settings
from benchmarks.suites.lm import OURS, PRODUCTS

PEAK = "peak"
LAYERS = 2
PRODUCTS_IN = {"LSTM": LAYERS, "output and loss": 1}
"""The number of times a step has the bare products of a part."""


def entries(settings: Settings) -> list[Entry]:
    """The profile and the bare products at each size, and the machine's best."""
    n, megabytes = (2048, 256) if settings.backend == "numpy" else (8192, 2048)
    if settings.quick:
        n, megabytes = 16, 1
    found = [
        Entry(name, work, {"H": H}, steps=20)
        for H in settings.sizes
        for name, work in ((OURS, "profile"), (PRODUCTS, "products"))
    ]
    return [*found, Entry(PEAK, "peak", {}, {"n": n, "copy_mb": megabytes})]


class Cost(NamedTuple):
    """The least work of a part of a step, forward and backward together.

    Parameters
    ----------
    flops : float
        Floating-point operations.
    bytes : float
        Bytes of float32 that are read or written, each array once.
    """

    flops: float
    bytes: float


def costs(V: int, N: int, T: int, H: int) -> dict[str, Cost]:
    """Operations and bytes of each part of a training step.

    An array that a part takes, gives or must keep from its forward to its backward counts once
    each way; what could stay in a cache counts nothing.

    Examples
    --------
    >>> costs(V=10, N=1, T=1, H=2)["LSTM"].flops        # 2 layers, 48 N T H^2 each
    384
    """
    n = N * T
    weights = V * H + V + LAYERS * (8 * H * H + 4 * H)
    lstm_forward = n * 7 * H + 8 * H * H  # x; h, c, four gates, and Wx, Wh
    lstm_backward = n * 9 * H + 16 * H * H  # dh, x, h, c, gates, dx, and the weights and gradients
    output_forward = n * H + V * H + n * V
    output_backward = n * V + 2 * n * H + 2 * V * H
    return {
        "embedding": Cost(n * H, 4 * 5 * n * H),
        "dropout": Cost(6 * n * H, 4 * 3 * 4 * n * H),
        "LSTM": Cost(LAYERS * 48 * n * H * H, 4 * LAYERS * (lstm_forward + lstm_backward)),
        "output and loss": Cost(6 * n * H * V, 4 * (output_forward + output_backward)),
        "clip": Cost(2 * weights, 4 * weights),
        "update": Cost(2 * weights, 4 * 3 * weights),
    }


class Limit(NamedTuple):
    """Where a part stands under the roofline.

    Parameters
    ----------
    part : str
    ms : float
        Its time.
    cost : Cost
    least_ms : float
        What the machine's best would need: for the operations or for the bytes, whichever takes
        longer.
    """

    part: str
    ms: float
    cost: Cost
    least_ms: float


def total_ms(record: Record) -> float:
    """Forward, backward and whatever else a part takes."""
    return sum(record.median(name) for name in record.rounds)


def parts(result: Result, H: int) -> list[Record]:
    """The parts of the profile at a size, the whole step left out."""
    return [
        record
        for record in result.records
        if record.contestant == OURS and record.at["H"] == H and record.row != "step"
    ]


def peak(result: Result) -> tuple[float, float]:
    """The machine's best: operations and bytes per second."""
    record = next(one for one in result.records if one.contestant == PEAK)
    return 1e9 * record.median("gflops"), 1e9 * record.median("gbytes")


def limits(result: Result, H: int) -> list[Limit]:
    """Every part under the roofline."""
    flops, bandwidth = peak(result)
    by_part = costs(**result.options["shape"], H=H)
    found = []
    for record in parts(result, H):
        if record.row in by_part:
            cost = by_part[record.row]
            least = 1000 * max(cost.flops / flops, cost.bytes / bandwidth)
            found.append(Limit(record.row, total_ms(record), cost, least))
    return found


def tables(result: Result) -> list[Table]:
    """The profile, and the roofline."""
    return [_profile(result), _roofline(result)]


def _profile(result: Result) -> Table:
    rows = []
    for (H,) in places(result.records, "H"):
        step = find(result.records, OURS, {"H": H})
        whole = total_ms(step) if step else 0.0
        for record in parts(result, H):
            forward, backward = (
                record.median(name) if name in record.rounds else None
                for name in ("forward_ms", "backward_ms")
            )
            total = total_ms(record)
            products = products_ms(result, record.row, H)
            cells = [number(one) for one in (forward, backward, total)]
            rows.append([str(H), record.row, *cells, f"{total / whole:.0%}", number(products)])
        all_products = find(result.records, PRODUCTS, {"H": H})
        of_step = all_products.median("train_ms") if all_products else None
        rows.append([str(H), "whole step", "", "", number(whole), "100%", number(of_step)])
    headings = [
        ">H", "part", ">forward ms", ">backward ms", ">both ms", ">share", ">bare products ms",
    ]  # fmt: skip
    return Table("Where the time of a training step goes", headings, rows)


def products_ms(result: Result, part: str, H: int) -> float | None:
    """Time of the bare products in a part, None where it has none."""
    if part not in PRODUCTS_IN:
        return None
    record = find(result.records, PRODUCTS, {"H": H}, part.split(" ")[0])
    return PRODUCTS_IN[part] * total_ms(record) if record else None


def _roofline(result: Result) -> Table:
    flops, bandwidth = peak(result)
    rows = []
    for (H,) in places(result.records, "H"):
        for one in limits(result, H):
            rate = one.cost.flops / one.ms / 1e6
            rows.append(
                [
                    str(H),
                    one.part,
                    number(one.cost.flops / 1e9),
                    number(one.cost.bytes / 1e6),
                    number(rate),
                    f"{1e9 * rate / flops:.0%}",
                    number(one.ms),
                    number(one.least_ms),
                    f"{one.least_ms / one.ms:.0%}",
                ]
            )
    title = (
        f"The roofline: at best {number(flops / 1e9)} GFLOP/s (a large product) and "
        f"{number(bandwidth / 1e9)} GB/s (a large copy)"
    )
    headings = [
        ">H", "part", ">GFLOP", ">MB", ">GFLOP/s", ">of the peak", ">ms", ">least ms",
        ">least / ms",
    ]  # fmt: skip
    return Table(title, headings, rows)
