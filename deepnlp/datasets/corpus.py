"""A corpus: three splits of ids, and their vocabulary."""

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np

from deepnlp.text import Vocabulary

SPLITS = ("train", "valid", "test")

Item = TypeVar("Item")

UNSPACED = 30  # bytes between spaces; no language that writes spaces has such long words on average


class Size(NamedTuple):
    """How much text a split is, before it is cut into tokens, and how many different tokens."""

    bytes: int  # in UTF-8
    words: int  # with white space between
    types: int


class Splits:
    """The base of data in three splits: a fingerprint, and one line for a log."""

    name: str
    vocab: Vocabulary
    note: str = ""
    unit = "tokens"

    @property
    def vocabs(self) -> tuple[Vocabulary, ...]:
        """The vocabulary, or that of each side."""
        return (self.vocab,)

    @property
    def splits(self) -> dict[str, Any]:
        """The three splits by name."""
        return {split: getattr(self, split) for split in SPLITS}

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over texts and vocabulary, in hexadecimal: the same data, the same value."""
        tokens = [list(vocab.tokens) for vocab in self.vocabs]
        parts = [list(part) for part in self.splits.values()]
        text = json.dumps([tokens if len(tokens) > 1 else tokens[0], parts])
        return hashlib.sha256(text.encode("utf-8")).hexdigest()

    def facts(self) -> dict[str, Any]:
        """Return the name, fingerprint and sizes, for the log of a run.

        Examples
        --------
        >>> ids = (vocab := Vocabulary.build(["a"])).encode(["a", "a"])
        >>> Corpus("tiny", vocab, ids, ids, ids).facts()["vocabulary"]
        3
        """
        V = [len(vocab) for vocab in self.vocabs]
        facts = {
            "name": self.name,
            "fingerprint": self.fingerprint,
            "note": vars(self).get("note"),
            self.unit: {split: len(part) for split, part in self.splits.items()},
            "vocabulary": V if len(V) > 1 else V[0],
        }
        return {name: fact for name, fact in facts.items() if fact is not None}

    def describe(self) -> str:
        """Return one line for a log: name, sizes, fingerprint.

        Returns
        -------
        str
            The line, without a line break.

        Examples
        --------
        >>> vocab = Vocabulary.build(["a"])
        >>> ids = vocab.encode(["a", "a"])
        >>> Corpus("tiny", vocab, ids, ids, ids).describe()
        'tiny: 2 train, 2 valid, 2 test tokens; vocabulary 3; fingerprint 93491ac9711f'
        """
        note = f" ({self.note})" if self.note else ""
        counts = ", ".join(f"{len(part):,} {split}" for split, part in self.splits.items())
        many = "vocabulary" if len(self.vocabs) == 1 else "vocabularies"
        sizes = " and ".join(f"{len(vocab):,}" for vocab in self.vocabs)
        sizes = f"{counts} {self.unit}; {many} {sizes}"
        return f"{self.name}{note}: {sizes}; fingerprint {self.fingerprint[:12]}"


@dataclass(frozen=True, eq=False)
class Corpus(Splits):
    """A text as ids, in three splits.

    Parameters
    ----------
    name : str
        Name of the corpus, or of the file or folder it was read from.
    vocab : Vocabulary
        Made from the training split, unless one was given.
    train, valid, test : ndarray
        int32 ids of shape (n,), on the host.
    note : str
        Anything else that the ids depend on, such as the Python version.
    sizes : dict of str to Size
        By split, the bytes and words of the text that the ids stand for, where they are known.

    Examples
    --------
    >>> vocab = Vocabulary.build(["a", "b", "<eos>"])
    >>> ids = vocab.encode(["a", "b", "<eos>"])
    >>> corpus = Corpus("tiny", vocab, train=ids, valid=ids, test=ids)
    >>> corpus.tokens
    {'train': 3, 'valid': 3, 'test': 3}
    """

    name: str
    vocab: Vocabulary
    train: np.ndarray
    valid: np.ndarray
    test: np.ndarray
    note: str = ""
    sizes: Mapping[str, Size] = field(default_factory=dict)

    @property
    def tokens(self) -> dict[str, int]:
        """Number of tokens of each split."""
        return {name: len(ids) for name, ids in self.splits.items()}

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over ids and vocabulary, in hexadecimal: the same corpus, the same value."""
        digest = hashlib.sha256(json.dumps(list(self.vocab.tokens)).encode("utf-8"))
        for name, ids in self.splits.items():
            digest.update(f"{name} {len(ids)}".encode())
            digest.update(ids.astype("<i4").tobytes())
        return digest.hexdigest()

    @cached_property
    def unknown(self) -> dict[str, float]:
        """The share of each split that is ``<unk>``."""
        unk = self.vocab.unk_id
        return {split: float((ids == unk).mean()) for split, ids in self.splits.items()}

    def bits(self, split: str, perplexity: float) -> dict[str, float]:
        r"""Bits per byte and per word of the text of a split, where its size is known.

        A model of n tokens with perplexity P has :math:`(n - 1) \log_2 P` bits. Unlike perplexity,
        these figures can be compared between tokenisers. An unknown word counts as ``<unk>`` alone.

        >>> vocab = Vocabulary.build("ab", tokenizer="chars")
        >>> ids = vocab.encode(["a", "b", "b"])
        >>> Corpus("tiny", vocab, ids, ids, ids, sizes={"test": Size(3, 1, 2)}).bits("test", 8.0)
        {'bits_per_byte': 2.0, 'bits_per_word': 6.0}
        """
        if split not in self.sizes:
            return {}
        size, bits = self.sizes[split], (len(self.splits[split]) - 1) * math.log2(perplexity)
        return {"bits_per_byte": bits / size.bytes, "bits_per_word": bits / max(1, size.words)}

    def describe_words(self) -> str:
        """Describe unknown words and distinct tokens, with a hint for text without spaces."""
        shares = ", ".join(f"{share:.1%} of {split}" for split, share in self.unknown.items())
        text, size = f"unknown tokens: {shares}", self.sizes.get("train")
        if size is not None:
            text += f"; train has {size.types:,} different ones"
            if self.vocab.tokenizer not in ("chars", "bpe") and size.bytes > UNSPACED * size.words:
                text += (
                    f"\nnote: {size.bytes / size.words:.0f} bytes from space to space; for text "
                    "without spaces between words say --tokens character"
                )
        return text


