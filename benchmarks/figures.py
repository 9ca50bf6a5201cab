"""The figures of the page on speed, each from the result of one suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from benchmarks.contestants.techniques import KERNELS
from benchmarks.records import find, places
from benchmarks.results import Result
from benchmarks.suites import bottleneck, processes, profile, scaling, techniques
from benchmarks.suites.lm import OURS, PRODUCTS, PYTORCH
from deepnlp.plots import bars, curves
from deepnlp.plots.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    plain,
)

COLOURS = {
    "embedding": SKY,
    "dropout": ORANGE,
    "LSTM": BLUE,
    "output and loss": VERMILLION,
    "clip": PURPLE,
    "update": GREEN,
    "rest": "#BBBBBB",
}
SIZE_STYLES = [(BLUE, "", "o"), (SKY, "///", "s"), (VERMILLION, "", "D"), (ORANGE, "...", "^")]


def speed_figure(result: Result) -> Figure:
    """Training speed of every contestant, in bars.

    Parameters
    ----------
    result : Result
        Of the suite ``lm``.
    """
    tokens = result.options["shape"]["N"] * result.options["shape"]["T"]
    names = {OURS: OURS, PYTORCH: PYTORCH, PRODUCTS: "bare matrix products"}
    values = {
        f"H = {H}": {
            name: tokens / record.median("train_ms")
            for who, name in names.items()
            if (record := find(result.records, who, {"H": H}))
        }
        for (H,) in places(result.records, "H")
    }
    return bars(
        values,
        title="Training the language model",
        ylabel="thousand tokens per second",
        number=".1f",
    )


def profile_figure(result: Result) -> Figure:
    """Shares of a training step, with the bare products below each.

    Parameters
    ----------
    result : Result
        Of the suite ``profile``.
    """
    sizes = [H for (H,) in places(result.records, "H")]
    height = 1.35 + 0.85 * len(sizes)
    figure = Figure(figsize=(7.0, height), dpi=150)
    axes = figure.add_axes((0.115, 0.5 / height, 0.855, (height - 1.35) / height))
    for place, H in enumerate(sizes):
        step = find(result.records, OURS, {"H": H})
        if step is None:
            continue
        whole = step.median("ms")
        parts = {one.row: profile.total_ms(one) for one in profile.parts(result, H)}
        products = {part: profile.products_ms(result, part, H) or 0.0 for part in parts}
        _stack(axes, place - 0.16, 0.42, parts, whole, hatch="")
        _stack(axes, place + 0.22, 0.24, products, whole, hatch="////")
        axes.text(
            100.8, place - 0.40, f"{whole:,.1f} ms", fontsize=8.5, color=GREY, ha="right",
            va="bottom",
        )  # fmt: skip
    axes.set_yticks(range(len(sizes)), [f"H = {H}" for H in sizes], fontsize=9.5)
    axes.tick_params(axis="y", length=0)
    axes.set_xlim(0, 102)
    axes.set_ylim(len(sizes) - 0.5, -0.62)
    axes.set_xlabel("% of the training step")
    plain(axes)
    axes.grid(visible=False, axis="y")
    handles = [Patch(color=colour, label=part) for part, colour in COLOURS.items()]
    handles.append(Patch(facecolor="white", edgecolor=GREY, hatch="////", label="bare products"))
    _legend(figure, handles, height, columns=4)
    _headline(figure, "Where the time of a training step goes", height)
    return figure


def roofline_figure(result: Result) -> Figure:
    """Every part of a step under the machine's limits.

    Parameters
    ----------
    result : Result
        Of the suite ``profile``.
    """
    flops, bandwidth = profile.peak(result)
    sizes = [H for (H,) in places(result.records, "H")]
    height = 4.9
    figure = Figure(figsize=(7.0, height), dpi=150)
    axes = figure.add_axes((0.115, 0.105, 0.855, 0.725))
    points = {H: profile.limits(result, H) for H in sizes}
    every = [one.cost.flops / one.cost.bytes for found in points.values() for one in found]
    x = np.geomspace(min(every) / 2, max([*every, flops / bandwidth]) * 3, 200)
    axes.plot(x, np.minimum(flops, x * bandwidth) / 1e9, color=BLACK, lw=1.6)
    for (H, found), (_, _, marker) in zip(points.items(), SIZE_STYLES, strict=False):
        for one in found:
            axes.plot(
                one.cost.flops / one.cost.bytes,
                one.cost.flops / one.ms / 1e6,
                marker,
                color=COLOURS[one.part],
                markersize=6,
                label=f"H = {H}",
            )
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel("operations a byte that must move")
    axes.set_ylabel("GFLOP/s")
    plain(axes)
    knee = flops / bandwidth
    axes.annotate(
        f"large product: {flops / 1e9:,.0f} GFLOP/s", (x[-1], flops / 1e9), (-4, 4),
        textcoords="offset points", fontsize=9, ha="right", color=BLACK,
    )  # fmt: skip
    low = (x[0] * knee) ** 0.5
    axes.annotate(
        f"large copy: {bandwidth / 1e9:,.0f} GB/s", (low, low * bandwidth / 1e9), (-6, 6),
        textcoords="offset points", fontsize=9, ha="right", color=BLACK,
    )  # fmt: skip
    parts = dict.fromkeys(one.part for found in points.values() for one in found)
    handles: list[Any] = [Patch(color=COLOURS[part], label=part) for part in parts]
    for H, (_, _, marker) in zip(sizes, SIZE_STYLES, strict=False):
        (handle,) = axes.plot([], [], marker, color=GREY, label=f"H = {H}")
        handles.append(handle)
    _legend(figure, handles, height, columns=5)
    _headline(figure, "The roofline of a training step", height)
    return figure


def techniques_figure(result: Result) -> Figure:
    """The effect of each technique: time saved in a step, and speed alone.

    Parameters
    ----------
    result : Result
        Of the suite ``techniques``.
    """
    sizes = [H for (H,) in places(result.records, "H")]
    names = list(dict.fromkeys(record.row for record in result.records))
    of_kernels = [name for name in names if name.startswith(KERNELS)]
    alone = [name for name in names if name not in of_kernels]

    def values(rows: Sequence[str], saved: bool) -> dict[str, list[float]]:
        found = {}
        for name in rows:
            records = [find(result.records, OURS, {"H": H}, name) for H in sizes]
            found[name.removeprefix(KERNELS)] = [
                techniques.gain(one) - saved for one in records if one
            ]
        return found

    row, low = 0.5, 0.5  # inches: of a group of bars, and of what stands below an axis
    middle = 0.65 if alone else 0.0
    height = 0.85 + row * len(names) + low + middle
    figure = Figure(figsize=(7.0, height), dpi=150)

    def axes_at(bottom: float, rows: int) -> Axes:
        return figure.add_axes((0.42, bottom / height, 0.54, row * rows / height))

    upper = axes_at(low + middle + row * len(alone), len(of_kernels))
    _lying_bars(upper, values(of_kernels, saved=True), "{:+.1%}")
    upper.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    upper.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:+.0%}"))
    upper.set_xlabel("longer step with these kernels in their plain form")
    if alone:
        lower = axes_at(low, len(alone))
        _lying_bars(lower, values(alone, saved=False), "{:.2f}", start=1.0)
        _log_ticks(lower.xaxis, [1.0, 1.5, 2.0, 3.0, 5.0, 7.0])
        lower.set_xlabel("times as fast, the technique alone")
    handles = [
        Patch(facecolor=colour, edgecolor="white", hatch=hatch, label=f"H = {H}")
        for H, (colour, hatch, _) in zip(sizes, SIZE_STYLES, strict=False)
    ]
    _legend(figure, handles, height, columns=4)
    _headline(figure, "What each technique buys", height)
    return figure


def bottleneck_figure(result: Result) -> Figure:
    """Time and operations of the softmax against the size of the embedding.

    Parameters
    ----------
    result : Result
        Of the suite ``bottleneck``.
    """
    lines: dict[str, tuple[list[float], list[float]]] = {}
    for V, n in bottleneck.places(result):
        by_size = bottleneck.shares(result, V, n)
        sizes = [float(m) for m in by_size]
        whole = bottleneck.multiplications(V, n, None)
        counted = [bottleneck.multiplications(V, n, m) / whole for m in by_size]
        lines[f"time, V = {V:,}"] = (sizes, list(by_size.values()))
        lines[f"operations, V = {V:,}"] = (sizes, counted)
    return curves(
        lines,
        title=f"The softmax costs less behind a small m (n = {n})",
        xlabel="m, size of the embedding",
        ylabel="share of the cost without L",
    )


def scaling_figure(result: Result) -> Figure:
    """Time of a training step along T, N, H and V.

    Parameters
    ----------
    result : Result
        Of the suite ``scaling``.
    """
    names = {"T": "steps T", "N": "batch N", "H": "hidden size H", "V": "vocabulary V"}
    lines = {OURS: (BLUE, "-", "o"), PYTORCH: (VERMILLION, "--", "s")}
    height = 5.4
    figure = Figure(figsize=(7.0, height), dpi=150)
    for k, (letter, name) in enumerate(names.items()):
        records = {who: scaling.series(result, letter, who) for who in lines}
        axes = figure.add_axes((0.11 + 0.475 * (k % 2), 0.545 - 0.445 * (k // 2), 0.395, 0.335))
        for who, (colour, dash, marker) in lines.items():
            if not records[who]:
                continue
            axes.plot(
                [one.at[letter] for one in records[who]],
                [one.median("train_ms") for one in records[who]],
                color=colour, ls=dash, marker=marker, markersize=5, lw=1.8, label=who,
            )  # fmt: skip
        _log_axes(axes, [one.at[letter] for one in records[OURS]])
        axes.set_xlabel(name)
        plain(axes)
        if k % 2 == 0:
            axes.set_ylabel("ms per step")
        if k == 0:
            handles = axes.get_legend_handles_labels()[0]
            _legend(figure, handles, height, columns=2)
    _headline(figure, "A training step as one size grows", height)
    return figure


def processes_figure(result: Result) -> Figure:
    """How much quicker a step is with more processes: a larger batch, and the same batch.

    Parameters
    ----------
    result : Result
        Of the suite ``processes``.
    """
    height = 4.4
    figure = Figure(figsize=(7.0, height), dpi=150)
    styles = zip(processes.networks(result).items(), [(GREY, "o"), (ORANGE, "s"), (BLUE, "^")])
    drawn = {
        "rows as processes": lambda H, P, net: P * processes.efficiency(result, H, P, net),
        "1,024 rows": lambda H, P, net: processes.speedup(result, H, P, net),
    }
    every, sizes, lines = processes.DRAWN, processes.sizes(result), [*styles]
    for k, (title, gain) in enumerate(drawn.items()):
        axes = figure.add_axes((0.11 + 0.475 * k, 0.13, 0.395, 0.54))
        axes.plot(every, every, color="#BBBBBB", lw=1, label="P times as quick")
        for (name, network), (colour, marker) in lines:
            for H, dash in zip(sizes, ("--", "-")):
                axes.plot(
                    every, [gain(H, P, network) for P in every], color=colour, ls=dash,
                    marker=marker, markersize=4, lw=1.5, label=f"{name}, H = {H}",
                )  # fmt: skip
        _log_axes(axes, [1, 4, 32, 256, 1024])
        axes.set_xlabel(f"processes P, {title}")
        plain(axes)
        if k == 0:
            axes.set_ylabel("times as quick")
            _legend(figure, axes.get_legend_handles_labels()[0], height, columns=2)
    _headline(figure, "A training step in many processes, by the model", height)
    return figure


def _stack(
    axes: Axes, y: float, thickness: float, values: Mapping[str, float], whole: float, hatch: str
) -> None:
    """One stacked bar, in percent of the whole."""
    left = 0.0
    for part, ms in values.items():
        share = 100 * ms / whole
        axes.barh(
            y, share, thickness, left=left, color=COLOURS.get(part, GREY), hatch=hatch,
            edgecolor="white", linewidth=0.5,
        )  # fmt: skip
        if share >= 6:
            axes.text(
                left + share / 2, y, f"{share:.0f} %", ha="center", va="center", fontsize=8,
                color=BLACK, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
            )  # fmt: skip
        left += share


def _lying_bars(
    axes: Axes, values: Mapping[str, Sequence[float]], form: str, start: float = 0.0
) -> None:
    """Groups of horizontal bars from a start, each with its number."""
    if start:
        axes.set_xscale("log")  # of ratios
    for place, group in enumerate(values.values()):
        thickness = 0.8 / len(group)
        for k, (value, (colour, hatch, _)) in enumerate(zip(group, SIZE_STYLES, strict=False)):
            y = place - 0.4 + (k + 0.5) * thickness
            axes.barh(
                y, value - start, 0.92 * thickness, left=start, color=colour, hatch=hatch,
                edgecolor="white", linewidth=0.5,
            )  # fmt: skip
            axes.annotate(
                form.format(value), (max(value, start), y), (3, 0), textcoords="offset points",
                va="center", fontsize=7.5,
            )  # fmt: skip
    axes.axvline(start, color=GREY, lw=0.8)
    axes.set_yticks(range(len(values)), [_in_lines(name) for name in values], fontsize=8.5)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(values) - 0.5, -0.5)
    axes.margins(x=0.14)
    plain(axes)
    axes.grid(visible=False, axis="y")


def _in_lines(name: str) -> str:
    """A long name on two lines, cut at its comma."""
    return name.replace(", ", ",\n", 1) if len(name) > 30 else name


def _log_axes(axes: Axes, xs: Sequence[float]) -> None:
    """Logarithmic axes, with a tick at every x."""
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.xaxis.set_major_locator(FixedLocator(list(xs)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    _log_ticks(axes.yaxis, [1.0, 2.0, 5.0])


def _log_ticks(axis: Axis, leading: list[float]) -> None:
    """Plain numbers along a logarithmic axis, at powers of ten times these."""
    axis.set_major_locator(LogLocator(subs=leading, numticks=9))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))


def _legend(figure: Figure, handles: Sequence[Any], height: float, columns: int) -> None:
    figure.legend(
        handles=handles, loc="upper left", bbox_to_anchor=(0.015, 1 - 0.34 / height),
        ncols=columns, frameon=False, fontsize=9, borderaxespad=0,
    )  # fmt: skip


def _headline(figure: Figure, text: str, height: float) -> None:
    figure.text(0.02, 1 - 0.1 / height, text, fontsize=10.5, weight="bold", va="top")


FIGURES = {
    "lm": {"speed": speed_figure},
    "profile": {"profile": profile_figure, "roofline": roofline_figure},
    "techniques": {"techniques": techniques_figure},
    "bottleneck": {"bottleneck": bottleneck_figure},
    "scaling": {"scaling": scaling_figure},
    "processes": {"processes": processes_figure},
}
"""By suite: what is drawn of its result, by the end of the file's name."""
