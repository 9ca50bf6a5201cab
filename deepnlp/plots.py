"""Figures, drawn without a display and without touching pyplot.

Every function returns a ``matplotlib.figure.Figure`` that the caller owns: it can be shown in a
notebook, changed, or saved. Colours are those of Okabe and Ito (2008), which readers with any
colour vision tell apart; lines differ in style and marker as well, for print without colour.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from os import PathLike
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

BLUE, VERMILLION, GREY = "#0072B2", "#D55E00", "#5A5A5A"
BASELINE_DASHES = [(0, (6, 2)), (0, (4, 2, 1, 2)), (0, (1, 1.5)), (0, (8, 2, 1, 2, 1, 2))]
WIDE_RANGE = 4.0  # highest perplexity over lowest, from which on the axis is logarithmic
MOST_MARKERS = 15  # on more epochs than this, markers would hide the line
MOST_MARKED_RATES = 6  # a schedule that moves more often than this is told in words
LABEL_HEIGHT = 0.055  # of a label in the margin, as a part of the height of the axes


class _Line(NamedTuple):
    """A curve or a baseline: the label in the margin stands as near as it can to where it ends."""

    name: str
    end: float
    colour: str


def learning_curve(
    history: Sequence[Mapping[str, Any]],
    baselines: Mapping[str, float] | None = None,
    path: str | PathLike[str] | None = None,
) -> Figure:
    """Draw perplexity by epoch beside the baselines to beat.

    The curves and the baselines are labelled in the right margin, each with its last value. A
    ring marks the epoch with the best validation; thin vertical lines mark where the learning
    rate changed. The axis of perplexity is logarithmic where it spans more than a factor of 4.

    Parameters
    ----------
    history : sequence of dict
        One row an epoch, with ``"epoch"`` and ``"train_perplexity"``, ``"valid_perplexity"`` and
        ``"lr"`` where there is one. A value that is missing, None or not finite leaves a gap.
    baselines : dict of str to float, optional
        Validation perplexities of models to compare with, such as ``{"trigram": 71.0}``.
    path : str or path, optional
        Where to save the figure; the suffix chooses the format (``.png``, ``.pdf``, ``.svg``).

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        If no row of ``history`` holds a finite perplexity.

    Examples
    --------
    >>> history = [
    ...     {"epoch": 1, "train_perplexity": 190.0, "valid_perplexity": 98.0, "lr": 0.01},
    ...     {"epoch": 2, "train_perplexity": 92.0, "valid_perplexity": 69.5, "lr": 0.01},
    ... ]
    >>> figure = learning_curve(history, {"bigram": 95.0, "trigram": 71.0})
    >>> figure.axes[0].get_title(loc="left")
    "Validation perplexity 69.5 after 2 epochs, below the trigram's 71.0"
    """
    curves = {
        "training": _points(history, "train_perplexity"),
        "validation": _points(history, "valid_perplexity"),
    }
    curves = {name: points for name, points in curves.items() if points}
    if not curves:
        raise ValueError(
            "a learning curve needs a finite train_perplexity or valid_perplexity in at least one "
            f"row; got {len(history)} rows without any"
        )
    levels = {
        name: float(value) for name, value in (baselines or {}).items() if math.isfinite(value)
    }

    figure = Figure(figsize=(8.0, 4.6), dpi=150)
    axes = figure.add_axes((0.085, 0.125, 0.70, 0.735))
    lines = _draw_curves(axes, curves) + _draw_baselines(axes, levels)
    _scale(axes, [row["epoch"] for row in history], curves, levels)
    _mark_learning_rates(axes, history)
    _label_in_margin(axes, lines)
    axes.set_title(_message(curves, levels), loc="left", fontsize=10, pad=18)
    axes.set_xlabel("epoch")
    axes.set_ylabel("perplexity" + (" (log scale)" if axes.get_yscale() == "log" else ""))
    axes.spines[["top", "right"]].set_visible(False)
    if path is not None:
        figure.savefig(path)
    return figure


def spread(positions: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move positions apart until neighbours stand at least ``gap`` from each other.

    Neighbours that would overlap are gathered into a block, which is centred on the mean of its
    members and kept between ``low`` and ``high``; blocks that come to touch are joined in turn.

    Parameters
    ----------
    positions : sequence of float
        Where each label would like to be, in any order.
    gap : float
        The least distance between two labels.
    low, high : float
        The range to stay in; where it is too small for all, labels run over ``high``.

    Returns
    -------
    list of float
        The new position of each label, in the order given.

    Examples
    --------
    >>> spread([0.5, 0.5, 0.0], gap=0.25, low=0.0, high=1.0)
    [0.375, 0.625, 0.0]
    """
    order = sorted(range(len(positions)), key=lambda i: positions[i])
    blocks: list[tuple[float, list[int]]] = []  # the lowest position of a block, and its members
    for i in order:
        members = [i]
        start = _block_start(positions, members, gap, low, high)
        while blocks and start < blocks[-1][0] + gap * len(blocks[-1][1]):
            members = blocks.pop()[1] + members
            start = _block_start(positions, members, gap, low, high)
        blocks.append((start, members))
    placed = [0.0] * len(positions)
    for start, members in blocks:
        for rank, i in enumerate(members):
            placed[i] = start + rank * gap
    return placed


