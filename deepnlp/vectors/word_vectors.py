"""Words and their vectors: cosine similarity, neighbours, analogies."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from deepnlp.backend import HostArray, check_number
from deepnlp.vectors.formats import read_file, write_file

Ranking = list[tuple[str, float]]

METHODS = ("add", "mul")
EVERY = slice(None)
EPSILON = 1e-3  # of 3CosMul, which divides by a similarity that may be 0
BLOCK = 1 << 22  # numbers of a matrix that are worked on at a time


class WordVectors:
    r"""Words, most frequent first, and a vector for each.

    .. math:: \cos(u, v) = \frac{u \cdot v}{|u| \, |v|}

    A vector of zeros has the cosine 0 with every other.

    Parameters
    ----------
    words : sequence of str
        V words, none twice.
    matrix : array (V, D)
        On the host; it is not copied, so it may be memory-mapped.

    Attributes
    ----------
    words : tuple of str
    matrix : ndarray (V, D)
    notes : tuple of str
        What the reader of a file has put right, such as a header that counts wrongly.

    Raises
    ------
    ValueError
        If a word is repeated, the matrix has not one row for each word, or it has no columns.

    Examples
    --------
    >>> vectors = WordVectors(["cat", "dog", "car"], [[1.0, 2.0], [2.0, 3.0], [3.0, -1.0]])
    >>> len(vectors), "cat" in vectors, vectors["dog"].tolist()
    (3, True, [2.0, 3.0])
    >>> vectors.neighbours("cat", k=1)
    [('dog', 0.992...)]
    """

    def __init__(
        self, words: Sequence[str], matrix: HostArray | Sequence[Any], notes: Iterable[str] = ()
    ) -> None:
        self.words = tuple(words)
        self.matrix = np.asanyarray(matrix)
        self.notes = tuple(notes)
        shape, kind = self.matrix.shape, self.matrix.dtype.kind
        if len(shape) != 2 or shape[0] != len(self.words) or not shape[1] or kind != "f":
            raise ValueError(
                "WordVectors: expected a matrix (V, D) of floating-point numbers for "
                f"{len(self.words)} words, got shape {shape} of {self.matrix.dtype}"
            )
        self._rows = {word: row for row, word in enumerate(self.words)}
        if len(self._rows) != len(self.words):
            repeated = next(word for row, word in enumerate(words) if self._rows[word] != row)
            raise ValueError(f"WordVectors: expected each word once, but {repeated!r} is repeated")

    @classmethod
    def load(
        cls,
        path: str | PathLike[str],
        format: str | None = None,
        *,
        words: Container[str] | None = None,
        limit: int | None = None,
    ) -> WordVectors:
        r"""Read a file of word vectors.

        ``"glove"`` and ``"word2vec"`` are text, a word and D numbers a line, the second with a
        header of two numbers, V and D; ``"word2vec-binary"`` has the same header and packed
        float32 numbers; ``"npy"`` is an array of NumPy, memory-mapped, with the words in
        ``name.words.json``. A word may contain spaces in text. If a word occurs twice, its first
        vector counts; that, and a header that counts wrongly, is said in ``notes``.

        Parameters
        ----------
        path : str or path
            Text and binary files may be packed, with ``.gz`` at the end of the name.
        format : {"glove", "word2vec", "word2vec-binary", "npy"}, optional
            By default ``.bin`` and ``.npy`` say it, and any other name is text, with a header or
            without.
        words : container of str, optional
            Keep the vectors of these words only.
        limit : int, optional
            Stop after this many, in most files the most frequent words.

        Returns
        -------
        WordVectors
            With a float32 matrix; from ``.npy`` with the type of the file.

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If the file breaks the rules of its format; the text gives the line or the byte.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "vectors.txt"
        ...     _ = path.write_text("3 2\ncat 0.5 -1\nnew york 0.25 2\n")
        ...     vectors = WordVectors.load(path)
        >>> vectors.words, vectors.notes
        (('cat', 'new york'), ("the header's count is 3, the file holds 2 vectors",))
        """
        path = Path(path)
        kept, matrix, notes = read_file(path, format, words, limit)
        try:
            return cls(kept, matrix, notes)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    def save(self, path: str | PathLike[str], format: str | None = None) -> None:
        r"""Write a file of word vectors, all of it or nothing.

        Parameters
        ----------
        path : str or path
            Its folder must exist.
        format : {"glove", "word2vec", "word2vec-binary", "npy"}, optional
            By default by the end of the name: ``.txt``, ``.vec``, ``.bin`` or ``.npy``; all but
            the last may be followed by ``.gz``. ``"npy"`` keeps the number type and holds every
            word. The others hold float32, and no word with a line break; ``"word2vec"`` and
            ``"word2vec-binary"``, which gensim reads, hold no word with a space either.

        Raises
        ------
        FileNotFoundError
            If there is no such folder.
        ValueError
            If the format cannot be told or cannot hold a word, or a number is not finite.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "vectors.vec"
        ...     WordVectors(["cat", "dog"], [[0.5, 2.0], [0.1, 1.0]]).save(path)
        ...     path.read_text()
        '2 2\ncat 0.5 2.0\ndog 0.1 1.0\n'
        """
        write_file(Path(path), format, self.words, self.matrix)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._rows

    def __getitem__(self, word: str) -> HostArray:
        return self.matrix[self.row(word)]

    def __repr__(self) -> str:
        V, D = self.matrix.shape
        return f"WordVectors({V:,} words, D = {D})"

    def row(self, word: str) -> int:
        """Return the row of a word in the matrix; a ValueError where there is none."""
        if word not in self._rows:
            hint = f"; there is {word.lower()!r}" if word.lower() in self._rows else ""
            raise ValueError(f"{word!r} is not among the {len(self):,} words{hint}")
        return self._rows[word]

    def find(self, word: str) -> int:
        """Find the row of a word as it is written, or in lower case; -1 where there is none.

        Questions are looked up in this way, since many vectors know words in lower case only.
        """
        return self._rows.get(word, self._rows.get(word.lower(), -1))

    def head(self, count: int) -> WordVectors:
        """Return the first ``count`` words, the most frequent ones, with their vectors."""
        check_number("count", count, whole=True, low=1)
        return WordVectors(self.words[:count], self.matrix[:count])

    @cached_property
    def norms(self) -> HostArray:
        """Length of each vector (V,), and 1 for a vector of zeros."""
        V, D = self.matrix.shape
        norms, step = np.empty(V), max(1, BLOCK // D)
        for start in range(0, V, step):
            block = self.matrix[start : start + step].astype(np.float64)
            norms[start : start + step] = np.sqrt(np.einsum("vd,vd->v", block, block))
        broken = np.flatnonzero(~np.isfinite(norms))
        if len(broken):
            raise ValueError(
                f"the vector of {self.words[broken[0]]!r} holds a number that is not finite "
                f"({len(broken):,} of {len(self):,} vectors do)"
            )
        return np.where(norms > 0, norms, 1.0)

    def cosines(self, queries: HostArray, rows: slice = EVERY) -> HostArray:
        """Compute cosines of vectors (n, D) with every word's vector, or some rows, (n, V)."""
        dtype = np.result_type(self.matrix.dtype, np.float32)
        Q, E = np.asarray(queries, dtype=dtype), np.asarray(self.matrix[rows], dtype=dtype)
        if Q.ndim != 2 or Q.shape[1] != self.matrix.shape[1]:
            raise ValueError(
                f"expected vectors (n, D) with D = {self.matrix.shape[1]}, got shape {Q.shape}"
            )
        lengths = np.linalg.norm(Q.astype(np.float64), axis=1, keepdims=True)
        Q = Q / np.where(lengths > 0, lengths, 1.0).astype(dtype)
        return Q @ E.T / self.norms[rows].astype(dtype)

    def similarity(self, a: str, b: str) -> float:
        """Return the cosine of the vectors of two words.

        Parameters
        ----------
        a, b : str

        Raises
        ------
        ValueError
            If a word has no vector.

        Examples
        --------
        >>> WordVectors(["a", "b"], [[3.0, 4.0], [4.0, 3.0]]).similarity("a", "b")
        0.96
        """
        i, j = self.row(a), self.row(b)
        return float(self.pair_cosines(np.array([i]), np.array([j]))[0])

    def pair_cosines(self, i: HostArray, j: HostArray) -> HostArray:
        """Return cosines (n,) of rows i (n,) with rows j (n,)."""
        x, y = self.matrix[i].astype(np.float64), self.matrix[j].astype(np.float64)
        return np.einsum("nd,nd->n", x, y) / (self.norms[i] * self.norms[j])

    def neighbours(self, query: str | HostArray, k: int = 10) -> Ranking:
        """Return the k words whose vectors have the largest cosine with a word's, or with a vector.

        Parameters
        ----------
        query : str or array (D,)
            A word, which is then no neighbour of itself, or a vector.
        k : int

        Returns
        -------
        list of (str, float)
            Words and cosines, the nearest first.

        Raises
        ------
        ValueError
            If the word has no vector, or the vector has another length.

        Examples
        --------
        >>> vectors = WordVectors(["a", "b", "c"], [[3.0, 4.0], [4.0, 3.0], [-1.0, 0.0]])
        >>> vectors.neighbours(np.array([0.0, 2.0]), k=2)
        [('a', 0.8), ('b', 0.6)]
        """
        rows = [self.row(query)] if isinstance(query, str) else []
        vector = self.matrix[rows] if rows else np.asarray(query)[None]
        return self._largest(self.cosines(vector)[0], rows, k)

    def analogy(self, a: str, b: str, c: str, k: int = 10, method: str = "add") -> Ranking:
        r"""Return the k words d that fit best into "a is to b as c is to d".

        .. math::
            \text{add:}\quad & \cos(d, b) - \cos(d, a) + \cos(d, c) \\
            \text{mul:}\quad & \cos'(d, b) \cos'(d, c) / (\cos'(d, a) + \epsilon),
                \qquad \cos' = (\cos + 1) / 2, \quad \epsilon = 0.001

        Parameters
        ----------
        a, b, c : str
            The words of the question, which are no answers to it.
        k : int
        method : {"add", "mul"}

        Returns
        -------
        list of (str, float)
            Words and the values of the formula, the best first.

        Raises
        ------
        ValueError
            If a word has no vector, or the method is unknown.

        Notes
        -----
        3CosAdd: Mikolov, Yih and Zweig 2013; 3CosMul: Levy and Goldberg 2014, equations 3 and 4.

        Examples
        --------
        >>> words = ["man", "woman", "king", "queen", "car"]
        >>> matrix = [[1.0, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 1], [-1, 0, 0.5]]
        >>> WordVectors(words, matrix).analogy("man", "woman", "king", k=1)
        [('queen', 1.055...)]
        """
        rows = [self.row(word) for word in (a, b, c)]
        scores = analogy_scores(self.cosines(self.matrix[rows]), np.array([[0, 1, 2]]), method)
        return self._largest(scores[0], rows, k)

    def _largest(self, scores: HostArray, excluded: list[int], k: int) -> Ranking:
        """Return the k words of the largest scores (V,), without some rows; ties by row."""
        check_number("k", k, whole=True, low=1)
        scores = scores.copy()
        scores[excluded] = -np.inf
        k = min(k, len(self) - len(set(excluded)))
        order = np.argsort(-scores, kind="stable")[:k]
        return [(self.words[row], float(scores[row])) for row in order]


def analogy_scores(cosines: HostArray, questions: HostArray, method: str) -> HostArray:
    """Return how well each word answers "a is to b as c is to ?".

    Takes the cosines (m, V) of m words with all, and for each of n questions the rows of a, b and
    c in them (n, 3); gives (n, V).
    """
    a, b, c = questions.T
    if method == "add":
        return cosines[b] - cosines[a] + cosines[c]
    if method == "mul":
        shifted = (cosines + 1) / 2
        return shifted[b] * shifted[c] / (shifted[a] + EPSILON)
    raise ValueError(f"unknown method {method!r}: expected one of {', '.join(METHODS)}")
