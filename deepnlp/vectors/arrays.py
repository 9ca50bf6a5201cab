"""NumPy's format: ``name.npy`` with the vectors, ``name.words.json`` with the words.

The vectors are memory-mapped: only what is used is read from the disk.
"""

from __future__ import annotations

import json
from collections.abc import Container, Sequence
from pathlib import Path

import numpy as np

from deepnlp.backend import HostArray
from deepnlp.files.writing import replacing


def read_arrays(
    path: Path, wanted: Container[str] | None, limit: int | None
) -> tuple[list[str], HostArray]:
    """Words, and vectors as they lie on the disk; where only some words are wanted, a copy."""
    beside = words_file(path)
    for file in (path, beside):
        if not file.is_file():
            raise FileNotFoundError(
                f"no file {file}: check the path; the words of a .npy file are in {beside.name}"
            )
    try:
        matrix: HostArray = np.lib.format.open_memmap(path, mode="r")
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
