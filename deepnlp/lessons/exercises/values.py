"""Checks of values: what is wrong, and by how much."""

import itertools
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from deepnlp.backend import HostArray, asnumpy
from deepnlp.gradcheck.causes import NOT_A_NUMBER, TRANSPOSED, ZERO
from deepnlp.lessons.exercises.verdict import WRONG_TYPE, Verdict, is_empty

_RELATIONS = tomllib.loads(Path(__file__).with_name("relations.toml").read_text(encoding="utf-8"))


def compare_values(
    got: Any, expected: Any, name: str = "the value", tolerance: float = 1e-6
) -> Verdict:
    """Compare a value with the right one, and describe the difference.

    Parameters
    ----------
    got : array_like
        What the reader's code gave; None or an ellipsis is empty.
    expected : array_like, or dict of str to array_like
        The right one; of several values by name the first that is wrong is described.
    name : str
        What it is called in the verdict, such as ``"dW"`` or ``"the perplexity"``.
    tolerance : float
        Relative to the largest entry of what is expected.

    Examples
    --------
    >>> compare_values([2.0, -4.0], [1.0, -2.0], "dx").text
    'dx is 2 times what it should be, in every entry.'
    """
    if isinstance(expected, dict):
        verdicts = [compare_values(got[key], of, key, tolerance) for key, of in expected.items()]
        return next((verdict for verdict in verdicts if not verdict.ok), verdicts[-1])
    if is_empty(got):
        return Verdict.empty(f"{name} is None")
    have, want = _numbers(got), np.asarray(asnumpy(expected))
    if have is None:
        kind = type(got).__name__
        return Verdict.wrong(WRONG_TYPE, f"{name} should be made of numbers; got a {kind}.")
    if _close(have, want, tolerance):
        return Verdict.right(f"{name} is right.")
    describe = _of_value if have.shape == want.shape else _of_shape
    return describe(have, want, name, tolerance)


def compare_choice(got: Any, right: str, reasons: Mapping[str, str]) -> Verdict:
    """Compare a choice among named options with the right one.

    Parameters
    ----------
    got : str
        In upper or lower case, with or without spaces.
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
    options = {"".join(option.casefold().split()): option for option in reasons}
    text = "".join(got.casefold().split()) if isinstance(got, str) else got
    named = ", ".join(map(repr, reasons))
    if is_empty(got) or text == "":
        return Verdict.empty(f"choose one of {named}")
    if not isinstance(text, str) or text not in options:
        return Verdict.wrong(WRONG_TYPE, f"Choose one of {named}; got {got!r}.")
    reason = reasons[options[text]]
    return (
        Verdict.right(reason) if options[text] == right else Verdict.wrong("wrong choice", reason)
    )


def unpacked(got: Any) -> Any:
    """Return an array as the tuple of its rows, for answers of several parts."""
    return tuple(got) if isinstance(got, np.ndarray) and got.ndim else got


def close(got: Any, value: Any, tolerance: float = 1e-6) -> bool:
    """Return whether a value, or each of several by name, is numeric and close to another."""
    if isinstance(value, dict):
        return all(close(got[key], part, tolerance) for key, part in value.items())
    have = _numbers(got)
    return have is not None and _close(have, np.asarray(asnumpy(value)), tolerance)


def _numbers(got: Any) -> HostArray | None:
    """Return the value as an array, or None if it is not made of numbers."""
    try:
        have = np.asarray(float(got) if isinstance(got, Fraction) else asnumpy(got))
    except (TypeError, ValueError):
        return None
    return have if have.dtype.kind in "biufc" else None


def _close(have: HostArray, want: HostArray, tolerance: float) -> bool:
    if have.shape != want.shape:
        return False
    scale = float(np.max(np.abs(want), initial=0.0)) or 1.0
    return bool(np.isfinite(scale) and np.all(np.abs(have - want) <= tolerance * scale))


def _of_shape(have: HostArray, want: HostArray, name: str, tolerance: float) -> Verdict:
    """Return the verdict on a value of another shape."""
    shapes = f"{name} has shape {have.shape}, expected {want.shape}"
    for axes in itertools.permutations(range(have.ndim)) if have.ndim == want.ndim else ():
        if _close(have.transpose(axes), want, tolerance):
            other = "the numbers are right, the axes are in another order."
            text = "it is the transpose of what it should be." if have.ndim == 2 else other
            return Verdict.wrong(TRANSPOSED, f"{shapes}: {text}")
    if have.size == want.size and _close(have.reshape(want.shape), want, tolerance):
        return Verdict.wrong("wrong shape", f"{shapes}: the numbers are right, reshape them.")
    for axis in range(have.ndim):
        if _close(have.sum(axis=axis), want, tolerance):
            summed = f"{shapes}: its sum over axis {axis} is what it should be."
            return Verdict.wrong("not summed", summed)
    return Verdict.wrong("wrong shape", f"{shapes}.")


def _of_value(have: HostArray, want: HostArray, name: str, tolerance: float) -> Verdict:
    """Return the verdict on a wrong value of the right shape."""
    if not np.all(np.isfinite(have)):
        return Verdict.wrong(NOT_A_NUMBER, f"{name} holds nan or infinity.")
    if not np.any(have):
        return Verdict.wrong(ZERO, f"{name} is zero everywhere.")
    with np.errstate(all="ignore"):
        names = {"np": np, "got": have, "right": want, **_amounts(have, want)}
        for diagnosis, relation in _RELATIONS.items():
            with suppress(IndexError, TypeError):  # of another number of axes
                if _close(have, eval(relation["value"], names), tolerance):
                    text = f"{name} {relation['says'].format_map(names)}"
                    return Verdict.wrong(diagnosis.partition("|")[0], text)
    if not have.ndim:
        return Verdict.wrong("wrong value", f"{name} should not be {have:.6g}.")
    worst = np.unravel_index(int(np.argmax(np.abs(have - want))), have.shape)
    place = f"[{', '.join(str(int(i)) for i in worst)}]"
    right = np.abs(have - want) <= tolerance * np.max(np.abs(want))
    return Verdict.wrong(
        "wrong value",
        f"{int(right.sum())} of {have.size} entries of {name} are right; at {place} it is "
        f"{have[worst]:.6g}, expected {want[worst]:.6g}.{_where_right(right)}",
    )


def _amounts(have: HostArray, want: HostArray) -> dict[str, Any]:
    """By what a value may be off, nan where that cannot be: for the relations."""
    has_shares = want.ndim and want.shape[-1] > 1 and np.allclose(want.sum(axis=-1), 1)
    offset = have[0] - want[0] if want.ndim == 2 and len(want) > 1 else np.full(1, np.nan)
    factor = np.vdot(want, have) / np.vdot(want, want) if want.size > 1 else np.nan
    return {
        "row_sums": have.sum(axis=-1, keepdims=True) if has_shares else np.nan,
        "offset": offset,
        "offset_text": ", ".join([*(f"{x:.3g}" for x in offset[:4]), "..."][: len(offset)]),
        "factor": factor,
        "inverse": np.round(1 / factor),
    }


def _where_right(right: HostArray) -> str:
    """Where along one axis all entries are right, if they are so at some places of it only."""
    for axis in range(right.ndim):
        others = tuple(k for k in range(right.ndim) if k != axis)
        whole, none = np.asarray(right.all(axis=others)), ~right.any(axis=others)
        if 0 < whole.sum() < len(whole) and np.all(whole | none):
            places = ", ".join(map(str, np.flatnonzero(whole).tolist()))
            return f" All are right at {places} along axis {axis}, and none elsewhere."
    return ""
