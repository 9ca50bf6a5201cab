"""What every check has found: for test files an error, for graders a number."""

from collections.abc import Mapping
from typing import Protocol, TypeVar


class _Found(Protocol):
    @property
    def ok(self) -> bool: ...
    @property
    def diagnosis(self) -> str | None: ...
    def failure(self) -> str: ...


Found = TypeVar("Found", bound=_Found)


class Outcome:
    """What a check has found: whether all is right (``ok``), and the name of the mistake if not.

    Examples
    --------
    >>> from deepnlp.lessons.exercises import Verdict
    >>> Verdict.wrong("sign", "db has the wrong sign.").or_raise()
    Traceback (most recent call last):
        ...
    AssertionError: db has the wrong sign.
    """

    def or_raise(self: Found) -> Found:
        """The outcome itself if all is right, so that a test or a cell of a grader passes.

        Raises
        ------
        AssertionError
            With what is wrong and the likely cause.
        """
        __tracebackhide__ = True  # pytest shows the line that called
        if not self.ok:
            raise AssertionError(self.failure())
        return self

    def marks(self: Found, points: float, partial: Mapping[str, float] | None = None) -> float:
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
        share = 1.0 if self.ok else (partial or {}).get(self.diagnosis or "", 0.0)
        return float(points * share)
