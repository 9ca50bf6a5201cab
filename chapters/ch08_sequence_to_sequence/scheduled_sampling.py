"""Teacher forcing throughout, or less and less of it: what becomes of a text after a mistake.

Models that read sums reversed, trained with scheduled sampling that falls in a line to some share
of right inputs. Counted are whole sums, and the digits that follow a wrong one, when the model
reads what it has written.

    python chapters/ch08_sequence_to_sequence/scheduled_sampling.py

Data: 20,000 made-up sums of numbers with up to three digits; 1,000 of them for validation.
Time: about three and a half minutes on one core.
Expect: as means of three seeds 62 % of whole sums right with teacher forcing, and 69 % where half
of the inputs are the model's own in the end; digits after a mistake 39 % and 67 %. The gain in
whole sums comes from one seed (27 % to 67 %); in the others there is a loss.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deepnlp.datasets import Pairs, load_pairs
from deepnlp.files.tables import table
from deepnlp.generation import translate
from deepnlp.lessons.script import config_from_arguments
from deepnlp.models import Seq2Seq
from deepnlp.optimizers import Adam, clip_gradients
from deepnlp.plots import curves
from deepnlp.tasks import SequenceToSequence


@dataclass
class Config:
    """Data, model, training, the shares of right inputs in the end, and seeds."""

    examples: int = 20_000
    D: int = 16
    H: int = 64
    epochs: int = 12
    batch: int = 128
    lr: float = 0.005
    shares: str = "1,0.75,0.5"
    seeds: str = "0,1,2"
    out: str = "runs/ch08"


QUICK = Config(examples=500, D=4, H=8, epochs=2, shares="1,0.5", seeds="0")


def main(config: Config) -> dict[float, np.ndarray]:
    """Train, report, draw; returns percentages (seeds, 2) of sums and of later digits, by share."""
    pairs = load_pairs("addition", examples=config.examples)
    seeds = [int(seed) for seed in config.seeds.split(",")]
    found, rows = {}, []
    for share in map(float, config.shares.split(",")):
        found[share] = np.array([measure(pairs, config, share, seed) for seed in seeds])
        each = ", ".join(f"{whole:.0f}" for whole, _ in found[share])
        means = (f"{value:.1f}" for value in found[share].mean(axis=0))
        rows.append([f"{share:.2f}", *means, each])
        print(f"share {share}: whole sums {each} %", flush=True)
    heads = [">right inputs in the end", ">whole sums, %", ">digits after a mistake, %"]
    print(table([*heads, "whole sums by seed"], rows))

    folder = Path(config.out)
    folder.mkdir(parents=True, exist_ok=True)
    own = [100 * (1 - share) for share in found]
    means = np.array([values.mean(axis=0) for values in found.values()])  # (shares, 2)
    curves(
        {"whole sums": (own, means[:, 0]), "after a mistake": (own, means[:, 1])},
        title=f"After a mistake {means[0, 1]:.0f} % of the digits are right with {own[0]:.0f} % "
        f"own inputs,\n{means[-1, 1]:.0f} % with {own[-1]:.0f} % (mean of {len(seeds)} runs)",
        xlabel="inputs that are the model's own in the end (%)",
        ylabel="right (%)",
        path=folder / "scheduled_sampling.png",
    )
    print(f"figure in {folder}")
    return found


def measure(pairs: Pairs, config: Config, share: float, seed: int) -> tuple[float, float]:
    """Percentages of right sums, and of right digits after a wrong one, on validation sums."""
    task = SequenceToSequence(
        pairs,
        batch_size=config.batch,
        pool=1,
        teacher_forcing=share,
        teacher_forcing_epochs=config.epochs,
        order_seed=seed,
    )
    sizes = len(pairs.source_vocab), len(pairs.target_vocab), config.D, config.H
    model = Seq2Seq(*sizes, reverse=True, rng=np.random.default_rng(seed))
    task.prepare(model)
    optimizer = Adam(model.parameters(), lr=config.lr)
    for epoch in range(config.epochs):
        for batch in task.batches(epoch):
            task.learn(model, batch)
            clip_gradients(model.parameters(), 5.0)
            optimizer.step()
    sources, answers = zip(*pairs.valid, strict=True)
    whole, after = [], []
    for (best, *_), answer in zip(translate(model, sources), answers, strict=True):
        whole.append(best.text == answer)
        hits = [a == b for a, b in zip(best.text.ljust(len(answer)), answer, strict=False)]
        first = hits.index(False) if False in hits else len(hits)
        after += hits[first + 1 :]
    return 100 * float(np.mean(whole)), 100 * float(np.mean(after)) if after else 0.0


if __name__ == "__main__":
    main(config_from_arguments(Config, __doc__))
