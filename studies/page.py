"""The page of a study, from its declaration and the committed logs alone.

Its tables are templates with figures in braces, filled in from ``result.json``.
"""

from __future__ import annotations

import math
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from deepnlp.errors import DeepNLPError
from deepnlp.training.result import DIVERGED, figure_text
from studies.logs import ENDED, NOT_RUN, Logs, Run
from studies.parameter import text
from studies.sampling import can_estimate_importance
from studies.search import Search
from studies.study import PAGES, Column
from studies.table import Table

NO_VALUE = "-"


@dataclass(frozen=True)
class Line:
    """A line of a page: its runs, and a row, of which some is known without runs."""

    runs: Sequence[Run]
    row: Mapping[str, Any] = field(default_factory=dict)
    before: Line | None = None  # the row that it comes after

    def values(self, path: str) -> list[Any]:
        """Return the value at a path, or the difference of two paths, in each run; else None."""
        first, minus, second = path.partition(" - ")
        if minus:
            pairs = zip(self.values(first), self.values(second), strict=True)
            return [None if None in (a, b) else a - b for a, b in pairs]
        source, _, rest = path.partition(".")
        if source == "before":
            numbers = self.before.numbers(rest) if self.before else []
            return [float(np.mean(numbers)) if numbers else None] * len(self.runs)
        return [_at({**_figures(run), "row": self.row}, path) for run in self.runs]

    def numbers(self, path: str) -> list[float]:
        """The values at a path of the runs that have one."""
        return [value for value in self.values(path) if value is not None] if path else []

    def text(self, template: str) -> str:
        """A template with the figures in braces filled in: the mean and the spread over seeds."""
        parts = []
        for literal, path, form, _ in string.Formatter().parse(template):
            parts.append(literal)
            if path is None:
                continue
            alone = path.startswith("row.") and " - " not in path  # needs no run
            values = [_at({"row": self.row}, path)] if alone else self.values(path)
            if not values:
                return NOT_RUN
            is_figure = not alone and " - " not in path
            if is_figure and values.count(None) == len(values) and self.diverged():
                return DIVERGED
            parts.append(_mean_and_spread(values, form or ""))
        return NO_VALUE if NO_VALUE in parts else "".join(parts)

    def diverged(self) -> bool:
        """Return whether a run ended early since its loss was no longer finite."""
        return any(run.status == DIVERGED for run in self.runs)


def table_lines(table: Table, runs: Sequence[Run]) -> list[Line]:
    """The finished runs of every row."""
    lines: dict[str, Line] = {}
    for row in table.rows:
        names = [f"{row.name}-{seed}" for seed in sorted(row.seeds)]
        ended = [run for name in names for run in runs if run.name == name]
        lines[row.name] = Line(ended, {**vars(row), "new": row.new}, lines.get(row.after))
    return [*lines.values()]


def _figures(run: Run) -> dict[str, Any]:
    """All that a template may name of a run."""
    seconds = {name: run.result.get(f"{name}seconds") for name in ("", "cpu_")}
    minutes = {f"{name}minutes": None if s is None else s / 60 for name, s in seconds.items()}
    by_split = run.result.get("perplexity") or {}
    nats = {split: math.log(value) for split, value in by_split.items() if value}
    return {**run.result, **minutes, "nats": nats, "name": run.name, "config": run.config}


def markdown(columns: Sequence[Column], lines: Sequence[Line]) -> str:
    """A table in Markdown, in which a ``|`` in a cell is escaped; without lines nothing.

    >>> columns = [Column("row", "{row.name}", "left"), Column("test", "{test:.1f}")]
    >>> print(markdown(columns, [Line([], {"name": "tied"})]))
    | row | test |
    |:--|--:|
    | tied | not run |
    """
    rule = "|".join("--:" if column.align == "right" else ":--" for column in columns)
    rows = [[line.text(column.text).replace("|", "\\|") for column in columns] for line in lines]
    headings = [column.heading for column in columns]
    rendered = ["| " + " | ".join(cells) + " |" for cells in [headings, *rows]]
    return "\n".join([rendered[0], f"|{rule}|", *rendered[1:]]) if rows else ""


def _mean_and_spread(values: Sequence[Any], form: str) -> str:
    """The value, or the mean and the sample standard deviation of values that differ."""
    values = [value for value in values if value is not None]
    if not values:
        return NO_VALUE
    first = values[0]
    kind = str if isinstance(first, str) else Real
    if not all(isinstance(value, kind) for value in values):
        raise DeepNLPError(f"a figure of a table should be a number in each run, got {values}")
    if all(value == first for value in values) or isinstance(first, str):
        return format(first, form) if form else text(first)
    spread = format(float(np.std(values, ddof=1)), form.replace("+", ""))
    return f"{format(float(np.mean(values)), form)} ± {spread}"


