"""What the finished runs of a row found: the text of a cell of its table."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from deepnlp.errors import DeepNLPError
from deepnlp.reproduce.logs import Logs
from deepnlp.reproduce.table import Job, Row, Table

NOT_RUN, NO_VALUE, DIVERGED = "not run", "-", "diverged"
OTHER_SOURCES = ("row", "config", "before")  # than result.json, for what begins with them


@dataclass(frozen=True)
class Found:
    """The finished runs of a row: their jobs and their ``result.json``."""

    row: Row
    runs: Sequence[tuple[Job, Mapping[str, Any]]]
    before: Found | None = None  # what was found of the row that it comes after

    def values(self, path: str) -> list[Any]:
        """What stands at a path, or the difference of two paths, in each run; else None."""
        first, minus, second = path.partition(" - ")
        if minus:
            rows = zip(self._aligned(first), self._aligned(second), strict=True)
            return [None if None in (a, b) else a - b for a, b in rows]
        return self._aligned(first)

    def _aligned(self, path: str) -> list[Any]:
        """The value of each run."""
        source, _, rest = path.partition(".")
        if source == "row":
            return [self._of_row(rest)] * len(self.runs)
        if source == "before":
            values = self.before.values(rest) if self.before else []
            numbers = [value for value in values if value is not None]
            return [float(np.mean(numbers)) if numbers else None] * len(self.runs)
        if source == "config":
            return [job.config.get(rest) for job, _ in self.runs]
        return [_at(result, path) for _, result in self.runs]

    def text(self, template: str) -> str:
        """A template with the figures in braces filled in: the mean and the spread over seeds."""
        parts = []
        for literal, path, form, _ in string.Formatter().parse(template):
            parts.append(literal)
            if path is None:
                continue
            alone = path.startswith("row.") and " - " not in path  # needs no run
            values = [self._of_row(path[4:])] if alone else self.values(path)
            if not values:
                return NOT_RUN
            of_runs = path.partition(".")[0] not in OTHER_SOURCES and " - " not in path
            if of_runs and values.count(None) == len(values) and self.diverged():
                return DIVERGED
            parts.append(_mean_and_spread(values, form or ""))
        return NO_VALUE if NO_VALUE in parts else "".join(parts)

    def diverged(self) -> bool:
        """Whether a run ended early since its loss was no longer finite."""
        return any(result["status"] == DIVERGED for _, result in self.runs)

    def _of_row(self, path: str) -> Any:
        return _at({**vars(self.row), "new": self.row.new}, path)


def found_in(table: Table, logs: Logs) -> list[Found]:
    """The finished runs of every row."""
    by_row: dict[str, list[tuple[Job, Mapping[str, Any]]]] = {row.name: [] for row in table.rows}
    for job in table.jobs():
        result = logs.result(job)
        if result is not None:
            by_row[job.row.name].append((job, result))
    found: dict[str, Found] = {}
    for row in table.rows:
        runs = sorted(by_row[row.name], key=lambda run: run[0].seed)
        found[row.name] = Found(row, runs, found.get(row.after))
    return list(found.values())


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
        return format(first, form)
    spread = format(float(np.std(values, ddof=1)), form.replace("+", ""))
    return f"{format(float(np.mean(values)), form)} ± {spread}"


def _at(table: Any, path: str) -> Any:
    """What stands at a path of keys, None where there is nothing."""
    for key in path.split("."):
        if not isinstance(table, Mapping) or key not in table:
            return None
        table = table[key]
    return table
