"""Tiny tasks of sequences, and trainers for them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import deepnlp
from deepnlp.datasets import Pairs, TaggedText, load_pairs
from deepnlp.models import RegularisedRNNLM, Seq2Seq, Tagger
from deepnlp.optimizers import NTASGD, Adam, Optimizer
from deepnlp.tasks import LanguageModelling, SequenceToSequence, Tagging, Task
from deepnlp.text import Vocabulary
from deepnlp.training import Plateau, Trainer
from tests.training.tools import tiny_corpus


def tiny_pairs() -> Pairs:
    """Sums of two numbers of one or two digits."""
    return load_pairs("addition", examples=200, digits=2)


def tiny_text() -> TaggedText:
    """Sentences in which a word is a name if another word follows it."""
    names = ("rose", "mark", "bill")
    sentences = [
        (*first.split(), a.capitalize(), "said", "so", ".")
        if verb == "said"
        else (*first.split(), "a", a, ".")
        for first in ("Then", "But then", "And", "Why")
        for a in names
        for verb in ("said", "has")
    ]
    words = sorted({word.lower() for words in sentences for word in words})
    return TaggedText("names", Vocabulary.build(words), sentences, sentences[::5], sentences[::7])


def adding(out: Path | bool = False, **options: Any) -> Trainer:
    """A seq2seq run with dropout, attention and scheduled sampling."""
    deepnlp.seed(3)
    pairs = tiny_pairs()
    model = Seq2Seq(
        len(pairs.source_vocab), len(pairs.target_vocab), 6, 12, attention="dot", dropout=0.1,
        reverse=True,
    )  # fmt: skip
    settings = {"batch_size": 16, "pool": 3, "teacher_forcing": 0.5, "teacher_forcing_epochs": 2}
    task = options.pop("task", None) or SequenceToSequence(pairs, **settings)
    return _trainer(model, task, out, options)


def naming(out: Path | bool = False, **options: Any) -> Trainer:
    """A tagging run with dropout."""
    deepnlp.seed(3)
    text = tiny_text()
    model = Tagger(len(text.vocab), 4, 6, 8, dropout=0.1)
    task = options.pop("task", None) or Tagging(text, batch_size=4, pool=2)
    return _trainer(model, task, out, options)


def predicting(out: Path | bool = False, **options: Any) -> Trainer:
    """A small AWD-LSTM: windows of drawn lengths, and averaged weights after the third epoch."""
    deepnlp.seed(3)
    corpus = tiny_corpus()
    model = RegularisedRNNLM(
        *(len(corpus.vocab), 6, [8, 6], 2),
        weight_drop=0.5,
        embed_dropout=0.1,
        locked_dropout=True,
        ar=2.0,
        tar=1.0,
    )
    settings: dict[str, Any] = {"batch_size": 3, "time_size": 8, "vary_time": True}
    task = options.pop("task", None) or LanguageModelling(corpus, baselines=False, **settings)
    lr, average_after = options.pop("lr", 1.0), options.pop("average_after", 1)
    optimizer = NTASGD(model.parameters(), lr, 1e-4, average_after)
    return _trainer(model, task, out, {"epochs": 5, **options}, optimizer)


def _trainer(
    model: Any,
    task: Task,
    out: Path | bool,
    options: dict[str, Any],
    optimizer: Optimizer | None = None,
) -> Trainer:
    defaults: dict[str, Any] = {"epochs": 3, "schedule": Plateau(0.5), "checkpoint_every": 4}
    options = {**defaults, "progress": False, "max_norm": 1.0, **options}
    return Trainer(model, task, optimizer or Adam(model.parameters(), lr=0.02), out=out, **options)


MAKERS = {"adding": adding, "naming": naming, "predicting": predicting}
