"""Corpora by name or path."""

import os
import platform

from deepnlp.datasets import options
from deepnlp.datasets.columns import text_in
from deepnlp.datasets.corpus import SPLITS, Corpus, Size, check_enough, divide_text
from deepnlp.datasets.files import SOURCES, files_of
from deepnlp.datasets.pydocs import has_sources, keep_once, pydocs_sentences
from deepnlp.text import UNK, Tokeniser, Vocabulary
from deepnlp.text.tokenisers import split_words

#: The fewest tokens that can be split 90 : 5 : 5 with a target in each part.
LEAST_TOKENS = 40
CORPORA = tuple(SOURCES["corpora"])
PYDOCS_VOCABULARY, OWN_VOCABULARY = 5000, 20_000


def load_corpus(
    name_or_path: options.NameOrPath = "pydocs",
    *,
    data: str | os.PathLike[str] | None = None,
    vocab_size: options.VocabSize = None,
    min_count: options.MinCount = 1,
    tokens: options.Tokens = None,
    keep_case: options.KeepCase = False,
    column: options.Column = None,
    encoding: options.Encoding = None,
    vocab: Vocabulary | None = None,
) -> Corpus:
    r"""Load a corpus by its name, or from a text file or a folder.

    Every line of a file ends in the end-of-line token, blank lines included. A single file (or a
    folder whose files do not say which split they are) is divided in order: 90 % train, and the
    rest in halves valid and test, each to the end of a line. The vocabulary is made from the
    training split.

    Parameters
    ----------
    name_or_path : str or path
        Name of a corpus, or path of a text file or folder. The corpora are ``pydocs`` (built in,
        no download), ``ptb``, ``wikitext-2`` and ``tinyshakespeare`` (characters). A file is text,
        plain or ``.gz``, or a table (``.csv``, ``.tsv``, ``.jsonl``), of which one column is read.
        In a folder, subfolders included, files with train, valid (or val, dev) and test in their
        names are those splits; in any other all ``.txt`` files are read, by name.
    data : path, optional
        The data folder; by default the environment variable ``DEEPNLP_DATA``, else ``datasets``
        in the working directory.
    vocab_size : int, optional
        V, largest size of the vocabulary; by default, and for 0, the corpus's own limit: for a path
        what was seen more than once, so that ``<unk>`` is learned, and at most 20,000; 5,000 for
        ``pydocs``, and none for others. ``<unk>`` and the end of a line are included.
    min_count : int
        Tokens seen less often become ``<unk>``.
    tokens : str, optional
        What text is cut into, ``word``, ``character``, ``whitespace`` or ``bpe``; by default
        characters of tinyshakespeare, and words. Those of ``ptb`` and ``wikitext-2`` stand between
        white space, as with ``whitespace`` those of any text. ``bpe`` learns byte pairs that occur
        twice, or ``min_count`` times, in the training split (:class:`~deepnlp.text.BPE`), for a
        vocabulary of 5,000 by default.
    keep_case : bool
        Words keep their capital letters.
    column : str, optional
        Column of a table that holds the text: its name, or its number where there is no heading.
        Of pairs two, with a comma between.
    encoding : str, optional
        Of a file, such as ``cp1252``; by default UTF-8, or UTF-16 where its first bytes say so.
    vocab : Vocabulary, optional
        Encode with this vocabulary, such as that of a saved model, and its tokeniser; then none is
        built.

    Returns
    -------
    Corpus
        Ids of the three splits, and the vocabulary.

    Raises
    ------
    FileNotFoundError
        If a file is not where it is expected.
    ValueError
        If the name is unknown, a file is empty or in another encoding, there is too little text, or
        ``vocab`` is given together with an option that it fixes.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "cats.txt"
    ...     _ = path.write_text("The cat sleeps.\n" * 20, encoding="utf-8")
    ...     corpus = load_corpus(path)
    >>> corpus.vocab.decode(corpus.train[:5])
    ['the', 'cat', 'sleeps', '.', '<eos>']
    >>> corpus.tokens
    {'train': 90, 'valid': 5, 'test': 5}
    """
    if vocab is not None:
        for option, value in {"vocab_size": vocab_size, "tokens": tokens}.items():
            if value is not None:
                raise ValueError(f"{option}={value!r} was given beside vocab, which fixes it")
    name, note = str(name_or_path), ""
    known = SOURCES["corpora"].get(name, {})
    usual = known.get("tokenizer", "words")
    cut = vocab.cut if vocab else options.tokeniser_of(tokens, usual, keep_case)
    size, least = vocab_size or None, min_count
    if not (size or known):
        size, least = OWN_VOCABULARY, max(2, min_count)
    if name == "pydocs":
        note = f"Python {platform.python_version()}{'' if has_sources() else ', the small text'}"
        size = size or (None if cut.name == "chars" else PYDOCS_VOCABULARY)
        texts, vocab = _pydocs_texts(cut, size, least, vocab)
    else:
        name, paths = files_of(name_or_path, "corpora", "corpus", data, ending=".txt")
        texts = {split: text_in(files, column, encoding) for split, files in paths.items()}
    is_whole = "all" in texts
    if is_whole:
        texts = divide_text(texts["all"], at_lines=not known)
    if vocab is None:
        cut = cut.fitted(texts["train"], vocab_size, least)
    cuts = {split: cut.split_lines(text) for split, text in texts.items()}
    if is_whole:
        check_enough(name, sum(map(len, cuts.values())), "tokens", LEAST_TOKENS)
    if vocab is None:
        vocab = Vocabulary.build(cuts["train"], size, least, cut)
    for split in SPLITS:
        check_enough(f"the {split} split of {name}", len(cuts[split]), "tokens", 2)
    sizes = {
        split: Size(len(text.encode("utf-8")), len(text.split()), len(set(cuts[split])))
        for split, text in texts.items()
    }
    ids = {split: vocab.encode(cuts[split]) for split in SPLITS}
    return Corpus(name, vocab, **ids, note=note, sizes=sizes)


def _pydocs_texts(
    cut: Tokeniser, size: int | None, least: int, vocab: Vocabulary | None
) -> tuple[dict[str, str], Vocabulary | None]:
    """Return the built-in corpus by split, each longer sentence once, and its vocabulary.

    Two sentences that differ only in rare words are the same to a model, which reads these as
    ``<unk>``. So repeats are removed twice: as written, and as encoded.
    """
    splits = keep_once(pydocs_sentences(), key=cut.split if cut.unk else split_words)
    if cut.unk:
        known = vocab or Vocabulary.build(cut.stream(splits["train"]), size, least, cut)

        def read(line: str) -> list[str]:
            return [token if token in known else UNK for token in cut.split(line)]

        splits = keep_once(splits, key=read)
        train = Tokeniser(cut.name, read, cut.join, cut.eos).stream(splits["train"])
        vocab = vocab or Vocabulary.build(train, size, least, cut)
    return {split: "".join(f"{line}\n" for line in lines) for split, lines in splits.items()}, vocab
