"""The result of the check of an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from deepnlp.gradcheck.outcome import Outcome

EMPTY = "empty"
WRONG_TYPE = "wrong type"
"""Diagnoses that are asked for; others are texts, and the names of deepnlp.gradcheck.CAUSES."""


@dataclass(frozen=True)
class Verdict(Outcome):
    """The result of the check of an answer.

    Attributes
    ----------
    ok : bool
    diagnosis : str or None
        Name of the likeliest cause of a wrong answer: ``"empty"``, ``"transposed"``, ...
    text : str
        One or more sentences for the reader.

    Examples
    --------
    >>> Verdict.empty("forward returned None")
    Verdict(ok=False, diagnosis='empty', text='Not yet: forward returned None.')
    """

    ok: bool
    diagnosis: str | None
    text: str

    @classmethod
    def right(cls, text: str = "Right.") -> Verdict:
        """Say that the answer is right."""
        return cls(True, None, text)

    @classmethod
    def wrong(cls, diagnosis: str, text: str) -> Verdict:
        """Say that the answer is wrong, and why."""
        return cls(False, diagnosis, text)

    @classmethod
    def empty(cls, seen: str) -> Verdict:
        """Say that there is no answer yet.

        Parameters
        ----------
        seen : str
            What shows it, such as ``"forward returned None"``.
        """
        return cls(False, EMPTY, f"Not yet: {seen}.")

    def failure(self) -> str:
        """The text of what is wrong."""
        return self.text

    def _ipython_display_(self) -> None:
        """Show nothing as the value of a notebook cell: ``check`` has already printed it."""


class RefusedError(Exception):
    """An answer that a check cannot go on with; ``check`` gives its verdict."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.text)
        self.verdict = verdict


def is_empty(answer: Any) -> bool:
    """Return whether there is no answer: None or an ellipsis."""
    return answer is None or answer is ...


def parts(answer: Any, *names: str) -> tuple[Any, ...]:
    """Return the parts of an answer that should have several, such as ``(dx, dh_prev)``.

    Parameters
    ----------
    answer : object
        What the reader's function returned.
    *names : str
        What the parts are called.

    Raises
    ------
    RefusedError
        If it is empty or has another number of parts; ``check`` turns this into a verdict.

    Examples
    --------
    >>> parts((1.0, 2.0), "dx", "dW")
    (1.0, 2.0)
    """
    expected = f"({', '.join(names)})"
    if is_empty(answer):
        raise RefusedError(Verdict.empty(f"nothing was returned where {expected} is expected"))
    if not isinstance(answer, tuple | list) or len(answer) != len(names):
        seen = f"{len(answer)} values" if isinstance(answer, tuple | list) else "one value"
        text = f"Return {expected}, {len(names)} values; got {seen}."
        raise RefusedError(Verdict.wrong(WRONG_TYPE, text))
    for name, part in zip(names, answer, strict=True):
        if is_empty(part):
            raise RefusedError(Verdict.empty(f"{name} is None"))
    return tuple(answer)
