"""Fonts for words of any script: another font draws the letters that the default one lacks."""

import functools
import sys
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import matplotlib
from matplotlib.font_manager import FontProperties, findfont, fontManager
from matplotlib.ft2font import FT2Font

LAST_RESORT = "Last Resort"  # matplotlib's font of boxes for all letters


@functools.cache
def letters_in(file: str) -> frozenset[int]:
    """Return the code points that a font file has."""
    return frozenset(FT2Font(file).get_charmap())


@functools.cache
def families_for(letters: frozenset[str]) -> tuple[str, ...]:
    """Return the default font and, for letters that it lacks, others of the system that have them.

    Letters that no font has are named once, with what to install.
    """
    families = [*matplotlib.rcParams["font.family"]]
    lacking = {ord(letter) for letter in letters} - letters_in(findfont(FontProperties()))
    others = [font for font in fontManager.ttflist if LAST_RESORT not in font.name]
    while lacking and others:
        best = max(others, key=lambda font: len(lacking & letters_in(font.fname)))
        if not lacking & letters_in(best.fname):
            shown = " ".join(map(chr, sorted(lacking)[:5]))
            script = unicodedata.name(chr(min(lacking)), "UNNAMED").split()[0]
            note = (
                f"note: no font has {shown} ({script}), drawn as boxes: install one, such as Noto"
            )
            print(f"{note} (Debian: fonts-noto-cjk, fonts-noto-core)", file=sys.stderr)
            break
        families.append(best.name)
        lacking -= letters_in(best.fname)
    return tuple(families)


@contextmanager
def without_raw_warnings() -> Iterator[None]:
    """Context in which matplotlib does not warn of each letter that its font lacks."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        yield


def in_any_script(draw: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a function that draws words: its texts get fonts that have all their letters."""

    @functools.wraps(draw)
    def drawn(*args: Any, **options: Any) -> Any:
        texts = "".join(_strings([*args, *options.values()]))
        letters = frozenset(letter for letter in texts if letter.isprintable() and letter > "~")
        with matplotlib.rc_context({"font.family": families_for(letters)}), without_raw_warnings():
            return draw(*args, **options)

    return drawn


def _strings(values: Iterable[Any]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, list | tuple):
            yield from _strings(value)
        elif isinstance(value, Mapping):
            yield from _strings([*value.keys(), *value.values()])