def _at(table: Any, path: str) -> Any:
    """Return the value at a path of keys, None where there is nothing."""
    for key in path.split("."):
        if not isinstance(table, Mapping) or key not in table:
            return None
        table = table[key]
    return table


def render(study: Table | Search, results: Path) -> str:
    """The text of the page.

    Parameters
    ----------
    study : Table or Search
    results : path
        The folder of all results, such as ``docs/results``.

    Raises
    ------
    DeepNLPError
        If a log is not that of the run which the study states.
    """
    return page_of(study, Logs(study, results / study.folder).read_all())[0]


def page_of(study: Table | Search, runs: Sequence[Run]) -> tuple[str, list[str]]:
    """The text of the page, and the files of its figures."""
    said = PAGES[study.kind]
    if isinstance(study, Table):
        facts, figures = _of_table(study, runs, said)
    else:
        facts, figures = _of_search(study, runs, said)
    counts = {"done": len(runs), "count": len(study.run_names), **facts}
    facts["progress"] = said["all" if len(runs) == counts["count"] else "some"].format(**counts)
    for key in ("title", "text", "notes", "name"):
        facts[key] = getattr(study, key).strip()
    facts["figures"] = "\n\n".join(f"![{alt}]({file})" for file, alt in figures.items())
    paragraphs = said["page"].format(**facts).strip().split("\n\n")
    return "\n\n".join(part.rstrip() for part in paragraphs if part.strip()) + "\n", [*figures]


Parts = tuple[dict[str, Any], dict[str, str]]  # what a page is filled with; files and their texts


def _of_table(table: Table, runs: Sequence[Run], said: Mapping[str, Any]) -> Parts:
    """Write the page of a table."""
    rows = table_lines(table, runs)
    shown = [line for line in rows if line.row["shown"]]
    ended = [
        Line([run], {"seed": table.job_of(run.name).seed, "folder": table.folder})
        for line in rows
        for run in line.runs
    ]
    facts = {
        "columns": markdown(table.columns, shown),
        "seeds": said["seeds"] if any(len(row.seeds) > 1 for row in table.rows) else "",
        "runs": markdown(_columns(said["runs"]), ended),
    }
    figures = {}
    if table.figure is not None and any(line.runs for line in shown):
        figures = {f"images/{table.folder}.png": table.figure.title}
    return facts, figures


def _of_search(search: Search, trials: Sequence[Run], said: Mapping[str, Any]) -> Parts:
    """Write the page of a search; the best trial is in bold."""
    names, statuses = [p.name for p in search.space], [trial.status for trial in trials]
    ended = [f"{statuses.count(status)} {status}" for status in ENDED if status in statuses]
    manner = {**vars(search), "first": search.warmup_epochs + 1}
    best, lines = search.best_of(trials), []
    for trial in trials:
        figure = figure_text(trial.best)
        shown = {"folder": search.folder, "best": f"**{figure}**" if trial is best else figure}
        lines.append(Line([trial], {**search.facts(trial), **shown}))
    columns = [Column("trial", "[{row.number}]({row.folder}/{name}/metrics.jsonl)")]
    columns += [Column(f"`{name}`", f"{{row.values.{name}}}") for name in names]
    facts = {
        "options": f"recipe `{search.recipe}`" if search.recipe else "options",
        "epochs": search.config.epochs,
        "sampler": said["sampler"][search.sampler].format(**manner),
        "pruner": said["pruner"][search.pruner].format(**manner),
        "space": markdown(
            _columns(said["space"]),
            [Line([], {"name": p.name, "values": p.describe()}) for p in search.space],
        ),
        "statuses": ", ".join(ended),
        "best": "",
        "importance": said["importance"] if can_estimate_importance(search, trials) else "",
        "runs": markdown([*columns, *_columns(said["runs"], metric=search.metric)], lines),
    }
    if best is not None:
        of_best = {**search.facts(best), "values": search.describe(best)}
        figure = figure_text(best.best)
        facts["best"] = said["best"].format(metric=search.metric, figure=figure, **of_best)
    texts = said["figures"] if trials else {}
    stem, by = f"images/{search.folder}", " and ".join(names)
    return facts, {f"{stem}-{key}.png": alt.format(names=by) for key, alt in texts.items()}


def _columns(parts: Sequence[Mapping[str, str]], **facts: str) -> list[Column]:
    """The columns of a table, whose headings have facts in braces."""
    return [Column(**{**part, "heading": part["heading"].format(**facts)}) for part in parts]
