"""Seven ways to follow a gradient, on the spiral.

Each optimizer trains the same network from the same first weights on the same minibatches, for
each learning rate of a list. The best rate of each is kept (the lowest loss at the end, as a mean
over some seeds) and the curves are drawn together.

    python chapters/ch01_layers_by_hand/optimizers.py

Data: 3 x 100 points on the arms of a spiral, made up on the spot.
Time: about a minute on one core.
Expect: after 100 epochs, each at its best rate, Adam and AdaGrad at 0.03 nats, RMSprop and
Nesterov at 0.04, AdamW (with its default weight decay) at 0.06, Momentum at 0.10, SGD at 0.12. The
best rates lie from 0.1 (Adam) to 3 (AdaGrad): a comparison at one rate would say nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deepnlp import Sequential
from deepnlp.backend import asarray
from deepnlp.datasets import spiral
from deepnlp.files.tables import table
from deepnlp.layers import Affine, SoftmaxWithLoss, Tanh
from deepnlp.lessons.script import config_from_arguments
from deepnlp.optimizers import SGD, AdaGrad, Adam, AdamW, Momentum, Nesterov, RMSprop
from deepnlp.plots import curves

OPTIMIZERS: dict[str, Callable] = {
    "SGD": SGD,
    "Momentum": Momentum,
    "Nesterov": Nesterov,
    "AdaGrad": AdaGrad,
    "RMSprop": RMSprop,
    "Adam": Adam,
    "AdamW": AdamW,
}


@dataclass
class Config:
    """Sizes of the data, the model and the training."""

    hidden: int = 20
    epochs: int = 100
    batch: int = 30
    seeds: int = 3
    rates: str = "3,1,0.3,0.1,0.03,0.01,0.003"
    out: str = "runs/ch01"


QUICK = Config(hidden=3, epochs=2, seeds=1, rates="0.1,0.01")


def main(config: Config) -> dict[str, float]:
    """Train with every optimizer and rate; returns the best last loss of each optimizer."""
    rates = [float(rate) for rate in config.rates.split(",")]
    best: dict[str, tuple[float, np.ndarray]] = {}
    rows = []
    for name, optimizer in OPTIMIZERS.items():
        losses = {
            rate: np.mean(
                [train(optimizer, rate, seed, config) for seed in range(config.seeds)], axis=0
            )
            for rate in rates
        }
        rate = min(losses, key=lambda rate: losses[rate][-1])
        best[name] = (rate, losses[rate])
        rows.append([name, *(f"{losses[rate][-1]:.3f}" for rate in rates), f"{rate:g}"])
        print(
            f"{name}: best loss {losses[rate][-1]:.3f} nats with learning rate {rate:g}", flush=True
        )
    print(table(["optimizer", *(f">{rate:g}" for rate in rates), ">best rate"], rows))

    folder = Path(config.out)
    folder.mkdir(parents=True, exist_ok=True)
    epochs = np.arange(1, config.epochs + 1)
    ranked = sorted((losses[-1], name) for name, (_, losses) in best.items())
    (low, first), (high, last) = ranked[0], ranked[-1]
    curves(
        {f"{name} {rate:g}": (epochs, losses) for name, (rate, losses) in best.items()},
        title=f"Each at its best rate, after {config.epochs} epochs: from {low:.2f} nats ({first}) "
        f"to {high:.2f} ({last})",
        xlabel="epoch",
        ylabel="training loss (nats a point)",
        logy=True,
        path=folder / "optimizers.png",
    )
    print(f"figure in {folder}")
    return {name: float(losses[-1]) for name, (_, losses) in best.items()}


def train(optimizer: Callable, rate: float, seed: int, config: Config) -> np.ndarray:
    """Mean training loss of every epoch."""
    rng = np.random.default_rng(seed)
    points, classes = spiral(rng=np.random.default_rng(1984))
    x, t = asarray(points), asarray(classes)
    model = Sequential(
        Affine.init(2, config.hidden, rng), Tanh(), Affine.init(config.hidden, 3, rng)
    )
    loss, steps = SoftmaxWithLoss(), optimizer(model.parameters(), lr=rate)
    history = []
    for _ in range(config.epochs):
        losses = []
        for some in np.array_split(rng.permutation(len(x)), len(x) // config.batch):
            losses.append(float(loss.forward(model.forward(x[some]), t[some])))
            model.zero_grad()
            model.backward(loss.backward())
            steps.step()
        history.append(np.mean(losses))
    return np.array(history)


if __name__ == "__main__":
    main(config_from_arguments(Config, __doc__))
