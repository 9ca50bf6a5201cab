"""The base of tasks on sequences of different lengths: batches of similar lengths."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np

from deepnlp.evaluation import exponential
from deepnlp.layers.losses import IGNORED
from deepnlp.options import fill
from deepnlp.tasks.bucketing import Buckets, HostIds, by_length
from deepnlp.tasks.task import Task

Pair: TypeAlias = tuple[HostIds, HostIds]  # what is read, and what is to be found
Batch: TypeAlias = tuple[HostIds, ...]


class SequenceTask(Task):
    """A task on pairs of sequences, in batches that are shuffled, sorted by length and padded."""

    words: ClassVar[tuple[str, str]]  # for a pair and for a member of it, in messages

    def __init__(
        self, data: Any, batch_size: int, pool: int, max_length: int, order_seed: int | None
    ) -> None:
        self.set_data(data)
        self.batch_size, self.pool, self.max_length = batch_size, pool, max_length
        self.order_seed = order_seed or 0
        pairs = data.encoded("train")
        self._train = [p for p in pairs if not max_length or max(map(len, p)) <= max_length]
        if not self._train:
            pair, members = self.words
            limit = f"at most max_length = {max_length} {members}"
            raise ValueError(f"{self.name} has no {pair} of {limit}")
        self._lengths = np.array([[len(part) for part in pair] for pair in self._train])

    @classmethod
    def load(cls, options: Mapping[str, Any], model: Any = None) -> Self:
        """Load the task on the data that options name; by default its order has the run's seed."""
        seed = options["order_seed"]
        seed = options["seed"] if seed is None else seed
        return fill(cls, options, cls.load_data(options, model), order_seed=seed)

    @classmethod
    def load_data(cls, options: Mapping[str, Any], model: Any) -> Any:
        """Return the data that options name, in the vocabularies of a model if there is one."""
        raise NotImplementedError

    def batches(self, epoch: int) -> Buckets:
        """Return padded batches in the epoch's order, the targets last, -1 where there is none."""

        def make(k: int, rows: HostIds) -> Batch:
            pairs = [self._train[row] for row in rows]
            return self._batch(pairs, epoch + k / len(buckets), (self.order_seed, epoch, k))

        buckets = Buckets(self._lengths, self.batch_size, self.pool, self.order_seed, epoch, make)
        return buckets

    def _batch(self, pairs: Sequence[Pair], epochs: float, seed: Sequence[int]) -> Batch:
        """Return a batch of training, after a number of epochs, with a seed of its own."""
        return self._padded(pairs)

    def _padded(self, pairs: Sequence[Pair]) -> Batch:
        """Return a batch: what the model reads, and the targets."""
        raise NotImplementedError

    def _in_order(self, split: str) -> Iterator[Batch]:
        """Return the padded batches of a split, the shortest first, for evaluation."""
        pairs = self.data.encoded(split)
        for rows in by_length(np.array([len(target) for _, target in pairs]), self.batch_size):
            yield self._padded([pairs[row] for row in rows])

    def count(self, batch: tuple[Any, ...]) -> int:
        """Count targets, without padding."""
        return int((batch[-1] != IGNORED).sum())

    def training_figure(self, loss: float) -> tuple[str, float]:
        """Return the perplexity: exp of the mean loss."""
        return "perplexity", exponential(loss)
