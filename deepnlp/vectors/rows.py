"""The rows of a file of word vectors, gathered as they are read."""

from __future__ import annotations

from array import array
from collections.abc import Container
from dataclasses import dataclass, field

import numpy as np

from deepnlp.backend import HostArray


@dataclass
class Rows:
    """Words and float32 vectors that were read so far.

    The memory grows with what is read, whatever a header says.

    Parameters
    ----------
    name : str
        Name of the file, for errors.
    wanted : container of str, optional
        The words to keep; by default all.
    limit : int, optional
        How many to keep.
    """

    name: str
    wanted: Container[str] | None = None
    limit: int | None = None
    words: dict[str, None] = field(default_factory=dict)  # a set in the order of the file
    numbers: array[float] = field(default_factory=lambda: array("f"))
    repeats: int = 0
    notes: list[str] = field(default_factory=list)

    @property
    def full(self) -> bool:
        """Whether as many are kept as were wanted."""
        return self.limit is not None and len(self.words) >= self.limit

    def word(self, content: bytes, place: str) -> str:
        """The word that a file holds at a place; an error where it is none."""
        if not content.strip(b" ") or content.startswith(b" "):
            raise self.error(place, "expected a word before the numbers, got a space")
        if content.endswith(b" "):
            shown = content.strip().decode("utf-8", "backslashreplace")
            raise self.error(place, f"expected one space after {shown!r}")
        if b"\0" in content:
            raise self.error(place, f"the word {content!r} holds a NUL byte")
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError:
            raise self.error(place, f"the word {content!r} is not UTF-8 text") from None

    def wants(self, word: str, place: str) -> bool:
        """Whether the vector of a word is to be kept: the first one of a word that is wanted."""
        if self.wanted is not None and word not in self.wanted:
            return False
        if word in self.words:
            self.repeats += 1
            if self.repeats == 1:
                self.first_repeat = f"{place} ({word!r})"
            return False
        return True

    def add(self, word: str, vector: HostArray, place: str) -> None:
        """Keep a word and its vector (D,)."""
        if not np.isfinite(vector).all():
            raise self.error(place, f"expected {len(vector):,} finite numbers")
        self.words[word] = None
        self.numbers.frombytes(vector.tobytes())

    def error(self, place: str, what: str) -> ValueError:
        """An error that names the file and the place in it."""
        return ValueError(f"{self.name}, {place}: {what}")

    def gathered(self, D: int) -> tuple[list[str], HostArray, list[str]]:
        """The words, their vectors (V, D), and the notes on what was put right."""
        if self.repeats:
            self.notes.append(
                f"repeated words: {self.repeats:,}, the first at {self.first_repeat}; "
                "the first vector of a word counts"
            )
        matrix = np.frombuffer(self.numbers, dtype=np.float32).reshape(-1, D)
        return list(self.words), matrix, self.notes
