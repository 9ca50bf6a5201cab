"""Word vectors: learn which words stand near each other."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np

from deepnlp.backend import asarray
from deepnlp.backend.processes import share_out
from deepnlp.datasets import Corpus, load_corpus
from deepnlp.models import CBOW, SkipGram
from deepnlp.options import Choice, Option, check_options, fill
from deepnlp.tasks.corpus_task import CorpusTask
from deepnlp.tasks.similarity import SetNames, load_sets, similarities
from deepnlp.tasks.windows import Noise, WindowBatches, keep_probability

SAMPLED, NEIGHBOURS, FREQUENT = 5, 5, 300  # a sample: words, neighbours, how frequent the words are
FIXED = 1 << 32  # seed in the place of an epoch, for the windows and negatives of an evaluation


class Word2Vec(CorpusTask):
    """Learn word vectors from which words stand near each other; judged by the loss.

    The evaluation reads the validation split with windows and negatives that are the same each
    time.

    Parameters
    ----------
    corpus : Corpus
    window : int
        Furthest reach of a window to either side; each is drawn from 1 to this. A window stays
        within the line of its centre.
    subsample : float
        Threshold of word frequency above which occurrences are left out at random; 0 for none.
        See :func:`~deepnlp.tasks.windows.keep_probability`.
    power : float
        Negatives are drawn from word counts to this power. The counts are those of training.
    block : int
        B, centres of a block of text, which share their negatives.
    noise_words : int
        K, words drawn as negatives for each block.
    batch_size : int
        N, blocks of text in a batch.
    data_seed : int
        Of the order of blocks, subsampling, windows and negatives.
    similarity : str
        Similarity sets, names or paths with commas between, on which the input vectors are
        evaluated too.

    Raises
    ------
    ValueError
        If a number is out of its range.

    Examples
    --------
    >>> from deepnlp.text import Vocabulary
    >>> vocab = Vocabulary.build("a b c <eos>".split() * 30)
    >>> ids = vocab.encode("a b c <eos>".split() * 30)
    >>> task = Word2Vec(Corpus("abc", vocab, ids, ids, ids), subsample=0.0, block=4, batch_size=5)
    >>> text, windows, centres, negatives = task.batches(epoch=0)[0]
    >>> text.shape, windows.shape, centres.shape, negatives.shape
    ((5, 14), (5, 4, 14), (5, 4), (5, 8))
    """

    metric = "loss"
    parts: ClassVar = {
        "corpus": (load_corpus,),
        "model": Choice("what predicts what", CBOW, SkipGram),
    }
    recipe = "word2vec-cbow"

    def __init__(
        self,
        corpus: Corpus,
        window: Annotated[int, Option(low=1, high=1000)] = 5,
        subsample: Annotated[float, Option(low=0)] = 1e-3,
        power: Annotated[float, Option(low=0)] = 0.75,
        block: Annotated[int, Option(low=1, high=1000)] = 16,
        noise_words: Annotated[int, Option(low=1, high=100_000)] = 8,
        batch_size: Annotated[int, Option(low=1)] = 64,
        data_seed: Annotated[int, Option(low=0)] = 0,
        similarity: SetNames = "",
    ) -> None:
        check_options(Word2Vec, locals())
        super().__init__(corpus)
        self.window, self.subsample, self.power = window, subsample, power
        self.block, self.noise_words, self.batch_size = block, noise_words, batch_size
        self.data_seed, self.similarity = data_seed, similarity
        self._sets = load_sets(similarity)
        counts = np.bincount(corpus.train, minlength=len(corpus.vocab))
        counts[corpus.vocab.eos_id] = 0
        if not counts.any():
            raise ValueError(f"the training text of {self.name} has no words, only ends of lines")
        self._counts, self._keep = counts, keep_probability(counts, subsample)
        self._noise = Noise(counts, power)

    def batches(self, epoch: int) -> WindowBatches:
        """Return the blocks of the training text: text, windows, centres and negatives."""
        return self._blocks(self.corpus.train, (self.data_seed, epoch))

    def _blocks(self, ids: Any, seed: tuple[int, ...]) -> WindowBatches:
        """Return the blocks of a text, in the number of batches expected after subsampling."""
        eos, keep = self.corpus.vocab.eos_id, self._keep
        centres = keep[ids[ids != eos]].sum()
        length = max(1, round(centres / (self.block * self.batch_size)))
        sizes = {"window": self.window, "block": self.block, "noise_words": self.noise_words}
        return WindowBatches(ids, eos, keep, self._noise, seed, **sizes, length=length)

    def count(self, batch: tuple[Any, ...]) -> int:
        """Count the centres that have a window: a word before or behind them in their line."""
        windows, w = batch[1], self.window
        before, behind = (windows.diagonal(k, axis1=1, axis2=2) for k in (w - 1, w + 1))
        return int(np.count_nonzero(before | behind))

    def evaluate(self, model: Any) -> dict[str, Any]:
        """Measure the validation loss; and rho, pairs and coverage of each similarity set."""
        return {"loss": self._loss(model, self.corpus.valid), **self._similarity(model)}

    def final(self, model: Any) -> dict[str, Any]:
        """Measure the loss of validation and test split, and the similarity sets."""
        splits = {"valid": self.corpus.valid, "test": self.corpus.test}
        losses = {split: self._loss(model, ids) for split, ids in splits.items()}
        return {"loss": losses, **self._similarity(model)}

    def _loss(self, model: Any, ids: Any) -> float:
        """Compute the mean over the batches of a split, which are of one size but for a block."""
        batches = self._blocks(ids, (FIXED,))

        def loss(k: int) -> float:
            return float(model.forward(*map(asarray, batches[k])))

        return float(np.mean(share_out(loss, range(len(batches)))))

    def _similarity(self, model: Any) -> dict[str, Any]:
        """Measure, under ``similarity``, the input vectors on each set; nothing without sets."""
        if not self._sets:
            return {}
        return {"similarity": similarities(model.word_vectors(), self._sets)}

    def sample(self, model: Any) -> str:
        """Return the nearest neighbours of a few of the longer frequent words."""
        vectors, tokens = model.word_vectors(), self.corpus.vocab.tokens
        by_count = [tokens[k] for k in np.argsort(-self._counts, kind="stable")[:FREQUENT]]
        words = sorted((word for word in by_count if word.isalpha()), key=len, reverse=True)
        return "; ".join(
            f"{word}: {', '.join(near for near, _ in vectors.neighbours(word, NEIGHBOURS))}"
            for word in words[:SAMPLED]
        )

    def build_model(self, options: Mapping[str, Any]) -> Any:
        """Make a fresh CBOW or SkipGram."""
        model: Any = fill(self.model_kind(options), options, len(self.corpus.vocab))
        model.vocab = self.corpus.vocab
        return model

    def memory(self, model: Any) -> dict[str, int]:
        """Count numbers in vectors and scores of a batch, with what backward needs."""
        N, B, K = self.batch_size, self.block, self.noise_words
        S, D = B + 2 * self.window, model.config()["embed_size"]
        columns = S + K if model.config()["loss"] == "negative" else model.vocab_size
        return {
            "vectors of a batch": 4 * N * (S + B + K) * D,
            "scores of a batch": 4 * N * B * columns,
        }
