"""Recurrent layers that are scans, beside an LSTM: what is left of a gradient, memory, and time.

Four measurements. What is left of the gradient with respect to the state after 50, 500 and 5,000
steps of a fresh layer, on random inputs. How many of K letters a model of two layers gives back
after a row of blanks (the copying task), where a state of fixed size has to hold all of them. The
time of a forward and a backward by the length of the text. And time and size of a state while a
text is written.

    python chapters/ch06_gradients_and_gates/scans.py

Data: made up.
Time: about ten minutes on one core.
Expect: after 50 steps an LSTM has less than a millionth of its gradient left, a scan between a
millionth and a half, by the gate that it begins with; time in proportion to T for every layer but
attention; a state that grows with the text for attention alone. The figures are kept in
docs/results/lessons/scans.json.
"""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deepnlp import no_backward
from deepnlp.backend import asnumpy
from deepnlp.files.tables import table
from deepnlp.layer import map_state
from deepnlp.lessons.script import config_from_arguments
from deepnlp.models import GPT, RNNLM
from deepnlp.models.options import CELLS
from deepnlp.optimizers import Adam, clip_gradients

LETTERS, BLANK = 8, 8  # letters to be remembered, and the id between them
SCANS = ("mingru", "minlstm", "gla", "ssm", "mlstm")


@dataclass
class Config:
    """Sizes and training."""

    H: int = 64
    steps: str = "50 500 5000"
    letters: str = "5 10"
    blanks: int = 20
    updates: int = 600
    batch: int = 32
    lr: float = 0.01
    seeds: int = 3
    lengths: str = "64 256 1024"
    written: int = 2000
    out: str = "runs/ch06"


QUICK = Config(
    H=4, steps="5", letters="2", blanks=2, updates=3, batch=2, seeds=1, lengths="8", written=20
)


def main(config: Config) -> dict[str, Any]:
    """Measure all, print the tables, write the figures; returns them."""
    cells, parts = ("lstm", "gru", *SCANS), {}
    steps, letters, lengths = (
        [int(n) for n in text.split()] for text in (config.steps, config.letters, config.lengths)
    )
    parts["gradient left"] = {cell: what_is_left(cell, steps, config) for cell in cells}
    show("gradient of the state left after", steps, parts["gradient left"], ".1e")
    parts["copying"] = {}
    for cell in (*cells, "gpt"):
        means = [[copied(cell, K, seed, config) for seed in range(config.seeds)] for K in letters]
        parts["copying"][cell] = means
        print(f"copying {letters} letters, {cell}: {means}", flush=True)
    parts["training ms"] = {cell: training_time(cell, lengths, config) for cell in (*cells, "gpt")}
    show("ms of a forward and backward, T =", lengths, parts["training ms"], ".1f")
    parts["writing"] = {cell: writing(cell, config) for cell in (*cells, "gpt")}
    heads = ["first ms", "last ms", "numbers of the state"]
    show("writing a text:", heads, parts["writing"], ",.4g")
    folder = Path(config.out)
    folder.mkdir(parents=True, exist_ok=True)
    folder.joinpath("scans.json").write_text(json.dumps(parts) + "\n")
    return parts


def show(title: str, heads: list[Any], rows: dict[str, list[float]], form: str) -> None:
    """Print numbers by cell."""
    lines = [[cell, *(format(value, form) for value in values)] for cell, values in rows.items()]
    print(title)
    print(table(["cell", *(f">{head}" for head in heads)], lines), flush=True)


def what_is_left(cell: str, steps: list[int], config: Config) -> list[float]:
    """|dL/dh_0| / |dL/dh_T| for a loss of the last state, in the mean of the seeds' logarithms."""
    shares = []
    for seed in range(config.seeds):
        rng = np.random.default_rng(seed)
        layer = CELLS[cell].init(config.H, config.H, rng, "float64")
        for T in steps:
            layer.forward(rng.normal(size=(1, T, config.H)))
            dh = rng.normal(size=layer.h.shape)
            layer.backward(np.zeros((1, T, config.H)), dh)
            shares.append(np.linalg.norm(layer.dh0) / np.linalg.norm(dh))
    logs = np.log(np.maximum(shares, 1e-300)).reshape(config.seeds, len(steps))
    return np.exp(logs.mean(axis=0)).tolist()


def model_of(cell: str, config: Config, context: int = 64, rng: Any = None) -> Any:
    """A model of two layers, or two blocks."""
    if cell == "gpt":
        return GPT(LETTERS + 2, config.H, 2, heads=2, context=context, rng=rng)
    sizes = LETTERS + 2, config.H, config.H
    return RNNLM(*sizes, layers=2, cell=cell, tie="none", dropout=0.0, rng=rng)


def copied(cell: str, K: int, seed: int, config: Config) -> float:
    """Share of K letters that a trained model gives back, after blanks and a mark."""
    rng = np.random.default_rng(seed)
    length = 2 * K + config.blanks
    model = model_of(cell, config, length, rng)
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


def training_time(cell: str, lengths: list[int], config: Config) -> list[float]:
    """Milliseconds of the processor for a forward and a backward of one text, by its length."""
    times = []
    for T in lengths:
        model, ids = model_of(cell, config, T), np.arange(T)[None] % LETTERS
        best = []
        for _ in range(3):
            model.reset_state()
            start = time.process_time()
            model.forward(ids, ids)
            model.zero_grad()
            model.backward()
            best.append(1000 * (time.process_time() - start))
        times.append(min(best))
    return times


def writing(cell: str, config: Config) -> list[float]:
    """Milliseconds of a step at the beginning of a text and at its end, and numbers of a state."""
    model, n = model_of(cell, config, config.written), config.written
    state, times = model.start(1), np.zeros(n)
    for t in range(n):
        start = time.process_time()
        _, state = model.step(np.array([t % LETTERS]), state)
        times[t] = 1000 * (time.process_time() - start)
    sizes: list[int] = []
    map_state(lambda array: sizes.append(array.size), state)
    few = max(1, n // 100)
    return [float(times[1 : few + 1].mean()), float(times[-few:].mean()), float(sum(sizes))]


if __name__ == "__main__":
    main(config_from_arguments(Config, __doc__))
