"""A fresh language model for a corpus: from word vectors, word frequencies, or another run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from deepnlp.backend import asarray
from deepnlp.checkpoint import load
from deepnlp.datasets import Corpus, load_vectors
from deepnlp.datasets.files import data_folder
from deepnlp.datasets.vectors import rows_for
from deepnlp.models import GPT, RNNLM, LanguageModel, RegularisedRNNLM
from deepnlp.models.regularised_rnnlm import rnnlm_kind
from deepnlp.options import Option, fill


class Pretrained(NamedTuple):
    """Word vectors (V, D) for a vocabulary, with the words (V,) that the file had."""

    matrix: np.ndarray[Any, Any]
    found: np.ndarray[Any, Any]
    coverage: dict[str, Any]  # how many words the file has, and their share of the training text

    def describe(self) -> str:
        """Return the coverage in one line."""
        facts = self.coverage
        share = facts["words"] / facts["vocabulary"]
        return (
            f"vectors of {facts['file']}: {facts['words']:,} of {facts['vocabulary']:,} words "
            f"({share:.1%}), {facts['share_of_text']:.1%} of the training text"
        )


def pretrained(
    corpus: Corpus,
    embed_size: int,
    *,
    vectors: Annotated[str | None, Option(metavar="PATH", resume="moved")] = None,
) -> Pretrained | None:
    """Read the vectors for the words of a corpus; words that the file lacks get random ones.

    A path that does not exist is looked up in the data folder. If the path is a run, the vectors
    are the input vectors of its best model.

    Parameters
    ----------
    vectors : str, optional
        File of word vectors, or run folder, that the embedding starts from.
    """
    if not vectors:
        return None
    matrix, found = _rows_of(vectors, corpus)
    if (D := matrix.shape[1]) != embed_size:
        source = f"the size of the vectors in {vectors}"
        raise ValueError(f"embed_size should be {D}, {source}, got {embed_size}")
    counts = np.bincount(corpus.train, minlength=len(corpus.vocab))
    coverage = {
        "file": Path(vectors).name,
        "size": D,
        "words": int(found.sum()),
        "vocabulary": len(found),
        "share_of_text": round(float(counts[found].sum() / counts.sum()), 4),
    }
    return Pretrained(matrix, found, coverage)


def _rows_of(name: str, corpus: Corpus) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Read vectors (V, D) of a corpus's words from a file or a run, and which it has (V,)."""
    in_data = data_folder() / name
    path = in_data if in_data.exists() and not Path(name).exists() else Path(name)
    if not path.is_dir():
        return load_vectors(path, corpus.vocab)
    model: Any = load(path)
    return rows_for(model.word_vectors(), corpus.vocab, None, name)


def output_ids(
    corpus: Corpus,
    *,
    output_words: Annotated[int, Option(low=0)] = 0,
) -> list[int] | None:
    """Return ids of the most frequent words, <unk> among them, by id; None for all words.

    Parameters
    ----------
    output_words : int
        Predict only so many words, the most frequent, and <unk> for others; 0 for all.
    """
    vocab = corpus.vocab
    if not output_words or output_words >= len(vocab):
        return None
    if output_words < 3:
        raise ValueError(f"output_words should be 3 or more, or 0 for all, got {output_words}")
    if vocab.unk_id is None:
        raise ValueError("output_words stands <unk> for other words, which byte pairs do not have")
    special = [vocab.unk_id, vocab.eos_id]
    counts = np.bincount(corpus.train, minlength=len(vocab))
    frequent = [int(id_) for id_ in np.argsort(-counts, kind="stable") if id_ not in special]
    return sorted([*special, *frequent[: output_words - len(special)]])


def start_from_unigram(
    model: RNNLM,
    corpus: Corpus,
    *,
    unigram_bias: Annotated[bool, Option()] = True,
) -> None:
    """Set the output bias, where there is one, from the counts of the words to predict.

    Parameters
    ----------
    unigram_bias : bool
        Start the output bias at the log frequency of each word.
    """
    if unigram_bias and model.output.b is not None:
        targets = model.targets(corpus.train)
        model.start_from_unigram(np.bincount(targets, minlength=model.output_size))


def start_from_run(
    model: LanguageModel,
    *,
    start_from: Annotated[str | None, Option(metavar="PATH", resume="moved")] = None,
) -> None:
    """Take all weights from the best model of a run, of the same sizes.

    Parameters
    ----------
    start_from : str, optional
        Run folder, or checkpoint, whose vocabulary is taken, and whose best weights the model
        starts from (finetuning, or more text).
    """
    if start_from:
        load(start_from, into=model)


STARTS = pretrained, output_ids, start_from_unigram, start_from_run  # which declare options


def fresh_rnnlm(corpus: Corpus, vectors: Pretrained | None, options: Mapping[str, Any]) -> RNNLM:
    """Make the model that options describe, started from a corpus and, if given, vectors."""
    predicted = fill(output_ids, options, corpus)
    start: dict[str, Any] = {} if predicted is None else {"output_ids": predicted}
    if vectors is not None:
        start["embedding"] = asarray(vectors.matrix)
        lacking = np.flatnonzero(~vectors.found).tolist()
        if options["freeze_embedding"] and lacking:
            start["trained_ids"] = lacking
    kind, _ = rnnlm_kind({**options, **start})
    kind = RegularisedRNNLM if options["model"] == "regularised" else kind
    model = fill(kind, options, len(corpus.vocab), **start)
    model.vocab = corpus.vocab
    fill(start_from_unigram, options, model, corpus)
    fill(start_from_run, options, model)
    return model


def fresh_gpt(corpus: Corpus, options: Mapping[str, Any]) -> GPT:
    """Return the GPT that options describe, started from another run or from random numbers."""
    for name in ("vectors", "output_words"):
        if options[name]:
            raise ValueError(f"{name} belongs to model='rnnlm', got {options[name]!r} for a gpt")
    model = fill(GPT, options, len(corpus.vocab))
    model.vocab = corpus.vocab
    fill(start_from_run, options, model)
    return model
