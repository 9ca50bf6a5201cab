"""Clipping against a smaller learning rate: a ReLU RNN, every rate with every threshold.

Each cell of the table is one run of plain SGD from the same weights over the same text.

    python chapters/ch06_gradients_and_gates/clipping.py

Data: pydocs, the documentation inside this Python; vocabulary 500.
Time: 40 seconds on one core.
Expect: without clipping a rate of 0.1 holds (perplexity 118 after 400 updates) and 0.3 is lost;
clipped at 0.5 every rate holds, and a rate of 3 reaches 40.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deepnlp.demos import clipping
from deepnlp.files.tables import table
from deepnlp.lessons.script import config_from_arguments
from deepnlp.plots import curves


@dataclass(frozen=True)
class Config:
    """Size of the network and length of a run."""

    hidden_size: int = 64
    updates: int = 400
    rates: str = "0.03,0.1,0.3,1.0,3.0"
    thresholds: str = "0.1,0.5,2.0"
    seed: int = 0
    out: str = "runs/ch06/clipping"


QUICK = Config(hidden_size=8, updates=5, rates="0.1", thresholds="0.1,0.5")


def main(config: Config) -> dict[str, list[float]]:
    """Run all; returns the final perplexities by threshold, one per rate, nan for lost runs."""
    folder = Path(config.out)
    folder.mkdir(parents=True, exist_ok=True)
    rates = [float(lr) for lr in config.rates.split(",")]
    found: dict[str, list[float]] = {"no clipping": []}
    for threshold in map(float, config.thresholds.split(",")):
        found[f"clipped at {threshold:g}"] = []
        for lr in rates:
            outcome = clipping.run(
                clipping.Config(
                    seed=config.seed,
                    H=config.hidden_size,
                    updates=config.updates,
                    lr=lr,
                    max_norm=threshold,
                )
            )
            found[f"clipped at {threshold:g}"].append(at_the_end(outcome.clipped_loss, config))
            if len(found) == 2:  # the first threshold: a free run has none
                found["no clipping"].append(at_the_end(outcome.free_loss, config))
    rows = [
        [name, *("lost" if np.isnan(value) else f"{value:.1f}" for value in values)]
        for name, values in found.items()
    ]
    print(table(["perplexity at the end", *(f">rate {lr:g}" for lr in rates)], rows))
    figure = curves(
        {name: (rates, values) for name, values in found.items()},
        title="Clipping allows learning rates at which a free run is lost",
        xlabel="learning rate",
        ylabel=f"perplexity after {config.updates} updates",
        logx=True,
        logy=True,
    )
    figure.savefig(folder / "clipping.png")
    print(f"figure in {folder}")
    return found


def at_the_end(losses: np.ndarray, config: Config) -> float:
    """Perplexity over the last tenth of a run; nan if it was lost or is worse than guessing."""
    mean = float(np.mean(losses[-max(1, len(losses) // 10) :]))
    lost = len(losses) < config.updates or not mean < 2 * losses[0]
    return float("nan") if lost else float(np.exp(mean))


if __name__ == "__main__":
    main(config_from_arguments(Config, __doc__))
