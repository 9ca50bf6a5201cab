"""A table of results: what it consists of, read from its TOML file."""

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from deepnlp.options import to_toml
from deepnlp.tasks import TASKS
from deepnlp.training import TrainConfig, configure
from studies.study import Column, Study, build_part, differences, load_declared

NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


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
    """A figure of dots, a line for each row, in one or more ``panels`` side by side; or of curves.

    Of curves each row is a point, ``x`` and ``y`` are figures as in a column, and the points of
    rows with one ``line`` are joined.
    """

    title: str
    panels: Sequence[Panel] = ()
    x: str = ""
    y: str = ""
    xlabel: str = ""
    ylabel: str = ""
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
    seeds: Sequence[int] = (0,)
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


@dataclass(frozen=True, kw_only=True)
class Table(Study):
    """A table of results; its ``options`` are those of each row, besides the row's own.

    ``seeded`` names the options that the seed of a run sets.
    """

    kind, stops_at_failure = "table", False

    title: str
    text: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    seeded: Sequence[str] = ("seed",)
    options: Mapping[str, Any] = field(default_factory=dict)
    figure: FigureOf | None = None

    @cached_property
    def jobs(self) -> list[Job]:
        """All runs: every row with its first seed, then with its second, and so on."""
        by_row = ([self._job(row, seed) for seed in row.seeds] for row in self.rows)
        rounds = itertools.zip_longest(*by_row)
        return [job for jobs in rounds for job in jobs if job is not None]

    @cached_property
    def run_names(self) -> Sequence[str]:
        """The names of all runs, ROW-SEED."""
        return [job.name for job in self.jobs]

    def job_of(self, name: str) -> Job:
        """The run of a name."""
        return self.jobs[self.run_names.index(name)]

    def names_of(self, rows: Sequence[str] = ()) -> list[str]:
        """The runs that names of rows or runs stand for, all of them where there are no names."""
        for name in rows:
            if not any(name in (job.name, job.row.name) for job in self.jobs):
                known = ", ".join(row.name for row in self.rows)
                raise ValueError(f"table {self.name} has no row {name!r}: expected one of {known}")
        return [job.name for job in self.jobs if not rows or {job.name, job.row.name} & {*rows}]

    def changes(self, name: str, config: TrainConfig) -> list[str]:
        """The options of a run that are not those of its row, each as a text."""
        return differences(config, self.job_of(name).config)

    def needs(self, name: str) -> Sequence[str]:
        """The runs whose folders a run reads."""
        return self.job_of(name).row.needs

    def _job(self, row: Row, seed: int) -> Job:
        """The run of a row with a seed."""
        shared = {} if row.own else self.options
        own, shared = self._options(row), {**shared, **dict.fromkeys(self.seeded, seed)}
        task = own.pop("task", shared.pop("task", None))
        base = configure(row.recipe or None, task=task)
        if TASKS[base.task].counted:  # there are no sizes, nothing is drawn
            shared = {name: value for name, value in shared.items() if name in base}
        return Job(row, seed, base.replace(**{**shared, **own}))

    def _options(self, row: Row) -> dict[str, Any]:
        """The options of a row, over those of the rows that it comes after."""
        before = next((above for above in self.rows if above.name == row.after), None)
        return {**(self._options(before) if before else {}), **row.options}


def load_table(name: str) -> Table:
    """Read a table.

    Parameters
    ----------
    name : str
        A name that comes with deepnlp, or the path of a TOML file, whose name is the table's then.

    Raises
    ------
    ValueError
        If there is no table of this name, or it is not well-formed: the text says where.

    Examples
    --------
    >>> load_table("glove").name
    'glove'
    """
    return load_declared("table", name, _table)


def _table(name: str, content: Mapping[str, Any]) -> Table:
    parts = dict(content)
    shared: dict[str, Any] = {key: parts.pop(key) for key in ("recipe", "seeds") if key in parts}
    if not (parts.get("rows") and parts.get("columns")):
        raise ValueError("a table needs one of [[rows]] and one of [[columns]] or more")
    parts["columns"] = [build_part(Column, part, "a column") for part in parts["columns"]]
    parts["rows"] = [build_part(Row, {**shared, **part}, "a row") for part in parts["rows"]]
    if "figure" in parts:
        panels = parts["figure"].get("panels", [])
        panels = [build_part(Panel, panel, "a panel") for panel in panels]
        parts["figure"] = build_part(FigureOf, {**parts["figure"], "panels": panels}, "the figure")
    table = build_part(Table, {**parts, "name": name}, "the table")
    above, figure = [""], table.figure
    curves = figure is not None and not figure.panels
    if figure and curves and not (figure.x and figure.y):
        raise ValueError("the figure needs panels, or x and y")
    for row in table.rows:
        if row.after not in above:
            raise ValueError(f"row {row.name} comes after {row.after!r}, which is no row above it")
        if curves and row.shown and not row.line:
            raise ValueError(f"row {row.name} needs a 'line', the curve of the figure it is on")
        above.append(row.name)
    for name in table.run_names:  # which checks the options of each
        if not NAME.fullmatch(name):
            raise ValueError(f"a row is named with a-z, 0-9 and single hyphens, got {name!r}")
        if table.run_names.count(name) > 1:
            raise ValueError(f"two runs have the name {name}")
        for need in table.needs(name):
            if need not in table.run_names:
                raise ValueError(f"run {name} needs {need!r}, which is no run of the table")
    return table
