"""What a table consists of, read from its TOML file."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from typing import Any

from deepnlp.options import to_toml
from deepnlp.reproduce.declared import made, names_in, read_declaration
from deepnlp.tasks import TASKS
from deepnlp.training import TrainConfig, configure

TABLES = resources.files("deepnlp").joinpath("reproduce", "tables")
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True)
class Column:
    """A column: its heading, and a text with figures in braces, such as ``{perplexity.test:.1f}``.

    A figure is the path of a number in ``result.json``; ``config.NAME`` is an option of the run and
    ``row.NAME`` a key of the row in the TOML file, such as ``published``. ``{a - b:+.1f}`` is a
    difference; ``before.perplexity.test`` is a figure of the row that this one comes after. Where
    runs with different seeds differ, their mean and spread are shown.
    """

    heading: str
    text: str
    align: str = "right"


@dataclass(frozen=True)
class Panel:
    """A part of a figure: the number of each row that it shows, and that of the source, if any.

    A number above ``highest`` is written, not drawn; ``share`` is its part of the width.
    """

    value: str
    xlabel: str
    published: str = ""
    highest: float = math.inf
    share: float = 1.0


@dataclass(frozen=True)
class FigureOf:
    """A figure of dots, a line for each row, in one or more panels side by side."""

    title: str
    panels: Sequence[Panel]


@dataclass(frozen=True)
class CurvesOf:
    """A figure of curves: each row is a point, and the points of rows with one ``line`` are joined.

    ``x`` and ``y`` are figures as in a column.
    """

    title: str
    x: str
    y: str
    xlabel: str
    ylabel: str
    logx: bool = False


@dataclass(frozen=True)
class Row:
    """A row: a recipe, the options that override it, and what its source published.

    ``line`` is the curve on which it lies in a figure of curves.
    """

    name: str
    label: str = ""
    recipe: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    seeds: Sequence[int] | None = None
    own: bool = False  # the options of the table do not hold for it
    after: str = ""  # a row above it, whose options it has too
    needs: Sequence[str] = ()  # runs of the table whose folders this row reads
    shown: bool = True  # in the table; else only among the runs
    line: str = ""
    published: Mapping[str, Any] = field(default_factory=dict)

    @property
    def new(self) -> str:
        """The options that it states itself."""
        return to_toml(self.options).strip().replace("\n", ", ")


@dataclass(frozen=True)
class Job:
    """One run of a table: a row with a seed."""

    row: Row
    seed: int
    config: TrainConfig

    @property
    def name(self) -> str:
        """The name of its folders."""
        return f"{self.row.name}-{self.seed}"


@dataclass(frozen=True)
class Table:
    """A table of results; its ``options``, ``recipe``, ``seeds`` hold where a row has none.

    ``seeded`` names the options that the seed of a run sets.
    """

    name: str
    title: str
    text: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    seeds: Sequence[int] = (0,)
    seeded: Sequence[str] = ("seed",)
    recipe: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    figure: FigureOf | CurvesOf | None = None
    notes: str = ""

    def jobs(self) -> list[Job]:
        """All runs: every row with its first seed, then with its second, and so on."""
        return self._jobs

    @cached_property
    def _jobs(self) -> list[Job]:
        by_row = [
            [self.job(row, seed) for seed in (self.seeds if row.seeds is None else row.seeds)]
            for row in self.rows
        ]
        longest = max(len(jobs) for jobs in by_row)
        return [jobs[k] for k in range(longest) for jobs in by_row if k < len(jobs)]

    def job(self, row: Row, seed: int) -> Job:
        """The run of a row with a seed."""
        shared = {} if row.own else self.options
        own, shared = self._options(row), {**shared, **dict.fromkeys(self.seeded, seed)}
        task = own.pop("task", shared.pop("task", None))
        base = configure(row.recipe or self.recipe or None, task=task)
        if TASKS[base.task].counted:  # there are no sizes, nothing is drawn
            shared = {name: value for name, value in shared.items() if name in base}
        return Job(row, seed, base.replace(**{**shared, **own}))

    def _options(self, row: Row) -> dict[str, Any]:
        """The options of a row, over those of the rows that it comes after."""
        before = next((one for one in self.rows if one.name == row.after), None)
        return {**(self._options(before) if before else {}), **row.options}

    def needed_by(self, job: Job) -> list[Job]:
        """The runs whose folders a run reads."""
        by_name = {one.name: one for one in self.jobs()} if job.row.needs else {}
        return [by_name[name] for name in job.row.needs]


def table_names() -> list[str]:
    """Names of the tables that come with deepnlp.

    Returns
    -------
    list of str

    Examples
    --------
    >>> "glove" in table_names()
    True
    """
    return names_in(TABLES)


def load_table(name: str) -> Table:
    """Read a table.

    Parameters
    ----------
    name : str
        One of :func:`table_names`, or the path of a TOML file, whose name is the table's then.

    Returns
    -------
    Table

    Raises
    ------
    ValueError
        If there is no table of this name, or it is not well-formed: the text says where.

    Examples
    --------
    >>> load_table("glove").name
    'glove'
    """
    name, content, source = read_declaration(name, TABLES, "table")
    try:
        return _table(name, content)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{source}: {error}") from error


def _table(name: str, content: Mapping[str, Any]) -> Table:
    parts = dict(content)
    if "like" in parts:  # all of another table, except for what stands here
        _, other, _ = read_declaration(parts.pop("like"), TABLES, "table")
        parts["options"] = {**other.get("options", {}), **parts.get("options", {})}
        parts = {**other, **parts}
    figure = _figure(parts.pop("figure", None))
    columns = [made(Column, part, "a column") for part in parts.pop("columns", [])]
    rows = [made(Row, part, "a row") for part in parts.pop("rows", [])]
    if not rows or not columns:
        raise ValueError("a table needs one of [[rows]] and one of [[columns]] or more")
    parts |= {"name": name, "columns": columns, "rows": rows, "figure": figure}
    table = made(Table, parts, "the table")
    above: list[str] = [""]
    for row in rows:
        if row.after not in above:
            raise ValueError(f"row {row.name} comes after {row.after!r}, which is no row above it")
        above.append(row.name)
    names = [job.name for job in table.jobs()]  # which checks the options of each
    for one in names:
        if not NAME.fullmatch(one):
            raise ValueError(f"a row is named with a-z, 0-9 and single hyphens, got {one!r}")
        if names.count(one) > 1:
            raise ValueError(f"two runs have the name {one}")
    for row in rows:
        if isinstance(figure, CurvesOf) and row.shown and not row.line:
            raise ValueError(f"row {row.name} needs a 'line', the curve of the figure it is on")
        for need in row.needs:
            if need not in names:
                raise ValueError(f"row {row.name} needs {need!r}, which is no run of the table")
    return table


def _figure(part: Mapping[str, Any] | None) -> FigureOf | CurvesOf | None:
    if part is None:
        return None
    if "panels" not in part:
        curves: CurvesOf = made(CurvesOf, part, "the figure")
        return curves
    panels = [made(Panel, panel, "a panel") for panel in part["panels"]]
    dots: FigureOf = made(FigureOf, {**part, "panels": panels}, "the figure")
    return dots
