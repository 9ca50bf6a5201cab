"""The vocabulary: the tokens that a model knows, and the id of each."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from deepnlp.backend import check_number
from deepnlp.text.bpe import BPE
from deepnlp.text.tokenisers import UNK, Tokeniser, tokeniser


class Vocabulary:
    """A two-way table between tokens and ids 0 ... V - 1, with the count of each token.

    ``<unk>`` stands for every token outside the table. ``eos_id`` is the id of the token that ends
    a line: ``<eos>``, or for ``tokenizer="chars"`` the line break. Both tokens are always present,
    exactly once.

    Parameters
    ----------
    tokens : sequence of str
        The token of each id; no token twice, the two special ones among them.
    counts : sequence of int, optional
        How often each token was seen, in the same order; zeros by default.
    tokenizer : str or Tokeniser
        What cuts text into these tokens: a name of ``deepnlp.text.TOKENISERS``, or a
        :class:`~deepnlp.text.BPE`, all whose tokens have to be there and whose texts need no
        ``<unk>``.

    Attributes
    ----------
    tokens : tuple of str
        The token of each id.
    counts : ndarray (V,)
        How often each token was seen, int64.
    cut : Tokeniser
        What cuts text into these tokens, and joins them.
    tokenizer : str
        Its name.

    Raises
    ------
    ValueError
        If a token is repeated, a special one is missing, or the lengths differ.

    Examples
    --------
    >>> vocab = Vocabulary.build("the cat saw the dog".split())
    >>> len(vocab), vocab.tokens[:2]
    (6, ('the', 'cat'))
    >>> vocab.decode(vocab.encode(vocab.tokenize("The dog saw the mouse")))
    ['the', 'dog', 'saw', 'the', '<unk>']
    """

    def __init__(
        self,
        tokens: Sequence[str],
        counts: Sequence[int] | np.ndarray | None = None,
        tokenizer: str | Tokeniser = "words",
    ) -> None:
        self.cut = tokeniser(tokenizer)
        self.tokenizer, self.tokens = self.cut.name, tuple(tokens)
        zeros = [0] * len(self.tokens)
        self.counts = np.asarray(zeros if counts is None else counts, dtype=np.int64)
        self._ids = {token: number for number, token in enumerate(self.tokens)}
        if len(self._ids) != len(self.tokens):
            repeated = next(t for t, n in Counter(self.tokens).items() if n > 1)
            raise ValueError(f"a vocabulary holds each token once, but {repeated!r} is repeated")
        if self.counts.shape != (len(self.tokens),):
            raise ValueError(
                f"a vocabulary of {len(self.tokens)} tokens needs as many counts,"
                f" got shape {self.counts.shape}"
            )
        for special in self.cut.needs:
            if special not in self._ids:
                raise ValueError(
                    f"a vocabulary needs the token {special!r}: add it, or use Vocabulary.build"
                )

    @classmethod
    def build(
        cls,
        tokens: Iterable[str],
        max_size: int | None = None,
        min_count: int = 1,
        tokenizer: str | Tokeniser = "words",
    ) -> "Vocabulary":
        """Count tokens and number them, the most frequent first, ties in alphabetical order.

        Parameters
        ----------
        tokens : iterable of str
            The training tokens; ``<unk>`` and the end-of-line token among them are counted.
        max_size : int, optional
            Size of the vocabulary, the two special tokens included.
        min_count : int
            Tokens seen less often are left out.
        tokenizer : str or Tokeniser
            What the tokens come from. Those of a byte pair encoding are all kept, as it has them.

        Returns
        -------
        Vocabulary
            What the limits leave out is counted as ``<unk>``.

        Raises
        ------
        ValueError
            If ``max_size`` is below 3 or ``min_count`` below 1, or so large that it leaves out all
            tokens.

        Examples
        --------
        >>> Vocabulary.build(["b", "a", "b", "c", "c"], max_size=4).tokens
        ('b', 'c', '<unk>', '<eos>')
        """
        if max_size is not None:  # <unk>, the end of a line, and one token
            check_number("max_size", max_size, whole=True, low=3)
        check_number("min_count", min_count, whole=True, low=1)
        seen, cut = Counter(tokens), tokeniser(tokenizer)
        if cut.unk is None:
            return cls(cut.needs, [seen[token] for token in cut.needs], cut)
        specials = {token: seen.pop(token, 0) for token in cut.needs}
        ranked = sorted(seen.items(), key=_by_frequency)
        if ranked and ranked[0][1] < min_count:
            raise ValueError(
                f"min_count is {min_count}, which leaves out every token: the most frequent one "
                f"occurs {ranked[0][1]} times"
            )
        room = None if max_size is None else max_size - len(specials)
        kept = {token: count for token, count in ranked[:room] if count >= min_count}
        specials[UNK] += seen.total() - sum(kept.values())
        table = dict(sorted((specials | kept).items(), key=_by_frequency))
        return cls([*table], [*table.values()], cut)

    def __len__(self) -> int:
        return len(self.tokens)

    def __contains__(self, token: object) -> bool:
        return token in self._ids

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.to_dict() == other.to_dict()

    def __repr__(self) -> str:
        return f"Vocabulary({len(self):,} tokens, tokenizer={self.tokenizer!r})"

    @property
    def unk_id(self) -> int | None:
        """Id of ``<unk>``; None with byte pair encoding, to which nothing is unknown."""
        return self._ids[UNK] if self.cut.unk else None

    @property
    def eos_id(self) -> int:
        """Id of the token that ends a line: ``<eos>``, or the line break for characters."""
        return self._ids[self.cut.eos]

    def ends_line(self, token: str) -> bool:
        r"""Return whether a token ends a line: the end-of-line token, or one with a line break.

        Parameters
        ----------
        token : str

        Returns
        -------
        bool

        Examples
        --------
        >>> vocab = Vocabulary.build(["a"])
        >>> vocab.ends_line("<eos>"), vocab.ends_line("a")
        (True, False)
        """
        return "\n" in self.detokenize([token])

    def id(self, token: str) -> int:
        """Return the id of a token, that of ``<unk>`` for one outside the vocabulary.

        Parameters
        ----------
        token : str
            A token.

        Returns
        -------
        int
            Its id.

        Examples
        --------
        >>> vocab = Vocabulary.build(["a", "a"])
        >>> vocab.id("a"), vocab.id("z") == vocab.unk_id
        (0, True)
        """
        return int(self.encode([token])[0])

    def token(self, id: int) -> str:
        """Return the token of an id.

        Parameters
        ----------
        id : int
            From 0 to V - 1.

        Returns
        -------
        str
            Its token.

        Raises
        ------
        ValueError
            If the id is outside the vocabulary.

        Examples
        --------
        >>> Vocabulary.build(["a", "a"]).token(0)
        'a'
        """
        return self.decode([id])[0]

    def encode(self, tokens: Iterable[str]) -> np.ndarray:
        """Return ids of tokens, ``<unk>`` for those outside the vocabulary.

        Parameters
        ----------
        tokens : iterable of str
            Tokens, as :meth:`tokenize` gives them.

        Returns
        -------
        ndarray
            int32 ids of shape (n,), on the host.

        Raises
        ------
        TypeError
            If the tokens are one string, which would be read letter by letter.
        ValueError
            If a token is outside a vocabulary that has no ``<unk>``.

        Examples
        --------
        >>> vocab = Vocabulary.build(["b", "a", "b"])
        >>> vocab.encode(["a", "b"]).tolist()
        [1, 0]
        """
        if isinstance(tokens, str):
            raise TypeError(
                "encode expects a list of tokens, got one string: write encode(tokenize(text))"
            )
        ids, unk_id = self._ids, self.unk_id
        try:
            return np.fromiter((ids.get(token, unk_id) for token in tokens), dtype=np.int32)
        except TypeError:  # a None among them
            raise ValueError(
                "expected tokens of the vocabulary, which has no <unk>: cut the text with tokenize"
            ) from None

    def decode(self, ids: Iterable[int] | np.ndarray) -> list[str]:
        """Return tokens of ids.

        Parameters
        ----------
        ids : iterable of int
            Ids from 0 to V - 1, shape (n,).

        Returns
        -------
        list of str
            The tokens.

        Raises
        ------
        ValueError
            If an id is outside the vocabulary.

        Examples
        --------
        >>> Vocabulary.build(["b", "a", "b"]).decode([0, 0, 1])
        ['b', 'b', 'a']
        """
        numbers = ids.tolist() if isinstance(ids, np.ndarray) else [int(number) for number in ids]
        for number in numbers:
            if not 0 <= number < len(self):
                last = len(self) - 1
                raise ValueError(f"id {number} is outside the vocabulary, expected 0 to {last}")
        return [self.tokens[number] for number in numbers]

    def tokenize(self, text: str) -> list[str]:
        """Cut a line of text with the vocabulary's tokeniser.

        Parameters
        ----------
        text : str
            Raw text.

        Returns
        -------
        list of str
            Tokens, known or not, their accents as in a file; no end-of-line token is added.

        Examples
        --------
        >>> Vocabulary.build([]).tokenize("A cat.")
        ['a', 'cat', '.']
        """
        return self.cut.split(unicodedata.normalize("NFC", text))

    def detokenize(self, tokens: Iterable[str]) -> str:
        """Join tokens to readable text.

        Parameters
        ----------
        tokens : iterable of str
            Tokens, as :meth:`decode` gives them.

        Returns
        -------
        str
            Text; end-of-line tokens become line breaks.

        Examples
        --------
        >>> Vocabulary.build([]).detokenize(["a", "cat", "(", "it", "'s", "grey", ")", "."])
        "a cat (it's grey)."
        """
        return self.cut.join(tokens)

    def to_dict(self) -> dict[str, Any]:
        """Return all of the vocabulary as plain lists and strings, fit for JSON.

        Returns
        -------
        dict
            Keys ``tokens``, ``counts``, ``tokenizer``; of a :class:`BPE` also ``merges``, ``eos``.

        Examples
        --------
        >>> Vocabulary.build(["a"]).to_dict()
        {'tokens': ['a', '<eos>', '<unk>'], 'counts': [1, 0, 0], 'tokenizer': 'words'}
        """
        counts = self.counts.tolist()
        state = {"tokens": list(self.tokens), "counts": counts, "tokenizer": self.tokenizer}
        return state | self.cut.learned

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> "Vocabulary":
        """Return the vocabulary that :meth:`to_dict` described.

        Parameters
        ----------
        state : dict
            With the keys that it has there.

        Returns
        -------
        Vocabulary
            Equal to the one described.

        Examples
        --------
        >>> vocab = Vocabulary.build(["a", "b"])
        >>> Vocabulary.from_dict(vocab.to_dict()) == vocab
        True
        """
        cut = state["tokenizer"]
        if cut == "bpe":
            learned = {"merges": None, "eos": None, **state}
            cut = BPE(learned["merges"], learned["eos"])
        return cls(state["tokens"], state["counts"], cut)


def _by_frequency(item: tuple[str, int]) -> tuple[int, str]:
    """Sort key: the most frequent first, ties in alphabetical order."""
    token, count = item
    return (-count, token)
