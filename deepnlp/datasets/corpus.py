"""A corpus: three splits of ids, and their vocabulary."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from deepnlp.text import Vocabulary

SPLITS = ("train", "valid", "test")

Item = TypeVar("Item")
Tokens = Mapping[str, Sequence[str]]


class Splits:
    """What data in three splits have in common: a fingerprint, and one line for a log."""

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

    def describe(self) -> str:
        """One line for a log: name, sizes, fingerprint.

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

    def facts(self) -> dict[str, Any]:
        """Name, fingerprint and sizes, for the log of a run.

        Examples
        --------
        >>> ids = (vocab := Vocabulary.build(["a"])).encode(["a", "a"])
        >>> Corpus("tiny", vocab, ids, ids, ids).facts()["vocabulary"]
        3
        """
        return {
            "name": self.name,
            "fingerprint": self.fingerprint,
            "note": self.note,
            "tokens": self.tokens,
            "vocabulary": len(self.vocab),
        }


def encode_corpus(name: str, tokens: Tokens, vocab: Vocabulary, note: str = "") -> Corpus:
    """A corpus from the tokens of its three splits, which need two or more each.

    >>> splits = {"train": ["a", "b"], "valid": ["b", "b"], "test": ["a", "z"]}
    >>> encode_corpus("tiny", splits, Vocabulary.build(splits["train"])).test.tolist()
    [0, 3]
    """
    for split in SPLITS:
        check_enough(f"the {split} split of {name}", len(tokens[split]), "tokens", 2)
    train, valid, test = (vocab.encode(tokens[split]) for split in SPLITS)
    return Corpus(name, vocab, train, valid, test, note)


def check_enough(name: str, count: int, what: str, least: int) -> None:
    """An error if a text has too little to be learned from and divided into splits."""
    if count < least:
        raise ValueError(f"{name} has {count} {what}, expected at least {least}: give it more text")


def divide(items: Sequence[Item]) -> dict[str, Sequence[Item]]:
    """The splits of a sequence: the first 90 % for training, the rest in halves.

    >>> divide("abcdefghij" * 2)["valid"]
    'i'
    """
    first = len(items) * 9 // 10
    second = (first + len(items)) // 2
    return {"train": items[:first], "valid": items[first:second], "test": items[second:]}


def shuffle_and_divide(items: Sequence[Item], seed: int) -> dict[str, Sequence[Item]]:
    """The splits of a shuffled sequence.

    >>> {split: len(part) for split, part in shuffle_and_divide(range(40), seed=0).items()}
    {'train': 36, 'valid': 2, 'test': 2}
    """
    order = np.random.default_rng(seed).permutation(len(items)).tolist()
    return divide([items[k] for k in order])
