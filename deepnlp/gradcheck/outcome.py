"""The outcome of every check: for test files an error, for graders a number."""

from collections.abc import Mapping
from typing import Any, Self


class Outcome:
    """The outcome of a check: whether all is right (``ok``), and else the name of the mistake.

    A class of outcomes has ``ok``, ``diagnosis`` and ``failure()``, the text on what is wrong.

    Examples
    --------
    >>> from deepnlp.lessons.exercises import Verdict
    >>> Verdict.wrong("sign", "db has the wrong sign.").or_raise()
    Traceback (most recent call last):
        ...
    AssertionError: db has the wrong sign.
    """

    def or_raise(self) -> Self:
        """The outcome itself if all is right, so that a test or a cell of a grader passes.

        Raises
        ------
        AssertionError
            With what is wrong and the likely cause.
        """
        __tracebackhide__ = True  # pytest shows the line that called
        found: Any = self
        if not found.ok:
            raise AssertionError(found.failure())
        return self

    def marks(self, points: float, partial: Mapping[str, float] | None = None) -> float:
        """The points that are earned, as the last line of a grader's cell.

        Parameters
        ----------
        points : float
            For a right answer.
        partial : dict of str to float, optional
            The share of the points by the name of the mistake; none for others.

        Examples
        --------
        >>> from deepnlp.lessons.exercises import Verdict
        >>> Verdict.wrong("sign", "db has the wrong sign.").marks(4, {"sign": 0.5})
        2.0
        """
        found: Any = self
        share = 1.0 if found.ok else (partial or {}).get(found.diagnosis or "", 0.0)
        return float(points * share)
