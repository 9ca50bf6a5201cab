"""An embedding matrix from pre-trained word vectors."""

import os

import numpy as np

from deepnlp import backend
from deepnlp.text import Vocabulary
from deepnlp.vectors import WordVectors


def load_vectors(
    path: str | os.PathLike[str], vocab: Vocabulary, rng: np.random.Generator | None = None
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return the embedding matrix of a vocabulary from a file of word vectors.

    The file is one that ``deepnlp.vectors.WordVectors.load`` reads. Words of the vocabulary that it
    lacks are drawn from a normal distribution with mean 0 and the standard deviation of the numbers
    found.

    Parameters
    ----------
    path : path
        Text, plain or ``.gz``, such as GloVe's; ``.bin`` of word2vec, or ``.npy``.
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
        If the file breaks the rules of its format (the message gives the line or the byte), or has
        no word of the vocabulary.

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
    return rows_for(WordVectors.load(path, words=vocab), vocab, rng, str(path))


def rows_for(
    vectors: WordVectors, vocab: Vocabulary, rng: np.random.Generator | None, source: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return the matrix (V, D) and the words found (V,) that :func:`load_vectors` gives."""
    rows = [row for row, word in enumerate(vectors.words) if word in vocab]
    if not rows:
        raise ValueError(
            f"{source} holds none of the {len(vocab)} words of the vocabulary: check its language"
        )
    known = np.asarray(vectors.matrix[rows])
    rng = backend.rng() if rng is None else rng
    W = rng.normal(0.0, float(known.std()), size=(len(vocab), known.shape[1])).astype(np.float32)
    ids = [vocab.id(vectors.words[row]) for row in rows]
    found = np.zeros(len(vocab), dtype=bool)
    found[ids] = True
    W[ids] = known
    return W, found
