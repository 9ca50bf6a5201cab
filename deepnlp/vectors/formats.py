"""The file formats of word vectors by name."""

from __future__ import annotations

import gzip
import re
from array import array
from collections.abc import Container, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from deepnlp.backend import HostArray, check_number
from deepnlp.files.reading import unpacked
from deepnlp.files.writing import replacing
from deepnlp.vectors.arrays import read_arrays, write_arrays
from deepnlp.vectors.binary import binary_rows, read_binary
from deepnlp.vectors.text import is_number, read_text, text_lines

#: The end of a name that stands for each format; ``.gz`` may follow the first three.
ENDINGS = {".txt": "glove", ".vec": "word2vec", ".bin": "word2vec-binary", ".npy": "npy"}
FORMATS = tuple(ENDINGS.values())
TEXT = re.compile(r"[^\n\0\ud800-\udfff]+")  # a word that UTF-8 can hold on a line


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
    vectors, notes, repeats = array("f"), [], []
    with unpacked(path) as file:
        header = None if format is None else format == "word2vec"
        binary = chosen == "word2vec-binary"
        rows: Any = read_binary(file) if binary else read_text(file, header, notes)
        try:
            for place, content, numbers in rows:
                D, word = len(numbers), _word(content, place)
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
    if repeats:
        notes.append(
            f"repeated words: {len(repeats):,}, the first at {repeats[0]}; "
            "the first vector of a word counts"
        )
    return list(words), np.frombuffer(vectors, dtype=np.float32).reshape(-1, D), notes


def _word(content: bytes, place: str) -> str:
    """The word that a file holds at a place; an error where it is none."""
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
        raise ValueError(f"{place}: the word {content!r} is not UTF-8 text") from None


def _float32(numbers: HostArray | list[bytes]) -> HostArray:
    """The numbers of one word (D,); not finite where one is no number."""
    try:
        with np.errstate(over="ignore"):
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
    if format == "word2vec-binary":
        parts = binary_rows(words, matrix)
    else:
        parts = text_lines(words, matrix, header=format == "word2vec")
    with ExitStack() as opened:
        file: Any = opened.enter_context(replacing(path))
        if path.suffix == ".gz":  # without a name or the clock's time in it
            file = opened.enter_context(gzip.GzipFile("", "wb", fileobj=file, mtime=0))
        file.writelines(parts)


def _check_words(words: Sequence[str], format: str) -> None:
    """An error that names the first word which could not be read back."""
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


def format_of(
    path: Path, format: str | None, endings: Mapping[str, str], default: str | None = None
) -> str:
    """The format that was asked for, or the one that the end of a name stands for.

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
