"""What a state of fixed size holds: letters given back after a row of blanks, by cell.

Models of two layers read K random letters, a row of blanks and a mark, and have to write the
letters in their order: the copying task. A recurrent layer has to hold all of them in its state;
a GPT may look back.

    python chapters/ch06_gradients_and_gates/letters.py

Data: made up.
Time: about four minutes on one core.
Expect: with three seeds and 300 updates an LSTM gives back 47 to 86 % of 4 letters and 12 to 14 %
of 8, where chance is 12.5 %, a GRU 85 to 100 % and 61 to 80 %. The other models have not been timed
or counted here.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deepnlp import no_backward
from deepnlp.backend import asnumpy
from deepnlp.files.tables import table
from deepnlp.lessons.script import config_from_arguments
from deepnlp.models import GPT, RNNLM
from deepnlp.optimizers import Adam, clip_gradients

LETTERS, BLANK = 8, 8  # letters to be remembered, and the id between them


@dataclass
class Config:
    """Models, sizes and training."""

    models: str = "lstm gru mingru minlstm gla ssm mlstm gpt"
    H: int = 64
    letters: str = "4 8"
    blanks: int = 8
    updates: int = 300
    batch: int = 32
    lr: float = 0.01
    seeds: int = 3
    out: str = "runs/ch06"


QUICK = Config(models="mingru gpt", H=4, letters="2", blanks=2, updates=3, batch=2, seeds=1)


def main(config: Config) -> dict[str, list[list[float]]]:
    """Train all, print and write the shares; returns them by model, number of letters and seed."""
    letters, shares = [int(K) for K in config.letters.split()], {}
    for name in config.models.split():
        seeds = range(config.seeds)
        shares[name] = [[copied(name, K, seed, config) for seed in seeds] for K in letters]
        print(f"{name}: {shares[name]}", flush=True)
    rows = [[name, *(" ".join(f"{s:.0%}" for s in of) for of in shares[name])] for name in shares]
    print(table(["model", *(f">{K} letters" for K in letters)], rows))
    folder = Path(config.out)
    folder.mkdir(parents=True, exist_ok=True)
    folder.joinpath("letters.json").write_text(json.dumps(shares) + "\n")
    return shares


def copied(name: str, K: int, seed: int, config: Config) -> float:
    """Share of K letters that a trained model gives back, after blanks and a mark."""
    rng = np.random.default_rng(seed)
    length = 2 * K + config.blanks
    sizes: Any = LETTERS + 2, config.H
    if name == "gpt":
        model: Any = GPT(*sizes, 2, heads=2, context=length, rng=rng)
    else:
        model = RNNLM(*sizes, config.H, layers=2, cell=name, tie="none", dropout=0.0, rng=rng)
    optimizer = Adam(model.parameters(), lr=config.lr)

    def batch(n: int) -> tuple[Any, Any]:
        ids = np.full((n, length), BLANK)
        ids[:, :K] = rng.integers(LETTERS, size=(n, K))
        ids[:, K + config.blanks] = BLANK + 1  # now
        targets = np.full((n, length), -1)
        targets[:, K + config.blanks :] = ids[:, :K]
        return ids, targets

    for _ in range(config.updates):
        model.reset_state()
        model.forward(*batch(config.batch))
        model.zero_grad()
        model.backward()
        clip_gradients(model.parameters(), 1.0)
        optimizer.step()
    ids, targets = batch(200)
    model.reset_state()
    with no_backward():
        guessed = asnumpy(model.logits(ids)).argmax(axis=2)
    asked = targets >= 0
    return round(float((guessed == targets)[asked].mean()), 4)


if __name__ == "__main__":
    main(config_from_arguments(Config, __doc__))
