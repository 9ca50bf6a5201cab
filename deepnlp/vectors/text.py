"""Text files of word vectors: a word and D numbers a line, with spaces between.

GloVe's files have no header; word2vec's and fastText's begin with a line of two whole numbers, V
and D. The count is not relied on, since shortened files keep the old one.
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

HEADER = re.compile(rb"(\d{1,30}) (\d{1,30})")
LONGEST_LINE = 1 << 24  # bytes
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_text_file(
    path: Path, rows: Rows, header: bool | None = None
) -> tuple[list[str], HostArray, list[str]]:
    """Words, vectors and notes; ``header`` says whether there is one, None to look."""
    D, count, seen = 0, None, 0
    with unpacked(path) as file:
        for number, line in _lines(file, rows):
            place = f"line {number}"
            if number == 1 and header is not False:
                count, D = _header(line, rows)
                if count is not None:
                    continue
                if header:
                    raise rows.error(place, f"expected a header of two whole numbers, got {line!r}")
            fields = line.split(b" ")
            D = D or _trailing_numbers(fields)
            word = _word(fields, D, place, rows)
            seen += 1
            if rows.wants(word, place):
                rows.add(word, _numbers(fields[-D:]), place)
                if rows.full:
                    break
    if not seen:
        raise ValueError(f"{path} holds no vectors: expected a word and its numbers on each line")
    if count is not None and count != seen and not rows.full:
        rows.notes.append(f"the header's count is {count:,}, the file holds {seen:,} vectors")
    return rows.gathered(D)


def text_lines(words: Sequence[str], matrix: HostArray, header: bool) -> Iterator[bytes]:
    """Lines of a text file; each number has the fewest digits that give back its float32."""
    if header:
        yield b"%d %d\n" % matrix.shape
    for word, vector in zip(words, matrix, strict=True):
        yield f"{word} {' '.join(map(str, vector))}\n".encode()


def is_number(field: str | bytes) -> bool:
    """Whether a field could be one of the numbers.

    >>> is_number(b"1e-5"), is_number("nan"), is_number("cat")
    (True, True, False)
    """
    try:
        float(field)
    except ValueError:
        return False
    return True


def _lines(file: BinaryIO, rows: Rows) -> Iterator[tuple[int, bytes]]:
    """Lines with their numbers, without what ends them; only a line feed ends a line."""
    number = 0
    while line := file.readline(LONGEST_LINE):
        number += 1
        if number == 1:
            line = line.removeprefix(BYTE_ORDER_MARK)
            if not line:
                return
        if len(line) == LONGEST_LINE:
            raise rows.error(f"line {number}", f"longer than {LONGEST_LINE:,} bytes")
        if b"\0" in line:
            raise rows.error(
                f"line {number}",
                "a NUL byte, which no text holds; a file of word2vec's binary format is read with "
                "format='word2vec-binary', or under a name that ends in .bin",
            )
        yield number, line.rstrip(b" \r\n")


def _header(line: bytes, rows: Rows) -> tuple[int | None, int]:
    """Count and D of a first line; None and 0 where it is none."""
    match = HEADER.fullmatch(line)
    if match is None:
        return None, 0
    count, D = int(match[1]), int(match[2])
    if D < 1:
        raise rows.error("line 1", f"expected a dimension of 1 or more, got {D}")
    return count, D


def _trailing_numbers(fields: list[bytes]) -> int:
    """D of a file without a header: the numbers that end its first line, after the word."""
    D = 0
    while len(fields) - 1 > D and is_number(fields[-1 - D]):
        D += 1
    return D


def _word(fields: list[bytes], D: int, place: str, rows: Rows) -> str:
    """The word before the D numbers; it may hold spaces, but nothing like a number after one."""
    if not D or len(fields) <= D or any(map(is_number, fields[1:-D])):
        numbers = f"{D:,} numbers ({D + 1:,} fields)" if D else "one or more numbers"
        got = f"{len(fields)} field{'s' if len(fields) > 1 else ''}"
        raise rows.error(place, f"expected a word and {numbers}, got {got}")
    return rows.word(b" ".join(fields[:-D]), place)


def _numbers(fields: list[bytes]) -> HostArray:
    """The numbers of one line as float32; not finite where one is no number."""
    try:
        with np.errstate(over="ignore"):
            return np.array(fields, dtype=np.float32)
    except ValueError:
        return np.full(len(fields), np.nan, dtype=np.float32)
