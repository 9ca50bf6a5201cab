"""word2vec's binary format.

A line with V and D, then for each word: the word, a space, D float32 numbers (little-endian) and,
as word2vec's C code writes it, a line break, which gensim leaves out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np

from deepnlp.backend import HostArray
from deepnlp.files.reading import unpacked
from deepnlp.vectors.rows import Rows

HEADER = re.compile(rb"([1-9]\d{0,29}) ([1-9]\d{0,5}) ?\r?\n")
LONGEST_WORD = 1 << 16  # bytes


def read_binary_file(path: Path, rows: Rows) -> tuple[list[str], HostArray, list[str]]:
    """Words, vectors and notes."""
    with unpacked(path) as file:
        line = file.readline(64)
        match = HEADER.fullmatch(line)
        if match is None:
            raise rows.error(
                "byte 0",
                "expected a header of two whole numbers, count and D (at most 999,999), "
                f"got {line[:20]!r}",
            )
        count, D = int(match[1]), int(match[2])
        position = len(line)
        for number in range(1, count + 1):
            content, skipped = _word(file)
            position += skipped
            place = f"byte {position}, vector {number:,} of {count:,}"
            numbers = file.read(4 * D)
            if not content.endswith(b" ") or len(numbers) < 4 * D:
                raise rows.error(place, _what_is_missing(content))
            position += len(content) + len(numbers)
            word = rows.word(content[:-1], place)
            if rows.wants(word, place):
                vector = np.frombuffer(numbers, dtype="<f4").astype(np.float32)
                rows.add(word, vector, f"{place} ({word!r})")
                if rows.full:
                    return rows.gathered(D)
        rest = file.read(LONGEST_WORD)
        if rest.strip(b"\r\n"):
            position += len(rest) - len(rest.lstrip(b"\r\n"))
            what = f"the header says {count:,} vectors, but more follows: fetch it again"
            raise rows.error(f"byte {position}", what)
    return rows.gathered(D)


def binary_rows(words: Sequence[str], matrix: HostArray) -> Iterator[bytes]:
    """Parts of a binary file, with line breaks as word2vec's C code writes them."""
    yield b"%d %d\n" % matrix.shape
    for word, vector in zip(words, matrix, strict=True):
        yield word.encode() + b" " + vector.astype("<f4").tobytes() + b"\n"


def _word(file: BinaryIO) -> tuple[bytes, int]:
    """A word with the space after it, if there is one, and how many line breaks stood before it."""
    skipped = 0
    while (byte := file.read(1)) == b"\n":
        skipped += 1
    word = bytearray(byte)
    while byte and byte != b" " and len(word) < LONGEST_WORD:
        byte = file.read(1)
        word += byte
    return bytes(word), skipped


def _what_is_missing(content: bytes) -> str:
    """Why a word and a vector cannot be read."""
    if not content:
        return "the file ends there: fetch it again, or read fewer vectors with limit"
    if len(content) >= LONGEST_WORD:
        return f"no space after a word within {LONGEST_WORD:,} bytes"
    return "the file ends in the middle of it: fetch it again, or read fewer vectors with limit"
