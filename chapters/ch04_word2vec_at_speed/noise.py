"""Which noise is best? Skip-gram with negatives drawn from counts to different powers.

The loss changes with the noise, so it cannot compare them. The vectors are compared with MEN, the
largest of the similarity sets, for a few seeds.

    python chapters/ch04_word2vec_at_speed/noise.py

Data: the Penn Treebank and MEN (datasets/README.md says where to get them).
Time: about 2 minutes on one core.
Expect: mean rho from .15 (power 0.25) to .19 (0.5 and 0.75), where three seeds of one power lie
.02 to .05 apart: a text of a million words does not tell which power is best.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from deepnlp.backend import asnumpy
from deepnlp.datasets import load_corpus, load_similarity
from deepnlp.files.tables import table
from deepnlp.lessons.script import config_from_arguments
from deepnlp.models import SkipGram
from deepnlp.optimizers import AdaGrad
from deepnlp.plots import curves
from deepnlp.tasks import Word2Vec
from deepnlp.training import Trainer
from deepnlp.vectors import WordPairs, WordVectors, evaluate_similarity


@dataclass
class Config:
    """Corpus, powers and length of each run; pairs of words are made up where no set is named."""

    corpus: str = "ptb"
    similarity: str = "men"
    tokens: int = 0  # of the training text; 0 for all
    powers: str = "0,0.25,0.5,0.75,1"
    D: int = 100
    epochs: int = 3
    lr: float = 0.2
    seeds: int = 3
    out: str = "runs/ch04"


QUICK = Config(corpus="pydocs", similarity="", tokens=1000, powers="0,1", D=8, epochs=1, seeds=1)


def main(config: Config) -> dict[float, list[float]]:
    """Train, report, draw; returns rho by power, for each seed."""
    corpus = load_corpus(config.corpus)
    if config.tokens:
        corpus = replace(
            corpus, **{name: ids[: config.tokens] for name, ids in corpus.splits.items()}
        )
    tokens = corpus.vocab.tokens
    made_up = WordPairs("made up", tuple((tokens[k], tokens[k + 1], k) for k in range(5, 50)))
    pairs = load_similarity(config.similarity) if config.similarity else made_up
    found: dict[float, list[float]] = {}
    for power in map(float, config.powers.split(",")):
        found[power] = []
        for seed in range(config.seeds):
            task = Word2Vec(corpus, power=power, data_seed=seed)
            model = SkipGram(len(tokens), config.D, rng=np.random.default_rng(seed))
            optimizer = AdaGrad(model.parameters(), lr=config.lr)
            Trainer(
                model, task, optimizer, epochs=config.epochs, max_norm=None, out=False,
                progress=False,
            ).fit()  # fmt: skip
            score = evaluate_similarity(WordVectors(tokens, asnumpy(model.vectors())), pairs)
            found[power].append(score.rho)
            print(f"power {power}, seed {seed}: rho {score.rho:.3f}", flush=True)
    rows = [
        [f"{power:g}", f"{np.mean(values):.3f}", f"{np.ptp(values):.3f}"]
        for power, values in found.items()
    ]
    print(
        f"\n{pairs.name}: {score.covered} of {score.total} pairs, interval of one rho "
        f"{score.interval[0]:.2f} to {score.interval[1]:.2f}"
    )
    print(table([">power", ">mean rho", ">largest minus smallest"], rows))
    folder = Path(config.out)
    folder.mkdir(parents=True, exist_ok=True)
    best = max(found, key=lambda power: np.mean(found[power]))
    spread = max(float(np.ptp(values)) for values in found.values())
    lines = {"best seed": np.max, "mean": np.mean, "worst seed": np.min}
    curves(
        {
            name: (list(found), [float(of(values)) for values in found.values()])
            for name, of in lines.items()
        },
        title=f"{pairs.name}: mean rho {np.mean(found[best]):.2f} at best, with power {best:g};\n"
        f"seeds of one power lie up to {spread:.2f} apart",
        xlabel="power of the counts in the noise",
        ylabel="Spearman's rho",
        path=folder / "noise.png",
    )
    print(f"figure in {folder}")
    return found


if __name__ == "__main__":
    main(config_from_arguments(Config, __doc__))
