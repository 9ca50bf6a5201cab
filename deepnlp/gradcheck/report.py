"""The result of a gradient check, as an object that prints as a table."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy

from deepnlp.gradcheck.causes import CAUSES, UNKNOWN, Cause
from deepnlp.gradcheck.outcome import Outcome
from deepnlp.gradcheck.walking import HostArray

SCHEMA = "deepnlp.gradcheck"
"""What :meth:`Report.to_dict` gives; docs/diagnosis.md describes it."""

VERSION = 1
"""Of the schema: another number where a key is dropped or changes its meaning."""

NO_GRADIENT = "no gradient found"
"""The note of a weight for which there is none."""


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
    note : str
        What is wrong besides numbers: a shape, or that there is no gradient.
    noted : str
        Why the gradient could not be judged: it is neither ok nor wrong.
    """

    name: str
    error: float
    index: tuple[int, ...]
    ok: bool
    analytic: HostArray = field(repr=False)
    numeric: HostArray = field(repr=False)
    causes: list[Cause] = field(default_factory=list)
    note: str = ""
    noted: str = ""

    @property
    def is_wrong(self) -> bool:
        """True if the gradient was judged, and is not ok."""
        return not self.ok and not self.noted

    @property
    def fits(self) -> bool:
        """True if both gradients have one shape."""
        return self.analytic.shape == self.numeric.shape

    @property
    def off(self) -> HostArray:
        """How far each entry is off."""
        return numpy.abs(self.analytic - self.numeric)


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
    counts : int
        How many things it leaves to the reader to judge, such as arrays without a gradient.
    """

    name: str
    ok: bool
    note: str
    counts: int = 0


@dataclass
class Report(Outcome):
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
    sources : dict of str to str
        The arrays that were checked, and where the gradient of each was found.
    runs : dict of str to int
        How often forward and backward ran as they are.
    strict : bool
        Whether what is left to the reader to judge counts as wrong.

    Examples
    --------
    In a test file, a wrong gradient is an AssertionError with its likely cause:

    >>> report = Report("Affine", "complex", 1e-10, [])
    >>> report.or_raise().ok
    True
    """

    subject: str
    method: str
    tolerance: float
    rows: list[Row]
    checks: list[Check] = field(default_factory=list)
    sources: dict[str, str] = field(default_factory=dict)
    runs: dict[str, int] = field(default_factory=dict)
    strict: bool = False

    def failure(self) -> str:
        """Return the wrong gradients and their likely causes in a line; then the table."""
        wrong = ", ".join(row.name for row in self.rows if row.is_wrong)
        told = "; ".join(map(str, self.causes)) or "no likely cause"
        return f"{self.subject}: wrong: {wrong}. {told}\n{self}"

    @property
    def diagnosis(self) -> str | None:
        """The name of the first likely cause of a wrong gradient."""
        return self.causes[0].name if self.causes else None

    @property
    def ok(self) -> bool:
        """True if every gradient that can be judged agrees, and every check passed."""
        return not any(row.is_wrong for row in self.rows) and not (self.strict and self.noted)

    @property
    def noted(self) -> list[str]:
        """Notes that are left to the reader to judge."""
        rows = [f"{row.name}: {row.noted}" for row in self.rows if row.noted]
        return rows + [f"{c.name}: {c.note}" for c in self.checks if c.counts]

    @property
    def error(self) -> float:
        """The largest error of all rows."""
        return max((row.error for row in self.rows), default=0.0)

    @property
    def causes(self) -> list[Cause]:
        """The likeliest cause of each wrong row, each once."""
        first = [row.causes[0] for row in self.rows if row.causes and row.is_wrong]
        return list(dict.fromkeys(first))

    def to_dict(self) -> dict[str, Any]:
        """The verdict for programs, of dicts, lists, texts and numbers.

        Returns
        -------
        dict
            ``schema`` and ``version``; ``subject``, ``method``, ``tolerance``, ``ok``, ``error``;
            ``rows``, one for each gradient and each check that failed, with its ``causes``;
            ``noted``, left to the reader to judge; ``checks``; and ``causes``, the likeliest of
            each mistake, without repetitions. An error that is not finite is None.

        Examples
        --------
        >>> Report("Affine", "complex", 1e-10, []).to_dict()["ok"]
        True
        """
        return {
            "schema": SCHEMA,
            "version": VERSION,
            "subject": self.subject,
            "method": self.method,
            "tolerance": self.tolerance,
            "ok": self.ok,
            "error": _finite(self.error),
            "rows": [_row_to_dict(row, self._kind(row)) for row in self.rows],
            "noted": self.noted,
            "checks": [{"name": c.name, "ok": c.ok, "note": c.note} for c in self.checks],
            "causes": [self._cause_to_dict(cause) for cause in self.causes],
            "sources": self.sources,
            "runs": self.runs,
        }

    def _kind(self, row: Row) -> str:
        return "check" if row.name in {check.name for check in self.checks} else "gradient"

    def _cause_to_dict(self, cause: Cause) -> dict[str, Any]:
        rows = [r for r in self.rows if r.causes and r.causes[0] == cause and r.is_wrong]
        return {**_cause_to_dict(cause, rows[0]), "rows": [row.name for row in rows]}

    def __str__(self) -> str:
        return self.in_words()

    def in_words(self, alternatives: bool = False) -> str:
        """Return the table of all gradients and checks, with the likeliest cause of each mistake.

        Parameters
        ----------
        alternatives : bool
            Whether the other causes that would give the same gradients follow.
        """
        gradients = [row for row in self.rows if row.name not in {c.name for c in self.checks}]
        names = [row.name for row in gradients] + [check.name for check in self.checks]
        width = max([8, *map(len, names)])
        lines = [f"{self.subject}: {self.method} step, tolerance {self.tolerance:.0e}"]
        for row in gradients:
            shape = " x ".join(map(str, row.numeric.shape)) or "number"
            if row.noted:
                verdict = row.noted
            elif row.ok:
                verdict = f"ok ({row.causes[0].name})" if row.causes else "ok"
            else:
                at = f" at {list(row.index)}" if row.index else ""
                verdict = f"WRONG: {row.note}" if row.note else f"WRONG{at}"
            lines.append(f"  {row.name:<{width}}  {shape:>12}  {row.error:8.1e}  {verdict}")
        for check in self.checks:
            verdict = "ok" if check.ok else "WRONG"
            lines.append(f"  {check.name:<{width}}  {'':>12}  {'':8}  {verdict}: {check.note}")
        judged = [row for row in gradients if not row.noted]
        if noted := len(gradients) - len(judged) + sum(c.counts for c in self.checks):
            lines.append(f"  {noted} left to you to judge: see above")
        if self.sources:
            arrays = ", ".join(f"{name} ({source})" for name, source in self.sources.items())
            often = " and ".join(f"{name} {count} times" for name, count in self.runs.items())
            lines.append(f"  gradients of {arrays}; ran {often}")
        told: dict[str, list[Cause]] = {}
        for row in self.rows:
            if row.causes and row.is_wrong:
                told.setdefault(str(row.causes[0]), row.causes)
        for first, *others in told.values():
            lines.append(f"  likely cause: {first}")
            lines += [f"      or: {cause}" for cause in others if alternatives]
        return "\n".join(lines)


def _row_to_dict(row: Row, kind: str) -> dict[str, Any]:
    return {
        "name": row.name,
        "kind": kind,
        "shape": list(row.numeric.shape),
        "error": _finite(row.error),
        "index": list(row.index),
        "ok": row.ok,
        "note": row.note or row.noted,
        "causes": [_cause_to_dict(cause, row) for cause in row.causes],
    }


def _cause_to_dict(cause: Cause, row: Row) -> dict[str, Any]:
    return {
        "name": cause.name,
        "sentence": CAUSES[cause.name],
        "evidence": cause.evidence,
        "place": cause.place or row.name,
        "confidence": _confidence(cause, row),
    }


def _confidence(cause: Cause, row: Row) -> str:
    """How sure a cause is: ``seen``, ``likely``, ``possible`` or ``none``."""
    if cause.name == UNKNOWN:
        return "none"
    if math.isnan(cause.distance):
        return "seen"  # it was not inferred from numbers
    return "likely" if cause == row.causes[0] else "possible"


def _finite(number: float) -> float | None:
    return number if math.isfinite(number) else None
