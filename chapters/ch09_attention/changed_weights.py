"""Are attention's weights used, and do they say which characters matter? Two experiments on dates.

First the weights of a trained model are replaced: by the heaviest place alone, by all others, by
equal weights, by the same weights in a random order. Then the source is changed: in dates that
begin with the name of a month one letter becomes an a. Beside the share of months that change with
it stands the weight of this letter while the month is written.

    python chapters/ch09_attention/changed_weights.py

Data: dates, made up by the package.
Time: about half a minute on one core.
Expect: the heaviest place alone is enough. With equal weights 79 % of the digits of the year, 45 %
of the month's and 24 % of the day's are right (from left to right). The first letter of a month
has less weight than influence.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deepnlp.backend import asarray, asnumpy
from deepnlp.datasets import load_pairs
from deepnlp.datasets.made_up import Pair
from deepnlp.files.tables import table
from deepnlp.lessons.script import config_from_arguments
from deepnlp.models import Seq2Seq
from deepnlp.optimizers import Adam, clip_gradients
from deepnlp.plots import bars
from deepnlp.tasks import SequenceToSequence
from deepnlp.text import pad

HostArray = np.ndarray[Any, Any]
PARTS = {"year": slice(0, 4), "month": slice(5, 7), "day": slice(8, 10)}


@dataclass
class Config:
    """Dates, sizes and training."""

    examples: int = 10_000
    D: int = 16
    H: int = 64
    epochs: int = 6
    batch: int = 64
    lr: float = 0.003
    seed: int = 0
    out: str = "runs/ch09"


QUICK = Config(examples=100, D=4, H=6, epochs=1)


def main(config: Config) -> dict[str, dict[str, dict[str, float]]]:
    """Train, change, report, draw; returns weight and influence of letters by encoder."""
    pairs = load_pairs("dates", examples=config.examples)
    task = SequenceToSequence(pairs, batch_size=config.batch, order_seed=config.seed)
    sizes = len(pairs.source_vocab), len(pairs.target_vocab), config.D, config.H
    folder, found, rows = Path(config.out), {}, []
    folder.mkdir(parents=True, exist_ok=True)
    for name, both in (("left to right", False), ("both ends", True)):
        kind, rng = ("general" if both else "dot"), np.random.default_rng(config.seed)
        model = Seq2Seq(*sizes, cell="gru", attention=kind, bidirectional=both, rng=rng)
        train(model, task, config)
        for change, right in changed(model, list(pairs.valid), config.seed).items():
            rows.append([name, change, *(f"{share:.0%}" for share in right)])
        found[name] = letters(model, list(pairs.valid))
        bars(
            found[name],
            title=f"Encoder: {name}. What is looked at for the month, and what matters",
            ylabel="%",
            path=folder / f"letters_{name.replace(' ', '_')}.png",
        )
    print(table(["encoder", "weights", *(f">{part}" for part in PARTS)], rows), f"\n{folder}")
    return found


def train(model: Seq2Seq, task: SequenceToSequence, config: Config) -> None:
    """Train with Adam, and report the share of exact dates."""
    task.prepare(model)
    optimizer = Adam(model.parameters(), lr=config.lr)
    for epoch in range(config.epochs):
        for batch in task.batches(epoch):
            task.learn(model, batch)
            clip_gradients(model.parameters(), 5.0)
            optimizer.step()
    print(f"{task.evaluate(model)['exact_match']:.1f} % of the dates are exact", flush=True)


def forced(model: Any, some: list[Pair]) -> tuple[HostArray, HostArray]:
    """The likeliest characters (N, T) after the right ones so far, and these."""
    source, lengths = pad([model.source_vocab.encode([*text]) for text, _ in some])
    targets, _ = pad([model.target_vocab.encode([*text]) for _, text in some])
    inputs = np.insert(targets, 0, model.target_vocab.eos_id, axis=1)
    scores = asnumpy(model.logits(*map(asarray, (source, lengths, inputs))))
    return scores[:, :-1].argmax(axis=2), targets


def variants(a: HostArray, counts: HostArray, rng: np.random.Generator) -> dict[str, HostArray]:
    """Weights (N, T, S) in place of a; ``counts`` (N, 1, S) is false in the padding."""
    top = np.eye(a.shape[2])[a.argmax(axis=2)]
    order = np.where(counts, rng.random(a.shape), 2).argsort(axis=2)  # padding stays behind
    return {
        "as learned": a,
        "heaviest place only": top,
        "without the heaviest": a * (1 - top),
        "all places alike": counts + 0 * a,
        "in random order": np.take_along_axis(a, order, axis=2),
    }


def changed(model: Any, some: list[Pair], seed: int) -> dict[str, list[float]]:
    """Shares of right digits of year, month and day, by what is done to the weights."""
    rng, attention, one = np.random.default_rng(seed), model.decoder.attention, np.ones((1, 1, 1))
    attend, found = attention.attend, {}
    for name in variants(one, one, rng):

        def altered(query: Any, keys: Any, memory: Any, padding: Any, name: str = name) -> Any:
            attend(query, keys, memory, padding)
            a = variants(asnumpy(attention.weights), ~asnumpy(padding), rng)[name]
            return asarray(a / np.maximum(a.sum(axis=2, keepdims=True), 1e-30)) @ memory

        attention.attend = altered
        hits = np.equal(*forced(model, some))
        found[name] = [float(hits[:, part].mean()) for part in PARTS.values()]
    del attention.attend
    return found


def letters(model: Any, some: list[Pair]) -> dict[str, dict[str, float]]:
    """Weight of each letter of a month's name, and how often the month changes with it."""
    lower = [(text.lower(), day) for text, day in some]
    named = [pair for pair in lower if pair[0][0].isalpha() and "day" not in pair[0]]
    before, _ = forced(model, named)
    weights = asnumpy(model.attention_weights)[:, PARTS["month"]].mean(axis=(0, 1))
    found = {}
    for k, name in enumerate(("first", "second", "third", "fourth", "fifth")):
        after, _ = forced(model, [(text[:k] + "a" + text[k + 1 :], day) for text, day in named])
        differs = np.array([text[k] != "a" for text, _ in named])
        moved = (after != before)[differs][:, PARTS["month"]].any(axis=1)
        found[f"{name} letter"] = {
            "weight": 100 * float(weights[k]),
            "another month if it is replaced": 100 * float(moved.mean()),
        }
    return found


if __name__ == "__main__":
    main(config_from_arguments(Config, __doc__))
