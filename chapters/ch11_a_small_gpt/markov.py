"""Learning in the context: a GPT finds how to count pairs in chains that it has never seen.

Each sequence comes from a Markov chain of its own, with rows drawn uniformly. The losses of the
best prediction from single symbols and of the best of all, from pairs, can be computed. Models of
one and of two blocks, with their distance from the better one.

    python chapters/ch11_a_small_gpt/markov.py

Data: chains, drawn at random.
Time: about three minutes on one core.
Expect: counting single symbols 1.0314 nats, counting pairs 0.9146. With two blocks 0.9234, 0.9246
and 0.9209 (three seeds), about 1 % above the better one; with one block 1.015 to 1.018.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deepnlp import no_backward
from deepnlp.files.tables import table
from deepnlp.lessons.script import config_from_arguments
from deepnlp.models import GPT
from deepnlp.optimizers import Adam, clip_gradients
from deepnlp.plots import curves


@dataclass
class Config:
    """Chains, sizes and training."""

    symbols: int = 3
    length: int = 64
    D: int = 32
    steps: int = 600
    every: int = 20
    batch: int = 64
    lr: float = 0.006
    warmup: int = 50
    seeds: int = 3
    out: str = "runs/ch11"


QUICK = Config(length=8, D=8, steps=2, every=1, batch=2, seeds=1)


def main(config: Config) -> dict[int, np.ndarray]:
    """Train, report, draw; returns the losses (seeds, measurements) by number of blocks."""
    tested = chains(np.random.default_rng(99), 500, config)
    single, pairs = best_losses(tested, config)
    print(f"counting single symbols {single:.4f} nats, counting pairs {pairs:.4f}")
    found, rows, lines = {}, [], {}
    steps = np.arange(0, config.steps + 1, config.every)
    for blocks in (1, 2):
        runs = [train(blocks, seed, tested, config) for seed in range(config.seeds)]
        found[blocks] = np.array(runs)
        ends = [f"{run[-1]:.4f} (+{run[-1] / pairs - 1:.1%})" for run in runs]
        rows.append([str(blocks), *ends])
        print(" ".join(rows[-1]), flush=True)
        lines |= {f"{blocks} blocks, seed {seed}": (steps, run) for seed, run in enumerate(runs)}
    print(table(["blocks", *(f"seed {seed}" for seed in range(config.seeds))], rows))
    folder = Path(config.out)
    folder.mkdir(parents=True, exist_ok=True)
    curves(
        lines,
        levels={"counting single symbols": single, "counting pairs": pairs},
        title="Two blocks learn to count pairs in the context",
        xlabel="steps",
        ylabel="loss on new chains (nats)",
        path=folder / "markov.png",
    )
    return found


def chains(rng: np.random.Generator, N: int, config: Config) -> np.ndarray:
    """N sequences (N, length + 1), each of a chain of its own."""
    K, n = config.symbols, np.arange(N)
    rows = rng.dirichlet(np.ones(K), (N, K)).cumsum(axis=-1)
    x, chance = rng.integers(0, K, (N, config.length + 1)), rng.random((N, config.length + 1))
    for t in range(config.length):
        x[:, t + 1] = (chance[:, t, None] > rows[n, x[:, t], : K - 1]).sum(axis=1)
    return x


def best_losses(x: np.ndarray, config: Config) -> tuple[float, float]:
    """The mean losses of the best predictions from counts of symbols and of pairs."""
    K, n = config.symbols, np.arange(len(x))
    single, pairs, found = np.ones((len(x), K)), np.ones((len(x), K, K)), []
    for a, b in zip(x[:, :-1].T, x[:, 1:].T, strict=True):
        single[n, a] += 1
        found.append([single[n, b] / single.sum(axis=1), pairs[n, a, b] / pairs[n, a].sum(axis=1)])
        pairs[n, a, b] += 1
    of_single, of_pairs = -np.log(found).mean(axis=(0, 2))
    return float(of_single), float(of_pairs)


def train(blocks: int, seed: int, tested: np.ndarray, config: Config) -> list[float]:
    """The loss on new chains, every so many steps."""
    rng = np.random.default_rng(seed)
    model = GPT(config.symbols, config.D, blocks, heads=1, context=config.length, rng=rng)
    optimizer, losses = Adam(model.parameters(), betas=(0.9, 0.99)), []
    for step in range(config.steps + 1):
        if step % config.every == 0:
            with no_backward():
                losses.append(float(model.forward(tested[:, :-1], tested[:, 1:])))
        optimizer.lr = config.lr * min(1, (step + 1) / config.warmup)
        x = chains(rng, config.batch, config)
        model.forward(x[:, :-1], x[:, 1:])
        model.zero_grad()
        model.backward()
        clip_gradients(model.parameters(), 1.0)
        optimizer.step()
    return losses


if __name__ == "__main__":
    main(config_from_arguments(Config, __doc__))
