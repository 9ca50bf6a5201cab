"""The figures of a study.

Of a table: dots beside the numbers of the source, or curves. Of a search: its trials by epoch and
one after the other, and by parameter.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, LogLocator, MaxNLocator

from deepnlp.plots import curves
from deepnlp.plots.curves import THOUSANDS, Points
from deepnlp.plots.style import BLUE, GREY, VERMILLION, plain, saved
from deepnlp.studies.cells import Line, table_lines
from deepnlp.studies.logs import DIVERGED, FINISHED, Run
from deepnlp.studies.parameter import Parameter, text
from deepnlp.studies.sampling import importances
from deepnlp.studies.search import Search
from deepnlp.studies.table import CurvesOf, FigureOf, Panel, Table
from deepnlp.studies.trials import Trial, best_of, trials_of

WIDTH = 7.2  # inches
MANY = 4  # panels of a table, each narrow then
OUTSIDE: dict[str, Any] = {"fontsize": 9, "ha": "right", "va": "center"}
LEFT = 0.115  # where the first panel of a search begins
BESIDE, ROW = 3, 2.95  # panels of a search in a row, and its height
TITLE: dict[str, Any] = {"loc": "left", "fontsize": 10.5, "weight": "bold"}


def draw(study: Table | Search, runs: Sequence[Run], files: Sequence[Path]) -> None:
    """Draw the figures of a study's page into these files."""
    if isinstance(study, Search):
        trials = trials_of(study, runs)
        draw_trials(study, trials, files[0])
        draw_parameters(study, trials, files[1])
    elif study.figure is not None:
        shown = [line for line in table_lines(study, runs) if line.row["shown"]]
        draw_table(study.figure, shown, files[0])


def draw_table(of: FigureOf | CurvesOf, lines: Sequence[Line], path: Path | None = None) -> Figure:
    """Draw the figure of a table.

    Parameters
    ----------
    of : FigureOf or CurvesOf
    lines : sequence of Line
        The rows that are shown; those without runs are left out.
    path : path, optional
        Where to save it.
    """
    lines = [line for line in lines if line.runs]
    if isinstance(of, CurvesOf):
        return _draw_curves(of, lines, path)
    return _draw_dots(of, lines, path)


def _draw_curves(of: CurvesOf, lines: Sequence[Line], path: Path | None) -> Figure:
    """A curve for each ``line``, through the means of its rows in the order of x.

    Where a row has several runs, each is a small dot.
    """
    means: dict[str, list[tuple[float, float]]] = {}
    runs: dict[str, list[tuple[float, float]]] = {}
    for line in (line for line in lines if not line.diverged()):
        xs, ys = line.numbers(of.x), line.numbers(of.y)
        means.setdefault(line.row["line"], []).append((float(np.mean(xs)), float(np.mean(ys))))
        if len(xs) > 1:
            runs.setdefault(line.row["line"], []).extend(zip(xs, ys, strict=True))
    options = {key: value for key, value in vars(of).items() if key not in ("x", "y")}
    return curves(_by_x(means), dots=_by_x(runs), path=path, **options)


def _by_x(points: Mapping[str, list[tuple[float, float]]]) -> dict[str, Points]:
    """The x and the y of the points of each line, in the order of x."""
    columns = {line: [*zip(*sorted(pairs), strict=True)] for line, pairs in points.items()}
    return {line: (x, y) for line, (x, y) in columns.items()}


