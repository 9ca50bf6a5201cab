"""Short sentences from English to Spanish: an attention that always looks at the full stop.

Two models that differ in the score of their attention, general and concat, learn the same short
sentences. Beside the quality of the translations stands the weight that the decoder gives to the
last place of the source, its full stop or question mark, on average over all tokens it writes.

    python chapters/ch09_attention/short_sentences.py

Data: Tatoeba, English and Spanish (datasets/README.md), sentences of at most 7 words, of the 800
most frequent words of each language.
Time: about 75 seconds on one core.
Expect: with concat 33 % of the validation sentences exactly, and a quarter of the weight on the
last place. With general 16 %, and all of the weight on the last place, whose state has read the
whole sentence: its softmax is saturated, and attention has become one vector for everything.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deepnlp.backend import asnumpy
from deepnlp.datasets import Pairs, load_pairs
from deepnlp.files.tables import table
from deepnlp.generation import align, translate
from deepnlp.lessons.script import config_from_arguments
from deepnlp.models import Seq2Seq
from deepnlp.optimizers import Adam, clip_gradients
from deepnlp.plots import attention_map
from deepnlp.tasks import SequenceToSequence


@dataclass
class Config:
    """Sentences, sizes and training."""

    corpus: str = "tatoeba-en-es"
    vocab_size: int = 800
    most: int = 7  # words of a sentence
    size: int = 96  # D and H
    epochs: int = 8
    batch: int = 64
    lr: float = 0.004
    seed: int = 0
    show: str = "We have a big dog."
    out: str = "runs/ch09"


QUICK = Config(corpus="addition", most=4, size=6, epochs=1, batch=2000, show="1+2")


def main(config: Config) -> dict[str, float]:
    """Train both, report, draw; returns the mean weight on the last place by score."""
    pairs = load_pairs(config.corpus, vocab_size=config.vocab_size)
    pairs = Pairs(
        pairs.name, pairs.source_vocab, pairs.target_vocab,
        *(known(pairs, split, config.most) for split in pairs.splits),
    )  # fmt: skip
    print(pairs.describe())
    folder, on_last, rows = Path(config.out), {}, []
    folder.mkdir(parents=True, exist_ok=True)
    task = SequenceToSequence(pairs, batch_size=config.batch, order_seed=config.seed)
    for score in ("general", "concat"):
        model = Seq2Seq(
            len(pairs.source_vocab), len(pairs.target_vocab), config.size, config.size, cell="gru",
            attention=score, bidirectional=True, tie="output",
            rng=np.random.default_rng(config.seed),
        )  # fmt: skip
        task.prepare(model)
        optimizer = Adam(model.parameters(), lr=config.lr)
        for epoch in range(config.epochs):
            for batch in task.batches(epoch):
                task.learn(model, batch)
                clip_gradients(model.parameters(), 5.0)
                optimizer.step()
            print(f"{score}: epoch {epoch + 1} of {config.epochs}", flush=True)
        figures = task.evaluate(model)
        on_last[score] = weight_on_last(model, task)
        exact, perplexity = f"{figures['exact_match']:.1f}", f"{figures['perplexity']:.2f}"
        rows.append([score, exact, perplexity, f"{on_last[score]:.2f}"])
        ((best,),) = translate(model, [config.show])
        attention_map(
            *align(model, config.show, best.tokens),
            title=f"{score}: {best.text}",
            path=folder / f"short_sentences_{score}.png",
        )
    print(table(["score", ">exact, %", ">perplexity", ">weight on the last place"], rows))
    print(f"figures in {folder}")
    return on_last


def known(pairs: Pairs, split: str, most: int) -> list[tuple[str, str]]:
    """The pairs of a split that are short and have only words of the vocabularies."""
    kept = []
    for pair in pairs.splits[split]:
        sides = [
            (vocab, vocab.tokenize(text))
            for vocab, text in zip((pairs.source_vocab, pairs.target_vocab), pair, strict=True)
        ]
        if all(len(words) <= most and all(w in vocab for w in words) for vocab, words in sides):
            kept.append(pair)
    return kept


def weight_on_last(model: Seq2Seq, task: SequenceToSequence) -> float:
    """Mean weight on the last place of a source, over the tokens of a batch for training."""
    source, lengths, inputs, targets = task.batches(0)[0]
    model.logits(source, lengths, inputs)
    last = asnumpy(model.attention_weights)[np.arange(len(source)), :, lengths - 1]  # (N, T)
    return float(last[targets != -1].mean())


if __name__ == "__main__":
    main(config_from_arguments(Config, __doc__))
