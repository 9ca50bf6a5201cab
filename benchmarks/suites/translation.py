"""``translation``: a recipe trained by deepnlp and by PyTorch, and the BLEU of both."""

from __future__ import annotations

from typing import Any

from benchmarks.harness import Entry
from benchmarks.records import Goal, Ratio, Record, find, ratio
from benchmarks.report import Table, number
from benchmarks.results import Result
from benchmarks.settings import Settings
from benchmarks.suites.lm import OURS, PYTORCH, goal_table
from benchmarks.translating import SEARCHES

RECIPE = "multi30k-de-en"
EPOCHS = 6
QUICK: dict[str, Any] = {
    "corpus": "dates", "examples": 60, "embed_size": 4, "hidden_size": 4, "batch_size": 8,
    "min_count": 1, "warmup_steps": 0, "epochs": 1,
}  # fmt: skip


def entries(settings: Settings) -> list[Entry]:
    """The contestants: one recipe, the number of its epochs changed."""
    config = QUICK if settings.quick else {"epochs": settings.epochs or EPOCHS}
    at = {"recipe": RECIPE, "epochs": config["epochs"]}
    return [
        Entry(name, work, at, {"recipe": RECIPE, "config": config})
        for name, work in ((OURS, "translation"), (PYTORCH, "torch_translation"))
    ]


def goals(result: Result) -> list[Goal]:
    """PyTorch's speed, and its BLEU within the interval of ours."""
    ours, theirs = (find(result.records, who, {}, "training") for who in (OURS, PYTORCH))
    if result.options["quick"] or not (ours and theirs):
        return []
    speed = ratio(ours, theirs, "tokens_per_s")
    found = [Goal(f"training {RECIPE}, times as fast as PyTorch", "at least", 1, speed)]
    for search in SEARCHES:
        one, other = (find(result.records, who, {}, search) for who in (OURS, PYTORCH))
        assert one is not None
        assert other is not None
        apart = abs(one.median("bleu") - other.median("bleu"))
        what = f"BLEU of {RECIPE}, {search}: points between deepnlp and PyTorch"
        wanted = round(one.median("half"), 2)
        found.append(Goal(what, "at most", wanted, Ratio(apart, apart, apart)))
    return found


def tables(result: Result) -> list[Table]:
    """Training, then BLEU."""
    found = [_training(result), _bleu(result)]
    aimed = goals(result)
    return [*found, goal_table(aimed)] if aimed else found


def _training(result: Result) -> Table:
    rows = []
    ours = find(result.records, OURS, {}, "training")
    for who in (OURS, PYTORCH):
        record = find(result.records, who, {}, "training")
        if record and ours:
            figures = [record.median(name) for name in ("updates", "perplexity", "tokens_per_s")]
            over = "-" if record is ours else str(ratio(ours, record, "tokens_per_s"))
            rows.append([who, *map(number, figures), over])
    headings = [
        "", ">updates", ">perplexity of the last epoch", ">target tokens/s",
        ">deepnlp's over PyTorch's",
    ]  # fmt: skip
    at = result.records[0].at
    return Table(f"Training {at['recipe']}, {at['epochs']} epochs", headings, rows)


def _bleu(result: Result) -> Table:
    """BLEU with its interval, under a title with the signature."""
    rows = []
    for who in (OURS, PYTORCH):
        records = [find(result.records, who, {}, search) for search in SEARCHES]
        if all(records):
            rows.append([who, *(_with_interval(one) for one in records if one)])
    signature = next(one for one in result.records if "texts" in one.rounds)
    texts = number(signature.median("texts"))
    title = f"BLEU on the {texts} test texts, with its 95 % interval ({signature.row})"
    return Table(title, ["", *(f">{search}" for search in SEARCHES)], rows)


def _with_interval(record: Record) -> str:
    """The median of BLEU, and half of its interval."""
    told = f"{record.median('bleu'):.2f} ± {record.median('half'):.2f}"
    rounds = record.rounds["bleu"]
    return told if len(rounds) == 1 else f"{told} ({min(rounds):.2f} to {max(rounds):.2f})"
