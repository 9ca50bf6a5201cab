"""Sentences with a tag for each word, which comes from the text itself: how the word is written."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from deepnlp.datasets import options
from deepnlp.datasets.columns import text_in
from deepnlp.datasets.corpus import SPLITS, Splits, check_enough, shuffle_and_divide
from deepnlp.datasets.files import SOURCES, files_of, lines_of
from deepnlp.datasets.pairs import load_pairs
from deepnlp.datasets.pydocs import Words, keep_once, pydocs_sentences
from deepnlp.layers.losses import IGNORED
from deepnlp.text import UNK, Vocabulary, sentences
from deepnlp.text.tokenisers import written_words

TAGS = ("lower", "capital", "upper", "mixed")
LETTER = re.compile(r"[^\W\d_]")
SENTENCE_END = re.compile(r"(?<=[.!?])(?<!\S[.!?])\s+")  # behind a mark that stands apart
TAGGED = tuple(SOURCES["tagged"])

LEAST_SENTENCES = 20


def tag_of(word: str) -> str:
    """Return how a word is written: one of :data:`TAGS`.

    >>> [tag_of(word) for word in ("cat", "3.14", "I", "Paris", "NASA", "iPhone")]
    ['lower', 'lower', 'capital', 'capital', 'upper', 'mixed']
    """
    lower = word.lower()
    forms = (lower, lower.capitalize(), lower.upper(), word)
    return TAGS[forms.index(word)]


def restored(word: str, tag: str) -> str:
    """Return a lower-case word as a tag says; one that mixes letters in its own way stays as it is.

    >>> restored("paris", "capital"), restored("nasa", "upper"), restored("iphone", "mixed")
    ('Paris', 'NASA', 'iphone')
    """
    return {"capital": word.capitalize, "upper": word.upper}.get(tag, word.lower)()


@dataclass(frozen=True, eq=False)
class TaggedText(Splits):
    """Sentences in three splits, and the vocabulary of their words in lower case.

    The tags, :data:`TAGS`, say how a word is written: restoring capital letters is to find them
    from the words in lower case. Tokens without a letter, and ``<unk>``, have no tag.

    Parameters
    ----------
    name : str
    vocab : Vocabulary
        Of lower-case words, made from the training split unless it was given.
    train, valid, test : sequence of tuple of str
        Sentences: their words as they were written.

    Examples
    --------
    >>> text = TaggedText("tiny", Vocabulary.build(["we", "met"]), [("We", "met", ".")], [], [])
    >>> ids, tags = text.encoded("train")[0]
    >>> ids.tolist(), tags.tolist()
    ([1, 0, 3], [1, 0, -1])
    """

    name: str
    vocab: Vocabulary
    train: Sequence[Words]
    valid: Sequence[Words]
    test: Sequence[Words]
    unit = "sentences"

    def encoded(self, split: str) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return ids and tags of each sentence; -1, which no loss counts, where there is no tag."""

        def tag(word: str) -> int:
            has_tag = LETTER.search(word) and word != UNK
            return TAGS.index(tag_of(word)) if has_tag else IGNORED

        return [
            (self.vocab.encode(map(str.lower, words)), np.array([*map(tag, words)], dtype=np.int32))
            for words in self.splits[split]
        ]


def load_tagged(
    name_or_path: options.NameOrPath = "pydocs",
    *,
    data: str | os.PathLike[str] | None = None,
    vocab_size: options.VocabSize = None,
    min_count: options.MinCount = 2,
    data_seed: options.DataSeed = 0,
    column: options.Column = None,
    encoding: options.Encoding = None,
    vocab: Vocabulary | None = None,
) -> TaggedText:
    r"""Load sentences whose words are tagged by how they are written.

    No sentence of more than five words is in two splits, whatever its capitals.

    Parameters
    ----------
    name_or_path : str or path
        ``pydocs``, ``wikitext-2``, ``tatoeba-en``, or path of a text file, a table or a folder, as
        for :func:`load_corpus`. The first is built in, the second is cut into sentences, of the
        third the English side is taken. What is not in splits already is cut into sentences and
        divided 90 : 5 : 5 after a shuffle.
    data : path, optional
        The data folder; by default the environment variable ``DEEPNLP_DATA``, else ``datasets``
        in the working directory.
    vocab_size : int, optional
        V, largest size of the vocabulary; by default, and for 0, no limit. ``<unk>`` and the end
        of a line are included.
    min_count : int
        Words seen less often become ``<unk>``.
    data_seed : int
        Of the division into splits, where a text is divided.
    column : str, optional
        Column of a table that holds the text.
    encoding : str, optional
        Of a file; by default UTF-8, or UTF-16 where its first bytes say so.
    vocab : Vocabulary, optional
        That of a trained model; ``vocab_size`` and ``min_count`` are then not used.

    Raises
    ------
    FileNotFoundError
        If a file is not where it is expected.
    ValueError
        If the name is unknown, a file is in another encoding, or there are too few sentences.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "a.txt"
    ...     lines = [f"Paris has {n} cats.\n" for n in range(40)]
    ...     _ = path.write_text("".join(lines), encoding="utf-8")
    ...     text = load_tagged(path)
    >>> text.train[0], len(text.test)
    (('Paris', 'has', '11', 'cats', '.'), 2)
    """
    name = str(name_or_path)
    splits: Mapping[str, Sequence[Words]]
    if name == "pydocs":
        splits = {s: _words(lines) for s, lines in pydocs_sentences().items()}
    elif name == "tatoeba-en":
        pairs = load_pairs("tatoeba-en-es", data=data, data_seed=data_seed)
        splits = {s: _words(pairs.references(s)) for s in SPLITS}
    else:
        cut = _wiki_sentences if name in TAGGED else lambda text: _words(sentences(text))
        name, files = files_of(name_or_path, "tagged", "text", data, ending=".txt")
        splits = {s: [*cut(text_in(paths, column, encoding))] for s, paths in files.items()}
        if "all" in splits:
            splits = shuffle_and_divide(splits["all"], data_seed)
    splits = keep_once(splits, key=lambda words: map(str.lower, words))
    count = sum(map(len, splits.values()))
    check_enough(name, count, "different sentences", LEAST_SENTENCES)
    if vocab is None:
        words = (word.lower() for sentence in splits["train"] for word in sentence)
        vocab = Vocabulary.build(words, vocab_size or None, min_count)
    return TaggedText(name, vocab, *(splits[split] for split in SPLITS))


def _words(lines: Iterable[str]) -> list[Words]:
    """Return words of each line as they are written."""
    return [tuple(written_words(line)) for line in lines]


def _wiki_sentences(text: str) -> Iterator[Words]:
    """Return sentences of WikiText, whose tokens stand apart already, without its titles."""
    for line in lines_of(text):
        if not line.startswith(" = "):
            yield from filter(None, (tuple(part.split()) for part in SENTENCE_END.split(line)))
