"""Shapes in letters: ``"N T D"`` names the axes of an array, ``"... D"`` its last one."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from deepnlp.backend.arrays import xp
from deepnlp.backend.checks import check_numbers

KINDS = {
    "numbers": "fiubc",
    "floating-point numbers": "fc",
    "integers": "iu",
    "truth values": "b",
}


@lru_cache(maxsize=64)
def _axes(letters: str) -> tuple[list[str], list[str], bool]:
    """Return all axes, those that are named, and whether there may be any others before them."""
    axes = letters.split()
    free = axes[0] == "..."
    return axes, axes[1:] if free else axes, free


def expect(
    owner: str, what: str, array: Any, letters: str, kind: str = "numbers", **sizes: int
) -> None:
    """Check that an array belongs to the backend in use and has the axes that ``letters`` name.

    ``"... D"`` allows any axes before the last; ``kind`` is one of :data:`KINDS`; ``sizes`` holds
    the sizes that are known, by their letter. The names of the layer and of its input begin the
    message.

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
    fits = unnamed == 0 or (free and unnamed > 0)
    if not fits or any(sizes.get(n, size) != size for n, size in zip(named, shape[unnamed:])):
        known = ", ".join(f"{axis} = {size}" for axis, size in sizes.items())
        comma = "," if len(axes) == 1 else ""
        raise ValueError(
            f"{owner}: {what} should have shape ({', '.join(axes)}{comma})"
            f"{f' with {known}' if known else ''}, got {shape}"
        )
    if array.dtype.kind not in KINDS[kind]:
        raise TypeError(f"{owner}: {what} should be {kind}, got {array.dtype}")


# --- The axes that a class declares ------------------------------------------------------------


@lru_cache(maxsize=64)
def declared(axes: str) -> tuple[list[str], str]:
    """Return the letters of each input and of the output.

    >>> declared("N T D, N C -> N T M"), declared("N D ->")
    ((['N T D', ' N C '], 'N T M'), (['N D '], ''))
    """
    inputs, output = axes.split("->")[0], axes.split("->")[-1].strip()
    return inputs.split(",") if inputs else [], output


def check_inputs(layer: Any, inputs: Mapping[str, Any]) -> None:
    """Compare inputs, by name, with the axes that a layer declares; a letter means one size.

    A letter that is an attribute of the layer means its value. The inputs are floating-point
    numbers, as intermediate results are: whole ones would wrap.
    """
    sizes: dict[str, int] = {}
    for (name, array), letters in zip(inputs.items(), declared(layer.axes)[0]):
        named = letters.removeprefix("...").split()
        attributes = {each: getattr(layer, each) for each in named if hasattr(layer, each)}
        sizes |= attributes
        known = {letter: sizes[letter] for letter in named if letter in sizes}
        layer._expect(name, array, letters, "floating-point numbers", **known)
        if 0 in attributes.values():
            owner, letter = type(layer).__name__, min(attributes, key=attributes.__getitem__)
            raise ValueError(f"{owner}: {letter} should be 1 or more, got {name} {array.shape}")
        if named:
            sizes |= zip(named, array.shape[-len(named) :])


def shape(text: str, sizes: dict[str, int]) -> tuple[int, ...]:
    """Return numbers for letters: ``"D,4H"`` with D = 3, H = 5 is (3, 20)."""
    axes = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d*)\s*([A-Za-z]\w*)?\s*", part)
        if not match or not part.strip() or (match[2] and match[2] not in sizes):
            raise ValueError(f"cannot read the shape {text!r}: expected such as 'D,4H' or '3,20'")
        axes.append(int(match[1] or 1) * (sizes[match[2]] if match[2] else 1))
    return tuple(axes)
