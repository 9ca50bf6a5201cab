"""Sequence to sequence: write a target text, given a source text."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np

from deepnlp.backend import Array, asarray, xp
from deepnlp.backend.processes import share_out
from deepnlp.datasets import Pairs, load_pairs
from deepnlp.datasets.files import SOURCES
from deepnlp.evaluation import exponential
from deepnlp.generation import translate
from deepnlp.layer import no_backward
from deepnlp.layers import SoftmaxWithLoss
from deepnlp.models import Seq2Seq, TransformerTranslator
from deepnlp.models.seq2seq import EncoderDecoder
from deepnlp.options import Choice, Option, check_options, fill
from deepnlp.tasks.bleu import bleu, require_sacrebleu
from deepnlp.tasks.bucketing import HostIds
from deepnlp.tasks.sequence_task import Batch, Pair, SequenceTask
from deepnlp.tasks.task import Measured
from deepnlp.text import Vocabulary, pad_pairs

METRICS = ("exact_match", "bleu", "accuracy", "perplexity")
SHOWN = 3  # translations of a sample


class SequenceToSequence(SequenceTask):
    r"""Write a target text, given a source text; judged on the validation split.

    The decoder reads the target while it learns (teacher forcing). With scheduled sampling (Bengio
    et al. 2015) an input is the target's with probability

    .. math:: \epsilon(e) = \max\Big(\epsilon_{end},\;
        1 - (1 - \epsilon_{end}) \frac{e}{E}\Big)

    after e epochs, and otherwise what the model itself finds likeliest after the inputs before it;
    no gradient passes through that choice.

    Parameters
    ----------
    pairs : Pairs
    batch_size : int
        N, pairs in a batch.
    pool : int
        Batches whose pairs are sorted by length together; 1 for none. See :class:`Buckets`.
    max_length : int
        Longest source and target in training, in tokens; 0 for no limit.
    metric : {"exact_match", "bleu", "accuracy", "perplexity"}
        Figure on the validation split that decides which epoch is the best. ``exact_match``: texts
        that are exactly one of their references, in percent. ``bleu``: needs sacrebleu.
        ``accuracy``: target tokens that are the likeliest after the tokens before them, in percent.
    teacher_forcing : float
        Share of decoder inputs that are the target's, not the model's own, in the end. It is
        :math:`\epsilon_{end}`; 1 for teacher forcing throughout.
    teacher_forcing_epochs : int
        Epochs in which that share falls from 1. It is E.
    beam : int
        Width of the beam search for the final figures; 1 is greedy search. Validation is greedy.
    length_penalty : float
        Of a beam search: power of the length by which a sum of log-probabilities is divided.
    order_seed : int, optional
        Of the order of batches and of teacher forcing; by default the seed of the run.

    Raises
    ------
    ValueError
        If a number is out of its range.
    DeepNLPError
        If the metric is BLEU and sacrebleu is not installed.

    Examples
    --------
    >>> task = SequenceToSequence(load_pairs("addition", examples=1000), batch_size=100)
    >>> source, lengths, inputs, targets = task.batches(epoch=0)[0]
    >>> source.shape[0], inputs.shape == targets.shape
    (100, True)
    """

    recipe = "dates"
    higher_is_better = True
    parts: ClassVar = {
        "pairs": (load_pairs,),
        "model": Choice("what kind of encoder and decoder", Seq2Seq, TransformerTranslator),
    }
    data_kind = Pairs
    words = "pair", "tokens"

    def __init__(
        self,
        pairs: Pairs,
        batch_size: Annotated[int, Option(low=1)] = 128,
        pool: Annotated[int, Option(low=1)] = 20,
        max_length: Annotated[int, Option(low=0)] = 0,
        metric: Annotated[str, Option(choices=METRICS)] = "exact_match",
        teacher_forcing: Annotated[float, Option(low=0, high=1)] = 1.0,
        teacher_forcing_epochs: Annotated[int, Option(low=1)] = 1,
        beam: Annotated[int, Option(low=1, high=1000, resume="any")] = 1,
        length_penalty: Annotated[float, Option(low=0, high=100, resume="any")] = 1.0,
        order_seed: Annotated[int | None, Option(low=0)] = None,
    ) -> None:
        check_options(SequenceToSequence, locals())
        if metric == "bleu":
            require_sacrebleu()
        super().__init__(pairs, batch_size, pool, max_length, order_seed)
        self.pairs = pairs
        self.metric, self.higher_is_better = self.judged_by({"metric": metric})
        self.teacher_forcing = teacher_forcing
        self.teacher_forcing_epochs = teacher_forcing_epochs
        self.beam, self.length_penalty = beam, length_penalty
        self._start = pairs.target_vocab.eos_id

    # --- Training --------------------------------------------------------------------------------

    def prepare(self, model: Any) -> None:
        """Check that it is a translator for these vocabularies, and set them."""
        super().prepare(model)
        source, target = self.pairs.source_vocab, self.pairs.target_vocab
        self.expect_size("source tokens", model.source_vocab_size, len(source))
        self.expect_size("target tokens", model.target_vocab_size, len(target))
        model.source_vocab, model.target_vocab = source, target

    def _batch(self, pairs: Sequence[Pair], epochs: float, seed: Sequence[int]) -> Batch:
        """Return source (N, S), lengths (N,); inputs, targets, and forced inputs (N, T)."""
        batch = self._padded(pairs)
        share = self.forced_share(epochs)
        if share == 1:
            return batch
        return *batch, np.asarray(np.random.default_rng(seed).random(batch[2].shape) < share)

    def forced_share(self, epochs: float) -> float:
        """Return the share of inputs that are the target's, after a number of epochs."""
        done = min(1.0, epochs / self.teacher_forcing_epochs)
        return 1 - (1 - self.teacher_forcing) * done

    def learn(self, model: Any, batch: tuple[Any, ...], share: float = 1) -> Array:
        """Return the mean loss of a batch; with scheduled sampling some inputs are the model's."""
        source, lengths, inputs, targets, *forced = map(asarray, batch)
        if forced:
            inputs = self._with_own_inputs(model, source, lengths, inputs, forced[0])
        return super().learn(model, (source, lengths, inputs, targets), share)

    def count(self, batch: tuple[Any, ...]) -> int:
        """Count target tokens and ends, without padding."""
        return super().count(batch[:4])

    def _padded(self, pairs: Sequence[Pair]) -> Batch:
        """Return a batch: source, lengths, the decoder's inputs, and its targets."""
        return pad_pairs([a for a, _ in pairs], [b for _, b in pairs], self._start)

    def _with_own_inputs(
        self, model: Any, source: Array, lengths: Array, inputs: Array, forced: Array
    ) -> Array:
        """Return inputs (N, T) in which the model's choice stands wherever ``forced`` is false."""
        model = model.twin().eval()
        with no_backward():
            state = model.start(source, lengths)
            read = [inputs[:, 0]]
            for t in range(1, inputs.shape[1]):
                scores, state = model.step(read[-1], state)
                chosen = xp.argmax(scores, axis=1).astype(inputs.dtype)
                read.append(xp.where(forced[:, t], inputs[:, t], chosen))
        return xp.stack(read, axis=1)

    # --- Evaluation ------------------------------------------------------------------------------

    def evaluate(self, model: Any) -> dict[str, float]:
        """Return figures on the validation split, by greedy search."""
        return self.measure(model, "valid", beam=1)[0]

    def measure(self, model: Any, split: str, beam: int | None = None) -> Measured:
        """Return figures on a split, by beam search where one is set, and how BLEU was computed."""
        beam = beam or self.beam
        references = self.pairs.references(split)
        texts = self._translations(model, list(references), beam)
        exact = [*map(self._is_one_of, texts, references.values())]
        figures = self._forced_figures(model, split)
        figures["exact_match"] = 100 * float(np.mean(exact))
        notes: dict[str, Any] = {"beam": beam}
        if beam > 1:
            notes["length_penalty"] = self.length_penalty
        if self.metric == "bleu":
            figures["bleu"], notes["bleu_signature"] = bleu(texts, list(references.values()))
        return {self.metric: figures.pop(self.metric), **figures}, notes

    def sample(self, model: Any) -> str:
        """Return a few texts of the validation split with their translations."""
        sources = list(self.pairs.references("valid"))[:SHOWN]
        translations = self._translations(model, sources, self.beam)
        return " | ".join(f"{a} -> {b}" for a, b in zip(sources, translations, strict=True))

    def _translations(self, model: Any, sources: list[str], beam: int) -> list[str]:
        longest = int(self._lengths[:, 1].max()) + 1
        sizes: Any = {"max_length": 2 * longest, "batch_size": self.batch_size}
        penalty = self.length_penalty
        searched = translate(model, sources, beam=beam, length_penalty=penalty, **sizes)
        return [best.text for best, *_ in searched]

    def _is_one_of(self, text: str, references: Sequence[str]) -> bool:
        """Return whether a text equals a reference, as the vocabulary's tokeniser reads them."""
        cut = self.pairs.target_vocab.tokenize
        return cut(text) in [cut(reference) for reference in references]

    def _forced_figures(self, model: Any, split: str) -> dict[str, float]:
        """Measure perplexity and accuracy of the next token, given the target so far."""

        def figures(batch: Batch) -> tuple[float, float, int]:
            *inputs, targets = map(asarray, batch)
            scores = model.logits(*inputs)
            loss = float(SoftmaxWithLoss().losses(scores, targets).sum())
            right = float((xp.argmax(scores, axis=2) == targets).sum())
            return loss, right, self.count(batch)

        of_batches = share_out(figures, [*self._in_order(split)])
        loss, right, total = map(sum, zip(*of_batches))
        return {"perplexity": exponential(loss / total), "accuracy": 100 * right / total}

    # --- The command line ------------------------------------------------------------------------

    @classmethod
    def recipe_for(cls, options: Mapping[str, Any]) -> str:
        """Return the recipe of dates for texts of characters, else that of sentences."""
        source = SOURCES["pairs"].get(str(options.get("corpus", "dates")), {})
        return "dates" if source.get("tokenizer") == "chars" else "translation"

    @classmethod
    def judged_by(cls, options: Mapping[str, Any]) -> tuple[str, bool]:
        """Return the metric of the option, and whether more of it is better."""
        return options["metric"], options["metric"] != "perplexity"

    @classmethod
    def load_data(cls, options: Mapping[str, Any], model: Any) -> Pairs:
        """Return the pairs that options name, in the vocabularies of a model if there is one."""
        vocabs = None if model is None else (model.source_vocab, model.target_vocab)
        return fill(load_pairs, options, vocabs=vocabs)

    def build_model(self, options: Mapping[str, Any]) -> EncoderDecoder:
        """Make a fresh model; tied embeddings share the words that both vocabularies have."""
        source, target = self.pairs.source_vocab, self.pairs.target_vocab
        shared = shared_ids(source, target) if options["tie"] == "all" else None
        kind = self.model_kind(options)
        return fill(kind, options, len(source), len(target), shared_ids=shared)

    def memory(self, model: Any) -> dict[str, int]:
        """Count numbers in states and scores of the longest batch, with what backward needs."""
        S, T = (int(n) for n in self._lengths.max(axis=0))
        cells = model.numbers_for_backward() // 2  # half of them read the source
        return {
            "hidden states of a batch": self.batch_size * (S + T) * cells,
            "scores of a batch": 3 * self.batch_size * T * model.target_vocab_size,
        }


def shared_ids(source: Vocabulary, target: Vocabulary) -> HostIds:
    """Return the source id of each target id's token, -1 where there is none.

    >>> shared_ids(Vocabulary.build(["b", "a", "a"]), Vocabulary.build(["c", "b"])).tolist()
    [1, -1, 2, 3]
    """
    return np.array([source.id(t) if t in source else -1 for t in target.tokens])
