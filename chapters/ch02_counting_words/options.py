"""Which options of counting matter? Windows, weights, smoothing and shift, compared by judgements.

For every combination of options the text is counted, weighted by PPMI and decomposed, and the
vectors are measured: Spearman's rho on similarity sets, and the share of analogies answered right.

    python chapters/ch02_counting_words/options.py

Data: the Penn Treebank, the similarity sets and the Google analogies (datasets/README.md).
Time: two minutes of one core.
Expect: a wider window helps MEN most (rho .28, .36 and .40 for windows of 2, 5 and 10, all else
plain). A smoothing of 0.75, usual on large corpora, lowers MEN here, most of all in a narrow window
(from .28 to .18); in wider ones it raises the analogies a little. The shift by log 5 raises MEN in
a window of 5 to .40 and lowers the analogies everywhere. Weights by distance change little.
"""

from dataclasses import dataclass
from itertools import product
from typing import Any

from deepnlp.datasets import Corpus, load_analogies, load_corpus, load_similarity
from deepnlp.files.tables import table
from deepnlp.lessons.script import config_from_arguments
from deepnlp.vectors import WordVectors, evaluate_analogies, evaluate_similarity
from deepnlp.vectors.counting import cooccurrence, ppmi, svd_vectors


@dataclass(frozen=True)
class Config:
    """Options to combine, each a list with commas."""

    corpus: str = "ptb"
    windows: str = "2,5,10"
    weightings: str = "flat,linear"
    smoothings: str = "1,0.75"
    negatives: str = "1,5"
    powers: str = "0.5"
    size: int = 100
    tokens: int = 0  # of the training text; 0 for all
    sets: str = "men,simlex,wordsim353,rw,google"


QUICK = Config(
    corpus="pydocs", windows="2", weightings="flat,linear", smoothings="0.75", negatives="1",
    size=10, tokens=5_000, sets="",
)  # fmt: skip


def main(config: Config) -> list[list[str]]:
    """Make vectors with every combination of options and measure them; returns the table."""
    corpus = load_corpus(config.corpus)
    tests = load_tests(config.sets)
    rows = []
    options = (config.windows, config.weightings, config.smoothings, config.negatives)
    for window, weighting, smoothing, negatives in product(*(text.split(",") for text in options)):
        counts = cooccurrence(
            corpus.train[: config.tokens or None],
            len(corpus.vocab),
            int(window),
            sentence_end=corpus.vocab.eos_id,
            weighting=weighting,
        )
        weights = ppmi(counts, smoothing=float(smoothing), negatives=float(negatives))
        for power in config.powers.split(","):
            matrix = svd_vectors(weights, config.size, power=float(power))
            scores = measure(corpus, matrix, tests)
            rows.append([window, weighting, smoothing, negatives, power, *scores])
            print(", ".join(rows[-1]), flush=True)
    print(table([">window", "weights", ">alpha", ">k", ">power", *(f">{t}" for t in tests)], rows))
    return rows


def load_tests(names: str) -> dict[str, Any]:
    """The similarity sets and analogies by name."""
    load = {"google": load_analogies}
    return {name: load.get(name, load_similarity)(name) for name in names.split(",") if name}


def measure(corpus: Corpus, matrix: Any, tests: dict[str, Any]) -> list[str]:
    """Rho of every similarity set, and the share of right answers of every set of analogies."""
    vectors = WordVectors(corpus.vocab.tokens, matrix)
    return [
        f"{evaluate_analogies(vectors, test).total.accuracy:.1%}"
        if name == "google"
        else f"{evaluate_similarity(vectors, test).rho:.3f}"
        for name, test in tests.items()
    ]


if __name__ == "__main__":
    main(config_from_arguments(Config, __doc__))