def _block_start(
    positions: Sequence[float], members: list[int], gap: float, low: float, high: float
) -> float:
    length = gap * (len(members) - 1)
    centre = sum(positions[i] for i in members) / len(members)
    return max(low, min(centre - length / 2, high - length))


def _points(history: Sequence[Mapping[str, Any]], key: str) -> list[tuple[float, float]]:
    """The (epoch, value) pairs whose value can be drawn."""
    return [
        (row["epoch"], float(row[key]))
        for row in history
        if row.get(key) is not None and math.isfinite(row[key])
    ]


def _draw_curves(axes: Axes, curves: Mapping[str, list[tuple[float, float]]]) -> list[_Line]:
    styles: dict[str, dict[str, Any]] = {
        "training": {"color": VERMILLION, "linestyle": "--", "marker": "s", "linewidth": 1.2},
        "validation": {"color": BLUE, "linestyle": "-", "marker": "o", "linewidth": 2.0},
    }
    lines = []
    for name, points in curves.items():
        epochs, values = zip(*points, strict=True)
        size = 4.5 if len(points) <= MOST_MARKERS else 0.0
        axes.plot(epochs, values, markersize=size, label=name, zorder=3, **styles[name])
        lines.append(_Line(name, values[-1], styles[name]["color"]))
    if "validation" in curves:
        best = min(curves["validation"], key=lambda point: point[1])
        axes.plot(
            *best,
            marker="o",
            markersize=11,
            markerfacecolor="none",
            markeredgecolor=BLUE,
            markeredgewidth=1.3,
            zorder=4,
            clip_on=False,
        )
    return lines


def _draw_baselines(axes: Axes, levels: Mapping[str, float]) -> list[_Line]:
    for rank, value in enumerate(levels.values()):
        dashes: Any = BASELINE_DASHES[rank % len(BASELINE_DASHES)]
        axes.axhline(value, color=GREY, linewidth=1.1, linestyle=dashes, zorder=2)
    return [_Line(name, value, GREY) for name, value in levels.items()]


