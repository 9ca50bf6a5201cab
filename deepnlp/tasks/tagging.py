"""Tagging: a tag for each word of a sentence, such as how the word is written."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np

from deepnlp.backend import asarray, asnumpy
from deepnlp.backend.processes import share_out
from deepnlp.datasets import TAGS, TaggedText, load_tagged
from deepnlp.datasets.tagged import restored
from deepnlp.evaluation import exponential
from deepnlp.layers.losses import IGNORED
from deepnlp.models import Tagger
from deepnlp.options import Option, check_options, fill
from deepnlp.tasks.bucketing import HostIds
from deepnlp.tasks.sequence_task import Batch, Pair, SequenceTask
from deepnlp.tasks.task import Measured
from deepnlp.text import EOS, UNK, Vocabulary, pad
from deepnlp.text.tokenisers import join_words

SAMPLE_WORDS = 12
# The tags come first, so that their ids are their numbers in TAGS.
TAG_VOCAB = Vocabulary([*TAGS, UNK, EOS], tokenizer="whitespace")


class Tagging(SequenceTask):
    """Find how each word is written from the words in lower case; judged by accuracy.

    Only words with letters count. Accuracy is the percentage of right tags; ``f1`` is the harmonic
    mean, in percent, of precision and recall of the words that are not in lower case, where a tag
    counts if it is exactly right.

    Parameters
    ----------
    text : TaggedText
    batch_size : int
        N, sentences in a batch.
    pool : int
        Batches whose sentences are sorted by length together; 1 for none.
    max_length : int
        Longest sentence in training, in words; 0 for no limit.
    order_seed : int, optional
        Of the order of batches; by default the seed of the run.

    Raises
    ------
    ValueError
        If a number is out of its range.

    Examples
    --------
    >>> from deepnlp.text import Vocabulary
    >>> sentences = [("We", "met", "."), ("Why", "?")]
    >>> text = TaggedText("tiny", Vocabulary.build(["we", "met"]), sentences, [], [])
    >>> ids, lengths, targets = Tagging(text, batch_size=2).batches(epoch=0)[0]
    >>> sorted(lengths.tolist()), sorted(targets.tolist())
    ([2, 3], [[1, -1, -1], [1, 0, -1]])
    """

    metric = "accuracy"
    higher_is_better = True
    recipe = "tagger"
    parts: ClassVar = {"text": (load_tagged,), "model": (Tagger,)}
    data_kind = TaggedText
    words = "sentence", "words"

    def __init__(
        self,
        text: TaggedText,
        batch_size: Annotated[int, Option(low=1)] = 32,
        pool: Annotated[int, Option(low=1)] = 20,
        max_length: Annotated[int, Option(low=0)] = 80,
        order_seed: Annotated[int | None, Option(low=0)] = None,
    ) -> None:
        check_options(Tagging, locals())
        super().__init__(text, batch_size, pool, max_length, order_seed)
        self.text = text

    # --- Training --------------------------------------------------------------------------------

    def prepare(self, model: Any) -> None:
        """Check that it is a Tagger for this vocabulary and these tags, and set both."""
        super().prepare(model)
        self.expect_size("words", model.vocab_size, len(self.text.vocab))
        self.expect_size("tags", model.config()["tags"], len(TAGS))
        model.vocab, model.tag_vocab = self.text.vocab, TAG_VOCAB

    def _padded(self, pairs: Sequence[Pair]) -> Batch:
        """Return ids (N, T), lengths (N,) and tags (N, T), -1 where there is none."""
        ids, lengths = pad([words for words, _ in pairs])
        targets, _ = pad([tags for _, tags in pairs], IGNORED)
        return ids, lengths, targets

    # --- Evaluation ------------------------------------------------------------------------------

    def measure(self, model: Any, split: str) -> Measured:
        """Return the accuracy, F1 and perplexity on a split."""

        def read(batch: Batch) -> tuple[float, HostIds, HostIds]:
            *inputs, targets = batch
            inputs, real = [*map(asarray, inputs)], targets != IGNORED
            loss = float(model.losses(*inputs, asarray(targets)).sum())
            return loss, asnumpy(model.tags(*inputs))[real], targets[real]

        losses, *tags = zip(*share_out(read, [*self._in_order(split)]))
        predicted, exact = map(np.concatenate, tags)
        return {**scores(predicted, exact), "perplexity": exponential(sum(losses) / len(exact))}, {}

    def measure_baselines(self) -> dict[str, dict[str, float]]:
        """Return how often a word is written as it mostly is; unknown words as most words are."""
        counts = np.zeros((len(self.text.vocab), len(TAGS)), dtype=int)
        for ids, tags in self.text.encoded("train"):
            np.add.at(counts, (ids[tags >= 0], tags[tags >= 0]), 1)
        mostly = np.argmax(counts, axis=1)
        accuracies = {}
        for split in ("valid", "test"):
            ids, tags = map(np.concatenate, zip(*self.text.encoded(split), strict=True))
            accuracies[split] = scores(mostly[ids[tags >= 0]], tags[tags >= 0])["accuracy"]
        return {"most frequent": accuracies}

    def sample(self, model: Any) -> str | None:
        """Return a sentence of the validation split as the model writes it."""
        words = next((s for s in self.text.valid if len(s) >= SAMPLE_WORDS), None)
        return None if words is None else restore(model, [words])[0]

    # --- The command line ------------------------------------------------------------------------

    @classmethod
    def load_data(cls, options: Mapping[str, Any], model: Any) -> TaggedText:
        """Return the text that options name, in the vocabulary of a model if there is one."""
        return fill(load_tagged, options, vocab=None if model is None else model.vocab)

    def build_model(self, options: Mapping[str, Any]) -> Tagger:
        """Make a fresh Tagger."""
        return fill(Tagger, options, len(self.text.vocab), len(TAGS))


def scores(predicted: HostIds, right: HostIds) -> dict[str, float]:
    """Return the accuracy, and F1 of the tags that are not ``lower``, in percent.

    >>> scores(np.array([0, 1, 1, 2]), np.array([0, 1, 0, 1]))
    {'accuracy': 50.0, 'f1': 40.0}
    """
    same = predicted == right
    marked = int((predicted != 0).sum() + (right != 0).sum())
    hits = int((same & (right != 0)).sum())
    return {
        "accuracy": 100 * float(same.mean()),
        "f1": 200 * hits / marked if marked else 100.0,
    }


def restore(model: Any, sentences: Sequence[Sequence[str]]) -> list[str]:
    """Return sentences in lower case, written as a trained model says."""
    words = [[word.lower() for word in sentence] for sentence in sentences]
    tags = asnumpy(model.tags(*map(asarray, pad([model.vocab.encode(s) for s in words]))))
    return [
        join_words(restored(word, TAGS[tag]) for word, tag in zip(sentence, row))
        for sentence, row in zip(words, tags.tolist())
    ]
