"""The result of a gradient check, as an object that prints as a table."""

from __future__ import annotations

from dataclasses import dataclass, field

from deepnlp.gradcheck.causes import Cause
from deepnlp.gradcheck.numeric import HostArray


@dataclass
class Row:
    """One gradient of a report.

    Attributes
    ----------
    name : str
        What it is the gradient of: an input, a parameter, or an initial state such as ``h0``.
    error : float
        max |analytic - numeric| / max |numeric|, over the entries.
    index : tuple of int
        The entry that is furthest off.
    ok : bool
    analytic, numeric : numpy.ndarray
    causes : list of Cause
        Likely causes of a wrong gradient, the likeliest first. A gradient that is right has none,
        except one whose error comes from float32.
    """

    name: str
    error: float
    index: tuple[int, ...]
    ok: bool
    analytic: HostArray = field(repr=False)
    numeric: HostArray = field(repr=False)
    causes: list[Cause] = field(default_factory=list)


@dataclass
class Check:
    """A further requirement on a layer.

    Attributes
    ----------
    name : str
        Such as ``"second backward"``.
    ok : bool
    note : str
        What was seen.
    """

    name: str
    ok: bool
    note: str


@dataclass
class Report:
    """The result of :func:`check_gradients`; it prints as a table.

    Attributes
    ----------
    subject : str
        Name of the class that was checked.
    method : str
        ``"complex"``, ``"central"`` or ``"direction"``, as it was in the end.
    tolerance : float
    rows : list of Row
        One for every gradient; behind them one for every check that failed.
    checks : list of Check
        What else was looked at, whether it failed or not.
    """

    subject: str
    method: str
    tolerance: float
    rows: list[Row]
    checks: list[Check] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether every gradient agrees and every check passed."""
        return all(row.ok for row in self.rows)

    @property
    def error(self) -> float:
        """The largest error of all rows."""
        return max((row.error for row in self.rows), default=0.0)

    @property
    def causes(self) -> list[Cause]:
        """The likeliest cause of each wrong row, each once."""
        first = [row.causes[0] for row in self.rows if row.causes and not row.ok]
        return list(dict.fromkeys(first))

    def __str__(self) -> str:
        gradients = [row for row in self.rows if row.name not in {c.name for c in self.checks}]
        names = [row.name for row in gradients] + [check.name for check in self.checks]
        width = max([8, *map(len, names)])
        lines = [f"{self.subject}: {self.method} step, tolerance {self.tolerance:.0e}"]
        for row in gradients:
            shape = " x ".join(map(str, row.numeric.shape)) or "number"
            verdict = "ok" if row.ok else f"WRONG at {list(row.index)}"
            if row.ok and row.causes:
                verdict = f"ok ({row.causes[0].name})"
            lines.append(f"  {row.name:<{width}}  {shape:>12}  {row.error:8.1e}  {verdict}")
        for check in self.checks:
            verdict = "ok" if check.ok else "WRONG"
            lines.append(f"  {check.name:<{width}}  {'':>12}  {'':8}  {verdict}: {check.note}")
        told: list[str] = []
        for row in self.rows:
            if row.ok or not row.causes:
                continue
            first, *others = row.causes
            if str(first) in told:
                continue
            told.append(str(first))
            lines.append(f"  likely cause: {first}")
            lines += [f"      or: {cause}" for cause in others]
        return "\n".join(lines)
