"""The files of word vectors: text with a header or without, word2vec's binary format, NumPy's.

A line of text is a word and D numbers with spaces between. GloVe's files have no header; word2vec's
and fastText's begin with a line of two whole numbers, V and D. The count is not relied on, since
shortened files keep the old one. The binary format has that line too, then for each word: the word,
a space, D float32 numbers (little-endian) and, as word2vec's C code writes it, a line break, which
gensim leaves out. NumPy's format is ``name.npy`` with the vectors, which are memory-mapped, so that
only what is used is read from the disk, and ``name.words.json`` with the words.
"""

import gzip
import json
import re
from array import array
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import takewhile
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from deepnlp.backend import HostArray, check_number
from deepnlp.files.reading import unpacked
from deepnlp.files.writing import replacing, write_whole

#: The place of a vector in a file, its word, and its numbers (D,).
Row = tuple[str, bytes, HostArray | list[bytes]]

#: The end of a name that stands for each format; ``.gz`` may follow the first three.
ENDINGS = {".txt": "glove", ".vec": "word2vec", ".bin": "word2vec-binary", ".npy": "npy"}
FORMATS = tuple(ENDINGS.values())

TEXT = re.compile(r"[^\n\0\ud800-\udfff]+")  # a word that UTF-8 can hold on a line
TEXT_HEADER = re.compile(rb"(\d{1,30}) (\d{1,30})")
LONGEST_LINE = 1 << 24  # bytes
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
BINARY_HEADER = re.compile(rb"([1-9]\d{0,29}) ([1-9]\d{0,5}) ?\r?\n")
LONGEST_WORD = 1 << 16  # bytes


def format_of(
    path: Path, format: str | None, endings: Mapping[str, str], default: str | None = None
) -> str:
    """Return the format that was asked for, or the one that the end of a name stands for.

    >>> format_of(Path("vectors.vec.gz"), None, ENDINGS)
    'word2vec'
    """
    formats = ", ".join(dict.fromkeys(endings.values()))
    if format is not None and format not in endings.values():
        raise ValueError(f"unknown format {format!r}: expected one of {formats}")
    chosen = format or endings.get(Path(path.name.removesuffix(".gz")).suffix, default)
    if chosen is None:
        names = ", ".join(endings)
        raise ValueError(f"{path}: expected a name that ends in {names}, or a format: {formats}")
    return chosen


def is_number(field: str | bytes) -> bool:
    """Return whether a field could be one of the numbers.

    >>> is_number(b"1e-5"), is_number("nan"), is_number("cat")
    (True, True, False)
    """
    try:
        float(field)
    except ValueError:
        return False
    return "_" not in str(field)  # which stands between digits in Python


def read_file(
    path: Path, format: str | None, wanted: Container[str] | None, limit: int | None
) -> tuple[list[str], HostArray, list[str]]:
    """Words, vectors (V, D) and notes of a file; of a text file it is seen if it has a header.

    The memory grows with what is read, whatever a header says.
    """
    if limit is not None:
        check_number("limit", limit, whole=True, low=1)
    chosen = format_of(path, format, ENDINGS, default="glove")
    if chosen == "npy":
        return *read_arrays(path, wanted, limit), []
    words: dict[str, None] = {}  # a set in the order of the file
    vectors = array("f")
    notes: list[str] = []
    repeats: list[str] = []
    unread: list[str] = []
    with unpacked(path) as file, np.errstate(over="ignore"):
        header = None if format is None else format == "word2vec"
        binary = chosen == "word2vec-binary"
        rows = read_binary(file) if binary else read_text(file, header, notes)
        try:
            for place, content, numbers in rows:
                D, word = len(numbers), _word(content, place)
                # Behind a word with a space all is shifted: numbers then stand in a word's place.
                if word is None and binary and not content.decode("latin-1").isprintable():
                    raise ValueError(f"{place}: the word {content!r} is not UTF-8 text")
                if word is None:
                    unread.append(f"{place} ({content[:80]!r})")
                    continue
                if wanted is not None and word not in wanted:
                    continue
                if word in words:
                    repeats.append(f"{place} ({word!r})")
                    continue
                vector = _float32(numbers)
                if not np.isfinite(vector).all():
                    raise ValueError(f"{place}: expected {D:,} finite numbers after {word!r}")
                words[word] = None
                vectors.frombytes(vector.tobytes())
                if len(words) == limit:
                    break
        except ValueError as error:
            raise ValueError(f"{path}, {error}") from None
    if unread:
        notes.append(
            f"words that are no UTF-8, left out: {len(unread):,}, the first at {unread[0]}"
        )
    if repeats:
        notes.append(
            f"repeated words: {len(repeats):,}, the first at {repeats[0]}; "
            "the first vector of a word counts"
        )
    return list(words), np.frombuffer(vectors, dtype=np.float32).reshape(-1, D), notes


