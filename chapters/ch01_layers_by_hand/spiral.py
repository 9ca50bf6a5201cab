"""A classifier on the spiral, at full size.

Two affine layers with an activation between them learn which arm of a spiral a point lies on.
Half of the points are for training, half for testing.

    python chapters/ch01_layers_by_hand/spiral.py

Data: 3 x 200 points on the arms of a spiral, made up on the spot.
Time: about 8 seconds on one core.
Expect: 99 % of the training points and 97 % of the test points classified right. The test loss
is lowest early, at about 0.05 nats, and then rises to 0.10 while the training loss still falls.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import deepnlp
from deepnlp import Sequential, no_backward
from deepnlp.backend import asarray, asnumpy
from deepnlp.datasets import spiral
from deepnlp.layers import Affine, SoftmaxWithLoss, Tanh
from deepnlp.lessons.script import config_from_arguments
from deepnlp.optimizers import SGD
from deepnlp.plots import curves

sys.path.append(str(Path(__file__).parents[2] / "notebooks"))  # its figures are the lesson's
from material.figures import decision_regions


@dataclass
class Config:
    """Sizes of the data, the model and the training."""

    n_per_class: int = 200
    hidden: int = 50
    epochs: int = 2000
    batch: int = 30
    lr: float = 1.0
    seed: int = 0
    out: str = "runs/ch01"


QUICK = Config(n_per_class=20, hidden=5, epochs=3, batch=10)


def main(config: Config) -> dict[str, float]:
    """Train, report, draw; returns the accuracies on training and test points."""
    deepnlp.seed(config.seed)
    rng = np.random.default_rng(config.seed)
    points, classes = spiral(n_per_class=config.n_per_class)
    order = rng.permutation(len(points))
    learn, test = order[::2], order[1::2]
    x, t = asarray(points), asarray(classes)

    model = Sequential(Affine.init(2, config.hidden), Tanh(), Affine.init(config.hidden, 3))
    loss = SoftmaxWithLoss()
    optimizer = SGD(model.parameters(), lr=config.lr)
    history: list[tuple[float, float]] = []
    for epoch in range(1, config.epochs + 1):
        shuffled = rng.permutation(learn)
        losses = []
        for start in range(0, len(shuffled), config.batch):
            some = shuffled[start : start + config.batch]
            losses.append(float(loss.forward(model.forward(x[some]), t[some])))
            model.zero_grad()
            model.backward(loss.backward())
            optimizer.step()
        with no_backward():
            history.append((np.mean(losses), float(loss.forward(model.forward(x[test]), t[test]))))
        if epoch % max(config.epochs // 10, 1) == 0:
            print(
                f"epoch {epoch:5d}   training loss {history[-1][0]:.3f}   test {history[-1][1]:.3f}"
            )

    def scores(some):
        with no_backward():
            return model.forward(some)

    right = asnumpy(scores(x)).argmax(axis=1) == classes
    shares = {"training": float(right[learn].mean()), "test": float(right[test].mean())}
    print(
        "right: " + ", ".join(f"{share:.1%} of the {name} points" for name, share in shares.items())
    )

    folder = Path(config.out)
    folder.mkdir(parents=True, exist_ok=True)
    epochs = np.arange(1, config.epochs + 1)
    training, tested = np.array(history).T
    curves(
        {"training": (epochs, training), "test": (epochs, tested)},
        title=f"Test loss ends at {tested[-1]:.2f} nats, {tested.min():.2f} at its best",
        xlabel="epoch",
        ylabel="loss (nats a point)",
        path=folder / "spiral_loss.png",
    )
    title = f"{shares['test']:.0%} of the test points are right"
    regions = decision_regions(scores, points[test], classes[test], title=title)
    regions.savefig(folder / "spiral_regions.png")
    print(f"figures in {folder}")
    return shares


if __name__ == "__main__":
    main(config_from_arguments(Config, __doc__))