def _scale(
    axes: Axes,
    epochs: list[float],
    curves: Mapping[str, list[tuple[float, float]]],
    levels: Mapping[str, float],
) -> None:
    """Fix both ranges: every curve and baseline inside, a logarithmic axis where they lie wide."""
    values = [value for points in curves.values() for _, value in points] + list(levels.values())
    low, high = min(values), max(values)
    if low > 0 and high / low > WIDE_RANGE:
        axes.set_yscale("log")
        margin = (high / low) ** 0.06
        axes.set_ylim(low / margin, high * margin)
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        margin = 0.08 * (high - low) or 0.05 * high
        axes.set_ylim(low - margin, high + margin)
    first, last = min(epochs), max(epochs)
    beside = 0.02 * (last - first) or 0.5
    axes.set_xlim(first - beside, last + beside)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=10, min_n_ticks=1))
    axes.grid(axis="y", color="#E6E6E6", linewidth=0.6)
    axes.set_axisbelow(True)


def _mark_learning_rates(axes: Axes, history: Sequence[Mapping[str, Any]]) -> None:
    """A thin line where the learning rate changed, between the epochs it changed between."""
    rates = [(row["epoch"], row["lr"]) for row in history if row.get("lr") is not None]
    changes = [
        ((before[0] + after[0]) / 2, after[1])
        for before, after in pairwise(rates)
        if before[1] != after[1]
    ]
    if not changes:
        return
    top = axes.get_xaxis_transform()
    note = f"learning rate {rates[0][1]:.3g} at first"
    if len(changes) > MOST_MARKED_RATES:
        note = f"learning rate from {rates[0][1]:.3g} to {rates[-1][1]:.3g}"
    axes.text(0.0, 1.02, note, transform=axes.transAxes, fontsize=8, color=GREY)
    left, right = axes.get_xlim()
    free_from = left + 0.21 * (right - left)  # the note stands before it
    for epoch, rate in changes if len(changes) <= MOST_MARKED_RATES else []:
        axes.axvline(epoch, color="#B0B0B0", linewidth=0.8, zorder=1)
        if epoch >= free_from:
            axes.text(
                epoch, 1.02, f"{rate:.3g}", transform=top, fontsize=8, color=GREY, ha="center"
            )
            free_from = epoch + 0.07 * (right - left)


def _label_in_margin(axes: Axes, lines: Sequence[_Line]) -> None:
    """Name and last value of every line, right of the axes, moved apart where they are close."""
    to_axes = axes.transData + axes.transAxes.inverted()
    heights = [float(to_axes.transform((0.0, line.end))[1]) for line in lines]
    for line, height, place in zip(
        lines, heights, spread(heights, LABEL_HEIGHT, 0.0, 1.0), strict=True
    ):
        axes.plot(
            [1.005, 1.035],
            [height, place],
            transform=axes.transAxes,
            color=line.colour,
            linewidth=0.8,
            clip_on=False,
        )
        axes.text(
            1.045,
            place,
            f"{line.name} {_number(line.end)}",
            transform=axes.transAxes,
            color=line.colour,
            va="center",
            fontsize=9.5,
        )


def _message(curves: Mapping[str, list[tuple[float, float]]], levels: Mapping[str, float]) -> str:
    """What the figure shows, in one line: the best perplexity and the baselines around it."""
    which = "validation" if "validation" in curves else "training"
    epoch, best = min(curves[which], key=lambda point: point[1])
    last = curves[which][-1][0]
    if epoch == last:
        text = f"{which.capitalize()} perplexity {_number(best)} after "
        text += f"{epoch:g} epoch" + ("" if epoch == 1 else "s")
    else:
        text = f"Best {which} perplexity {_number(best)} (epoch {epoch:g} of {last:g})"
    above = [(value, name) for name, value in levels.items() if value > best]
    below = [(value, name) for name, value in levels.items() if value <= best]
    beaten = _whose(*min(above)) if above else ""
    ahead = _whose(*max(below)) if below else ""
    if above and below:
        return f"{text}, between {beaten} and {ahead}"
    if above:
        return f"{text}, below {beaten}"
    return f"{text}, above {ahead}" if below else text


def _whose(value: float, name: str) -> str:
    return f"the {name}'s {_number(value)}"


def _number(value: float) -> str:
    return f"{value:,.1f}" if value < 10_000 else f"{value:.2g}"
