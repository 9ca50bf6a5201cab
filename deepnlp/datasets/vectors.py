"""Pre-trained word vectors, in the text formats of GloVe, word2vec and fastText."""

import os
from pathlib import Path

import numpy as np

from deepnlp import backend
from deepnlp.datasets.files import numbered_lines
from deepnlp.text import Vocabulary


def load_vectors(
    path: str | os.PathLike[str], vocab: Vocabulary, rng: np.random.Generator | None = None
) -> tuple[np.ndarray, np.ndarray]:
    r"""Embedding matrix of a vocabulary from a file of word vectors.

    Each line is a word and D numbers. A first line of two whole numbers, count and D, is a header;
    its count is ignored, since shortened files keep the old one. If a word occurs twice, its first
    vector counts. Words of the vocabulary that the file lacks are drawn from a
    normal distribution with mean 0 and the standard deviation of the numbers found.

    Parameters
    ----------
    path : path
        UTF-8 text file, plain or ``.gz``.
    vocab : Vocabulary
        The words wanted, V of them.
    rng : numpy.random.Generator, optional
        Draws the missing vectors; by default the generator that ``deepnlp.seed`` set.

    Returns
    -------
    W : ndarray, shape (V, D)
        float32 vectors, in the order of the vocabulary.
    found : ndarray, shape (V,)
        bool, which words the file had.

    Raises
    ------
    FileNotFoundError
        If the file is not there.
    ValueError
        If a line does not have a word and D numbers (the message gives the number of the line), or
        if the file has no word of the vocabulary.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder) / "vectors.txt"
    ...     _ = file.write_text("cat 0.5 -1\ndog 0.25 2\n", encoding="utf-8")
    ...     W, found = load_vectors(file, Vocabulary.build(["cat", "cat", "bee"]))
    >>> W[0].tolist(), found.tolist()
    ([0.5, -1.0], [True, False, False, False])
    """
    path = Path(path)
    D = 0
    vectors: dict[int, np.ndarray] = {}
    for number, line in numbered_lines(path):
        fields = line.rstrip().split(" ")
        if number == 1 and len(fields) == 2 and fields[0].isdigit() and fields[1].isdigit():
            D = int(fields[1])
            continue
        D = D or len(fields) - 1
        word = _word(fields, D, path, number)
        if word in vocab and vocab.id(word) not in vectors:
            vectors[vocab.id(word)] = _numbers(fields[-D:], path, number)
    if not vectors:
        raise ValueError(
            f"{path} holds none of the {len(vocab)} words of the vocabulary:"
            " check that it is of the same language and case"
        )
    known = np.stack(list(vectors.values()))
    rng = backend.rng() if rng is None else rng
    W = rng.normal(0.0, float(known.std()), size=(len(vocab), D)).astype(np.float32)
    found = np.zeros(len(vocab), dtype=bool)
    found[list(vectors)] = True
    W[list(vectors)] = known
    return W, found


def _word(fields: list[str], D: int, path: Path, number: int) -> str:
    """The word before the D numbers; in some files it may contain spaces."""
    extra = fields[1:-D] if D > 0 else []
    if D < 1 or len(fields) < D + 1 or any(_is_number(field) for field in extra):
        raise ValueError(
            f"{path}, line {number}: expected a word and {max(D, 1)} numbers,"
            f" got {len(fields)} fields"
        )
    return " ".join(fields[:-D])


def _numbers(fields: list[str], path: Path, number: int) -> np.ndarray:
    """The numbers of one line as float32."""
    try:
        vector = np.array(fields, dtype=np.float32)
    except ValueError:
        vector = np.array([np.nan])
    if not np.isfinite(vector).all():
        raise ValueError(f"{path}, line {number}: expected {len(fields)} finite numbers")
    return vector


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True
