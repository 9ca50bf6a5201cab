r"""Byte pair encoding: tokens between letters and words, learned from a text.

Any text is a sequence of bytes, so 256 tokens write it whole, and no text has an unknown token.
They make long sequences, and so frequent neighbours are joined to longer tokens (Sennrich, Haddow
and Birch 2016, algorithm 1; on bytes as in GPT-2, Radford et al. 2019):

1. Count the words of the text. Every word is a sequence of tokens, at first of single bytes.
2. Find the pair of neighbouring tokens (a, b) that occurs most often in all words together.
3. Join it: wherever a is followed by b, the token ab takes their place. This is a *merge*.
4. Go on with 2 until there are as many tokens as were asked for.

A new text is cut with the same merges in the same order. A *word* is what GPT-2's pattern cuts
(:func:`pretokenise`); no merge crosses its ends. In a token each byte is one visible character
(``BYTES``): ``Ġ`` is a space and ``Ċ`` a line break, as in the files of GPT-2.
"""

import functools
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from itertools import count, pairwise
from typing import TypeVar

from deepnlp.backend import check_number
from deepnlp.text.tokenisers import Tokeniser

Symbol = TypeVar("Symbol")
Pair = tuple[int, int]

_visible = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
_others = count(0x100)
#: The character for each byte: itself where it is a visible sign of Latin 1, others from U+0100 on.
BYTES = {byte: chr(byte if byte in _visible else next(_others)) for byte in range(256)}
BYTE_OF = {ord(character): byte for byte, character in BYTES.items()}
ALPHABET = tuple(sorted(BYTES.values()))  # the first 256 tokens, in the order of their ids
LINE_BREAK = BYTES[ord("\n")]
VOCABULARY = 5000  # tokens, where nothing else is said
MOST_KNOWN = 1 << 16  # words whose tokens are kept


def pretokenise(text: str) -> list[str]:
    r"""Cut a text into words, which joined give the text again.

    .. code-block:: text

        's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+

    A word is a run of letters, of digits or of other signs, with the space before it; or an English
    ending; or white space. GPT-2's pattern, of which Python's ``re`` lacks the classes.

    Parameters
    ----------
    text : str

    Returns
    -------
    list of str
        The words, spaces included.

    Examples
    --------
    >>> pretokenise("It's 3 cats,  and\n\none dog")
    ['It', "'s", ' 3', ' cats', ',', ' ', ' and', '\n', '\n', 'one', ' dog']
    """
    return _pattern().findall(text)


@functools.cache
def _pattern() -> re.Pattern[str]:
    r"""GPT-2's pattern in the terms of ``re``, whose \w is \p{L}, \p{N} and the underscore."""
    every = map(chr, range(sys.maxunicode + 1))
    marks = "".join("N" if c.isnumeric() and not c.isalpha() else " " for c in every)  # \p{N}
    runs = (run.span() for run in re.finditer("N+", marks))
    number = "".join(f"{chr(start)}-{chr(end - 1)}" for start, end in runs)
    control = r"\x1c-\x1f"  # white space for re, and not in Unicode
    space = rf"[^\S{control}]"
    return re.compile(
        rf"'(?:s|t|re|ve|m|ll|d)| ?[^\W_{number}]+| ?[{number}]+"
        rf"| ?(?:[^\s\w]+|[_{control}]+)+|{space}+(?![\S{control}])|{space}+"
    )


def merge(word: Sequence[Symbol], pair: tuple[Symbol, Symbol], joined: Symbol) -> list[Symbol]:
    """Replace a pair of neighbours in a word by one token, from left to right.

    Parameters
    ----------
    word : sequence
        The tokens of a word.
    pair : tuple
        The two that are joined.
    joined : token
        What takes their place.

    Returns
    -------
    list
        The tokens of the word now.

    Examples
    --------
    >>> merge(["a", "b", "a", "b", "b"], ("a", "b"), "ab")
    ['ab', 'ab', 'b']
    """
    first, second = pair
    merged: list[Symbol] = []
    previous_is_first = False  # and not part of a pair already
    for symbol in word:
        if previous_is_first and symbol == second:
            merged[-1] = joined
            previous_is_first = False
        else:
            merged.append(symbol)
            previous_is_first = symbol == first
    return merged


