"""Exploding and vanishing gradients: the experiments of the lesson, at the size of real models.

The two experiments of the book with its numbers, the phase diagram for matrices of H units, and
the singular values and spectral radius of fresh weights U(-1/sqrt(H), 1/sqrt(H)) at several H.

    python chapters/ch06_gradients_and_gates/exploding_and_vanishing.py

Data: random matrices.
Time: 12 seconds on one core.
Expect: norms 2.468407 and 249.496 after 1 and 20 steps, scaled by 0.5 1.234203 and 2.379e-4;
growth begins at g = 0.97 without an activation, at 1.28 with tanh, while the largest singular
value passes 1 at 0.51; fresh weights have a largest singular value of 1.14 to 1.16 and a spectral
radius of 0.59 to 0.66 at every H.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from deepnlp.demos import phase, same_matrix
from deepnlp.files.tables import table
from deepnlp.gradflow import spectrum
from deepnlp.lessons.script import config_from_arguments


@dataclass(frozen=True)
class Config:
    """Sizes of the matrices."""

    hidden_size: int = 128  # of the phase diagram
    steps: int = 100
    matrices: int = 20  # at each scale
    largest: int = 1500  # of the fresh weights
    seed: int = 0
    out: str = "runs/ch06/exploding"


QUICK = Config(hidden_size=8, steps=10, matrices=3, largest=80)


def main(config: Config) -> dict[int, tuple[float, float]]:
    """Run all three; returns singular value and spectral radius of fresh weights, by H."""
    folder = Path(config.out)
    folder.mkdir(parents=True, exist_ok=True)
    for name, scale in (("exploding", 1.0), ("vanishing", 0.5)):
        outcome = same_matrix.run(same_matrix.Config(scale=scale))
        print(outcome.table(), end="\n\n")
        outcome.figure().savefig(folder / f"{name}.png")

    settings = phase.Config(H=config.hidden_size, T=config.steps, matrices=config.matrices)
    diagram = phase.run(replace(settings, seed=config.seed))
    print(diagram.table(), end="\n\n")
    diagram.figure().savefig(folder / "phase.png")

    found = {
        H: fresh_weights(H, config.seed) for H in (20, 80, 200, 650, 1500) if config.largest >= H
    }
    rows = [[f"{H:,}", f"{largest:.2f}", f"{radius:.2f}"] for H, (largest, radius) in found.items()]
    print("fresh weights, U(-1/sqrt(H), 1/sqrt(H))")
    print(table([">H", ">largest singular value", ">spectral radius"], rows))
    print(f"\nfigures in {folder}")
    return found


def fresh_weights(H: int, seed: int) -> tuple[float, float]:
    """Largest singular value and spectral radius of a fresh W_h."""
    Wh = np.random.default_rng(seed).uniform(-1, 1, (H, H)) / np.sqrt(H)
    found = spectrum(Wh)
    return found.largest, found.spectral_radius


if __name__ == "__main__":
    main(config_from_arguments(Config, __doc__))
