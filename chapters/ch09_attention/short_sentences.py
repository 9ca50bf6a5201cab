"""Short sentences from English to Spanish: an attention that always looks at the full stop.

Models that differ in the score of their attention alone learn the same short sentences: general as
it is, general divided by the square root of H, and concat. Beside the quality of the translations
stands the weight that the decoder gives to the last place of the source, its full stop or question
mark, on average over all tokens it writes.

    python chapters/ch09_attention/short_sentences.py

Data: Tatoeba, English and Spanish (datasets/README.md), sentences of at most 7 words, of the 800
most frequent words of each language.
Time: about five minutes on one core.
Expect: with three seeds 16 to 18 % of the validation sentences exactly with general, and 90 to
100 % of the weight on the last place, whose state has read the whole sentence: its softmax is
saturated, and attention has become one vector for everything. With general divided by the root of H
34 to 38 %, with concat 31 to 36 %, and 13 to 37 % of the weight on the last place. Figures are in
docs/results/lessons/short_sentences.json.
"""

import json
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
    seeds: str = "0,1,2"
    show: str = "We have a big dog."
    out: str = "runs/ch09"


QUICK = Config(corpus="addition", most=4, size=6, epochs=1, batch=2000, seeds="0", show="1+2")


def main(config: Config) -> dict[str, list[dict[str, float]]]:
    """Train all, report, draw; returns the figures of each seed by score."""
    pairs = load_pairs(config.corpus, vocab_size=config.vocab_size)
    pairs = Pairs(
        pairs.name, pairs.source_vocab, pairs.target_vocab,
        *(known(pairs, split, config.most) for split in pairs.splits),
    )  # fmt: skip
    print(pairs.describe())
    scores = {
        "general": {"attention": "general"},
        "general, scaled": {"attention": "general", "attention_scale": config.size**-0.5},
        "concat": {"attention": "concat"},
    }
    folder = Path(config.out)
    folder.mkdir(parents=True, exist_ok=True)
    found, seeds = {}, [int(seed) for seed in config.seeds.split(",")]
    for name, options in scores.items():
        found[name] = [measure(name, options, pairs, seed, config, folder) for seed in seeds]
    rows = [
        [
            name,
            *(f"{one['exact']:.1f}" for one in runs),
            f"{np.mean([r['last'] for r in runs]):.2f}",
        ]
        for name, runs in found.items()
    ]
    print(table(["score", *(f">exact, %, seed {k}" for k in seeds), ">weight on the last"], rows))
    folder.joinpath("short_sentences.json").write_text(json.dumps(found, indent=1) + "\n")
    print(f"figures and numbers in {folder}")
    return found


def measure(
    name: str, options: dict, pairs: Pairs, seed: int, config: Config, folder: Path
) -> dict[str, float]:
    """Train a model: exact sentences in percent, perplexity, weight on the last place."""
    task = SequenceToSequence(pairs, batch_size=config.batch, order_seed=seed)
    model = Seq2Seq(
        len(pairs.source_vocab), len(pairs.target_vocab), config.size, config.size, cell="gru",
        bidirectional=True, tie="output", rng=np.random.default_rng(seed), **options,
    )  # fmt: skip
    task.prepare(model)
    optimizer = Adam(model.parameters(), lr=config.lr)
    for epoch in range(config.epochs):
        for batch in task.batches(epoch):
            task.learn(model, batch)
            clip_gradients(model.parameters(), 5.0)
            optimizer.step()
    figures = task.evaluate(model)
    found = {"exact": figures["exact_match"], "perplexity": figures["perplexity"]}
    found = {key: round(float(value), 3) for key, value in found.items()}
    found["last"] = round(weight_on_last(model, task), 3)
    print(f"{name}, seed {seed}: {found}", flush=True)
    ((best,),) = translate(model, [config.show])
    attention_map(
        *align(model, config.show, best.tokens),
        title=f"{name}: {best.text}",
        path=folder / f"short_sentences_{name.replace(', ', '_')}.png",
    )
    return found


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