def _word(content: bytes, place: str) -> str | None:
    """Return the word that a file holds at a place; None where its bytes are no UTF-8."""
    if not content.strip(b" ") or content.startswith(b" "):
        raise ValueError(f"{place}: expected a word before the numbers, got a space")
    if content.endswith(b" "):
        shown = content.strip().decode("utf-8", "backslashreplace")
        raise ValueError(f"{place}: expected one space after {shown!r}")
    if b"\0" in content:
        raise ValueError(f"{place}: the word {content!r} holds a NUL byte")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _float32(numbers: HostArray | list[bytes]) -> HostArray:
    """Return the numbers of one word (D,); not finite where one is no number."""
    try:
        return np.array(numbers, dtype=np.float32)
    except ValueError:
        return np.full(len(numbers), np.nan, dtype=np.float32)


def write_file(path: Path, format: str | None, words: Sequence[str], matrix: HostArray) -> None:
    """Write words and vectors, all of a file or nothing."""
    format = format_of(path, format, ENDINGS)
    if format == "npy":
        write_arrays(path, words, matrix)
        return
    _check_words(words, format)
    with np.errstate(over="ignore"):
        matrix = np.asarray(matrix, dtype=np.float32)
    broken = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if len(broken):
        raise ValueError(
            f"the vector of {words[broken[0]]!r} holds a number that is not finite in float32"
        )
    with ExitStack() as opened:
        file: Any = opened.enter_context(replacing(path))
        if path.suffix == ".gz":  # without a name or the clock's time in it
            file = opened.enter_context(gzip.GzipFile("", "wb", fileobj=file, mtime=0))
        file.writelines(_lines_of(words, matrix, format))


def _lines_of(words: Sequence[str], matrix: HostArray, format: str) -> Iterator[bytes]:
    """Yield lines of a file; a number in text has the fewest digits that give its float32."""
    if format != "glove":
        yield b"%d %d\n" % matrix.shape
    for word, vector in zip(words, matrix, strict=True):
        packed = format == "word2vec-binary"
        numbers = vector.astype("<f4").tobytes() if packed else " ".join(map(str, vector)).encode()
        yield word.encode() + b" " + numbers + b"\n"


def _check_words(words: Sequence[str], format: str) -> None:
    """Raise an error that names the first word which could not be read back."""
    glove = format == "glove"
    rule = "a space at either end, or a number after one" if glove else "a space"
    for word in words:
        inner = word.split(" ")[1:]
        spaced = any(map(is_number, inner)) if glove else bool(inner)
        if spaced or word != word.strip(" ") or not TEXT.fullmatch(word):
            raise ValueError(
                f"the format {format} cannot hold the word {word!r}: in it no word is empty or has "
                f"a line break, a NUL, {rule}; .npy holds every word"
            )


# --- Text ----------------------------------------------------------------------------------------


