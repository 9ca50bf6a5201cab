"""Recurrent layers that are scans, beside an LSTM: what is left of a gradient, and time.

Three measurements. What is left of the gradient with respect to the state after 50, 500 and 5,000
steps of a fresh layer, on random inputs. The time of a forward and a backward of a model of two
layers by the length of the text. And time and size of a state while a text is written.

    python chapters/ch06_gradients_and_gates/scans.py

Data: made up.
Time: about a minute on one core.
Expect: after 50 steps a millionth of the gradient is left in an LSTM and a ten-millionth in a
minGRU, a tenth in gated linear attention and a quarter in a state space, whose gates begin open;
a minGRU takes an eighth of the LSTM's time for 1,024 steps; the state of a GPT grows with what
it may read, all others stay as they are. The figures are in docs/results/lessons/scans.json.
"""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deepnlp.files.tables import table
from deepnlp.layer import map_state
from deepnlp.lessons.script import config_from_arguments
from deepnlp.models import GPT, RNNLM
from deepnlp.models.options import CELLS

V = 10
SCANS = ("mingru", "minlstm", "gla", "ssm", "mlstm")


@dataclass
class Config:
    """Sizes and training."""

    H: int = 64
    steps: str = "50 500 5000"
    seeds: int = 3
    lengths: str = "64 256 1024"
    written: int = 2000
    out: str = "runs/ch06"


QUICK = Config(H=4, steps="5", seeds=1, lengths="8", written=20)


def main(config: Config) -> dict[str, Any]:
    """Measure all, print the tables, write the figures; returns them."""
    cells, parts = ("lstm", "gru", *SCANS), {}
    steps, lengths = ([int(n) for n in text.split()] for text in (config.steps, config.lengths))
    parts["gradient left"] = {cell: what_is_left(cell, steps, config) for cell in cells}
    show("gradient of the state left after", steps, parts["gradient left"], ".1e")
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
        return GPT(V, config.H, 2, heads=2, context=context, rng=rng)
    sizes = V, config.H, config.H
    return RNNLM(*sizes, layers=2, cell=cell, tie="none", dropout=0.0, rng=rng)


def training_time(cell: str, lengths: list[int], config: Config) -> list[float]:
    """Milliseconds of the processor for a forward and a backward of one text, by its length."""
    times = []
    for T in lengths:
        model, ids = model_of(cell, config, T), np.arange(T)[None] % V
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
        _, state = model.step(np.array([t % V]), state)
        times[t] = 1000 * (time.process_time() - start)
    sizes: list[int] = []
    map_state(lambda array: sizes.append(array.size), state)
    few = max(1, n // 100)
    return [float(times[1 : few + 1].mean()), float(times[-few:].mean()), float(sum(sizes))]


if __name__ == "__main__":
    main(config_from_arguments(Config, __doc__))
