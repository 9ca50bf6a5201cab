"""Language modelling: predict each next token of a text."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, ClassVar, Self

import numpy as np

from deepnlp.backend import Array
from deepnlp.backend.processes import share_out
from deepnlp.checkpoint import load
from deepnlp.datasets import Corpus, load_corpus
from deepnlp.evaluation import expect_language_model, exponential, perplexity
from deepnlp.generation import generate
from deepnlp.models import GPT, RNNLM, RegularisedRNNLM, ngrams
from deepnlp.models.language_model import to_predict
from deepnlp.options import Choice, Option, check_options, fill
from deepnlp.tasks.batching import BPTTBatches, RandomWindows
from deepnlp.tasks.corpus_task import CorpusTask
from deepnlp.tasks.fresh_model import STARTS, Pretrained, fresh_gpt, fresh_rnnlm, pretrained
from deepnlp.tasks.similarity import SetNames, load_sets, similarities
from deepnlp.tasks.task import Batches, Measured

SENTENCE_WORDS = 8


class LanguageModelling(CorpusTask):
    """Predict each next token of a corpus; judged by perplexity.

    Parameters
    ----------
    corpus : Corpus
    batch_size : int
        N, rows that are read side by side.
    time_size : int
        T, steps of truncated backpropagation through time.
    eval_batch_size : int
        Rows in the validation of each epoch; final figures are at 1.
    baselines : bool
        Measure n-gram models on the same text, to compare with.
    vary_time : bool
        Draw the length of each window around T, and scale its learning rate by length / T. So it is
        in each epoch (:class:`BPTTBatches`; Merity, Keskar and Socher 2018, section 5): otherwise
        the words of a short window would count more than those of a long one.
    windows : {"contiguous", "random"}
        Contiguous: each window goes on where the one before ended, as a hidden state needs it.
        Random: windows from anywhere in the text (:class:`RandomWindows`), for a model that
        carries nothing.
    epoch_steps : int
        Random: windows of N rows in an epoch; 0 for as many as hold the text once.
    data_seed : int
        Seed of these lengths, or of the random windows; they depend on nothing else.
    similarity : str
        Similarity sets, names or paths with commas between, on which the input and the output
        vectors of the trained model are evaluated.

    Raises
    ------
    ValueError
        If a number is out of its range, or the text is too short for N rows.

    Examples
    --------
    >>> from deepnlp.text import Vocabulary
    >>> vocab = Vocabulary.build("a b c".split())
    >>> ids = vocab.encode("a b c <eos>".split() * 30)
    >>> task = LanguageModelling(Corpus("abc", vocab, ids, ids, ids), batch_size=2, time_size=5)
    >>> len(task.batches(epoch=0))
    12
    """

    metric = "perplexity"
    parts: ClassVar = {
        "corpus": (load_corpus,),
        "model": Choice(
            "what kind of language model; an rnnlm with an option of regularised is one",
            rnnlm=RNNLM,
            regularised=RegularisedRNNLM,
            gpt=GPT,
        ),
        "start": STARTS,
    }
    recipe = "default"
    undrawn = ("unigram",)  # its level would flatten the others

    def __init__(
        self,
        corpus: Corpus,
        batch_size: Annotated[int, Option(low=1)] = 20,
        time_size: Annotated[int, Option(low=1)] = 35,
        eval_batch_size: Annotated[int, Option(low=1)] = 10,
        baselines: Annotated[bool, Option(resume="any")] = True,
        vary_time: Annotated[bool, Option()] = False,
        windows: Annotated[str, Option(choices=("contiguous", "random"))] = "contiguous",
        epoch_steps: Annotated[int, Option(low=0)] = 0,
        data_seed: Annotated[int, Option(low=0)] = 0,
        similarity: SetNames = "",
    ) -> None:
        check_options(LanguageModelling, locals())
        super().__init__(corpus)
        self.batch_size, self.time_size = batch_size, time_size
        self.eval_batch_size = eval_batch_size
        self.baselines = baselines
        self.vary_time, self.data_seed = vary_time, data_seed
        self.windows, self.epoch_steps = windows, epoch_steps
        if windows == "random" and vary_time:
            raise ValueError("vary_time is for windows='contiguous': random ones begin anywhere")
        self.similarity, self._sets = similarity, load_sets(similarity)
        self.vectors: Pretrained | None = None  # that a model of this task was started from
        self._batches = BPTTBatches(corpus.train, batch_size, time_size)

    def prepare(self, model: Any) -> None:
        """Check that it is a language model for the corpus, and set its vocabulary."""
        expect_language_model("Trainer", model)
        context = getattr(model, "context", self.time_size)
        if self.time_size > context:
            limit = f"at most the model's context, {context}"
            raise ValueError(f"time_size should be {limit}, got {self.time_size}")
        self.set_vocabulary(model)
        self._to_predict = partial(to_predict, model)
        self._output_size = getattr(model, "output_size", model.vocab_size)

    def batches(self, epoch: int) -> Batches:
        """Return windows of the text, in its order or from anywhere: inputs and targets (N, T)."""
        rng = np.random.default_rng((self.data_seed, epoch))
        if self.windows == "random":
            steps = self.epoch_steps or len(self._batches)
            return RandomWindows(self.corpus.train, self.batch_size, self.time_size, steps, rng)
        if not self.vary_time:
            return self._batches
        return BPTTBatches(self.corpus.train, self.batch_size, self.time_size, rng)

    def lr_scale(self, batch: tuple[Any, ...]) -> float:
        """Return, with ``vary_time``, the length of the window as a fraction of T."""
        return float(batch[0].shape[1] / self.time_size) if self.vary_time else 1.0

    def learn(self, model: Any, batch: tuple[Any, ...], share: float = 1) -> Array:
        """Return the mean cross-entropy of a window, whose targets are those of the model.

        The figure leaves out AR, TAR and other penalties, whose gradients count all the same.
        """
        inputs, targets = batch
        loss = super().learn(model, (inputs, to_predict(model, targets)), share)
        return loss - getattr(model, "penalty", 0)

    def begin_epoch(self, model: Any) -> None:
        """Begin the text again, from a hidden state of zeros."""
        model.reset_state()

    def training_figure(self, loss: float) -> tuple[str, float]:
        """Return the perplexity: exp of the mean loss."""
        return "perplexity", exponential(loss)

    def evaluate(self, model: Any) -> dict[str, float]:
        """Return the validation perplexity, in ``eval_batch_size`` streams."""
        return {"perplexity": perplexity(model, self.corpus.valid, self.eval_batch_size)}

    def measure(self, model: Any, split: str) -> Measured:
        """Measure the perplexity of a split, at batch 1, with its bits per byte and word."""
        value = perplexity(model, self.corpus.splits[split], 1)
        return {"perplexity": value, **self.corpus.bits(split, value)}, {}

    def final(self, model: Any) -> dict[str, Any]:
        """Measure validation and test split, at batch 1 and in streams; and similarities."""
        splits = {"valid": self.corpus.valid, "test": self.corpus.test}
        N = self.eval_batch_size
        batched = share_out(lambda ids: perplexity(model, ids, N), [*splits.values()])
        return {
            **super().final(model),
            "perplexity_batched": dict(zip(splits, batched)),
            "eval_batch_size": N,
            **self._similarity(model),
        }

    def _similarity(self, model: Any) -> dict[str, Any]:
        """Measure, under ``similarity`` and by side, the vectors on each set."""
        if not self._sets:
            return {}
        sides = ("input", "output")
        by_side = {side: similarities(model.word_vectors(side), self._sets) for side in sides}
        return {"similarity": by_side}

    def measure_baselines(self) -> dict[str, dict[str, float]]:
        """Return perplexities of n-gram models of the words that the model predicts."""
        if not self.baselines:
            return {}
        splits = {split: self._to_predict(ids) for split, ids in self.corpus.splits.items()}
        train = splits.pop("train")
        return ngrams.baselines(train, splits, self._output_size)

    def sample(self, model: Any) -> str:
        """Return the first sampled line that is long enough for a sentence."""
        length = 240 if self.corpus.vocab.tokenizer == "chars" else 120
        lines = generate(model, length=length, temperature=0.8, top_p=0.95, seed=0).splitlines()
        long_enough = [n for n in lines if sum(map(str.isalpha, n.split())) >= SENTENCE_WORDS]
        return long_enough[0] if long_enough else max(lines, key=len, default="")

    def facts(self) -> dict[str, Any]:
        """Return name, fingerprint and sizes of the corpus, and how many words have vectors."""
        return {**super().facts(), **({"vectors": self.vectors.coverage} if self.vectors else {})}

    def describe(self) -> str:
        """Return the corpus, its unknown words and its vectors, each in a line."""
        return "\n".join([super().describe(), *([self.vectors.describe()] if self.vectors else [])])

    def watched(self) -> tuple[Any, int]:
        """Return the validation text, and the steps of truncated backpropagation."""
        return self.corpus.valid, self.time_size

    @classmethod
    def recipe_for(cls, options: Mapping[str, Any]) -> str | None:
        """Return the recipe of a GPT, whose rate is not an LSTM's, or that of the default model."""
        return "gpt-pydocs" if options.get("model") == "gpt" else cls.recipe

    @classmethod
    def load(cls, options: Mapping[str, Any], model: Any = None) -> Self:
        """Load the task on the corpus that options name, in the vocabulary of a first model."""
        start = options["start_from"]
        return super().load(options, load(start) if start and model is None else model)

    def build_model(self, options: Mapping[str, Any]) -> RNNLM | GPT:
        """Make a model, started from word frequencies, vectors or a run as the options say."""
        if options["model"] == "gpt":
            return fresh_gpt(self.corpus, options)
        self.vectors = fill(pretrained, options, self.corpus, options["embed_size"])
        return fresh_rnnlm(self.corpus, self.vectors, options)

    def memory(self, model: Any) -> dict[str, int]:
        """Count numbers in states and scores of a window, with what backward needs of them."""
        tokens = self.batch_size * self.time_size
        numbers = 3 * model.config()["embed_size"] + model.numbers_for_backward()
        return {
            "hidden states of a window": tokens * numbers,
            "scores of a window": 3 * tokens * model.output_size,
        }
