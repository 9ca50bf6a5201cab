"""A search of tiny models, and what must not depend on when its processes were killed."""

import json
from pathlib import Path

import numpy as np

from deepnlp.studies.sampling import JOURNAL
from deepnlp.studies.search import Search, trial_name
from deepnlp.studies.search import build_search as search
from deepnlp.training import RunFolder
from tests.studies.tables import SENTENCES, TIMES

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
    text = "\n".join(SENTENCES[k] for k in np.random.default_rng(0).integers(0, 3, 20))
    corpus = folder / "text.txt"
    corpus.write_text(text, encoding="utf-8")
    options = {"corpus": str(corpus), **OPTIONS, **content.pop("options", {})}
    default = {"space": SPACE, "sampler": "random", "pruner": "none", "trials": 5}
    if content.get("sampler") == "grid":
        default.pop("trials")
    return search("tiny", {**default, **content, "options": options})


def states(folder: Path) -> list[str]:
    """The state of every trial in the journal of a study, read by Optuna itself."""
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    storage = JournalStorage(JournalFileBackend(str(folder / JOURNAL)))
    study = optuna.load_study(study_name="search", storage=storage)
    return [trial.state.name for trial in study.get_trials()]


def reported(folder: Path) -> list[dict[int, float]]:
    """What was reported of every trial, in order."""
    import optuna
    from optuna.storages import JournalStorage
    from optuna.storages.journal import JournalFileBackend

    storage = JournalStorage(JournalFileBackend(str(folder / JOURNAL)))
    study = optuna.load_study(study_name="search", storage=storage)
    return [trial.intermediate_values for trial in study.get_trials()]


def outcome(folder: Path, count: int) -> list[object]:
    """All logs of the trials of a study, but for times, places and memory."""
    found: list[object] = []
    for number in range(count):
        run = folder_of(folder, number)
        result = json.loads(run.result.read_text(encoding="utf-8"))
        for name in (*TIMES, "folder"):
            result.pop(name, None)
        rows = [{**row, **dict.fromkeys(TIMES[:3], 1.0)} for row in run.read_metrics()]
        found += [result, rows, run.config.read_text(encoding="utf-8")]
    return found


def folder_of(folder: Path, number: int) -> RunFolder:
    """The run folder of a trial."""
    return RunFolder(folder / trial_name(number))
