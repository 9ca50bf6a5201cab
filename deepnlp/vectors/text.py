"""Text files of word vectors: a word and D numbers a line, with spaces between.

GloVe's files have no header; word2vec's and fastText's begin with a line of two whole numbers, V
and D. The count is not relied on, since shortened files keep the old one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import count as numbers_from
from typing import BinaryIO

from deepnlp.backend import HostArray

HEADER = re.compile(rb"(\d{1,30}) (\d{1,30})")
LONGEST_LINE = 1 << 24  # bytes
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_text(
    file: BinaryIO, header: bool | None, notes: list[str]
) -> Iterator[tuple[str, bytes, list[bytes]]]:
    """The place of each vector in the file, its word and its numbers (D,).

    ``header`` says whether there is one, None to look. A wrong count in it goes to the notes.
    """
    number, D, count = 0, 0, None
    for number, line in _lines(file):
        if number == 1 and header is not False:
            match = HEADER.fullmatch(line)
            if match:
                count, D = int(match[1]), int(match[2])
                if D < 1:
                    raise ValueError(f"line 1: expected a dimension of 1 or more, got {D}")
                continue
            if header:
                raise ValueError(f"line 1: expected a header of two whole numbers, got {line!r}")
        fields = line.split(b" ")
        D = D or _trailing_numbers(fields)
        # A word may hold spaces, but nothing like a number after one.
        if not D or len(fields) <= D or any(map(is_number, fields[1:-D])):
            numbers = f"{D:,} numbers ({D + 1:,} fields)" if D else "one or more numbers"
            got = f"{len(fields)} field{'s' if len(fields) > 1 else ''}"
            raise ValueError(f"line {number}: expected a word and {numbers}, got {got}")
        yield f"line {number}", b" ".join(fields[:-D]), fields[-D:]
    held = number if count is None else number - 1
    if not held:
        raise ValueError("which holds no vectors: expected a word and its numbers on each line")
    if count not in (None, held):
        notes.append(f"the header's count is {count:,}, the file holds {held:,} vectors")


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


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Lines with their numbers, without what ends them; only a line feed ends a line."""
    for number in numbers_from(1):
        line = file.readline(LONGEST_LINE)
        if number == 1:
            line = line.removeprefix(BYTE_ORDER_MARK)
        if not line:
            return
        if len(line) == LONGEST_LINE:
            raise ValueError(f"line {number}: longer than {LONGEST_LINE:,} bytes")
        if b"\0" in line:
            raise ValueError(
                f"line {number}: a NUL byte, which no text holds; a file of word2vec's binary "
                "format is read with format='word2vec-binary', or under a name that ends in .bin"
            )
        yield number, line.rstrip(b" \r\n")


def _trailing_numbers(fields: list[bytes]) -> int:
    """D of a file without a header: the numbers that end its first line, after the word."""
    D = 0
    while len(fields) - 1 > D and is_number(fields[-1 - D]):
        D += 1
    return D
