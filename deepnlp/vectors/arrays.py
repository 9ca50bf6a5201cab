"""NumPy's format: ``name.npy`` with the vectors, ``name.words.json`` with the words.

The vectors are memory-mapped: only what is used is read from the disk.
"""

from __future__ import annotations

import json
import tokenize
import zipfile
from collections.abc import Container, Sequence
from pathlib import Path

import numpy as np

from deepnlp.backend import HostArray
from deepnlp.files.writing import replacing

# What NumPy raises for bytes that are not what they should be.
DAMAGE = (ValueError, EOFError, OSError, SyntaxError, tokenize.TokenError, zipfile.BadZipFile)


def read_arrays(
    path: Path, wanted: Container[str] | None, limit: int | None
) -> tuple[list[str], HostArray]:
    """Words, and vectors as they lie on the disk; where only some words are wanted, a copy."""
    if not path.is_file():
        raise FileNotFoundError(f"no file {path}: check the path")
    try:
        matrix = np.load(path, mmap_mode="r", allow_pickle=False)
        if not isinstance(matrix, np.ndarray):
            raise ValueError("an archive of several")
    except DAMAGE as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{path} is damaged, or no array of NumPy ({reason})") from None
    words = _words(words_file(path))
    if wanted is not None and len(words) == len(matrix):
        rows = [row for row, word in enumerate(words) if word in wanted]
        words, matrix = [words[row] for row in rows], matrix[rows]
    return words[:limit], matrix[:limit]


def write_arrays(path: Path, words: Sequence[str], matrix: HostArray) -> None:
    """Write both files."""
    with replacing(words_file(path)) as file:
        file.write(json.dumps(list(words)).encode("ascii"))
    with replacing(path) as file:
        np.lib.format.write_array(file, np.asarray(matrix), allow_pickle=False)


def words_file(path: Path) -> Path:
    """The file of the words.

    >>> words_file(Path("vectors/a.npy")).name
    'a.words.json'
    """
    return path.with_suffix(".words.json")


def _words(path: Path) -> list[str]:
    if not path.is_file():
        raise FileNotFoundError(f"no file {path}: the words of a .npy file are expected there")
    try:
        words = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        words = None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ValueError(f"{path}: expected a JSON list of words")
    return words
