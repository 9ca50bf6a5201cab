"""The figures of a search: its trials by epoch and one after the other, and by parameter."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from deepnlp.plots.style import BLUE, GREY, VERMILLION, plain, saved
from deepnlp.search.declaration import Search
from deepnlp.search.importance import importances
from deepnlp.search.parameter import Parameter, text
from deepnlp.search.trials import FINISHED, Trial, best_of

WIDTH, HEIGHT = 7.2, 3.5  # inches
LEFT = 0.115  # where the first panel begins
BESIDE, ROW = 3, 2.95  # panels in a row, and its height
MARKS = {"finished": ("o", BLUE), "pruned": ("x", GREY), "best": ("o", VERMILLION)}


def draw_trials(search: Search, trials: Sequence[Trial], path: Path | None = None) -> Figure:
    """Validation by epoch, a line for each trial; beside it the best so far, trial by trial."""
    figure = Figure(figsize=(WIDTH, HEIGHT), dpi=150)
    left = figure.add_axes((LEFT, 0.15, 0.48 - LEFT, 0.66))
    right = figure.add_axes((0.6, 0.15, 0.385, 0.66))
    best = best_of(search, trials)
    for trial in sorted(trials, key=lambda trial: (trial is best, trial.status == FINISHED)):
        marker, colour = _mark(trial, best)
        epochs = range(1, len(trial.curve) + 1)
        left.plot(epochs, trial.curve, color=colour, lw=2.4 if trial is best else 1.2)
        left.plot(epochs[-1:], trial.curve[-1:], marker, color=colour, ms=4.5)
    left.set(xlabel="epoch", ylabel=f"validation {search.metric}")
    _dots(right, [(float(trial.number), trial) for trial in trials], best)
    ran = [trial for trial in trials if trial.status == FINISHED]
    better = max if search.higher_is_better else min
    so_far = [*itertools.accumulate((trial.best or 0.0 for trial in ran), better)]
    numbers = [trial.number for trial in ran]
    if numbers:  # the line goes on to the last trial
        numbers, so_far = [*numbers, search.trials - 1], [*so_far, so_far[-1]]
    right.step(numbers, so_far, where="post", color=VERMILLION, lw=1.6, zorder=1)
    right.set(xlabel="trial", ylabel=f"its best {search.metric}", xlim=(-0.7, search.trials - 0.3))
    for axes, title in ((left, "Each trial by epoch"), (right, "The best so far")):
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.set_title(title, loc="left", fontsize=10.5, weight="bold")
        _finish(axes)
    _legend(figure, trials)
    return saved(figure, path)


def draw_parameters(search: Search, trials: Sequence[Trial], path: Path | None = None) -> Figure:
    """The best validation of each trial by each parameter."""
    count = len(search.space)
    beside = min(count, BESIDE)
    rows = -(-count // beside)
    height = 0.35 + ROW * rows
    figure = Figure(figsize=(WIDTH, height), dpi=150)
    best, weights = best_of(search, trials), importances(search, trials)
    each = (1 - LEFT) / beside
    for place, one in enumerate(search.space):
        row, column = divmod(place, beside)
        low = (ROW * (rows - 1 - row) + 0.55) / height
        axes = figure.add_axes((LEFT + column * each, low, each - 0.045, 2.1 / height))
        points = [(_place(one, trial.values[one.name]), trial) for trial in trials]
        _dots(axes, points, best)
        weight = f" (importance {weights[one.name]:.2f})" if one.name in weights else ""
        axes.set_title(f"{one.name}{weight}", loc="left", fontsize=10.5, weight="bold")
        axes.set(xlabel=one.name, ylabel=f"best {search.metric}" if column == 0 else "")
        _x_axis(axes, one)
        _finish(axes)
        if column:
            axes.set_yticklabels([])
    _legend(figure, trials)
    return saved(figure, path)


def _mark(trial: Trial, best: Trial | None) -> tuple[str, str]:
    if trial is best:
        return MARKS["best"]
    return MARKS["finished" if trial.status == FINISHED else "pruned"]


def _dots(axes: Axes, points: Sequence[tuple[float, Trial]], best: Trial | None) -> None:
    """The best validation of each trial at its place."""
    for x, trial in points:
        if trial.best is not None:
            marker, colour = _mark(trial, best)
            axes.plot(x, trial.best, marker, color=colour, ms=6.5, zorder=3 + (trial is best))


def _place(one: Parameter, value: object) -> float:
    """Where a value stands on the axis: choices side by side."""
    if one.values.choices:
        return float(list(one.values.choices).index(value))
    return float(str(value))


def _x_axis(axes: Axes, one: Parameter) -> None:
    v = one.values
    if v.choices:
        axes.set_xticks(range(len(v.choices)), [text(value) for value in v.choices])
        axes.set_xlim(-0.5, len(v.choices) - 0.5)
        return
    assert v.low is not None
    assert v.high is not None
    if v.log:
        axes.set_xscale("log")
        axes.set_xlim(v.low / 1.1, v.high * 1.1)
        inside = np.geomspace(v.low, v.high, 4)
        axes.xaxis.set_major_locator(FixedLocator([float(f"{x:.1g}") for x in inside]))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:g}"))
    else:
        margin = 0.06 * (v.high - v.low)
        axes.set_xlim(v.low - margin, v.high + margin)
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=one.kind is int))


def _finish(axes: Axes) -> None:
    """A logarithmic vertical axis where the figures lie far apart."""
    low, high = axes.dataLim.y0, axes.dataLim.y1
    if 0 < low < high / 2:
        axes.set_yscale("log")
        axes.set_ylim(low / (high / low) ** 0.06, high * (high / low) ** 0.06)
        axes.yaxis.set_major_locator(LogLocator(subs=[1.0, 1.5, 2.0, 3.0, 5.0, 7.0], numticks=9))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:,g}"))
        axes.yaxis.set_minor_locator(NullLocator())
    plain(axes)


def _legend(figure: Figure, trials: Sequence[Trial]) -> None:
    """What the colours stand for, above the panels."""
    ended = {trial.status for trial in trials}
    said = [("● best", VERMILLION)]
    said += [("● finished", BLUE)] if FINISHED in ended else []
    said += [("× pruned", GREY)] if ended - {FINISHED} else []
    for place, (label, colour) in enumerate(said):
        x = LEFT + 0.13 * place
        figure.text(
            x, 1 - 0.12 / figure.get_figheight(), label, color=colour, fontsize=9.5, va="top"
        )
