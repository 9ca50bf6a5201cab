"""Shapes in letters: ``"N T D"`` names the axes of an array, ``"... D"`` its last one."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from deepnlp.backend.arrays import xp
from deepnlp.backend.checks import check_numbers


@lru_cache(maxsize=64)
def _axes(letters: str) -> tuple[list[str], list[str], bool]:
    """All axes, those that are named, and whether there may be any others before them."""
    axes = letters.split()
    free = axes[0] == "..."
    return axes, axes[1:] if free else axes, free


def expect(owner: str, what: str, array: Any, letters: str, **sizes: int) -> None:
    """Check that an array belongs to the backend in use and has the axes that ``letters`` name.

    ``"... D"`` allows any axes before the last; ``sizes`` holds the sizes that are known, by their
    letter. The names of the layer and of its input begin the message.

    >>> expect("Affine", "x", xp.zeros((2, 3)), "N D", D=4)
    Traceback (most recent call last):
        ...
    ValueError: Affine: x should have shape (N, D) with D = 4, got (2, 3)
    """
    if not isinstance(array, xp.ndarray):
        raise TypeError(
            f"{owner}: {what} should be an array of the backend in use ({xp.__name__}), got a "
            f"{type(array).__module__.replace('builtins', 'Python')} {type(array).__name__}; "
            "deepnlp.backend.asarray brings host data over"
        )
    check_numbers(owner, what, array)
    axes, named, free = _axes(letters)
    shape = tuple(array.shape)
    unnamed = len(shape) - len(named)
    fits = unnamed >= 0 if free else unnamed == 0
    if fits:
        for axis, size in zip(named, shape[unnamed:], strict=True):
            fits = fits and sizes.get(axis, size) == size
    if not fits:
        known = ", ".join(f"{axis} = {size}" for axis, size in sizes.items())
        comma = "," if len(axes) == 1 else ""
        raise ValueError(
            f"{owner}: {what} should have shape ({', '.join(axes)}{comma})"
            f"{f' with {known}' if known else ''}, got {shape}"
        )


def shape(text: str, sizes: dict[str, int]) -> tuple[int, ...]:
    """Numbers for letters: ``"D,4H"`` with D = 3, H = 5 is (3, 20)."""
    axes = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d*)\s*([A-Za-z]\w*)?\s*", part)
        if not match or not part.strip() or (match[2] and match[2] not in sizes):
            raise ValueError(f"cannot read the shape {text!r}: expected such as 'D,4H' or '3,20'")
        axes.append(int(match[1] or 1) * (sizes[match[2]] if match[2] else 1))
    return tuple(axes)