def learn_merges(
    words: Mapping[str, int], vocab_size: int, min_count: int = 2
) -> list[tuple[str, str]]:
    """Learn which pairs of tokens to join, from words and how often each occurs.

    The counts of all pairs are taken once. A merge changes only the words that hold its pair, and
    so only these are counted anew: their old pairs off, their new pairs on.

    Parameters
    ----------
    words : dict of str to int
        How often each word occurs, spelt in the alphabet of ``BYTES``.
    vocab_size : int
        How many tokens there are to be in the end, the 256 bytes among them.
    min_count : int
        A pair that occurs less often is not joined.

    Returns
    -------
    list of (str, str)
        The pairs, the first to be joined first. Of pairs that occur equally often the one whose
        tokens are older is joined, as by Hugging Face's ``tokenizers``.

    Examples
    --------
    >>> learn_merges({"low": 5, "lower": 2, "newest": 6, "widest": 3}, vocab_size=260)
    [('e', 's'), ('es', 't'), ('l', 'o'), ('lo', 'w')]
    """
    tokens = [*ALPHABET]  # by id
    ids = {token: id_ for id_, token in enumerate(tokens)}
    spelt = [[ids[character] for character in word] for word in words]
    times = [*words.values()]
    counts: Counter[Pair] = Counter()  # how often each pair occurs in all words
    where: defaultdict[Pair, list[int]] = defaultdict(list)  # the places in spelt of words with it
    for place, word in enumerate(spelt):
        for pair in pairwise(word):
            counts[pair] += times[place]
            where[pair].append(place)

    queue = [(-n, pair) for pair, n in counts.items()]  # the smallest is the most frequent pair
    heapify(queue)
    merges = []
    while queue and len(tokens) < vocab_size:
        minus_n, pair = heappop(queue)
        if -minus_n != counts[pair]:  # the count has fallen since: back with that of now
            heappush(queue, (-counts[pair], pair))
            continue
        if counts[pair] < min_count:
            break
        new, (left, right) = len(tokens), (tokens[id_] for id_ in pair)
        merges.append((left, right))
        tokens.append(left + right)
        made = set()
        for place in set(where.pop(pair)):
            before, after = spelt[place], merge(spelt[place], pair, new)
            for old_pair in pairwise(before):
                counts[old_pair] -= times[place]
            for new_pair in pairwise(after):
                counts[new_pair] += times[place]
                if new in new_pair:
                    where[new_pair].append(place)
                    made.add(new_pair)
            spelt[place] = after
        for new_pair in made:
            heappush(queue, (-counts[new_pair], new_pair))
    return merges


