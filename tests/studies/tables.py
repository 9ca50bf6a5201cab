"""A table of tiny rows, and what must not depend on when its runs were stopped."""

import json
from pathlib import Path

import numpy as np

from deepnlp.studies.logs import Logs
from deepnlp.studies.page import render
from deepnlp.studies.table import Table, load_table

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

[[columns]]
heading = "model"
text = "{{row.label}}"
align = "left"

[[columns]]
heading = "parameters"
text = "{{parameters:,}}"

[[columns]]
heading = "test"
text = "{{perplexity.test:.2f}}"

[[columns]]
heading = "published"
text = "{{row.published.test:.1f}}"

[[columns]]
heading = "difference"
text = "{{perplexity.test - row.published.test:+.1f}}"

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


def tiny_table(folder: Path, changes: dict[str, str] | None = None, figure: bool = False) -> Table:
    """The table in a folder, with texts of its file replaced."""
    folder.mkdir(parents=True, exist_ok=True)
    text = "\n".join(SENTENCES[k] for k in np.random.default_rng(0).integers(0, 3, 30))
    corpus = folder / "text.txt"
    corpus.write_text(text, encoding="utf-8")
    content = TABLE.format(corpus=json.dumps(str(corpus))) + FIGURE * figure
    for before, after in (changes or {}).items():
        assert before in content
        content = content.replace(before, after)
    path = folder / "tiny.toml"
    path.write_text(content, encoding="utf-8")
    return load_table(str(path))


def without_times(table: Table, results: Path) -> tuple[str, list[dict[str, object]]]:
    """The page and the logs, with all times and memory set to 1."""
    logs, found = Logs(table, results / table.name), []
    for job in table.jobs:
        folder = logs.of(job.name)
        result = folder.read_result()
        if result is None:
            continue
        result.update(dict.fromkeys(TIMES, 1.0))
        folder.write_result(result)
        rows = [{**row, **dict.fromkeys(TIMES[:3], 1.0)} for row in folder.read_metrics()]
        folder.write_metrics(rows)
        found += [result, *rows, {"config": folder.config.read_text(encoding="utf-8")}]
    return render(table, results), found
