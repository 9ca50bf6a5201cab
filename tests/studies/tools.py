"""A table and a search of tiny models, and what must not depend on when their runs were stopped."""

import contextlib
import json
from pathlib import Path

import numpy as np
import pytest

from deepnlp.training import RunFolder, Trainer
from studies.logs import PLACES, Logs
from studies.page import render
from studies.search import Search, build_search
from studies.table import Table, load_table
from studies.training import CODES, train_run

SENTENCES = ["the cat saw the dog .", "a dog saw the cat .", "the dog and a cat sleep ."]
TIMES = ("seconds", "cpu_seconds", "tokens_per_second", "peak_memory_mb")

FIGURE = """
[figure]
title = "The tied model has fewer parameters"

[[figure.panels]]
value = "perplexity.test"
published = "row.published.test"
xlabel = "test perplexity"
"""

TABLE = """
title = "Tiny rows"
text = "What one reads above the table."
notes = "What one reads below it."
seeds = [0, 1]
columns = [
  {{ heading = "model", text = "{{row.label}}", align = "left" }},
  {{ heading = "parameters", text = "{{parameters:,}}" }},
  {{ heading = "test", text = "{{perplexity.test:.2f}}" }},
  {{ heading = "published", text = "{{row.published.test:.1f}}" }},
  {{ heading = "difference", text = "{{perplexity.test - row.published.test:+.1f}}" }},
]

[options]
corpus = {corpus}
embed_size = 4
hidden_size = 4
layers = 1
epochs = 3
batch_size = 2
time_size = 5
checkpoint_every = 7
dropout = 0.1
lr = 0.05
baselines = false

[[rows]]
name = "untied"
label = "LSTM"
options = {{ tie = "none" }}
published = {{ test = 9.5 }}

[[rows]]
name = "tied"
label = "LSTM, tied"
options = {{ tie = "tied", lr = 0.02 }}
seeds = [0]

[[rows]]
name = "start"
label = "LSTM, from the vectors of another run"
options = {{ tie = "none", vectors = "tied-0" }}
needs = ["tied-0"]
seeds = [0]
"""


def write_text(folder: Path, sentences: int) -> Path:
    """A text of so many sentences in a folder."""
    chosen = np.random.default_rng(0).integers(0, 3, sentences)
    path = folder / "text.txt"
    path.write_text("\n".join(SENTENCES[k] for k in chosen), encoding="utf-8")
    return path


def tiny_table(folder: Path, changes: dict[str, str] | None = None, figure: bool = False) -> Table:
    """The table in a folder, with texts of its file replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    content = TABLE.format(corpus=json.dumps(str(write_text(folder, 30)))) + FIGURE * figure
    for before, after in (changes or {}).items():
        assert before in content
        content = content.replace(before, after)
    path = folder / "tiny.toml"
    path.write_text(content, encoding="utf-8")
    return load_table(str(path))


def without_times(table: Table, results: Path) -> tuple[str, list[dict[str, object]]]:
    """The page and the logs, with all times and memory set to 1."""
    logs, contents = Logs(table, results / table.name), []
    for job in table.jobs:
        folder = logs.of(job.name)
        result = folder.read_result()
        if result is None:
            continue
        rows = [{**row, **dict.fromkeys(TIMES[:3], 1.0)} for row in folder.read_metrics()]
        folder.write_metrics(rows)
        result.update(dict.fromkeys(TIMES, 1.0))
        result["digest"] = folder.digest(result)
        folder.write_result(result)
        contents += [result, *rows, {"config": folder.config.read_text(encoding="utf-8")}]
    return render(table, results), contents


OPTIONS = {
    "embed_size": 3,
    "hidden_size": 3,
    "layers": 1,
    "tie": "none",
    "optimizer": "adam",
    "epochs": 2,
    "batch_size": 2,
    "time_size": 5,
    "checkpoint_every": 3,
    "schedule": "exponential",
    "lr_factor": 1.0,
}
SPACE = {
    "dropout": {"choices": [0.0, 0.1, 0.2]},
    "lr": {"low": 0.001, "high": 0.1, "log": True},
}


def tiny_search(folder: Path, **content) -> Search:
    """A search over a text in a folder, which is written; by default five trials at random."""
    options = {"corpus": str(write_text(folder, 20)), **OPTIONS, **content.pop("options", {})}
    default = {"space": SPACE, "sampler": "random", "pruner": "none", "trials": 5}
    if content.get("sampler") == "grid":
        default.pop("trials")
    return build_search("tiny", {**default, **content, "options": options})


def states(folder: Path) -> list[str | None]:
    """How each trial has ended, in order; None where it has not."""
    return [
        (RunFolder(path).read_result() or {}).get("status")
        for path in sorted(folder.glob("trial-???"))
    ]


async def run_here(runner, folder, _environment):
    """The work of a worker, without a process of its own, which takes a second to begin."""
    with contextlib.chdir(runner.cwd or "."):
        return CODES[train_run(folder)]


@contextlib.contextmanager
def in_this_process():
    """Context in which runs are trained here, without learning curves, as slow as training."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("studies.running.run_worker", run_here)
        patch.setattr(Trainer, "_draw", lambda trainer, folder: None)
        yield


def outcome(folder: Path, count: int) -> list[object]:
    """All logs of the trials of a study, but for times, places and memory."""
    logs: list[object] = []
    for number in range(count):
        run = folder_of(folder, number)
        result = json.loads(run.result.read_text(encoding="utf-8"))
        for name in (
            *TIMES,
            *PLACES,
            "digest",
        ):  # a run that was killed as it drew its curve has none
            result.pop(name, None)
        rows = [{**row, **dict.fromkeys(TIMES[:3], 1.0)} for row in run.read_metrics()]
        logs += [result, rows, run.config.read_text(encoding="utf-8")]
    return logs


def write_logs(run: RunFolder, config, curve, metric="perplexity", **result) -> None:
    """The logs of a run with these validations, made by hand; ``result`` is added to its result."""
    run.path.mkdir(parents=True, exist_ok=True)
    run.write_config(config.to_toml())
    rows = [{"epoch": k, "step": 411 * k, f"valid_{metric}": v} for k, v in enumerate(curve, 1)]
    run.write_metrics(rows)
    best = (min if metric == "perplexity" else max)(curve, default=None)
    ended = {"status": "finished", "epochs": len(rows), "steps": 411 * len(rows)}
    ended["best_epoch"] = None if best is None else 1 + curve.index(best)
    run.write_result({**ended, **result, f"{metric}_batched": {"valid": best}})


def folder_of(folder: Path, number: int) -> RunFolder:
    """The run folder of a trial."""
    return RunFolder(folder / f"trial-{number:03d}")
