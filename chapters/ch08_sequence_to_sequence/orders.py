"""In which order to read a sum, and in which to write it.

The source in its own order or reversed, the target too: a model that writes the ones first can
carry from digit to digit, as people do on paper. For each of the four, the share of right digits by
their place in answers of three digits.

    python chapters/ch08_sequence_to_sequence/orders.py

Data: 20,000 made-up sums of numbers with up to three digits; 1,000 of them for validation.
Time: about two and a half minutes on one core.
Expect: 9 % of whole sums read and written in order, 54 % read reversed; written with the ones first
76 % and 80 %. The order of the answer matters more than that of the source, most of all for the
ones: 12 % right where they are written last after reading in order, 84 % where they come first.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from deepnlp.datasets import Pairs, load_pairs
from deepnlp.files.tables import table
from deepnlp.generation import translate
from deepnlp.lessons.script import config_from_arguments
from deepnlp.models import Seq2Seq
from deepnlp.optimizers import Adam, clip_gradients
from deepnlp.plots import bars
from deepnlp.tasks import SequenceToSequence

PLACES = ("hundreds", "tens", "ones")


@dataclass
class Config:
    """Data, model, training and seeds."""

    examples: int = 20_000
    D: int = 16
    H: int = 64
    epochs: int = 12
    batch: int = 128
    lr: float = 0.005
    seeds: str = "0,1"
    out: str = "runs/ch08"


QUICK = Config(examples=500, D=4, H=8, epochs=2, seeds="0")


def main(config: Config) -> dict[str, np.ndarray]:
    """Train, report, draw; returns by order the shares of hundreds, tens, ones and whole sums."""
    forward = load_pairs("addition", examples=config.examples)
    splits = {split: [(a, b[::-1]) for a, b in part] for split, part in forward.splits.items()}
    found = {}
    for written, pairs in (("in order", forward), ("ones first", replace(forward, **splits))):
        for read, reverse in (("in order", False), ("reversed", True)):
            runs = [
                shares(train(pairs, config, int(seed), reverse), pairs, written == "ones first")
                for seed in config.seeds.split(",")
            ]
            found[f"read {read},\nwritten {written}"] = np.mean(runs, axis=0)
    heads = ["orders", *(f">{name}, %" for name in (*PLACES, "whole sums"))]
    print(
        table(heads, [[k.replace("\n", " "), *(f"{x:.1f}" for x in v)] for k, v in found.items()])
    )

    folder = Path(config.out)
    folder.mkdir(parents=True, exist_ok=True)
    best = max(found, key=lambda name: found[name][3])
    bars(
        {name: dict(zip(PLACES, values, strict=False)) for name, values in found.items()},
        title=f"Best after {config.epochs} epochs: {best.replace(chr(10), ' ')}, "
        f"{found[best][3]:.0f} % of whole sums",
        ylabel="right digits (%)",
        levels={"guessed": 10.0},
        path=folder / "orders.png",
    )
    print(f"figure in {folder}")
    return found


def train(pairs: Pairs, config: Config, seed: int, reverse: bool) -> Seq2Seq:
    """A trained model."""
    task = SequenceToSequence(pairs, batch_size=config.batch, pool=1, order_seed=seed)
    sizes = len(pairs.source_vocab), len(pairs.target_vocab), config.D, config.H
    model = Seq2Seq(*sizes, reverse=reverse, rng=np.random.default_rng(seed))
    task.prepare(model)
    optimizer = Adam(model.parameters(), lr=config.lr)
    for epoch in range(config.epochs):
        for batch in task.batches(epoch):
            task.learn(model, batch)
            clip_gradients(model.parameters(), 5.0)
            optimizer.step()
    return model


def shares(model: Seq2Seq, pairs: Pairs, ones_first: bool) -> np.ndarray:
    """Percentages of right hundreds, tens and ones in answers of three digits, and of all sums."""
    sources, answers = zip(*pairs.valid, strict=True)
    texts = [best.text for (best, *_) in translate(model, sources)]
    hits = [
        [text[k : k + 1] == answer[k] for k in range(3)]
        for text, answer in zip(texts, answers, strict=True)
        if len(answer) == 3
    ]
    places = np.mean(hits, axis=0)
    whole = np.mean([text == answer for text, answer in zip(texts, answers, strict=True)])
    return 100 * np.array([*(places[::-1] if ones_first else places), whole])


if __name__ == "__main__":
    main(config_from_arguments(Config, __doc__))
