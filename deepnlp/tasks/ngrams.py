"""N-gram language models: counted in one pass over the text, not trained."""

from collections.abc import Mapping
from typing import Any, ClassVar

from deepnlp.datasets import load_corpus
from deepnlp.models.ngrams import KneserNey
from deepnlp.options import fill
from deepnlp.tasks.corpus_task import CorpusTask
from deepnlp.tasks.task import Measured


class NGrams(CorpusTask):
    """Predict each next token of a corpus from counts of n-grams; judged by perplexity.

    Parameters
    ----------
    corpus : Corpus

    Examples
    --------
    >>> from deepnlp.datasets import Corpus
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

    def fit(self, model: KneserNey) -> None:
        """Count the training split."""
        model.fit(self.corpus.train, len(self.corpus.vocab))

    def measure(self, model: KneserNey, split: str) -> Measured:
        """Return the perplexity of a split."""
        return {"perplexity": model.perplexity(self.corpus.splits[split])}, {}

    def build_model(self, options: Mapping[str, Any]) -> KneserNey:
        """Make a model without counts."""
        return fill(KneserNey, options)
