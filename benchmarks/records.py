"""Measurements: the numbers of all rounds, their medians, ratios, and goals."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Record:
    """Numbers of one contestant at one place.

    Parameters
    ----------
    contestant : str
    row : str
        What of its work they are about: "step", or the name of a layer.
    at : dict
        Sizes, such as ``{"H": 100}``.
    rounds : dict of str to list of float
        By name, such as "train_ms", one number a round.

    Examples
    --------
    >>> record = Record("deepnlp", "step", {"H": 100}, {"train_ms": [41.0, 40.0, 47.0]})
    >>> record.median("train_ms")
    41.0
    """

    contestant: str
    row: str
    at: dict[str, Any]
    rounds: dict[str, list[float]]

    def median(self, name: str) -> float:
        """The median over the rounds."""
        return statistics.median(self.rounds[name])

    def to_dict(self) -> dict[str, Any]:
        """All of it, medians beside the rounds, ready for JSON."""
        medians = {name: self.median(name) for name in self.rounds}
        return vars(self) | {"medians": medians}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Record:
        """A record from what :meth:`to_dict` gave."""
        return cls(fields["contestant"], fields["row"], fields["at"], fields["rounds"])


class Ratio(NamedTuple):
    """The ratio of two medians, and its range over the rounds."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        if self.low == self.high:
            return f"{self.value:.2f}"
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


def ratio(above: Record, below: Record, name: str) -> Ratio:
    """One contestant's number over another's; rounds are compared one by one.

    Examples
    --------
    >>> a = Record("PyTorch", "step", {}, {"ms": [60.0, 50.0, 55.0]})
    >>> b = Record("deepnlp", "step", {}, {"ms": [40.0, 40.0, 50.0]})
    >>> str(ratio(a, b, "ms"))
    '1.38 (1.10 to 1.50)'
    """
    parts = [_over(x, y) for x, y in zip(above.rounds[name], below.rounds[name], strict=True)]
    return Ratio(_over(above.median(name), below.median(name)), min(parts), max(parts))


def _over(x: float, y: float) -> float:
    return x / y if y else math.inf  # memory may not have grown at all


def find(
    records: Iterable[Record], contestant: str, at: Mapping[str, Any], row: str = "step"
) -> Record | None:
    """The record of a contestant at a place, None if there is none.

    Parameters
    ----------
    records : iterable of Record
    contestant : str
    at : mapping
        Sizes that must agree; others are not looked at.
    row : str

    Examples
    --------
    >>> records = [Record("deepnlp", "step", {"H": H}, {"ms": [1.0 * H]}) for H in (1, 2)]
    >>> find(records, "deepnlp", {"H": 2}).median("ms"), find(records, "PyTorch", {"H": 2})
    (2.0, None)
    """
    for record in records:
        if (record.contestant, record.row) == (contestant, row) and at.items() <= record.at.items():
            return record
    return None


def places(records: Iterable[Record], *letters: str) -> list[tuple[Any, ...]]:
    """Sizes at which something was measured, each once, in order.

    Parameters
    ----------
    records : iterable of Record
    *letters : str
        Of the sizes; a record without one of them is passed over.

    Examples
    --------
    >>> places([Record("deepnlp", "step", {"H": H}, {}) for H in (1, 1, 2)], "H")
    [(1,), (2,)]
    """
    found = (
        tuple(record.at[letter] for letter in letters)
        for record in records
        if set(letters) <= set(record.at)
    )
    return list(dict.fromkeys(found))


class Goal(NamedTuple):
    """A ratio that is wanted, and the one that was reached.

    Parameters
    ----------
    what : str
        Such as "training step, H = 100, times as fast as PyTorch".
    sense : {"at least", "at most"}
    wanted : float
    reached : Ratio

    Examples
    --------
    >>> goal = Goal("evaluation", "at least", 1.5, Ratio(1.2, 1.1, 1.3))
    >>> goal.met, goal.verdict()
    (False, 'at least 1.5: missed by 20 %')
    """

    what: str
    sense: str
    wanted: float
    reached: Ratio

    @property
    def met(self) -> bool:
        """Return whether every round reaches the goal."""
        if self.sense == "at least":
            return self.reached.low >= self.wanted
        return self.reached.high <= self.wanted

    @property
    def shortfall(self) -> float:
        """Return the part of the goal that the median misses; 0 or less if none."""
        off = self.reached.value / self.wanted - 1
        return -off if self.sense == "at least" else off

    def verdict(self) -> str:
        """The goal and whether it is met, in a few words."""
        percent = 100 * self.shortfall
        if self.met:
            told = "met"
        elif percent <= 0:
            told = "met by the median, but not in every round"
        else:
            told = f"missed by {percent:.{0 if percent >= 9.5 else 1}f} %"
        return f"{self.sense} {self.wanted:g}: {told}"
