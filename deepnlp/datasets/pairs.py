"""Pairs of texts to learn a translation from, by name or path."""

import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np

from deepnlp.datasets import options
from deepnlp.datasets.columns import JSON, is_table, rows, text_in
from deepnlp.datasets.corpus import SPLITS, Splits, check_enough, shuffle_and_divide
from deepnlp.datasets.files import SOURCES, files_of, lines_of, numbered_lines
from deepnlp.datasets.made_up import Pair, addition, dates
from deepnlp.options import Option
from deepnlp.text import Tokeniser, Vocabulary
from deepnlp.text.tokenisers import split_words

LEAST_PAIRS = 20
DEFAULTS = {"tokenizer": "words", "separator": "\t", "key": "sentence"}  # of a file of pairs


@dataclass(frozen=True, eq=False)
class Pairs(Splits):
    """Source texts, each with a target text, in three splits; and a vocabulary of each side.

    The end-of-line token of the target's vocabulary ends a target, and begins it too, as the first
    input of a decoder.

    Parameters
    ----------
    name : str
        Name of the data set, or of the file it was read from.
    source_vocab, target_vocab : Vocabulary
        Made from the training split, unless they were given.
    train, valid, test : sequence of (str, str)
        Source and target as they were written.
    note : str, optional
        What was left out of the files, or may surprise in them.

    Examples
    --------
    >>> vocab = Vocabulary.build("abc", tokenizer="chars")
    >>> pairs = Pairs("tiny", vocab, vocab, [("ab", "ba")], [("abc", "cba")], [("z", "z")])
    >>> [ids.tolist() for ids in pairs.encoded("valid")[0]]
    [[0, 1, 2], [2, 1, 0]]
    """

    name: str
    source_vocab: Vocabulary
    target_vocab: Vocabulary
    train: Sequence[Pair]
    valid: Sequence[Pair]
    test: Sequence[Pair]
    note: str | None = None  # type: ignore[assignment]
    unit = "pairs"

    def encoded(self, split: str) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return ids of source and target of each pair, without marks for begin and end."""
        source, target = self.source_vocab, self.target_vocab
        return [
            (source.encode(source.tokenize(a)), target.encode(target.tokenize(b)))
            for a, b in self.splits[split]
        ]

    def references(self, split: str) -> dict[str, list[str]]:
        """Return every source text of a split once, with all its targets there."""
        targets_of: dict[str, list[str]] = {}
        for source, target in self.splits[split]:
            targets_of.setdefault(source, []).append(target)
        return targets_of

    @property
    def vocabs(self) -> tuple[Vocabulary, Vocabulary]:
        """Those of source and target."""
        return self.source_vocab, self.target_vocab


#: What must not be on two sides of a split: a sum, whichever of its numbers comes first; a day,
#: however it is written; a source sentence, in whatever letters and with whatever spaces.
KEYS: dict[str, Callable[[str, str], Hashable]] = {
    "sum": lambda source, _: tuple(sorted(map(int, source.split("+")))),
    "date": lambda _, target: target,
    "sentence": lambda source, _: tuple(split_words(source)),
}
PAIRS = tuple(SOURCES["pairs"])


def load_pairs(
    name_or_path: options.NameOrPath = "dates",
    *,
    data: str | os.PathLike[str] | None = None,
    vocab_size: options.VocabSize = None,
    min_count: options.MinCount = 1,
    tokens: options.Tokens = None,
    examples: Annotated[int, Option(low=LEAST_PAIRS, high=10_000_000)] = 50000,
    digits: Annotated[int, Option(low=1, high=9)] = 3,
    data_seed: options.DataSeed = 0,
    keep_case: options.KeepCase = False,
    column: options.Column = None,
    encoding: options.Encoding = None,
    vocabs: tuple[Vocabulary, Vocabulary] | None = None,
) -> Pairs:
    r"""Load pairs of texts by name, or from files.

    Pairs that occur twice count once. What is not divided already is divided 90 : 5 : 5 into
    train, validation and test after a shuffle, so that nothing that decides the answer is on two
    sides: of ``addition`` the sum (with its numbers in either order), of ``dates`` the day (in any
    writing), of sentences the source sentence, which may have several translations.

    Parameters
    ----------
    name_or_path : str or path
        ``addition``, ``dates``, ``book-addition``, ``book-dates``, ``tatoeba-en-es``,
        ``multi30k-en-de``, ``multi30k-de-en``, ``multi30k-fr-en``, or a path. The first two are
        made up, the next two are the files of the book, and the others are translations. A path
        is that of a file with source and target on a line, a tab between (further columns are left
        out), or of a table (``.csv``, ``.jsonl``); two paths with a comma between are files whose
        lines belong together, such as ``talks.de,talks.en``; and a folder has such files, of one
        split each where their names say train, valid (or val, dev) and test.
    data : path, optional
        The data folder; by default the environment variable ``DEEPNLP_DATA``, else ``datasets``
        in the working directory.
    vocab_size : int, optional
        V, largest size of each vocabulary; by default, and for 0, no limit. ``<unk>`` and the end
        of a line are included.
    min_count : int
        Tokens seen less often become ``<unk>``.
    tokens : str, optional
        What both texts are cut into, ``word``, ``character``, ``whitespace`` or ``bpe``; by default
        characters for sums and dates, words for sentences. Of ``bpe`` each side learns its own.
    examples : int
        Number of pairs that are made up, for addition and dates.
    digits : int
        Addition: most digits of a number.
    data_seed : int
        Of pairs that are made up, and of the division into splits where a file is divided.
    keep_case : bool
        Words keep their capital letters.
    column : str, optional
        Source and target with a comma between: columns of a table, by name or by number where
        there is no heading, or the ends of the names of files in a folder, such as ``de,en``.
    encoding : str, optional
        Of a file; by default UTF-8, or UTF-16 where its first bytes say so.
    vocabs : (Vocabulary, Vocabulary), optional
        Vocabularies of source and target, such as those of a trained model; ``vocab_size``,
        ``min_count`` and ``tokens`` are then not used.

    Raises
    ------
    FileNotFoundError
        If a file is not where it is expected.
    ValueError
        If the name is unknown, a line has no separator (the message gives its number), two files
        differ in length, or there are too few pairs.

    Examples
    --------
    >>> pairs = load_pairs("addition", examples=1000)
    >>> pairs.train[0], {split: len(part) for split, part in pairs.splits.items()}
    (('5+76', '81'), {'train': 900, 'valid': 50, 'test': 50})
    """
    name = str(name_or_path)
    source = DEFAULTS | SOURCES["pairs"].get(name, {})
    parts: dict[str, list[Pair]]
    notes: list[str] = []
    if name == "addition":
        parts = {"all": addition(examples, digits, data_seed)}
    elif name == "dates":
        parts = {"all": dates(examples, data_seed)}
    else:
        name, paths = files_of(name_or_path, "pairs", "pairs", data, ending="")
        how = source["separator"], column, encoding
        parts = {split: _read(files, *how, notes) for split, files in paths.items()}
        empty = sum(not all(pair) for part in parts.values() for pair in part)
        notes += [f"{empty:,} pairs with an empty side left out"] if empty else []
        parts = {split: [pair for pair in part if all(pair)] for split, part in parts.items()}
    splits = _divide(parts["all"], source["key"], data_seed, name) if "all" in parts else parts
    if vocabs is None:
        cut = options.tokeniser_of(tokens, source["tokenizer"], keep_case)
        limits = vocab_size or None, min_count
        of_source, of_target = (_vocabulary(side, cut, *limits) for side in zip(*splits["train"]))
        vocabs = of_source, of_target
    train, valid, test = (splits[split] for split in SPLITS)
    return Pairs(name, *vocabs, train, valid, test, "; ".join(notes) or None)


def _vocabulary(texts: Sequence[str], cut: Tokeniser, size: int | None, least: int) -> Vocabulary:
    """Return the vocabulary of the texts of one side."""
    cut = cut.fitted("\n".join(texts), size, least)
    return Vocabulary.build((t for text in texts for t in cut.split(text)), size, least, cut)


def _read(
    paths: list[Path], separator: str, column: str | None, encoding: str | None, notes: list[str]
) -> list[Pair]:
    """Read pairs from one file with both sides in a line, or from files of matching lines.

    Of these ``column`` tells by the ends of their names which are on either side; two need none.
    """
    if len(paths) == 1:
        return list(_pairs_in(paths[0], separator, column, encoding))
    names = [path.name.removesuffix(".gz") for path in paths]
    ends = column.split(",") if column else names if len(names) == 2 else []
    sides = [[p for p, name in zip(paths, names) if name.endswith(end)] for end in ends]
    if len(sides) != 2 or not all(sides):
        raise ValueError(
            f"expected two files whose lines belong together, got {', '.join(map(str, paths))}: "
            "say with column how their names end, such as --column de,en"
        )
    texts = [text_in(side, None, encoding, keep_returns=True).rstrip() for side in sides]
    for side, text in zip(sides, texts, strict=True):
        if "\r" in text:
            number = text.count("\n", 0, text.index("\r")) + 1
            notes.append(f"{side[0].name} has a carriage return inside line {number:,}")
    source, target = ([line.strip() for line in lines_of(text)] for text in texts)
    if len(source) != len(target):
        lengths = f"has {len(source):,} lines and {sides[1][0]} {len(target):,}"
        raise ValueError(f"{sides[0][0]} {lengths}: not aligned")
    return list(zip(source, target, strict=True))


def _pairs_in(
    path: Path, separator: str, column: str | None, encoding: str | None
) -> Iterator[Pair]:
    """Return pairs from a file that holds source and target in each line, or row."""
    if column or is_table(path, (".csv", *JSON)):
        lines = rows(path, column, ("source", "target"), encoding)
    else:
        lines = ((n, line.split(separator)) for n, line in numbered_lines(path, encoding))
    for number, texts in lines:
        source, *others = (text.replace("\n", " ").strip() for text in texts)
        if source and not others:
            raise ValueError(
                f"{path}, line {number}: expected a source and a target with {separator!r} "
                f"between, got {separator.join(texts)!r}"
            )
        yield source, others[0] if others else ""


def _divide(pairs: Iterable[Pair], key: str, seed: int, name: str) -> dict[str, list[Pair]]:
    """Divide by key: 90 % for training, the rest in halves. Pairs with one key stay together."""
    groups: dict[Hashable, list[Pair]] = {}
    for pair in dict.fromkeys(pairs):
        groups.setdefault(KEYS[key](*pair), []).append(pair)
    check_enough(name, len(groups), "different pairs", LEAST_PAIRS)
    parts = shuffle_and_divide(list(groups.values()), seed)
    return {split: [pair for group in part for pair in group] for split, part in parts.items()}
