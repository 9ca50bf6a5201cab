"""N-gram language models: counted in one pass over the text, not trained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from deepnlp.datasets import Corpus, load_corpus
from deepnlp.models.ngrams import KneserNey
from deepnlp.options import fill
from deepnlp.tasks.task import Task


class NGrams(Task):
    """Predict each next token of a corpus from counts of n-grams; judged by perplexity.

    Parameters
    ----------
    corpus : Corpus

    Examples
    --------
    >>> from deepnlp.text import Vocabulary
    >>> vocab = Vocabulary.build("a b c <eos>".split())
    >>> ids = vocab.encode("a b c <eos>".split() * 30)
    >>> task, model = NGrams(Corpus("abc", vocab, ids, ids, ids)), KneserNey(order=2)
    >>> task.fit(model)
    >>> task.evaluate(model)["perplexity"] < 1.1
    True
    """

    metric = "perplexity"
    counted = True
    parts: ClassVar = {"corpus": (load_corpus,), "model": (KneserNey,)}
    recipe = "ngrams"

    def __init__(self, corpus: Corpus) -> None:
        self.corpus, self.name = corpus, corpus.name

    def fit(self, model: KneserNey) -> None:
        """Count the training split."""
        model.fit(self.corpus.train, len(self.corpus.vocab))

    def evaluate(self, model: KneserNey) -> dict[str, float]:
        """Perplexity of the validation split."""
        return {"perplexity": model.perplexity(self.corpus.valid)}

    def final(self, model: KneserNey) -> dict[str, Any]:
        """Perplexities of validation and test split."""
        splits = {"valid": self.corpus.valid, "test": self.corpus.test}
        return {"perplexity": {split: model.perplexity(ids) for split, ids in splits.items()}}

    def facts(self) -> dict[str, Any]:
        """Name, fingerprint and sizes of the corpus."""
        return self.corpus.facts()

    def describe(self) -> str:
        """The corpus in one line."""
        return self.corpus.describe()

    @classmethod
    def load(cls, options: Mapping[str, Any]) -> NGrams:
        """The task on the corpus that options name."""
        return cls(fill(load_corpus, options, vocab_size=options["vocab_size"] or None))

    def build_model(self, options: Mapping[str, Any]) -> KneserNey:
        """A model without counts."""
        return fill(KneserNey, options)