class BPE(Tokeniser):
    """The tokeniser of learned merges, on bytes: a text and its tokens say the same.

    A line break is a token like others, or part of one.

    Parameters
    ----------
    merges : sequence of (str, str)
        The pairs to join, the first one first, spelt in the characters of ``BYTES``.
    eos : str
        The token that a text starts after: the line break, or what a model was trained with, such
        as GPT-2's ``<|endoftext|>``. No text is cut into the latter.

    Attributes
    ----------
    needs : tuple of str
        All its tokens in the order of their ids: the bytes, what each merge makes, and ``eos``.

    Raises
    ------
    ValueError
        If a merge is no pair of tokens that earlier ones make.

    Examples
    --------
    >>> bpe = BPE.learn("low low low lower newest newest widest", vocab_size=261)
    >>> bpe.merges
    (('l', 'o'), ('lo', 'w'), ('e', 's'), ('Ġ', 'low'), ('es', 't'))
    >>> bpe.split("the lowest")
    ['t', 'h', 'e', 'Ġlow', 'est']
    >>> bpe.join(bpe.split("the lowest"))
    'the lowest'
    """

    unk = None

    def __init__(self, merges: Sequence[Sequence[str]], eos: str = LINE_BREAK) -> None:
        self.name, self.eos = "bpe", eos
        tokens = dict.fromkeys(ALPHABET)
        if not isinstance(merges, Sequence) or not isinstance(eos, str) or not eos:
            raise ValueError("a byte pair encoding needs its merges, a list of pairs of tokens")
        for number, pair in enumerate(merges, start=1):
            if (
                not isinstance(pair, list | tuple)
                or len(pair) != 2
                or any(not isinstance(token, str) or token not in tokens for token in pair)
            ):
                raise ValueError(
                    f"merge {number} should be a pair of tokens that earlier merges make, got "
                    f"{pair!r:.80}"
                )
            tokens["".join(pair)] = None
        self.merges = tuple((left, right) for left, right in merges)
        self.needs = tuple(tokens | {eos: None})
        self.learned = {"merges": [[*pair] for pair in self.merges], "eos": eos}
        self._order = {pair: number for number, pair in enumerate(self.merges)}
        self._known: dict[str, list[str]] = {}  # the tokens of words that were cut

    @classmethod
    def learn(cls, text: str, vocab_size: int, min_count: int = 2) -> "BPE":
        """Learn the merges of a text, at most as many as :func:`learn_merges` is told.

        Parameters
        ----------
        text : str
            The training text.
        vocab_size : int
            V, at least 257.
        min_count : int
            A pair that occurs less often is not joined.

        Returns
        -------
        BPE
            Whose ``eos`` is the line break.

        Raises
        ------
        ValueError
            If the numbers are too small.

        Examples
        --------
        >>> BPE.learn("a cat and a cat", vocab_size=300).merges
        (('a', 't'), ('c', 'at'), ('Ġ', 'a'), ('Ġ', 'cat'))
        """
        check_number("vocab_size", vocab_size, whole=True, low=len(ALPHABET) + 1)
        check_number("min_count", min_count, whole=True, low=1)
        words = Counter(pretokenise(text))
        spelt = {_spell(word): count for word, count in words.items()}
        return cls(learn_merges(spelt, vocab_size, min_count))

    def split(self, text: str) -> list[str]:
        """Return tokens of a text of any number of lines.

        Parameters
        ----------
        text : str
            Bytes that are no UTF-8 may be in it as Python's ``surrogateescape`` has them.

        Returns
        -------
        list of str

        Examples
        --------
        >>> BPE([("Ã", "©")]).split("é à")
        ['Ã©', 'Ġ', 'Ã', 'ł']
        """
        return [token for word in pretokenise(text) for token in self._tokens_of(word)]

    def _tokens_of(self, word: str) -> list[str]:
        """Return tokens of a word, which most texts have again and again."""
        if word not in self._known:
            if len(self._known) == MOST_KNOWN:
                self._known.clear()
            self._known[word] = self._cut(word)
        return self._known[word]

    def _cut(self, word: str) -> list[str]:
        """Cut a word into tokens."""
        *_, tokens = self.steps(word)
        return tokens

    def steps(self, word: str) -> Iterator[list[str]]:
        """Yield the tokens of a word as they are joined, the earliest merge first.

        Parameters
        ----------
        word : str
            One of those of :func:`pretokenise`.

        Yields
        ------
        list of str

        Examples
        --------
        >>> [*BPE([("o", "w"), ("l", "ow")]).steps("low")]
        [['l', 'o', 'w'], ['l', 'ow'], ['low']]
        """
        tokens, never = [*_spell(word)], len(self._order)
        yield tokens
        while len(tokens) > 1:
            pair = min(pairwise(tokens), key=lambda pair: self._order.get(pair, never))
            if pair not in self._order:
                break
            tokens = merge(tokens, pair, "".join(pair))
            yield tokens

    def to_bytes(self, tokens: Iterable[str]) -> bytes:
        r"""Return the bytes that tokens stand for; the ``eos`` of a model is a line break.

        Parameters
        ----------
        tokens : iterable of str

        Returns
        -------
        bytes

        Examples
        --------
        >>> bpe = BPE([])
        >>> bpe.to_bytes(bpe.split(b"\xff \n".decode("utf-8", "surrogateescape")))
        b'\xff \n'
        """
        spelt = (LINE_BREAK if token == self.eos else token for token in tokens)
        return "".join(spelt).translate(BYTE_OF).encode("latin-1")

    def join(self, tokens: Iterable[str]) -> str:
        """Return the text of tokens; what is no UTF-8, such as half a letter, becomes U+FFFD.

        Parameters
        ----------
        tokens : iterable of str

        Returns
        -------
        str

        Examples
        --------
        >>> BPE([]).join(["Ã", "©", "Ġ", "Ã"])
        'é �'
        """
        return self.to_bytes(tokens).decode("utf-8", "replace")

    def split_lines(self, text: str) -> list[str]:
        r"""Split a text as :meth:`split` does: a line break is part of it.

        Parameters
        ----------
        text : str

        Returns
        -------
        list of str

        Examples
        --------
        >>> BPE([("Ċ", "Ċ")]).split_lines("a\n\n\n")
        ['a', 'ĊĊ', 'Ċ']
        """
        return self.split(text)

    def fitted(self, text: str, vocab_size: int | None = None, min_count: int = 1) -> "BPE":
        """Learn the merges of a training text, of pairs that occur twice or more.

        Parameters
        ----------
        text : str
        vocab_size : int, optional
            V; 5,000 by default.
        min_count : int
            A pair that occurs less often is not joined.

        Returns
        -------
        BPE

        Examples
        --------
        >>> BPE([]).fitted("a cat and a cat").merges[0]
        ('a', 't')
        """
        return BPE.learn(text, vocab_size or VOCABULARY, max(2, min_count))


def _spell(word: str) -> str:
    """Return the bytes of a word, each as its character."""
    try:
        content = word.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a surrogate pair, which stands for no byte
        content = word.encode("utf-8", "replace")
    return content.decode("latin-1").translate(BYTES)
