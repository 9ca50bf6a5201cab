"""What a wrong value may be to the right one, in any exercise: its inverse, its logarithm, ..."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from deepnlp.backend import HostArray

# By the value that such a mistake gives; the sentences begin with the name of the value.
ENTRIES = {
    "base of the logarithm": "is 1/log 2 times what it should be, as in bits: take the natural "
    "logarithm.",
    "base of the logarithm|10": "is 1/log 10 times what it should be: take the natural logarithm, "
    "and not that to base 10.",
    "in per cent": "is 100 times what it should be: it is not asked for in per cent.",
    "inverse": "is the inverse, 1 over what it should be.",
    "one minus it": "is 1 minus what it should be.",
    "logarithm of it": "is the logarithm of what it should be.",
    "exponential of it": "is the exponential of what it should be: is a logarithm missing?",
    "square of it": "is the square of what it should be.",
    "root of it": "is the square root of what it should be.",
    "without its sign": "is right except for the sign: negative entries are positive.",
    "negative values cut off": "is right where it should be positive, and 0 elsewhere.",
}


def relation(have: HostArray, want: HostArray, tolerance: float) -> tuple[str, str] | None:
    """The name of a mistake and a sentence, for finite values of one shape; None if none fits."""
    with np.errstate(all="ignore"):
        for name, value in [*_of_entries(want), *_of_places(want)]:
            scale = float(np.max(np.abs(value), initial=0.0)) or 1.0
            if np.all(np.isfinite(value)) and np.all(np.abs(have - value) <= tolerance * scale):
                return name.partition("|")[0], ENTRIES.get(name, PLACES.get(name, ""))
        return _of_rows(have, want, tolerance) if have.ndim else None


def _of_entries(want: HostArray) -> Iterator[tuple[str, HostArray]]:
    yield from zip(
        ENTRIES,
        (
            want / np.log(2), want / np.log(10), 100 * want, 1 / want, 1 - want, np.log(want),
            np.exp(want), want**2, np.sqrt(want), np.abs(want), np.maximum(want, 0),
        ),
        strict=True,
    )  # fmt: skip


PLACES = {
    "in reverse order": "has the right entries in reverse order.",
    "in reverse order|1": "has the right entries, in reverse order along axis 1.",
    "in reverse order|2": "has the right entries, in reverse order along axis 2.",
    "lower half alone": "is right on and below its diagonal, and 0 above.",
    "upper half alone": "is right on and above its diagonal, and 0 below.",
    "diagonal left out": "is right except for its diagonal, which is 0.",
}


def _of_places(want: HostArray) -> Iterator[tuple[str, HostArray]]:
    for axis in range(want.ndim):
        if axis < 3 and want.shape[axis] > 1:
            yield f"in reverse order{f'|{axis}' if axis else ''}", np.flip(want, axis)
    if want.ndim == 2 and want.shape[0] == want.shape[1]:
        yield "lower half alone", np.tril(want)
        yield "upper half alone", np.triu(want)
        yield "diagonal left out", want - np.diag(np.diag(want))


def _of_rows(have: HostArray, want: HostArray, tolerance: float) -> tuple[str, str] | None:
    """What the rows along the last axis have in common."""
    scale = tolerance * float(np.max(np.abs(want), initial=0.0))
    sums = want.sum(axis=-1, keepdims=True)
    if want.shape[-1] > 1 and np.allclose(sums, 1):
        own = have.sum(axis=-1, keepdims=True)
        if np.all(own != 0) and np.all(np.abs(have / own - want) <= scale):
            told = f"{own.flat[0]:.3g}"
            return (
                "not normalised",
                f"has the right proportions, but its rows sum to {told}, not 1.",
            )
    if want.ndim == 2 and len(want) > 1:
        off = have - want
        if np.any(off) and np.all(np.abs(off - off[0]) <= scale):
            told = ", ".join(f"{one:.3g}" for one in off[0][:4])
            more = ", ..." if off.shape[1] > 4 else ""
            return "the same added to every row", f"is off by the same in every row: {told}{more}."
    return None


def where_right(right: HostArray) -> str:
    """Where along one axis all entries are right, if they are so at some places of it only."""
    for axis in range(right.ndim):
        others = tuple(k for k in range(right.ndim) if k != axis)
        whole, none = np.asarray(right.all(axis=others)), ~right.any(axis=others)
        if 0 < whole.sum() < len(whole) and np.all(whole | none):
            places = ", ".join(map(str, np.flatnonzero(whole).tolist()))
            return f" All are right at {places} along axis {axis}, and none elsewhere."
    return ""
