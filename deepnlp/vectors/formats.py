"""The file formats of word vectors by name."""

from __future__ import annotations

import gzip
from collections.abc import Container, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from deepnlp.files.writing import replacing
from deepnlp.vectors.arrays import read_arrays, write_arrays
from deepnlp.vectors.binary import binary_rows, read_binary_file
from deepnlp.vectors.rows import Rows
from deepnlp.vectors.text import is_number, read_text_file, text_lines

HostArray = np.ndarray[Any, Any]

#: The end of a name that stands for each format; ``.gz`` may follow the first three.
ENDINGS = {".txt": "glove", ".vec": "word2vec", ".bin": "word2vec-binary", ".npy": "npy"}
FORMATS = tuple(ENDINGS.values())


def read_file(
    path: Path, format: str | None, wanted: Container[str] | None, limit: int | None
) -> tuple[list[str], HostArray, list[str]]:
    """Words, vectors (V, D) and notes of a file; of a text file it is seen if it has a header."""
    if limit is not None and limit < 1:
        raise ValueError(f"expected a limit of 1 or more vectors, got {limit}")
    asked = None if format is None else _known(format)
    format = asked or ENDINGS.get(_ending(path))
    if format == "npy":
        return *read_arrays(path, wanted, limit), []
    rows = Rows(str(path), wanted, limit)
    if format == "word2vec-binary":
        return read_binary_file(path, rows)
    return read_text_file(path, rows, None if asked is None else asked == "word2vec")


def write_file(path: Path, format: str | None, words: Sequence[str], matrix: HostArray) -> None:
    """Write words and vectors, all of a file or nothing."""
    format = ENDINGS.get(_ending(path)) if format is None else _known(format)
    if format is None:
        raise ValueError(
            f"{path}: expected a name that ends in {', '.join(ENDINGS)}, or a format: "
            f"{', '.join(FORMATS)}"
        )
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
    try:
        content = word.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return b"\n" not in content and b"\0" not in content


def _ending(path: Path) -> str:
    return Path(path.name.removesuffix(".gz")).suffix


def _known(format: str) -> str:
    if format not in FORMATS:
        raise ValueError(f"unknown format {format!r}: expected one of {', '.join(FORMATS)}")
    return format