def _draw_dots(of: FigureOf, lines: Sequence[Line], path: Path | None) -> Figure:
    """The runs of every row as small dots and their mean as a large one."""
    several = any(len(line.runs) > 1 for line in lines)
    published = any(line.numbers(panel.published) for line in lines for panel in of.panels)
    top = 0.7 if several or any(panel.published for panel in of.panels) else 0.4
    height = 0.65 + top + 0.3 * len(lines)
    figure = Figure(figsize=(WIDTH, height), dpi=150)
    left = (0.15 + 0.083 * max(len(line.row["label"]) for line in lines)) / WIDTH
    low, high = 0.6 / height, 1 - top / height
    unit, gap = (1 - left) / sum(panel.share for panel in of.panels), 0.035
    for panel in of.panels:
        first = panel is of.panels[0]
        axes = figure.add_axes((left, low, unit * panel.share - gap, high - low))
        left += unit * panel.share
        _draw_panel(axes, panel, lines, narrow=len(of.panels) >= MANY)
        axes.set_yticklabels([line.row["label"] for line in lines] if first else [], fontsize=9.5)
    figure.text(0.02, 1 - 0.1 / height, of.title, fontsize=11, weight="bold", va="top")
    marks = [("● mean", BLUE), ("• one run", BLUE)] if several else [("● ours", BLUE)] * published
    marks += [("◇ published", VERMILLION)] * published
    _write_marks(figure, marks, left=0.15, step=0.85, below=0.5, va="center")
    return saved(figure, path)


def _draw_panel(axes: Axes, panel: Panel, lines: Sequence[Line], narrow: bool) -> None:
    """The rows of one panel, the first at the top."""
    for y, line in enumerate(lines):
        values = line.numbers(panel.value)
        mean = float(np.mean(values)) if values else math.nan
        if mean > panel.highest or (line.diverged() and not values):
            words = f"{mean:,.0f} →" if values else DIVERGED
            axes.text(1, y, words, transform=axes.get_yaxis_transform(), color=BLUE, **OUTSIDE)
            continue
        axes.plot(values, [y] * len(values), "o", color=BLUE, ms=3.5, alpha=0.5, mew=0)
        if values:
            axes.plot(mean, y, "o", color=BLUE, ms=7.5)
        for value in line.numbers(panel.published)[:1]:
            axes.plot(value, y, "D", color=VERMILLION, ms=7, mfc="none", mew=1.5)
    axes.set(yticks=range(len(lines)), xlabel=panel.xlabel, ylim=(len(lines) - 0.5, -0.5))
    axes.tick_params(axis="y", length=0)
    axes.xaxis.set_major_locator(MaxNLocator(round(3 * panel.share) if narrow else 4))
    axes.margins(x=0.12 if narrow else 0.05)
    if axes.get_xlim()[1] > THOUSANDS:
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    plain(axes)


def draw_trials(search: Search, trials: Sequence[Trial], path: Path | None = None) -> Figure:
    """Validation by epoch, a line for each trial; beside it the best so far, trial by trial."""
    figure = Figure(figsize=(WIDTH, 3.5), dpi=150)
    left = figure.add_axes((LEFT, 0.15, 0.48 - LEFT, 0.66))
    right = figure.add_axes((0.6, 0.15, 0.385, 0.66))
    best = best_of(search, trials)
    for trial in sorted(trials, key=lambda trial: (trial is best, trial.status == FINISHED)):
        marker, colour = _mark(trial, best)
        epochs = range(1, len(trial.curve) + 1)
        left.plot(epochs, trial.curve, color=colour, lw=2.4 if trial is best else 1.2)
        left.plot(epochs[-1:], trial.curve[-1:], marker, color=colour, ms=4.5)
    left.set(xlabel="epoch", ylabel=f"validation {search.metric}")
    _plot_best(right, [(float(trial.number), trial) for trial in trials], best)
    ran = [trial for trial in trials if trial.status == FINISHED]
    if ran:  # the line goes on to the last trial
        so_far = [*itertools.accumulate((trial.best or 0.0 for trial in ran), search.better)]
        numbers = [*(trial.number for trial in ran), search.trials - 1]
        steps = [*so_far, so_far[-1]]
        right.step(numbers, steps, where="post", color=VERMILLION, lw=1.6, zorder=1)
    right.set(xlabel="trial", ylabel=f"its best {search.metric}", xlim=(-0.7, search.trials - 0.3))
    for axes, title in ((left, "Each trial by epoch"), (right, "The best so far")):
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        axes.set_title(title, **TITLE)
        _log_y_if_far(axes)
    _write_trial_marks(figure, trials)
    return saved(figure, path)


