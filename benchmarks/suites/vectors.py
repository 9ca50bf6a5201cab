"""``vectors``: word2vec with negative sampling, in words per second, against gensim."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.harness import Entry
from benchmarks.machine import ROOT
from benchmarks.records import Goal, Record, find, places, ratio
from benchmarks.report import Table, number
from benchmarks.results import Result
from benchmarks.settings import Settings
from benchmarks.similarity import SETS
from benchmarks.suites.lm import OURS, goal_table

GENSIM = "gensim"
APART = "deepnlp, negatives not shared"
FASTER = "gensim, twice its rate"
RATE = 0.05  # of gensim, which has 0.025 by default

CORPORA = ("ptb",)
QUICK_CORPUS = str(ROOT / "docs" / "design.md")
FULL: dict[str, Any] = {"embed_size": 100, "window": 5, "negatives": 5, "epochs": 5}
QUICK = FULL | {"embed_size": 4, "epochs": 1}

# Plain gradient descent, as gensim's. The loss is a mean, so that the rate for a centre is lr over
# the number of centres in a batch: 0.06 of 4,096 and 0.15 of 1,024, each with six pairs.
OPTIONS: dict[str, dict[str, Any]] = {
    "cbow": {"optimizer": "sgd", "lr": 250.0, "block": 32, "noise_words": 8, "batch_size": 128},
    "skipgram": {"optimizer": "sgd", "lr": 150.0, "block": 16, "noise_words": 8, "batch_size": 64},
}


def entries(settings: Settings) -> list[Entry]:
    """The contestants; gensim also at another rate, skip-gram also with negatives not shared."""
    found = []
    corpora = (QUICK_CORPUS,) if settings.quick else CORPORA
    for corpus in corpora:
        for model, ours in OPTIONS.items():
            at = {"corpus": corpus, "model": model}
            shared = QUICK if settings.quick else FULL
            options = shared if settings.quick else shared | ours
            found.append(Entry(OURS, "word2vec", at, options))
            found.append(Entry(GENSIM, "gensim_word2vec", at, shared))
            found.append(Entry(FASTER, "gensim_word2vec", at, shared | {"alpha": RATE}))
            if model == "skipgram":
                centres = 1024 if settings.quick else ours["block"] * ours["batch_size"]
                apart = {"block": 1, "noise_words": shared["negatives"], "batch_size": centres}
                found.append(Entry(APART, "word2vec", at, options | apart))
    return found


def goals(result: Result) -> list[Goal]:
    """gensim's words per second."""
    if result.options["quick"] or not result.options["torch"]:
        return []
    return [
        Goal(
            f"{model} on {corpus}, times as fast as gensim", "at least", 1.0,
            ratio(*_pair(result, corpus, model), "words_per_s"),
        )
        for corpus, model in _places(result)
    ]  # fmt: skip


def tables(result: Result) -> list[Table]:
    """Words per second and Spearman's rho, the median over the rounds with its range."""
    rows = []
    for corpus, model in _places(result):
        for name in (OURS, GENSIM, APART, FASTER):
            at = {"corpus": corpus, "model": model}
            record = find(result.records, name, at, "training")
            if record is not None:
                speed = number(record.median("words_per_s"))
                text = Path(corpus).name
                rows.append([text, model, name, speed, *(_spread(record, s) for s in SETS)])
    headings = ["text", "model", "", ">words/s", *(f">{name}" for name in SETS)]
    found = [Table("word2vec with negative sampling, and Spearman's rho", headings, rows)]
    aimed = goals(result)
    return [*found, goal_table(aimed)] if aimed else found


def _places(result: Result) -> list[tuple[str, str]]:
    """The corpora and models that were trained."""
    return [
        (str(corpus), str(model)) for corpus, model in places(result.records, "corpus", "model")
    ]


def _pair(result: Result, corpus: str, model: str) -> tuple[Record, Record]:
    at = {"corpus": corpus, "model": model}
    ours, theirs = (find(result.records, who, at, "training") for who in (OURS, GENSIM))
    assert ours is not None
    assert theirs is not None
    return ours, theirs


def _spread(record: Record, name: str) -> str:
    """The median of a figure, with its range over the rounds."""
    values = record.rounds.get(name)
    if not values:
        return "-"
    return f"{record.median(name):.2f} ({min(values):.2f} to {max(values):.2f})"
