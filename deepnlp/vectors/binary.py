"""word2vec's binary format.

A line with V and D, then for each word: the word, a space, D float32 numbers (little-endian) and,
as word2vec's C code writes it, a line break, which gensim leaves out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import BinaryIO

import numpy as np

from deepnlp.backend import HostArray

HEADER = re.compile(rb"([1-9]\d{0,29}) ([1-9]\d{0,5}) ?\r?\n")
LONGEST_WORD = 1 << 16  # bytes


def read_binary(file: BinaryIO) -> Iterator[tuple[str, bytes, HostArray]]:
    """The place of each vector in the file, its word and its numbers (D,)."""
    line = file.readline(64)
    match = HEADER.fullmatch(line)
    if match is None:
        raise ValueError(
            "byte 0: expected a header of two whole numbers, count and D (at most 999,999), "
            f"got {line[:20]!r}"
        )
    count, D = int(match[1]), int(match[2])
    position = len(line)
    for number in range(1, count + 1):
        content, skipped = _word(file)
        position += skipped
        place = f"byte {position}, vector {number:,} of {count:,}"
        numbers = file.read(4 * D)
        if not content.endswith(b" ") or len(numbers) < 4 * D:
            raise ValueError(f"{place}: {_what_is_missing(content)}")
        position += len(content) + len(numbers)
        yield place, content[:-1], np.frombuffer(numbers, dtype="<f4")
    rest = file.read(LONGEST_WORD)
    if rest.strip(b"\r\n"):
        position += len(rest) - len(rest.lstrip(b"\r\n"))
        raise ValueError(
            f"byte {position}: the header says {count:,} vectors, but more follows: fetch it again"
        )


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
    if len(content) >= LONGEST_WORD:
        return f"no space after a word within {LONGEST_WORD:,} bytes"
    where = "in the middle of it" if content else "there"
    return f"the file ends {where}: fetch it again, or read fewer vectors with limit"
