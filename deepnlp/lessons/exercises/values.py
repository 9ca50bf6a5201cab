"""Checks of values: what is wrong, and by how much."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from deepnlp.backend import asnumpy
from deepnlp.gradcheck.causes import FACTOR, NOT_A_NUMBER, SIGN, TRANSPOSED, ZERO
from deepnlp.lessons.exercises.relations import relation, where_right
from deepnlp.lessons.exercises.verdict import (
    NOT_SUMMED,
    WRONG_CHOICE,
    WRONG_SHAPE,
    WRONG_TYPE,
    WRONG_VALUE,
    Verdict,
    is_empty,
)

HostArray = np.ndarray


def compare_values(
    got: Any,
    expected: Any,
    name: str = "the value",
    tolerance: float = 1e-6,
    alternatives: Mapping[str, tuple[Any, str]] | None = None,
) -> Verdict:
    """Compare a value with the right one, and describe the difference.

    Parameters
    ----------
    got : array_like
        What the reader's code gave; None or an ellipsis is empty.
    expected : array_like
    name : str
        What it is called in the verdict, such as ``"dW"`` or ``"the perplexity"``.
    tolerance : float
        Relative to the largest entry of what is expected.
    alternatives : dict of str to (array_like, str), optional
        Typical mistakes: by diagnosis, the value that the mistake gives and a sentence that
        explains it. Asked before the general ones (a shape, a sign, a factor, a transpose).

    Examples
    --------
    >>> compare_values([2.0, -4.0], [1.0, -2.0], "dx").text
    'dx is 2 times what it should be, in every entry.'
    >>> compare_values(3.0, 5.0, "n", alternatives={"counted once": (3.0, "Count both.")}).text
    'Count both.'
    """
    if is_empty(got):
        return Verdict.empty(f"{name} is None")
    have, want = _numbers(got), np.asarray(asnumpy(expected))
    if have is None:
        return Verdict.wrong(
            WRONG_TYPE, f"{name} should be made of numbers; got a {type(got).__name__}."
        )
    if _close(have, want, tolerance):
        return Verdict.right(f"{name} is right.")
    for diagnosis, (value, text) in (alternatives or {}).items():
        if _close(have, np.asarray(asnumpy(value)), tolerance):
            return Verdict.wrong(diagnosis, text)
    if have.shape != want.shape:
        return _of_shape(have, want, name, tolerance)
    return _of_value(have, want, name, tolerance)


def compare_choice(got: Any, right: str, reasons: Mapping[str, str]) -> Verdict:
    """Compare a choice among named options with the right one.

    Parameters
    ----------
    got : str
        In upper or lower case.
    right : str
        The right option.
    reasons : dict of str to str
        The comment on every option, the right one included.

    Examples
    --------
    >>> reasons = {"grows": "It shrinks: each factor is below 1.", "shrinks": "Yes."}
    >>> compare_choice("grows", "shrinks", reasons).text
    'It shrinks: each factor is below 1.'
    """
    options = {option.casefold(): option for option in reasons}
    text = got.strip().casefold() if isinstance(got, str) else got
    if is_empty(got) or text == "":
        return Verdict.empty(f"choose one of {', '.join(map(repr, reasons))}")
    if not isinstance(text, str) or text not in options:
        return Verdict.wrong(
            WRONG_TYPE, f"Choose one of {', '.join(map(repr, reasons))}; got {got!r}."
        )
    choice = options[text]
    if choice == right:
        return Verdict.right(reasons[choice])
    return Verdict.wrong(WRONG_CHOICE, reasons[choice])


def unpacked(got: Any) -> Any:
    """An array as the tuple of its rows, for answers of several parts; others as they are."""
    return tuple(got) if isinstance(got, np.ndarray) and got.ndim else got


def close(got: Any, value: Any, tolerance: float = 1e-6) -> bool:
    """Whether a value is made of numbers and equal to another, up to the tolerance."""
    have = _numbers(got)
    return have is not None and _close(have, np.asarray(asnumpy(value)), tolerance)


def _numbers(got: Any) -> HostArray | None:
    """The value as an array, or None if it is not made of numbers."""
    try:
        have = np.asarray(float(got) if isinstance(got, Fraction) else asnumpy(got))
    except (TypeError, ValueError):
        return None
    return have if have.dtype.kind in "biufc" else None


def _close(have: HostArray, want: HostArray, tolerance: float) -> bool:
    if have.shape != want.shape:
        return False
    scale = float(np.max(np.abs(want), initial=0.0)) or 1.0
    return bool(np.all(np.abs(have - want) <= tolerance * scale))


def _of_shape(have: HostArray, want: HostArray, name: str, tolerance: float) -> Verdict:
    shapes = f"{name} has shape {have.shape}, expected {want.shape}"
    if have.ndim == 2 and _close(have.T, want, tolerance):
        return Verdict.wrong(TRANSPOSED, f"{shapes}: it is the transpose of what it should be.")
    if have.size == want.size and _close(have.reshape(want.shape), want, tolerance):
        return Verdict.wrong(WRONG_SHAPE, f"{shapes}: the numbers are right, reshape them.")
    if sorted(have.shape) == sorted(want.shape) and have.ndim > 2:
        for axes in itertools.permutations(range(have.ndim)):
            if _close(have.transpose(axes), want, tolerance):
                return Verdict.wrong(
                    TRANSPOSED, f"{shapes}: the numbers are right, the axes are in another order."
                )
    for axis in range(have.ndim):
        if _close(have.sum(axis=axis), want, tolerance):
            return Verdict.wrong(
                NOT_SUMMED, f"{shapes}: its sum over axis {axis} is what it should be."
            )
    return Verdict.wrong(WRONG_SHAPE, f"{shapes}.")


def _of_value(have: HostArray, want: HostArray, name: str, tolerance: float) -> Verdict:
    if not np.all(np.isfinite(have)):
        return Verdict.wrong(NOT_A_NUMBER, f"{name} holds nan or infinity.")
    if not np.any(have):
        return Verdict.wrong(ZERO, f"{name} is zero everywhere.")
    if _close(-have, want, tolerance):
        return Verdict.wrong(SIGN, f"{name} has the wrong sign, in every entry.")
    if have.ndim == 2 and _close(have.T, want, tolerance):
        return Verdict.wrong(TRANSPOSED, f"{name} is the transpose of what it should be.")
    if found := relation(have, want, tolerance):
        return Verdict.wrong(found[0], f"{name} {found[1]}")
    factor = _factor(have, want)
    if factor is not None and _close(have / factor, want, tolerance):
        return Verdict.wrong(
            FACTOR, f"{name} is {_fraction(factor)} times what it should be, in every entry."
        )
    if not have.ndim:
        return Verdict.wrong(WRONG_VALUE, f"{name} should not be {have:.6g}.")
    worst = np.unravel_index(int(np.argmax(np.abs(have - want))), have.shape)
    place = f"[{', '.join(str(int(i)) for i in worst)}]"
    right = np.abs(have - want) <= tolerance * np.max(np.abs(want))
    return Verdict.wrong(
        WRONG_VALUE,
        f"{int(right.sum())} of {have.size} entries of {name} are right; at {place} it is "
        f"{have[worst]:.6g}, expected {want[worst]:.6g}.{where_right(right)}",
    )


def _factor(have: HostArray, want: HostArray) -> float | None:
    """The number by which ``have`` might be too large; None for a single entry."""
    if want.size < 2 or have.dtype.kind == "c" or want.dtype.kind == "c":
        return None
    norm = float(np.sum(want * want, dtype=float))
    factor = float(np.sum(have * want, dtype=float)) / norm if norm else 0.0
    return factor or None


def _fraction(factor: float) -> str:
    if abs(factor) < 1 and abs(1 / factor - round(1 / factor)) < 1e-6:
        return f"1/{round(1 / factor)}"
    return f"{factor:.6g}"
