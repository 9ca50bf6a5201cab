"""Norm first or norm last: which deep stack learns, with and without a warm-up?

Stacks of Transformer blocks learn to write eight letters in the reverse order. The norm stands
before each part of a block, or after the sum; the learning rate is the full one from the first step
on, or rises to it. The share of letters that are right is measured on new texts.

    python chapters/ch10_the_transformer/norms.py

Data: letters, drawn at random.
Time: about 15 minutes on one core.
Expect: with one seed all arrangements are right in the end, at depth 2 and at 12: on this task and
at this width the norm may stand on either side, with a warm-up or without one.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deepnlp.files.tables import table
from deepnlp.lessons.script import config_from_arguments
from deepnlp.models import GPT
from deepnlp.optimizers import Adam
from deepnlp.plots import curves


@dataclass
class Config:
    """Letters, sizes and training."""

    letters: int = 8
    alphabet: int = 20
    depths: str = "2 12"
    D: int = 32
    steps: int = 400
    every: int = 40
    warmup: int = 100
    batch: int = 64
    lr: float = 0.003
    seeds: int = 3
    out: str = "runs/ch10"


QUICK = Config(letters=2, depths="1", D=8, steps=2, every=1, batch=2, seeds=1)


def main(config: Config) -> dict[tuple[int, str, str], np.ndarray]:
    """Train all, report, draw; returns the shares (seeds, measurements) by arrangement."""
    found, rows = {}, []
    folder = Path(config.out)
    folder.mkdir(parents=True, exist_ok=True)
    for depth in map(int, config.depths.split()):
        lines = {}
        for norm, name in {"pre": "norm first", "post": "norm last"}.items():
            for start, warmup in {"at once": 1, "warm-up": config.warmup}.items():
                runs = [train(depth, norm, warmup, seed, config) for seed in range(config.seeds)]
                found[depth, name, start] = np.array(runs)
                rows.append([str(depth), name, start, " ".join(f"{run[-1]:.0%}" for run in runs)])
                mean = np.mean(runs, axis=0)
                lines[f"{name}, {start}"] = (config.every * np.arange(1, len(mean) + 1), mean)
                print(" ".join(rows[-1]), flush=True)
        curves(
            lines,
            title=f"{depth} blocks: letters that are right (mean of {config.seeds} seeds)",
            xlabel="steps",
            ylabel="share of letters",
            path=folder / f"norms_{depth}.png",
        )
    print(table(["blocks", "norm", "learning rate", ">right (each seed)"], rows))
    return found


def batch(rng: np.random.Generator, N: int, config: Config) -> tuple[np.ndarray, np.ndarray]:
    """Texts with their reversal behind them: inputs and targets, where -1 does not count."""
    text = rng.integers(0, config.alphabet, (N, config.letters))
    both = np.concatenate([text, text[:, ::-1]], axis=1)
    targets = both[:, 1:].copy()
    targets[:, : config.letters - 1] = -1
    return both[:, :-1], targets


def train(depth: int, norm: str, warmup: int, seed: int, config: Config) -> list[float]:
    """The share of letters that are right in new texts, every so many steps."""
    rng = np.random.default_rng(seed)
    context = 2 * config.letters
    model = GPT(config.alphabet, config.D, depth, heads=2, context=context, norm=norm, rng=rng)
    optimizer, right = Adam(model.parameters(), lr=config.lr), []
    tested, wanted = batch(np.random.default_rng(99), 300, config)
    for step in range(1, config.steps + 1):
        optimizer.lr = config.lr * min(1, step / warmup)
        model.forward(*batch(rng, config.batch, config))
        model.zero_grad()
        model.backward()
        optimizer.step()
        if step % config.every == 0:
            best = model.logits(tested).argmax(axis=-1)
            right.append(float((best == wanted)[wanted >= 0].mean()))
    return right


if __name__ == "__main__":
    main(config_from_arguments(Config, __doc__))
