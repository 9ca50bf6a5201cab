"""The figures of a study, and the page with them on disk.

Of a table: dots beside the numbers of the source, or curves. Of a search: its trials by epoch and
one after the other, and by parameter.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, LogLocator, MaxNLocator, NullLocator

from deepnlp.errors import DeepNLPError
from deepnlp.files.writing import write_whole
from deepnlp.plots.curves import THOUSANDS, curves
from deepnlp.plots.style import BLUE, GREY, VERMILLION, plain, saved
from deepnlp.reports import page as html
from deepnlp.training.result import DIVERGED, FINISHED, figure_text
from studies.logs import Logs, Run
from studies.page import Line, page_of, table_lines
from studies.parameter import text
from studies.sampling import importances
from studies.search import Search
from studies.table import FigureOf, Panel, Table

WIDTH = 7.2  # inches
TICKS = 10  # along all panels of a table together
BESIDE = 3  # panels of a search in a row
OUTSIDE: dict[str, Any] = {"fontsize": 9, "ha": "right", "va": "center"}
TITLE: dict[str, Any] = {"loc": "left", "fontsize": 10.5, "weight": "bold"}


def write_page(study: Table | Search, results: Path) -> Path:
    """Write the page and its figures; gives the path of the page.

    Parameters
    ----------
    study : Table or Search
    results : path

    Raises
    ------
    DeepNLPError
        As :func:`studies.page.render`; and if a search has no logs, as there is nothing to
        draw.
    """
    folder = results / study.folder
    runs = Logs(study, folder).read_all()
    content, figures = page_of(study, runs)
    if isinstance(study, Search) and not runs:
        raise DeepNLPError(f"{folder} holds no logs of trials: take them in with --take DIR")
    files = [results / file for file in figures]
    (results / "images" if files else results).mkdir(parents=True, exist_ok=True)
    if isinstance(study, Search):
        draw_trials(study, runs, files[0])
        draw_parameters(study, runs, files[1])
    elif study.figure is not None and files:
        shown = [line for line in table_lines(study, runs) if line.row["shown"]]
        draw_table(study.figure, shown, files[0])
    page = results / f"{study.folder}.md"
    write_whole(page, content)
    return page


def write_search(search: Search, folder: Path, trials: Sequence[Run]) -> Path:
    """Write ``search.html`` in the folder of a search: its trials as figures and a table."""
    best, ended = search.best_of(trials), f"{len(trials)} of {search.trials} trials have ended"
    pruned = [trial for trial in trials if trial.status != FINISHED]
    said = [f"{ended}, {len(pruned)} of them early."]
    if best is not None:
        value = figure_text(best.best)
        said.append(
            f"Best: {search.metric} {value}, {search.describe(best)} (trial {search.number(best)})."
        )
    weights = sorted(importances(search, trials).items(), key=lambda item: -item[1])
    headings = [
        "trial",
        *(p.name for p in search.space),
        f"best {search.metric}",
        "epochs",
        "state",
    ]
    rows = [
        [
            search.number(t),
            *search.values(t.config).values(),
            figure_text(t.best),
            len(t.curve),
            t.status,
        ]
        for t in trials
    ]
    parts = {
        "Trials": lambda: html.picture(draw_trials(search, trials)),
        "Each option against the result": lambda: html.picture(draw_parameters(search, trials)),
        "Which options matter": lambda: html.table(["option", "importance"], weights, "Of Optuna"),
        "All trials": lambda: html.table(headings, rows, "What was tried"),
    }
    return html.write_page(folder / "search.html", f"Search {search.name}", said, parts)


def draw_table(of: FigureOf, lines: Sequence[Line], path: Path | None = None) -> Figure:
    """Draw the figure of a table.

    Parameters
    ----------
    of : FigureOf
    lines : sequence of Line
        The rows that are shown; those without runs are left out.
    path : path, optional
        Where to save it.
    """
    lines = [line for line in lines if line.runs]
    return (_draw_dots if of.panels else _draw_curves)(of, lines, path)


def _draw_curves(of: FigureOf, lines: Sequence[Line], path: Path | None) -> Figure:
    """A curve for each ``line``, through the means of its rows in the order of x.

    Where a row has several runs, each is a small dot.
    """
    means: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    runs: dict[str, list[tuple[float, ...]]] = defaultdict(list)
    for line in (line for line in lines if not line.diverged()):
        points = [*zip(line.numbers(of.x), line.numbers(of.y), strict=True)]
        means[line.row["line"]].append(tuple(np.mean(points, axis=0)))
        if len(points) > 1:
            runs[line.row["line"]] += points
    by_x, dots = ({line: np.array(sorted(each[line])).T for line in each} for each in (means, runs))
    options: dict[str, Any] = {n: getattr(of, n) for n in ("title", "xlabel", "ylabel", "logx")}
    return curves(by_x, dots=dots, path=path, **options)  # type: ignore[arg-type]


def _draw_dots(of: FigureOf, lines: Sequence[Line], path: Path | None) -> Figure:
    """The runs of every row as small dots and their mean as a large one."""
    size = WIDTH, 1.2 + 0.3 * len(lines)
    figure = Figure(figsize=size, dpi=150, layout="constrained")
    shares = [panel.share for panel in of.panels]
    grid = figure.subplots(1, len(shares), squeeze=False, sharey=True, width_ratios=shares)[0]
    for axes, panel in zip(grid, of.panels, strict=True):
        _draw_panel(axes, panel, lines)
        axes.xaxis.set_major_locator(MaxNLocator(round(TICKS * panel.share / sum(shares))))
    grid[0].set_yticks(range(len(lines)), [line.row["label"] for line in lines], fontsize=9.5)
    figure.suptitle(of.title, x=0.02, ha="left", fontsize=11, weight="bold")
    _write_legend(figure, grid)
    return saved(figure, path)


def _draw_panel(axes: Axes, panel: Panel, lines: Sequence[Line]) -> None:
    """The rows of one panel, the first at the top."""
    for y, line in enumerate(lines):
        values = line.numbers(panel.value)
        mean = float(np.mean(values)) if values else math.nan
        if mean > panel.highest or (line.diverged() and not values):
            words = f"{mean:,.0f} →" if values else DIVERGED
            axes.text(1, y, words, transform=axes.get_yaxis_transform(), color=BLUE, **OUTSIDE)
            continue
        if len(values) > 1:
            small: dict[str, Any] = {"ms": 3.5, "alpha": 0.5, "mew": 0, "label": "one run"}
            axes.plot(values, [y] * len(values), "o", color=BLUE, **small)
        if values:
            axes.plot(mean, y, "o", color=BLUE, ms=7.5, label="ours")
        for value in line.numbers(panel.published)[:1]:
            hollow: dict[str, Any] = {"ms": 7, "mfc": "none", "mew": 1.5, "label": "published"}
            axes.plot(value, y, "D", color=VERMILLION, **hollow)
    axes.set(xlabel=panel.xlabel, ylim=(len(lines) - 0.5, -0.5))
    axes.tick_params(axis="y", length=0)
    axes.margins(x=0.08)
    if axes.get_xlim()[1] > THOUSANDS:
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    plain(axes)


def draw_trials(search: Search, trials: Sequence[Run], path: Path | None = None) -> Figure:
    """Validation by epoch, a line for each trial; beside it the best so far, trial by trial."""
    figure = Figure(figsize=(WIDTH, 3.5), dpi=150, layout="constrained")
    left, right = grid = figure.subplots(1, 2)
    best = search.best_of(trials)
    for trial in (trial for trial in trials if trial.curve):
        options: dict[str, Any] = {**_mark(trial, best), "ms": 4.5, "ls": "-", "markevery": [-1]}
        epochs = range(1, len(trial.curve) + 1)
        left.plot(epochs, trial.curve, lw=2.4 if trial is best else 1.2, **options)
    _plot_best(right, search, trials, [*map(search.number, trials)])
    ran = [trial for trial in trials if trial.status == FINISHED]
    if ran:  # the line goes on to the last trial
        so_far = [*itertools.accumulate((trial.best or 0.0 for trial in ran), search.better)]
        numbers = [*map(search.number, ran), search.trials - 1]
        steps: dict[str, Any] = {"where": "post", "color": VERMILLION, "lw": 1.6, "zorder": 1}
        right.step(numbers, [*so_far, so_far[-1]], **steps)
    left.set(xlabel="epoch", ylabel=f"validation {search.metric}")
    right.set(xlabel="trial", ylabel=f"its best {search.metric}")
    left.set_title("Each trial by epoch", **TITLE)
    right.set_title("The best so far", **TITLE)
    for axes in grid:
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        _log_y_if_far(axes)
    _write_legend(figure, grid)
    return saved(figure, path)


def draw_parameters(search: Search, trials: Sequence[Run], path: Path | None = None) -> Figure:
    """The best validation of each trial by each parameter."""
    beside = min(len(search.space), BESIDE)
    rows = -(-len(search.space) // beside)
    figure = Figure(figsize=(WIDTH, 0.35 + 2.95 * rows), dpi=150, layout="constrained")
    grid = figure.subplots(rows, beside, squeeze=False, sharey=True).ravel()
    weights = importances(search, trials)
    for axes, parameter in zip(grid, search.space, strict=False):
        name, choices = parameter.name, [*parameter.choices]
        xs = [search.values(trial.config)[name] for trial in trials]
        if choices:
            xs = [choices.index(value) for value in xs]
            axes.set_xticks(range(len(choices)), [*map(text, choices)])
        elif parameter.log:
            axes.set_xscale("log")
            _write_few(axes.xaxis, [1.0, 2.0, 5.0])
        else:
            axes.xaxis.set_major_locator(MaxNLocator(5, integer=parameter.kind is int))
        _plot_best(axes, search, trials, xs)
        axes.set_title(f"{name} (importance {weights[name]:.2f})" if weights else name, **TITLE)
        axes.set_xlabel(name)
        axes.margins(x=0.1)
    for axes in grid[len(search.space) :]:
        axes.remove()
    figure.supylabel(f"best {search.metric}", fontsize=10)
    _write_legend(figure, grid)
    return saved(figure, path)


def _mark(trial: Run, best: Run | None) -> dict[str, Any]:
    """How a trial is drawn, and what is said of the mark; the best lies above the others."""
    if trial is best:
        return {"marker": "o", "color": VERMILLION, "label": "best", "zorder": 4}
    if trial.status == FINISHED:
        return {"marker": "o", "color": BLUE, "label": "finished", "zorder": 3}
    return {"marker": "x", "color": GREY, "label": "pruned", "zorder": 3}


def _plot_best(axes: Axes, search: Search, trials: Sequence[Run], xs: Sequence[float]) -> None:
    """The best validation of each trial at its x."""
    best = search.best_of(trials)
    for trial, x in zip(trials, xs, strict=True):
        if trial.best is not None:
            axes.plot(x, trial.best, ms=6.5, ls="", **_mark(trial, best))
    _log_y_if_far(axes)


def _log_y_if_far(axes: Axes) -> None:
    """A logarithmic vertical axis where the figures lie far apart."""
    if 0 < axes.dataLim.y0 < axes.dataLim.y1 / 2:
        axes.set_yscale("log")
        _write_few(axes.yaxis, [1.0, 1.5, 2.0, 3.0, 5.0, 7.0])
    plain(axes)


def _write_few(axis: Axis, subs: Sequence[float]) -> None:
    """A few round numbers along a logarithmic axis."""
    axis.set_major_locator(LogLocator(subs=subs, numticks=9))
    axis.set_major_formatter("{x:,g}")
    axis.set_minor_locator(NullLocator())


def _write_legend(figure: Figure, grid: Iterable[Axes]) -> None:
    """Draw the legend of marks and colours below; none where all are alike."""
    marks: dict[str, Any] = {}
    for axes in grid:
        handles, labels = axes.get_legend_handles_labels()
        marks |= dict(zip(labels, handles, strict=True))
    if len(marks) > 1:
        place: dict[str, Any] = {"loc": "outside lower left", "ncols": len(marks)}
        figure.legend([*marks.values()], [*marks], frameon=False, fontsize=9.5, **place)
