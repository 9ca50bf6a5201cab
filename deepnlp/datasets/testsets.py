"""Test sets for word vectors: pairs rated by people, and analogies, by name or path."""

import math
import os
from typing import Any

from deepnlp.datasets.files import SOURCES, files_of, numbered_lines
from deepnlp.vectors import Analogies, WordPairs
from deepnlp.vectors.formats import is_number

#: Names of test sets in the data folder.
SIMILARITY, ANALOGIES = tuple(SOURCES["similarity"]), tuple(SOURCES["analogies"])


def load_similarity(
    name_or_path: str | os.PathLike[str], *, data: str | os.PathLike[str] | None = None
) -> WordPairs:
    r"""Load a similarity set: pairs of words and how alike people find them.

    A line is two words, then other columns; tabs separate them, or else commas, or else spaces.
    The rating is the first column after the words that holds a number in the first row. A first
    line without a number is a header. Further columns do not matter, and need not be in every row.

    Parameters
    ----------
    name_or_path : str or path
        ``simlex`` (SimLex-999), ``men``, ``rw`` (Stanford Rare Words), ``wordsim353``,
        ``wordsim353-sim``, ``wordsim353-rel``, or the path of a UTF-8 text file.
    data : path, optional
        The data folder; by default the environment variable ``DEEPNLP_DATA``, else ``datasets``
        in the working directory.

    Raises
    ------
    FileNotFoundError
        If a file is not where it is expected.
    ValueError
        If the name is unknown, or a line is not two words and a rating; the text gives its number.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "pairs.csv"
    ...     _ = path.write_text("Word 1,Word 2,Mean\ntiger,cat,7.35\nbook,paper,7.46\n")
    ...     load_similarity(path).pairs
    (('tiger', 'cat', 7.35), ('book', 'paper', 7.46))
    """
    name, files = files_of(name_or_path, "similarity", "similarity set", data)
    (path,) = files["all"]
    pairs: list[tuple[str, str, float]] = []
    column = 0  # of the rating; 0 until the first row
    for number, line in numbered_lines(path):
        separator = next((mark for mark in "\t," if mark in line), None)
        fields = [field.strip() for field in line.split(separator)]
        column = column or next((k for k in range(2, len(fields)) if _is_rating(fields[k])), 0)
        if not column and number == 1:
            continue  # the header
        if not (2 <= column < len(fields) and _is_rating(fields[column]) and all(fields[:2])):
            expected = f" in column {column + 1}" if column else ""
            raise ValueError(
                f"{path}, line {number}: expected two words and a rating{expected}, got {line!r}"
            )
        pairs.append((fields[0], fields[1], float(fields[column])))
    if not pairs:
        raise ValueError(f"{path} holds no pair: expected lines of two words and a rating")
    return WordPairs(name, tuple(pairs))


def load_analogies(
    name_or_path: str | os.PathLike[str], *, data: str | os.PathLike[str] | None = None
) -> Analogies:
    r"""Load analogies "a is to b as c is to d": four words a line, in sections.

    Parameters
    ----------
    name_or_path : str or path
        ``google`` (Mikolov et al. 2013: 19,544 questions in 14 sections), or the path of a UTF-8
        text file in which a line ``: name`` begins a section.
    data : path, optional
        The data folder; by default the environment variable ``DEEPNLP_DATA``, else ``datasets``
        in the working directory.

    Raises
    ------
    FileNotFoundError
        If a file is not where it is expected.
    ValueError
        If the name is unknown, or a line is neither four words nor the name of a new section; the
        text gives its number.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "questions.txt"
    ...     _ = path.write_text(": family\nman woman king queen\nboy girl king queen\n")
    ...     load_analogies(path).sections["family"][0]
    ('man', 'woman', 'king', 'queen')
    """
    name, files = files_of(name_or_path, "analogies", "analogy set", data)
    (path,) = files["all"]
    sections: dict[str, list[Any]] = {}
    section = ""
    for number, line in numbered_lines(path):
        fields, heading = line.split(), line.startswith(":")
        begun = line[1:].strip()
        if heading and begun and begun not in sections:
            section = begun
            sections[section] = []
        elif not heading and len(fields) == 4 and section:
            sections[section].append(tuple(fields))
        else:
            expected = "four words" if section else "': name', which begins a section"
            expected = "the name of a new section" if heading else expected
            raise ValueError(f"{path}, line {number}: expected {expected}, got {line!r}")
    if not any(sections.values()):
        raise ValueError(f"{path} holds no question: expected lines of four words")
    return Analogies(name, {key: tuple(questions) for key, questions in sections.items()})


def _is_rating(field: str) -> bool:
    return is_number(field) and math.isfinite(float(field))