def draw_parameters(search: Search, trials: Sequence[Trial], path: Path | None = None) -> Figure:
    """The best validation of each trial by each parameter."""
    beside = min(len(search.space), BESIDE)
    rows = -(-len(search.space) // beside)
    height = 0.35 + ROW * rows
    figure = Figure(figsize=(WIDTH, height), dpi=150)
    best, weights = best_of(search, trials), importances(search, trials)
    width = (1 - LEFT) / beside
    for place, parameter in enumerate(search.space):
        row, column = divmod(place, beside)
        name, low = parameter.name, (ROW * (rows - 1 - row) + 0.55) / height
        axes = figure.add_axes((LEFT + column * width, low, width - 0.045, 2.1 / height))
        _plot_best(axes, [(_place(parameter, trial.values[name]), trial) for trial in trials], best)
        weight = f" (importance {weights[name]:.2f})" if name in weights else ""
        axes.set_title(f"{name}{weight}", **TITLE)
        axes.set(xlabel=name, ylabel="" if column else f"best {search.metric}")
        _set_x_axis(axes, parameter)
        _log_y_if_far(axes)
        if column:
            axes.set_yticklabels([])
    _write_trial_marks(figure, trials)
    return saved(figure, path)


def _mark(trial: Trial, best: Trial | None) -> tuple[str, str]:
    if trial is best:
        return "o", VERMILLION
    return ("o", BLUE) if trial.status == FINISHED else ("x", GREY)


def _plot_best(axes: Axes, points: Sequence[tuple[float, Trial]], best: Trial | None) -> None:
    """The best validation of each trial at its place."""
    for x, trial in points:
        if trial.best is not None:
            marker, colour = _mark(trial, best)
            axes.plot(x, trial.best, marker, color=colour, ms=6.5, zorder=3 + (trial is best))


def _place(parameter: Parameter, value: Any) -> float:
    """Where a value stands on the axis: choices side by side."""
    return float([*parameter.choices].index(value) if parameter.choices else value)


def _set_x_axis(axes: Axes, parameter: Parameter) -> None:
    """Choices side by side, or a range with a little room on both sides."""
    low, high, choices = parameter.low, parameter.high, parameter.choices
    if choices:
        axes.set_xticks(range(len(choices)), [text(value) for value in choices])
        axes.set_xlim(-0.5, len(choices) - 0.5)
    elif parameter.log:
        axes.set_xscale("log")
        axes.set_xlim(low / 1.1, high * 1.1)
        ticks = [float(f"{x:.1g}") for x in np.geomspace(low, high, 4)]
        axes.set_xticks(ticks, [f"{x:g}" for x in ticks])
        axes.set_xticks([], minor=True)
    else:
        margin = 0.06 * (high - low)
        axes.set_xlim(low - margin, high + margin)
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=parameter.kind is int))


def _log_y_if_far(axes: Axes) -> None:
    """A logarithmic vertical axis where the figures lie far apart."""
    low, high = axes.dataLim.y0, axes.dataLim.y1
    if 0 < low < high / 2:
        axes.set_yscale("log")
        axes.set_ylim(low / (high / low) ** 0.06, high * (high / low) ** 0.06)
        axes.yaxis.set_major_locator(LogLocator(subs=[1.0, 1.5, 2.0, 3.0, 5.0, 7.0], numticks=9))
        axes.yaxis.set_major_formatter(lambda y, _: f"{y:,g}")
        axes.set_yticks([], minor=True)
    plain(axes)


def _write_trial_marks(figure: Figure, trials: Sequence[Trial]) -> None:
    statuses = {trial.status for trial in trials}
    marks = [("● best", VERMILLION)]
    marks += [("● finished", BLUE)] if FINISHED in statuses else []
    marks += [("× pruned", GREY)] if statuses - {FINISHED} else []
    _write_marks(figure, marks, left=WIDTH * LEFT, step=WIDTH * 0.13, below=0.12, va="top")


def _write_marks(figure: Figure, marks: Iterable[tuple[str, str]], **inches: Any) -> None:
    """What marks and colours stand for, side by side."""
    va, left, step = inches["va"], inches["left"], inches["step"]
    y = 1 - inches["below"] / figure.get_figheight()
    for place, (label, colour) in enumerate(marks):
        x = (left + step * place) / WIDTH
        figure.text(x, y, label, color=colour, fontsize=9.5, va=va)
