"""``vectors``: word2vec with negative sampling, in words per second, against gensim."""

from __future__ import annotations

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

FULL = {"corpus": "ptb", "embed_size": 100, "window": 5, "negatives": 5, "epochs": 3}
QUICK = FULL | {"corpus": str(ROOT / "docs" / "design.md"), "embed_size": 4, "epochs": 1}
ONE_EACH = {"block": 1, "noise_words": 5, "batch_size": 1024}
"""A block of one centre, with negatives of its own."""


def entries(settings: Settings) -> list[Entry]:
    """The contestants."""
    options = QUICK if settings.quick else FULL
    rivals = [
        Entry(name, work, {"model": model}, options)
        for model in ("cbow", "skipgram")
        for name, work in ((OURS, "word2vec"), (GENSIM, "gensim_word2vec"))
    ]
    return [*rivals, Entry(APART, "word2vec", {"model": "skipgram"}, options | ONE_EACH)]


def goals(result: Result) -> list[Goal]:
    """gensim's words per second."""
    if result.options["quick"] or not result.options["torch"]:
        return []
    return [
        Goal(
            f"{model}, times as fast as gensim", "at least", 1.0,
            ratio(*_pair(result, model), "words_per_s"),
        )
        for model in models(result)
    ]  # fmt: skip


def tables(result: Result) -> list[Table]:
    """Words per second and Spearman's rho, the median over the rounds with its range."""
    rows = []
    for model in models(result):
        for name in (OURS, GENSIM, APART):
            record = find(result.records, name, {"model": model}, "training")
            if record is not None:
                speed = number(record.median("words_per_s"))
                rows.append([model, name, speed, *(_spread(record, s) for s in SETS)])
    headings = ["model", "", ">words/s", *(f">{name}" for name in SETS)]
    found = [Table("word2vec with negative sampling, and Spearman's rho", headings, rows)]
    aimed = goals(result)
    return [*found, goal_table(aimed)] if aimed else found


def models(result: Result) -> list[str]:
    """The models that were trained."""
    return [model for (model,) in places(result.records, "model")]


def _pair(result: Result, model: str) -> tuple[Record, Record]:
    ours, theirs = (
        find(result.records, who, {"model": model}, "training") for who in (OURS, GENSIM)
    )
    assert ours is not None
    assert theirs is not None
    return ours, theirs


def _spread(record: Record, name: str) -> str:
    """The median of a figure, with its range over the rounds."""
    values = record.rounds.get(name)
    if not values:
        return "-"
    return f"{record.median(name):.2f} ({min(values):.2f} to {max(values):.2f})"
