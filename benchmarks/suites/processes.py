r"""``processes``: a training step in several processes, measured with few and drawn for many.

The model of a step, with P processes of n weights each:

    t = c + u + 4 log2(P) a + 2 n (P - 1) / P b

c is the computation of the rows that a process has and u clipping and update, both measured by the
time of the processor. a is the latency of a message: a sum takes 2 log2(P) of them one after the
other, and what is told before and after it as many. b is the time of a number on its way, with its
addition. Both are fitted to sums of arrays by 2 and 4 processes.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from benchmarks.harness import Entry
from benchmarks.records import Record
from benchmarks.report import Table, number
from benchmarks.results import Result
from benchmarks.settings import Settings
from benchmarks.suites.lm import OURS

COUNTS = (1, 2, 4)
DRAWN = tuple(1 << k for k in range(11))
SLICES = 4
SHAPES = ({"V": 10_000, "N": 40, "T": 35, "H": 200}, {"V": 10_000, "N": 40, "T": 35, "H": 650})
QUICK_SHAPES = ({"V": 50, "N": 4, "T": 3, "H": 4},)


class Network(NamedTuple):
    """The cost of a message: seconds for it, and for each number of float32 in it."""

    latency: float
    number: float


NETWORKS = {
    "Ethernet, 10 Gbit/s": Network(30e-6, 4 / 1.25e9),
    "InfiniBand, 100 Gbit/s": Network(2e-6, 4 / 12.5e9),
}
"""Assumed, from what such networks are sold with; a program reaches somewhat less."""


def entries(settings: Settings) -> list[Entry]:
    """Steps of two sizes, and sums of arrays alone, by 1, 2 and 4 processes."""
    counts = (1, 2) if settings.quick else COUNTS
    shapes = QUICK_SHAPES if settings.quick else SHAPES
    told = {"slices": SLICES, "quick": settings.quick}
    steps = [
        Entry(OURS, "processes", shape | {"P": P}, told, steps=3)
        for shape in shapes
        for P in counts
    ]
    none = dict.fromkeys("VNTH", 0)
    sums = [Entry(OURS, "processes", {"P": P}, told | none, steps=1) for P in counts if P > 1]
    return steps + sums


def steps_of(result: Result) -> list[Record]:
    """The records of training steps."""
    return [record for record in result.records if record.row == "step"]


def least(record: Record, name: str) -> float:
    """The least of all rounds, in seconds: what others took of a busy machine is not counted."""
    return min(record.rounds[name]) / 1000


def fitted(result: Result) -> tuple[Network, float]:
    """Latency and time of a number of this machine, and the largest error of the fit, as a share.

    Least squares of relative errors, over the sums of all sizes and numbers of processes.
    """
    sums = [r for r in result.records if r.row not in ("step", "0")]
    terms = [_messages(r.at["P"], int(r.row)) for r in sums]
    times = np.array([least(r, "sum_ms") for r in sums])
    A = np.array(terms) / times[:, None]
    a, b = np.linalg.lstsq(A, np.ones(len(times)), rcond=None)[0]
    network = Network(max(float(a), 0.0), max(float(b), 0.0))
    errors = [abs(_exchange(network, r.at["P"], int(r.row)) / t - 1) for r, t in zip(sums, times)]
    return network, max(errors, default=0.0)


def _messages(P: int, n: float) -> tuple[float, float]:
    """How many messages follow one another in a sum, and how many numbers a process sends."""
    return 2 * math.log2(P), 2 * n * (P - 1) / P


def _exchange(network: Network, P: int, n: float) -> float:
    """Seconds of a sum of n numbers over P processes."""
    messages, numbers = _messages(P, n)
    return messages * network.latency + numbers * network.number


def predicted(compute: float, update: float, n: float, P: int, network: Network) -> float:
    """Seconds of a step in which each of P processes computes so long; two headers are exchanged.

    Examples
    --------
    >>> round(predicted(0.1, 0.02, 1e6, 1, Network(1e-6, 1e-9)), 6)
    0.12
    >>> round(predicted(0.1, 0.02, 1e6, 4, Network(1e-6, 1e-9)), 6)    # 1.5e6 numbers, 8 messages
    0.121508
    """
    headers = 2 * math.log2(P) * network.latency
    return compute + update + _exchange(network, P, n) + headers


def of_one(result: Result, H: int) -> Record:
    """The record of one process at a size."""
    return next(r for r in steps_of(result) if r.at["H"] == H and r.at["P"] == 1)


def sizes(result: Result) -> list[int]:
    """H of the models that were measured."""
    return sorted({r.at["H"] for r in steps_of(result)})


def networks(result: Result) -> dict[str, Network]:
    """This machine, as it was fitted, and the networks that are assumed."""
    return {"this machine's memory": fitted(result)[0], **NETWORKS}


def efficiency(result: Result, H: int, P: int, network: Network) -> float:
    """With as many rows for each process however many there are: the share of time not lost.

    A process has the rows of one slice, N / 4.
    """
    one = of_one(result, H)
    c, u = least(one, "computed_ms") / SLICES, least(one, "updated_ms")
    return (c + u) / predicted(c, u, one.rounds["numbers"][0], P, network)


def speedup(result: Result, H: int, P: int, network: Network, rows: int = 1024) -> float:
    """With a batch of so many rows however many processes share it: how much quicker a step is."""
    one = of_one(result, H)
    c, u = least(one, "computed_ms") * rows / one.at["N"], least(one, "updated_ms")
    return (c + u) / predicted(c / P, u, one.rounds["numbers"][0], P, network)


def tables(result: Result) -> list[Table]:
    """Return the measurements beside the model, and the model's numbers for many processes."""
    network, error = fitted(result)
    rows = []
    for record in steps_of(result):
        one, P = of_one(result, record.at["H"]), record.at["P"]
        parts = [least(record, f"{name}_ms") for name in ("computed", "exchanged", "updated")]
        n = record.rounds["numbers"][0]
        c, u = least(one, "computed_ms") / P, least(one, "updated_ms")
        model = predicted(c, u, n, P, network)
        told = [1000 * x for x in (*parts, sum(parts), model)]
        share = sum(parts) / (least(one, "computed_ms") + least(one, "updated_ms"))
        figures = [f"{record.at['H']}", f"{P}", f"{n / 1e6:.2f}", *map(number, told)]
        rows.append([*figures, f"{share:.2f}"])
    headings = [
        ">H", ">processes", ">weights, millions", ">computation ms", ">exchange ms", ">update ms",
        ">together", ">model", ">of one process",
    ]  # fmt: skip
    measured = Table("A training step, the least of each part", headings, rows)
    a, b = network
    fit = [[f"{1e6 * a:.1f}", f"{4 / b / 1e9 if b else math.inf:.2f}", f"{100 * error:.0f}%"]]
    heads = [">latency, µs", ">bandwidth, GB/s", ">largest error of a sum"]
    return [measured, Table("Fitted to the sums", heads, fit), _of_many(result)]


def _of_many(result: Result) -> Table:
    rows: list[list[Any]] = []
    for name, network in networks(result).items():
        for H in sizes(result):
            cells = [f"{efficiency(result, H, P, network):.2f}" for P in (4, 32, 256, 1024)]
            cells += [f"{speedup(result, H, P, network):.0f}" for P in (4, 32, 256, 1024)]
            rows.append([name, str(H), *cells])
    counts = [f">{P}" for P in (4, 32, 256, 1024)]
    title = "The model: efficiency where each process has N / 4 rows, then speed-up of 1,024 rows"
    return Table(title, ["network", ">H", *counts, *counts], rows)
