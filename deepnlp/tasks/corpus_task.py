"""The base of tasks on a corpus: the data, and a model that reads its words."""

from collections.abc import Mapping
from typing import Any, Self

from deepnlp.datasets import Corpus, load_corpus
from deepnlp.options import fill
from deepnlp.tasks.task import Task


class CorpusTask(Task):
    """A task whose constructor takes a corpus first."""

    data_kind = Corpus

    def __init__(self, corpus: Corpus) -> None:
        self.set_data(corpus)
        self.corpus = corpus

    def prepare(self, model: Any) -> None:
        """Check that the model has as many words as the corpus, and set its vocabulary."""
        super().prepare(model)
        self.set_vocabulary(model)

    def set_vocabulary(self, model: Any) -> None:
        """Give a model the vocabulary of the corpus, after a look at its size."""
        self.expect_size("words", model.vocab_size, len(self.corpus.vocab))
        model.vocab = self.corpus.vocab

    def describe(self) -> str:
        """Return the corpus in one line, and its unknown words in another."""
        return f"{super().describe()}\n{self.corpus.describe_words()}"

    @classmethod
    def load(cls, options: Mapping[str, Any], model: Any = None) -> Self:
        """Load the task on the corpus that options name, in a trained model's vocabulary."""
        fixed = {} if model is None else {"vocab": model.vocab, "vocab_size": None, "tokens": None}
        return fill(cls, options, fill(load_corpus, options, **fixed))
