"""The learning curve: perplexity, or another figure, by epoch beside the baselines to beat."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from operator import itemgetter
from os import PathLike
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from deepnlp.plots.style import BLUE, GREY, VERMILLION, Label, label_in_margin, saved

BASELINE_DASHES = [(0, (6, 2)), (0, (4, 2, 1, 2)), (0, (1, 1.5)), (0, (8, 2, 1, 2, 1, 2))]
WIDE_RANGE = 4.0  # highest perplexity over lowest, from which on the axis is logarithmic
MOST_MARKERS = 15  # on more epochs than this, markers would hide the line
MOST_MARKED_RATES = 6  # a schedule that changes more often is described in words
Point = tuple[float, float]


def learning_curve(
    history: Sequence[Mapping[str, Any]],
    baselines: Mapping[str, float] | None = None,
    path: str | PathLike[str] | None = None,
    metric: str = "perplexity",
    *,
    higher_is_better: bool = False,
) -> Figure:
    """Draw perplexity by epoch beside the baselines to beat.

    The curves and the baselines are labelled in the right margin, each with its last value. A
    ring marks the epoch with the best validation; thin vertical lines mark where the learning
    rate changed. The vertical axis is logarithmic where it spans more than a factor of 4, unless
    higher is better.

    Parameters
    ----------
    history : sequence of dict
        One row per epoch, with ``"epoch"`` and ``"train_perplexity"``, ``"valid_perplexity"`` and
        ``"lr"`` where there is one. A value that is missing, None or not finite leaves a gap.
    baselines : dict of str to float, optional
        Validation perplexities of models to compare with, such as ``{"trigram": 71.0}``.
    path : str or path, optional
        Where to save the figure; the suffix chooses the format (``.png``, ``.pdf``, ``.svg``).
    metric : str
        What is drawn: the rows hold ``train_<metric>`` and ``valid_<metric>``.
    higher_is_better : bool
        Of the metric.

    Raises
    ------
    ValueError
        If no row of ``history`` holds a finite value.

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
        "training": _points(history, f"train_{metric}"),
        "validation": _points(history, f"valid_{metric}"),
    }
    curves = {name: points for name, points in curves.items() if points}
    if not curves:
        raise ValueError(
            f"a learning curve needs a finite train_{metric} or valid_{metric} in at least one "
            f"row; got {len(history)} rows without any"
        )
    levels = {
        name: float(value) for name, value in (baselines or {}).items() if math.isfinite(value)
    }

    figure = Figure(figsize=(8.0, 4.6), dpi=150)
    axes = figure.add_axes((0.085, 0.125, 0.70, 0.735))
    best = max if higher_is_better else min
    lines = _draw_curves(axes, curves, best) + _draw_baselines(axes, levels)
    _scale(axes, [row["epoch"] for row in history], curves, levels, log=not higher_is_better)
    _mark_learning_rates(axes, history)
    label_in_margin(axes, lines)
    name = metric.replace("_", " ")
    text = _message(name, curves, levels, best)
    axes.set_title(text, loc="left", fontsize=10, pad=18)
    axes.set_xlabel("epoch")
    axes.set_ylabel(name + (" (log scale)" if axes.get_yscale() == "log" else ""))
    axes.spines[["top", "right"]].set_visible(False)
    return saved(figure, path)


def _points(history: Sequence[Mapping[str, Any]], key: str) -> list[Point]:
    """The (epoch, value) pairs whose value can be drawn."""
    return [
        (row["epoch"], float(row[key]))
        for row in history
        if row.get(key) is not None and math.isfinite(row[key])
    ]


def _draw_curves(
    axes: Axes, curves: Mapping[str, list[Point]], best: Callable[..., Point]
) -> list[Label]:
    styles: dict[str, dict[str, Any]] = {
        "training": {"color": VERMILLION, "linestyle": "--", "marker": "s", "linewidth": 1.2},
        "validation": {"color": BLUE, "linestyle": "-", "marker": "o", "linewidth": 2.0},
    }
    lines = []
    for name, points in curves.items():
        epochs, values = zip(*points, strict=True)
        size = 4.5 if len(points) <= MOST_MARKERS else 0.0
        axes.plot(epochs, values, markersize=size, label=name, zorder=3, **styles[name])
        lines.append(_label(name, values[-1], styles[name]["color"]))
    if "validation" in curves:
        axes.plot(
            *best(curves["validation"], key=itemgetter(1)),
            marker="o",
            markersize=11,
            markerfacecolor="none",
            markeredgecolor=BLUE,
            markeredgewidth=1.3,
            zorder=4,
            clip_on=False,
        )
    return lines


def _draw_baselines(axes: Axes, levels: Mapping[str, float]) -> list[Label]:
    for rank, value in enumerate(levels.values()):
        dashes: Any = BASELINE_DASHES[rank % len(BASELINE_DASHES)]
        axes.axhline(value, color=GREY, linewidth=1.1, linestyle=dashes, zorder=2)
    return [_label(name, value, GREY) for name, value in levels.items()]


def _scale(
    axes: Axes,
    epochs: list[float],
    curves: Mapping[str, list[Point]],
    levels: Mapping[str, float],
    log: bool,
) -> None:
    """Fix both ranges: all inside, the vertical axis logarithmic if it may be and they lie wide."""
    values = [value for points in curves.values() for _, value in points] + list(levels.values())
    low, high = min(values), max(values)
    if log and low > 0 and high / low > WIDE_RANGE:
        axes.set_yscale("log")
        margin = (high / low) ** 0.06
        axes.set_ylim(low / margin, high * margin)
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
    else:
        margin = 0.08 * (high - low) or 0.05 * abs(high) or 1.0
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
    smooth = len(changes) == len(rates) - 1 > 1  # the rate changes with every epoch
    if smooth or len(changes) > MOST_MARKED_RATES:
        changes = []
        (first, at_first), (last, at_last) = rates[0], rates[-1]  # each at the end of its epoch
        note = f"learning rate {at_first:.3g} after epoch {first}, {at_last:.3g} after {last}"
    else:
        note = f"learning rate {rates[0][1]:.3g} at first"
    axes.text(0.0, 1.02, note, transform=axes.transAxes, fontsize=8, color=GREY)
    left, right = axes.get_xlim()
    free_from = left + 0.21 * (right - left)  # the note stands before it
    for epoch, rate in changes:
        axes.axvline(epoch, color="#B0B0B0", linewidth=0.8, zorder=1)
        if epoch >= free_from:
            axes.text(
                epoch, 1.02, f"{rate:.3g}", transform=top, fontsize=8, color=GREY, ha="center"
            )
            free_from = epoch + 0.07 * (right - left)


def _message(
    metric: str,
    curves: Mapping[str, list[Point]],
    levels: Mapping[str, float],
    best_of: Callable[..., Point],
) -> str:
    """What the figure shows, in one line: the best value and the baselines around it."""
    which = "validation" if "validation" in curves else "training"
    epoch, best = best_of(curves[which], key=itemgetter(1))
    last = curves[which][-1][0]
    if epoch == last:
        text = f"{which.capitalize()} {metric} {_number(best)} after "
        text += f"{epoch:g} epoch" + ("" if epoch == 1 else "s")
    else:
        text = f"Best {which} {metric} {_number(best)} (epoch {epoch:g} of {last:g})"
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


def _label(name: str, value: float, colour: str) -> Label:
    return Label(f"{name} {_number(value)}", value, colour)


def _number(value: float) -> str:
    if abs(value) < 1:
        return f"{value:.3f}"
    return f"{value:,.1f}" if value < 10_000 else f"{value:.2g}"
