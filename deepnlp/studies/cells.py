"""What a page says of runs: templates with figures in braces, filled in from ``result.json``."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from deepnlp.errors import DeepNLPError
from deepnlp.studies.logs import DIVERGED, NOT_RUN, Run
from deepnlp.studies.parameter import text
from deepnlp.studies.study import Column
from deepnlp.studies.table import Table

NO_VALUE = "-"
OTHER_SOURCES = ("row", "config", "run", "before")  # than result.json, for what begins with them


@dataclass(frozen=True)
class Line:
    """A line of a page: its runs, and a row, of which some is known without runs."""

    runs: Sequence[Run]
    row: Mapping[str, Any] = field(default_factory=dict)
    before: Line | None = None  # the row that it comes after

    def values(self, path: str) -> list[Any]:
        """What stands at a path, or the difference of two paths, in each run; else None."""
        first, minus, second = path.partition(" - ")
        if minus:
            pairs = zip(self.values(first), self.values(second), strict=True)
            return [None if None in (a, b) else a - b for a, b in pairs]
        source, _, rest = path.partition(".")
        if source == "before":
            numbers = self.before.numbers(rest) if self.before else []
            return [float(np.mean(numbers)) if numbers else None] * len(self.runs)
        of_row = {"row": self.row}
        tables = [{**run.result, "config": run.config, "run": about(run)} for run in self.runs]
        return [_at({**table, **of_row}, path) for table in tables]

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
            of_runs = path.partition(".")[0] not in OTHER_SOURCES and " - " not in path
            if of_runs and values.count(None) == len(values) and self.diverged():
                return DIVERGED
            parts.append(_mean_and_spread(values, form or ""))
        return NO_VALUE if NO_VALUE in parts else "".join(parts)

    def diverged(self) -> bool:
        """Whether a run ended early since its loss was no longer finite."""
        return any(run.status == DIVERGED for run in self.runs)


def table_lines(table: Table, runs: Sequence[Run]) -> list[Line]:
    """The finished runs of every row."""
    lines: dict[str, Line] = {}
    for row in table.rows:
        names = [f"{row.name}-{seed}" for seed in sorted(table.seeds_of(row))]
        ended = [run for name in names for run in runs if run.name == name]
        lines[row.name] = Line(ended, {**vars(row), "new": row.new}, lines.get(row.after))
    return [*lines.values()]


def about(run: Run) -> dict[str, Any]:
    """What a template says of a run that diverged too."""
    seconds = {name: run.result.get(f"{name}seconds") for name in ("", "cpu_")}
    minutes = {f"{name}minutes": None if s is None else s / 60 for name, s in seconds.items()}
    return {**run.result, **minutes, "name": run.name}


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
    """What stands at a path of keys, None where there is nothing."""
    for key in path.split("."):
        if not isinstance(table, Mapping) or key not in table:
            return None
        table = table[key]
    return table
