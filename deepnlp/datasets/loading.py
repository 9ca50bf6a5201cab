"""Corpora by name or path."""

import os
import platform
import re
from pathlib import Path

from deepnlp.datasets import options
from deepnlp.datasets.corpus import SPLITS, Corpus, Tokens, check_enough, divide, encode_corpus
from deepnlp.datasets.files import SOURCES, files_of, lines_of, read_text
from deepnlp.datasets.pydocs import keep_once, pydocs_sentences
from deepnlp.text import UNK, Vocabulary, tokeniser

#: Words in a file's name that say which split it is.
SPLIT_WORDS = {
    "train": {"train", "training"},
    "valid": {"valid", "validation", "val", "dev"},
    "test": {"test"},
}
#: The fewest tokens that can be split 90 : 5 : 5 with a target in each part.
LEAST_TOKENS = 40
PYDOCS_VOCABULARY = 5000
CORPORA = tuple(SOURCES["corpora"])


def load_corpus(
    name_or_path: options.NameOrPath = "pydocs",
    *,
    data: str | os.PathLike[str] | None = None,
    vocab_size: options.VocabSize = None,
    min_count: options.MinCount = 1,
    tokenizer: options.Tokenizer = None,
    vocab: Vocabulary | None = None,
) -> Corpus:
    r"""Load a corpus by its name, or from a text file or a folder.

    Every line of a file ends in the end-of-line token, blank lines included. A single file (or a
    folder whose files do not say which split they are) is divided by tokens, in order: 90 % train,
    and the rest in halves valid and test. The vocabulary is made from the training split.

    Parameters
    ----------
    name_or_path : str or path
        Name of a corpus, or path of a text file or folder. The corpora are ``pydocs`` (built in,
        no download, vocabulary 5,000 by default), ``ptb``, ``wikitext-2`` and ``tinyshakespeare``
        (characters). A file is UTF-8 text, plain or ``.gz``. In a folder, subfolders included,
        files with train, valid (or val, dev) and test in their names are those splits; in any
        other all ``.txt`` files are read, by name.
    data : path, optional
        The data folder; by default the environment variable ``DEEPNLP_DATA``, else ``datasets``
        in the working directory.
    vocab_size : int, optional
        V, largest size of the vocabulary; by default, and for 0, the corpus's own limit.
        ``<unk>`` and the end of a line are included.
    min_count : int
        Tokens seen less often become ``<unk>``.
    tokenizer : str, optional
        How text is cut into tokens; by default the corpus's own way. ``words`` (for paths the
        default), ``chars`` or ``whitespace``.
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
        If the name is unknown, a file is empty or not UTF-8, there is too little text, or ``vocab``
        is given together with an option that it fixes.

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
        for option, value in {"vocab_size": vocab_size, "tokenizer": tokenizer}.items():
            if value not in (None, vocab.tokenizer):
                raise ValueError(f"{option}={value!r} was given beside vocab, which fixes it")
        tokenizer = vocab.tokenizer
    name, note = str(name_or_path), ""
    tokenizer = tokenizer or SOURCES["corpora"].get(name, {}).get("tokenizer", "words")
    if name == "pydocs":
        if vocab_size is None and tokenizer != "chars":
            vocab_size = PYDOCS_VOCABULARY
        note = f"Python {platform.python_version()}"
        tokens = _pydocs_tokens(tokenizer, vocab_size, min_count, vocab)
    else:
        path = Path(name_or_path)
        if path.is_dir() and name not in CORPORA:
            name, paths = path.resolve().name, _files_in(path)
        else:
            name, paths = files_of(name_or_path, "corpora", "corpus", data)
        tokens = _file_tokens(paths, tokenizer, name)
    if vocab is None:
        vocab = Vocabulary.build(tokens["train"], vocab_size, min_count, tokenizer)
    return encode_corpus(name, tokens, vocab, note)


def _files_in(path: Path) -> dict[str, list[Path]]:
    """Files of a folder by split, or under ``all`` where their names do not say which it is."""
    inside = {file: file.relative_to(path) for file in sorted(path.rglob("*")) if file.is_file()}
    files = [file for file, name in inside.items() if not any(p[0] == "." for p in name.parts)]
    # Where a file is there both packed and unpacked, the unpacked one is read.
    files = [file for file in files if not (file.suffix == ".gz" and file.with_suffix("") in files)]
    splits: dict[str, list[Path]] = {split: [] for split in SPLITS}
    for file in files:
        words = set(re.split("[^a-z]+", str(inside[file]).lower()))
        named = [split for split, marks in SPLIT_WORDS.items() if marks & words]
        if len(named) == 1:
            splits[named[0]].append(file)
    missing = [split for split in SPLITS if not splits[split]]
    if not missing:
        return splits
    if len(missing) < len(SPLITS):
        raise ValueError(
            f"the folder {path} has no file for {' and '.join(missing)}: name all splits, or none"
        )
    texts = [file for file in files if file.name.endswith((".txt", ".txt.gz"))]
    if not texts:
        raise FileNotFoundError(f"the folder {path} holds no .txt file: expected UTF-8 text in it")
    return {"all": texts}


def _file_tokens(paths: dict[str, list[Path]], tokenizer: str, name: str) -> Tokens:
    """Tokens of the files, by split."""
    cut = tokeniser(tokenizer)
    tokens = {
        split: cut.stream(line for file in files for line in lines_of(read_text(file)))
        for split, files in paths.items()
    }
    if "all" not in tokens:
        return tokens
    check_enough(name, len(tokens["all"]), "tokens", LEAST_TOKENS)
    return divide(tokens["all"])


def _pydocs_tokens(
    tokenizer: str, vocab_size: int | None, min_count: int, vocab: Vocabulary | None
) -> Tokens:
    """Tokens of the built-in corpus, by split, each longer sentence once.

    Two sentences that differ only in rare words are the same to a model, which reads these as
    ``<unk>``. So repeats are removed twice: as written, and as encoded.
    """
    cut = tokeniser(tokenizer)
    lines = pydocs_sentences().items()
    splits = keep_once({split: [tuple(cut.split(line)) for line in part] for split, part in lines})
    if vocab is None:
        train = _in_a_row(splits["train"], cut.eos)
        vocab = Vocabulary.build(train, vocab_size, min_count, tokenizer)
    known = {token: token for token in vocab.tokens}
    as_read = {
        split: [tuple(known.get(token, UNK) for token in sentence) for sentence in part]
        for split, part in splits.items()
    }
    return {split: _in_a_row(part, cut.eos) for split, part in keep_once(as_read).items()}


def _in_a_row(sentences: list[tuple[str, ...]], eos: str) -> list[str]:
    """Tokens of all sentences, each with its end."""
    return [token for sentence in sentences for token in (*sentence, eos)]
