"""How much does one vector hold? Copying rows of digits, with more training and with attention.

An encoder reads 1 to 16 random digits from their end, a decoder writes them in order. Models differ
in the size H of their state, in the number of updates, and in whether the decoder may look at all
states of the encoder. Counted are the digits that are right, once with the right digits as inputs
(teacher forcing) and once where the model reads what it has written itself.

    python chapters/ch08_sequence_to_sequence/copying.py

Data: made up.
Time: about four minutes on one core.
Expect: of 16 digits, written freely, with three seeds 17 to 18 % right with H = 16 after 1,000
updates, 59 to 66 % with H = 64, and 60 to 83 % with H = 16 and attention; after 5,000 updates 98 to
99 % with H = 64. The figures are kept in docs/results/lessons/copying.json.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deepnlp.backend import asnumpy
from deepnlp.files.tables import table
from deepnlp.lessons.script import config_from_arguments
from deepnlp.models import Seq2Seq
from deepnlp.optimizers import Adam, clip_gradients
from deepnlp.plots import curves
from deepnlp.text import pad_pairs
from deepnlp.training import Linear

END, V = 10, 11  # the mark after the ten digits, and how many ids there are


@dataclass
class Config:
    """Models as H, updates and attention, and the training."""

    models: str = "16 1000 none; 64 1000 none; 64 5000 none; 16 1000 dot"
    digits: int = 16
    D: int = 16
    batch: int = 64
    lr: float = 0.01
    seeds: str = "0,1,2"
    out: str = "runs/ch08"


QUICK = Config(models="8 5 none; 8 5 dot", digits=4, batch=8, seeds="0")


def main(config: Config) -> dict[str, list[dict[str, list[float]]]]:
    """Train all, report, draw; returns percentages by number of digits, for each seed and model."""
    seeds, found, rows = [int(seed) for seed in config.seeds.split(",")], {}, []
    for text in config.models.split("; "):
        H, updates, attention = text.split()
        found[text] = [copy(int(H), int(updates), attention, seed, config) for seed in seeds]
        ends = [(run["forced"][-1], run["free"][-1]) for run in found[text]]
        rows.append([H, updates, attention, *(f"{a:.0f} / {b:.0f}" for a, b in ends)])
        print(f"{text}: {rows[-1][3:]}", flush=True)
    heads = [">H", ">updates", "attention", *(f">forced / free, seed {seed}" for seed in seeds)]
    print(table(heads, rows))
    folder = Path(config.out)
    folder.mkdir(parents=True, exist_ok=True)
    folder.joinpath("copying.json").write_text(json.dumps(found) + "\n")
    curves(
        {
            name: (np.arange(1, config.digits + 1), np.mean([run["free"] for run in runs], axis=0))
            for name, runs in found.items()
        },
        title="Copying digits, written freely (mean of the seeds)",
        xlabel="digits in the source",
        ylabel="digits that are right (%)",
        path=folder / "copying.png",
    )
    return found


def copy(H: int, updates: int, attention: str, seed: int, config: Config) -> dict[str, list[float]]:
    """Percentage of right digits by the number of digits, forced and free."""
    rng, most = np.random.default_rng(seed), config.digits

    def batch(lengths):
        rows = [rng.integers(10, size=n).tolist() for n in lengths]
        return pad_pairs([row[::-1] for row in rows], rows, END)

    model = Seq2Seq(V, V, config.D, H, attention=attention, rng=rng)
    optimizer, schedule = Adam(model.parameters(), lr=config.lr), Linear(updates, floor=0.05)
    for done in range(updates):
        optimizer.lr = config.lr * schedule.scale(done)
        model.forward(*batch(rng.integers(1, most + 1, size=config.batch)))
        model.zero_grad()
        model.backward()
        clip_gradients(model.parameters(), 5.0)
        optimizer.step()
    forced, free = [], []
    for n in range(1, most + 1):
        source, lengths, inputs, targets = batch([n] * 200)
        guessed = asnumpy(model.logits(source, lengths, inputs)).argmax(axis=2)
        written, state, ids = [], model.start(source, lengths), inputs[:, 0]
        for _ in range(n):
            scores, state = model.step(ids, state)
            ids = asnumpy(scores).argmax(axis=1)
            written.append(ids)
        forced.append(100 * np.mean(guessed[:, :n] == targets[:, :n]))
        free.append(100 * np.mean(np.stack(written, axis=1) == targets[:, :n]))
    return {"forced": np.round(forced, 2).tolist(), "free": np.round(free, 2).tolist()}


if __name__ == "__main__":
    main(config_from_arguments(Config, __doc__))
