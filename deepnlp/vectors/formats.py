"""The file formats of word vectors by name."""

from __future__ import annotations

import gzip
from collections.abc import Container, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from deepnlp.backend import HostArray, check_number
from deepnlp.files.writing import replacing
from deepnlp.vectors.arrays import read_arrays, write_arrays
from deepnlp.vectors.binary import binary_rows, read_binary_file
from deepnlp.vectors.rows import Rows
from deepnlp.vectors.text import is_number, read_text_file, text_lines

#: The end of a name that stands for each format; ``.gz`` may follow the first three.
ENDINGS = {".txt": "glove", ".vec": "word2vec", ".bin": "word2vec-binary", ".npy": "npy"}
FORMATS = tuple(ENDINGS.values())


def read_file(
    path: Path, format: str | None, wanted: Container[str] | None, limit: int | None
) -> tuple[list[str], HostArray, list[str]]:
    """Words, vectors (V, D) and notes of a file; of a text file it is seen if it has a header."""
    if limit is not None:
        check_number("limit", limit, whole=True, low=1)
    chosen = format_of(path, format, ENDINGS, default="glove")
    if chosen == "npy":
        return *read_arrays(path, wanted, limit), []
    rows = Rows(str(path), wanted, limit)
    if chosen == "word2vec-binary":
        return read_binary_file(path, rows)
    return read_text_file(path, rows, None if format is None else format == "word2vec")


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
    _write(path, parts)


def _write(path: Path, parts: Iterator[bytes]) -> None:
    with replacing(path) as file:
        if path.suffix != ".gz":
            file.writelines(parts)
            return
        with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:  # no name, no clock time
            packed.writelines(parts)


def _check_words(words: Sequence[str], format: str) -> None:
    """An error that names the first word which could not be read back."""
    rule = "a space at either end, or a number after one" if format == "glove" else "a space"
    for word in words:
        inner = word.split(" ")[1:]
        spaced = any(map(is_number, inner)) if format == "glove" else bool(inner)
        if not word or word != word.strip(" ") or spaced or not _is_text(word):
            raise ValueError(
                f"the format {format} cannot hold the word {word!r}: in it no word is empty or has "
                f"a line break, a NUL, {rule}; .npy holds every word"
            )


def _is_text(word: str) -> bool:
    """Whether UTF-8 can encode a word, and no line break or NUL is in it."""
    encoded = word.encode("utf-8", "ignore")
    return encoded.decode("utf-8") == word and b"\n" not in encoded and b"\0" not in encoded


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
