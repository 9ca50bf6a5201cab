"""Sample from the model of train_rnnlm.py at several temperatures, and measure the texts.

For each temperature: a sample to read; how surprised a Kneser-Ney trigram model is by a long one,
in bits per word, against real text; and how many of its words are different ones.

    python chapters/ch05_recurrent_networks/train_rnnlm.py
    python chapters/ch05_recurrent_networks/sampling.py

Data: pydocs, the documentation inside this Python, and the model of the run in --model.
Time: ten seconds of one core.
Expect: bits per word under the trigram grow from 3.2 at temperature 0.3 over 6.9 at 1 to 10.5 at
1.5; real text has 6.7, so that temperature 1 comes nearest to it. Different words grow from 5 %
over 30 % to 49 %. Real text has 19 %: it stays with its subject, which the model does not.
"""

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from deepnlp.datasets import load_corpus
from deepnlp.generation import generate, generate_ids
from deepnlp.lessons.script import config_from_arguments
from deepnlp.models import SimpleRNNLM
from deepnlp.models.ngrams import KneserNey
from deepnlp.training import load


@dataclass(frozen=True)
class Config:
    """Options of the experiment."""

    model: str = "runs/ch05-rnnlm"  # a run or a model; empty for an untrained one
    temperatures: str = "0.3,0.5,0.7,0.85,1.0,1.2,1.5"
    words: int = 2000  # that are measured
    shown: int = 40
    seed: int = 0


QUICK = Config(model="", temperatures="0.5,1.0", words=60, shown=10)


def main(config: Config) -> dict[float, tuple[float, float]]:
    """Sample and measure; returns bits per word and the share of different words by temperature."""
    if config.model:
        if not Path(config.model).exists():
            raise FileNotFoundError(
                f"no model in {config.model}: run chapters/ch05_recurrent_networks/train_rnnlm.py"
            )
        model = load(config.model)
        corpus = load_corpus("pydocs", vocab=model.vocab)
    else:
        corpus = load_corpus("pydocs", vocab_size=300)
        model = SimpleRNNLM(len(corpus.vocab), 16, 16)
        model.vocab = corpus.vocab
    trigram = KneserNey(3).fit(corpus.train, len(corpus.vocab))
    real = corpus.test[: config.words]
    found = {}
    for temperature in map(float, config.temperatures.split(",")):
        options = {"temperature": temperature, "seed": config.seed}
        ids = np.array(list(generate_ids(model, length=config.words, **options)))
        found[temperature] = measure(trigram, ids)
        print(f"\ntemperature {temperature:g}: {told(*found[temperature])}")
        print(generate(model, length=config.shown, **options))
    print(f"\nreal text: {told(*measure(trigram, real))}")
    return found


def measure(trigram: KneserNey, ids: np.ndarray) -> tuple[float, float]:
    """Bits per word under the trigram, and the share of words that are different ones."""
    bits = -trigram.log_probabilities(ids).mean() / math.log(2)
    return float(bits), len(np.unique(ids)) / len(ids)


def told(bits: float, different: float) -> str:
    """Both measures in words."""
    return f"{bits:.2f} bits a word under a trigram, {different:.0%} different words"


if __name__ == "__main__":
    main(config_from_arguments(Config, __doc__))
