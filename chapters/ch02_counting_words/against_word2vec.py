"""Counting against word2vec: PPMI with SVD, CBOW and skip-gram on the same text, side by side.

Writes docs/results/counting-and-word2vec.json and the page of that name; --page: the page alone.

    python chapters/ch02_counting_words/against_word2vec.py

Data: the Penn Treebank, WikiText-2, the similarity sets, the analogies (datasets/README.md).
Time: about 8 minutes on one core.
Expect: on the Penn Treebank counting is ahead on MEN after ten epochs, level after thirty.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from deepnlp.backend import asnumpy
from deepnlp.datasets import load_analogies, load_corpus, load_similarity
from deepnlp.lessons.script import config_from_arguments
from deepnlp.training import build_trainer, configure
from deepnlp.vectors import WordVectors, evaluate_analogies, evaluate_similarity
from deepnlp.vectors.counting import cooccurrence, ppmi, svd_vectors

NAME = "counting-and-word2vec"
HEAD = """# Counting and word2vec on the same text

PPMI with a truncated SVD, CBOW and skip-gram by their recipes: vectors of {size} numbers, windows
of {window} words to either side. Of several seeds stand the mean, the lowest and the highest.

    python chapters/ch02_counting_words/against_word2vec.py

On the Penn Treebank counting is ahead on MEN after ten epochs, and level with skip-gram after
thirty, with every seed; on the other sets most differences lie within the intervals. On WikiText-2
counting is ahead on MEN and WordSim-353 after ten epochs; more were not tried. Which is better is
mostly a question of settings (Levy, Goldberg and Dagan 2015)."""
RECIPES = {"CBOW": "word2vec-cbow", "skip-gram": "word2vec-skipgram"}


@dataclass(frozen=True)
class Config:
    """Options of the comparison."""

    corpora: str = "ptb,wikitext-2"
    size: int = 100
    window: int = 5
    epochs: str = "10,30;10"  # of CBOW and skip-gram, for each corpus
    seeds: str = "3;1"  # how many, for each corpus
    sets: str = "men,simlex,wordsim353,rw"
    analogies: str = "google"
    words: str = "you,she,two,car,film,war,court,river,Paris,Monday"
    out: str = "docs/results"
    page: bool = False  # write the page only


QUICK = Config(__file__, 8, epochs="1", seeds="1", sets="", analogies="", words="the", out="out")


def main(config: Config) -> dict[str, Any]:
    """Make, measure and write; returns what was found."""
    folder = Path(config.out)
    folder.mkdir(parents=True, exist_ok=True)
    record = folder / f"{NAME}.json"
    if not config.page:
        each = (config.corpora.split(","), config.epochs.split(";"), config.seeds.split(";"))
        corpora = {name: compare(name, config, *how) for name, *how in zip(*each, strict=True)}
        text = json.dumps({"config": asdict(config), "corpora": corpora}, indent=1)
        record.write_text(text + "\n", encoding="utf-8")
    found: dict[str, Any] = json.loads(record.read_text(encoding="utf-8"))
    (folder / f"{NAME}.md").write_text(page(found), encoding="utf-8")
    print(f"page: {folder / NAME}.md")
    return found


def compare(name: str, config: Config, epochs: str, seeds: str) -> dict[str, Any]:
    """What each method finds on one corpus, word2vec with each seed."""
    corpus = load_corpus(name)
    end = corpus.vocab.eos_id
    C = cooccurrence(corpus.train, len(corpus.vocab), config.window, sentence_end=end)
    counted = WordVectors(corpus.vocab.tokens, svd_vectors(ppmi(C), config.size))
    methods = {"PPMI + SVD": [measured(counted, config)]}
    for method, recipe in RECIPES.items():
        for n in map(int, epochs.split(",")):
            runs = [trained(recipe, name, config, n, seed) for seed in range(int(seeds))]
            methods[f"{method}, {n} epochs"] = [measured(run, config) for run in runs]
    return {"corpus": corpus.describe(), "methods": methods}


def trained(recipe: str, corpus: str, config: Config, epochs: int, seed: int) -> WordVectors:
    """Input vectors of word2vec, by its recipe."""
    options = {"embed_size": config.size, "window": config.window, "epochs": epochs}
    options |= {"corpus": corpus, "seed": seed, "data_seed": seed}
    trainer = build_trainer(configure(recipe, options), progress=False)
    trainer.fit()
    return WordVectors(trainer.task.corpus.vocab.tokens, asnumpy(trainer.model.vectors("input")))


def measured(vectors: WordVectors, config: Config) -> dict[str, Any]:
    """Neighbours, similarity sets and analogies: right ones, those covered, and all."""
    sets = [load_similarity(name) for name in config.sets.split(",") if name]
    scores = [evaluate_similarity(vectors, pairs) for pairs in sets]
    parts = []
    if config.analogies:
        answers = evaluate_analogies(vectors, load_analogies(config.analogies))
        parts = [*answers.sections, answers.semantic, answers.syntactic, answers.total]
    known = [vectors.words[vectors.find(word)] for word in config.words.split(",")]
    return {
        "neighbours": {w: [one for one, _ in vectors.neighbours(w, k=6)] for w in known},
        "similarity": {s.name: [round(s.rho, 4), s.covered, s.total, *s.interval] for s in scores},
        "analogies": {p.section: [p.correct, p.covered, p.total] for p in parts},
    }


def page(found: dict[str, Any]) -> str:
    """The page, from what was found."""
    parts = [HEAD.format(**found["config"])]
    for name, one in found["corpora"].items():
        methods, (first,) = one["methods"], one["methods"]["PPMI + SVD"]
        similar = first["similarity"].items()
        sets = {s: f"{s} ({n:,}; ± {(b - a) / 2:.2f})" for s, (_, n, _, a, b) in similar}
        rhos = [[m, *(spread(runs, "similarity", s) for s in sets)] for m, runs in methods.items()]
        right = [
            [part, f"{n:,}", *(spread(runs, "analogies", part, n) for runs in methods.values())]
            for part, (_, n, _) in first["analogies"].items()
            if n
        ]
        parts += [
            f"## {name}\n\n{one['corpus']}\n\n### Similarity",
            "Spearman's rho; with each set its pairs, and half of the width of a 95 % interval.",
            grid(["", *sets.values()], rhos),
            "### Analogies\n\nRight answers (3CosAdd), of the questions in the vocabulary.",
            grid(["section", "questions", *methods], right),
        ]
    return "\n\n".join(parts) + "\n"


def spread(runs: list[dict[str, Any]], kind: str, name: str, of: int = 1) -> str:
    """The mean of a figure; of several runs also the lowest and the highest."""
    values = [run[kind][name][0] / of for run in runs]
    form = ".2f" if of == 1 else ".1%"
    mean, low, high = (f"{v:{form}}" for v in (sum(values) / len(values), min(values), max(values)))
    return f"{mean} ({low} to {high})" if len(values) > 1 else mean


def grid(head: list[str], rows: list[list[str]]) -> str:
    """A table in Markdown."""
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


if __name__ == "__main__":
    main(config_from_arguments(Config, __doc__))