def read_text(file: BinaryIO, header: bool | None, notes: list[str]) -> Iterator[Row]:
    """Return the vectors of a text file.

    ``header`` says whether there is one, None to look. A wrong count in it goes to the notes.
    """
    number, D, count = 0, 0, None
    for number, line in _lines(file):
        match = TEXT_HEADER.fullmatch(line) if number == 1 and header is not False else None
        if match:
            count, D = int(match[1]), int(match[2])
            if D < 1:
                raise ValueError(f"line 1: expected a dimension of 1 or more, got {D}")
            continue
        if number == 1 and header:
            raise ValueError(f"line 1: expected a header of two whole numbers, got {line!r}")
        fields = line.split(b" ")
        D = D or sum(1 for _ in takewhile(is_number, reversed(fields[1:])))
        # A word may hold spaces, but nothing like a number after one.
        is_odd = b"_" in line and not all(map(is_number, fields[-D:]))
        if not D or len(fields) <= D or is_odd or any(map(is_number, fields[1:-D])):
            numbers = f"{D:,} numbers ({D + 1:,} fields)" if D else "one or more numbers"
            got = f"{len(fields)} field{'s' if len(fields) > 1 else ''}"
            raise ValueError(f"line {number}: expected a word and {numbers}, got {got}")
        yield f"line {number}", b" ".join(fields[:-D]), fields[-D:]
    held = number if count is None else number - 1
    if not held:
        raise ValueError("which holds no vectors: expected a word and its numbers on each line")
    if count not in (None, held):
        notes.append(f"the header's count is {count:,}, the file holds {held:,} vectors")


def _lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Return lines with their numbers, without what ends them; only a line feed ends a line."""
    for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), b""), 1):
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


# --- word2vec's binary format --------------------------------------------------------------------


def read_binary(file: BinaryIO) -> Iterator[Row]:
    """Return the vectors of a binary file."""
    line = file.readline(64)
    match = BINARY_HEADER.fullmatch(line)
    if match is None:
        raise ValueError(
            "byte 0: expected a header of two whole numbers, count and D (at most 999,999), "
            f"got {line[:20]!r}"
        )
    count, D = int(match[1]), int(match[2])
    position = len(line)
    for number in range(1, count + 1):
        word, byte = bytearray(), b""
        while byte != b" " and len(word) < LONGEST_WORD and (byte := file.read(1)):
            word += byte
        content = bytes(word).lstrip(b"\n")
        position += len(word) - len(content)
        place = f"byte {position}, vector {number:,} of {count:,}"
        numbers = file.read(4 * D)
        if not content.endswith(b" ") or len(numbers) < 4 * D:
            where = "in the middle of it" if content else "there"
            missing = f"the file ends {where}: fetch it again, or read fewer vectors with limit"
            if len(content) >= LONGEST_WORD:
                missing = f"no space after a word within {LONGEST_WORD:,} bytes"
            raise ValueError(f"{place}: {missing}")
        position += len(content) + len(numbers)
        yield place, content[:-1], np.frombuffer(numbers, dtype="<f4")
    rest = file.read(LONGEST_WORD)
    if rest.strip(b"\r\n"):
        position += len(rest) - len(rest.lstrip(b"\r\n"))
        raise ValueError(
            f"byte {position}: the header says {count:,} vectors, but more follows: fetch it again"
        )


# --- NumPy's format ------------------------------------------------------------------------------


def read_arrays(
    path: Path, wanted: Container[str] | None, limit: int | None
) -> tuple[list[str], HostArray]:
    """Words, and vectors as they lie on the disk; where only some words are wanted, a copy."""
    beside = words_file(path)
    for file in (path, beside):
        if not file.is_file():
            raise FileNotFoundError(f"no file {file}: vectors in .npy need both files")
    try:
        matrix: HostArray = np.atleast_1d(np.lib.format.open_memmap(path, mode="r"))
    except Exception as error:  # whatever NumPy makes of the bytes
        reason = " ".join(str(error).split())
        raise ValueError(f"{path} is damaged, or no array of NumPy ({reason})") from None
    try:
        words = json.loads(beside.read_bytes())
    except (ValueError, RecursionError):
        words = None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ValueError(f"{beside}: expected a JSON list of words")
    if wanted is not None and len(words) == len(matrix):
        rows = [row for row, word in enumerate(words) if word in wanted]
        words, matrix = [words[row] for row in rows], matrix[rows]
    return words[:limit], matrix[:limit]


def write_arrays(path: Path, words: Sequence[str], matrix: HostArray) -> None:
    """Write both files."""
    write_whole(words_file(path), json.dumps(list(words)))
    with replacing(path) as file:
        np.lib.format.write_array(file, np.asarray(matrix), allow_pickle=False)


def words_file(path: Path) -> Path:
    """Return the file of the words.

    >>> words_file(Path("vectors/a.npy")).name
    'a.words.json'
    """
    return path.with_suffix(".words.json")