def check_enough(name: str, count: int, what: str, least: int) -> None:
    """Raise an error if a text has too little to be learned from and divided into splits."""
    if count < least:
        raise ValueError(f"{name} has {count} {what}, expected at least {least}: give it more text")


def divide_text(text: str, at_lines: bool = True) -> dict[str, str]:
    r"""Divide a text as a sequence is divided, but at the end of a line nearby, or of a word.

    The text is divided, not its tokens, so that all tokenisers have the same text in a split.

    >>> divide_text("a cat\n" * 20)["valid"]
    'a cat\n'
    """

    def near(place: int) -> int:
        for mark in "\n " if at_lines else "":
            ends = text.rfind(mark, 0, place) + 1, text.find(mark, place) + 1
            nearest = min(ends, key=lambda end: abs(end - place))
            if abs(nearest - place) <= len(text) // 100:
                return nearest
        return place

    return divide(text, near)


def divide(items: Any, near: Callable[[int], int] = int) -> dict[str, Any]:
    """Divide a sequence near these places: 90 % for training, the rest in halves.

    >>> divide("abcdefghij" * 2)["valid"]
    'i'
    """
    first = near(len(items) * 9 // 10)
    second = near((first + len(items)) // 2)
    return {"train": items[:first], "valid": items[first:second], "test": items[second:]}


def shuffle_and_divide(items: Sequence[Item], seed: int) -> dict[str, list[Item]]:
    """Return the splits of a shuffled sequence.

    >>> {split: len(part) for split, part in shuffle_and_divide(range(40), seed=0).items()}
    {'train': 36, 'valid': 2, 'test': 2}
    """
    order = np.random.default_rng(seed).permutation(len(items)).tolist()
    return divide([items[k] for k in order])
