"""Report of the experiments: an object that prints as a table."""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, NamedTuple

from deepnlp.gradcheck.outcome import Outcome

SCHEMA = "deepnlp.checkup"
"""What :meth:`Report.to_dict` gives."""

VERSION = 1
"""Of the schema: another number where a key is dropped or changes its meaning."""

OK, WRONG, LOOK, NOT_TRIED = "ok", "WRONG", "look here", "not tried"

_DATA: dict[str, dict[str, str]] = tomllib.loads(
    files(__package__).joinpath("causes.toml").read_text("utf-8")
)

CAUSES: dict[str, str] = {name: row["meaning"] for name, row in _DATA.items()}
"""Every name a cause can have, with its meaning."""


class UntriedError(Exception):
    """Raised by an experiment that cannot be made; its text says why."""


class Cause(NamedTuple):
    """A mistake in a training, or what looks like one.

    Attributes
    ----------
    name : str
        One of :data:`CAUSES`.
    is_wrong : bool
        Whether it is a mistake; otherwise it is left to the reader to judge.
    evidence : str
        What was seen, in numbers.
    change : str
        What to do.
    place : str
        The line where it is likely to be, where the lines of the step are known.

    Examples
    --------
    >>> print(cause("nothing moves", True, steps=3))
    nothing moves: no weight is another one after 3 steps.
    """

    name: str
    is_wrong: bool
    evidence: str
    change: str
    place: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.evidence}"

    def placed(self, source: str) -> "Cause":
        """The same, with the line of a source to which the cause points."""
        pattern = _DATA[self.name].get("line")
        lines = [line.strip() for line in source.splitlines()]
        code = [line for line in lines if not line.startswith(("#", "def ", "class "))]
        hits = [line for line in code if pattern and re.search(pattern, line)]
        return self._replace(place=hits[0]) if hits else self


def cause(name: str, is_wrong: bool = True, /, **places: Any) -> Cause:
    """Return a cause, its evidence filled in with what was measured."""
    row = _DATA[name]
    return Cause(name, is_wrong, row["evidence"].format(**places), row["change"].format(**places))


@dataclass
class Row:
    """One experiment.

    Attributes
    ----------
    name : str
    verdict : str
        ``"ok"``, ``"WRONG"``, ``"look here"`` or ``"not tried"``.
    note : str
        What was measured, or why it was not tried.
    causes : list of Cause
    """

    name: str
    verdict: str
    note: str = ""
    causes: list[Cause] = field(default_factory=list)


@dataclass
class Report(Outcome):
    """The result of :func:`~deepnlp.checkup.check_training`; it prints as a table.

    Attributes
    ----------
    subject : str
    rows : list of Row
    taken : dict of str to str
        What was taken for what.
    steps : int
        How many steps of the training were made.

    Examples
    --------
    >>> report = Report("step", [Row("direction", "ok", "downhill")])
    >>> report.or_raise().ok
    True
    """

    subject: str
    rows: list[Row]
    taken: dict[str, str] = field(default_factory=dict)
    steps: int = 0

    @property
    def ok(self) -> bool:
        """Return whether no experiment shows a mistake."""
        return not any(row.verdict == WRONG for row in self.rows)

    @property
    def causes(self) -> list[Cause]:
        """All causes, mistakes first, each name once."""
        every = [one for row in self.rows for one in row.causes]
        every.sort(key=lambda one: not one.is_wrong)
        return list({one.name: one for one in reversed(every)}.values())[::-1]

    @property
    def diagnosis(self) -> str | None:
        """The name of the first mistake."""
        return next((one.name for one in self.causes if one.is_wrong), None)

    @property
    def noted(self) -> list[str]:
        """Return what is left to the reader to judge."""
        return [str(one) for one in self.causes if not one.is_wrong]

    def failure(self) -> str:
        """Return what is wrong, on a line; then the table."""
        told = "; ".join(str(one) for one in self.causes if one.is_wrong)
        return f"{self.subject}: {told}\n{self}"

    def to_dict(self) -> dict[str, Any]:
        """The verdict for programs, of dicts, lists, texts and numbers."""
        return {
            "schema": SCHEMA,
            "version": VERSION,
            "subject": self.subject,
            "ok": self.ok,
            "rows": [_row(row) for row in self.rows],
            "noted": self.noted,
            "causes": [one._asdict() | {"meaning": CAUSES[one.name]} for one in self.causes],
            "taken": self.taken,
            "steps": self.steps,
        }

    def __str__(self) -> str:
        width = max([8, *(len(row.name) for row in self.rows)])
        lines = [f"{self.subject}: {self.steps} steps, all put back"]
        lines += [f"  {what}: {value}" for what, value in self.taken.items()]
        for row in self.rows:
            told = f": {row.note}" if row.note else ""
            lines.append(f"  {row.name:<{width}}  {row.verdict}{told}")
        for one in self.causes:
            lines += [f"  {'WRONG' if one.is_wrong else 'look here'}: {one}"]
            lines += [f"      line: {one.place}"] if one.place else []
            lines += [f"      {one.change}"]
        return "\n".join(lines)


def row_of(name: str, seen: Iterable[Cause | str]) -> Row:
    """Return the row of an experiment from the causes and notes that it gives."""
    seen = list(seen)
    causes = [one for one in seen if isinstance(one, Cause)]
    notes = "; ".join(one for one in seen if isinstance(one, str))
    verdict = WRONG if any(one.is_wrong for one in causes) else LOOK if causes else OK
    return Row(name, verdict, notes or ", ".join(one.name for one in causes), causes)


def _row(row: Row) -> dict[str, Any]:
    causes = [one.name for one in row.causes]
    return {"name": row.name, "verdict": row.verdict, "note": row.note, "causes": causes}
