"""The logs of finished runs: three small files a run, which are committed."""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deepnlp.errors import DeepNLPError
from deepnlp.files.writing import replacing
from deepnlp.reproduce.table import Job, Table
from deepnlp.training import Result, RunFolder, TrainConfig

LOG_FILES = ("config.toml", "metrics.jsonl", "result.json")
ENDED = ("finished", "diverged")  # a run that diverged would do so again
PLACES = ("folder", "files")  # keys of result.json that say where the run was made


class LogState(enum.Enum):
    """What is known of a run."""

    FINISHED = "finished"
    MISSING = "not run"
    CHANGED = "run with other options"


class Logs:
    """The logs of a table, in ``FOLDER/TABLE/ROW-SEED``.

    Parameters
    ----------
    table : Table
    folder : path
        That of all results, such as ``docs/results``.
    """

    def __init__(self, table: Table, folder: Path) -> None:
        self.table, self.folder = table, folder / table.name

    def of(self, job: Job) -> RunFolder:
        """The folder of the logs of one run."""
        return RunFolder(self.folder / job.name)

    def state(self, job: Job) -> LogState:
        """Whether a run has finished, with the options that the table states today."""
        if not self.of(job).result.exists():
            return LogState.MISSING
        return LogState.CHANGED if self.changes(job) else LogState.FINISHED

    def changes(self, job: Job) -> list[str]:
        """Which options of a finished run, or of one that it needs, are not those of the table."""
        found = changed_options(self.of(job), job)
        for need in self.table.needed_by(job):
            if self.of(need).result.exists():
                found += self.changes(need)
        return found

    def result(self, job: Job) -> dict[str, Any] | None:
        """``result.json`` of a finished run; None where there is none."""
        run = self.of(job)
        return checked_result(run) if run.result.exists() else None

    def check(self) -> None:
        """An error unless all runs were made with the options of the table, on the same data."""
        data: dict[str, tuple[str, Any]] = {}
        for job in self.table.jobs():
            result = self.result(job)
            if result is None:
                continue
            changes = self.changes(job)
            if changes:
                raise DeepNLPError(changed_message(self.of(job).path, changes))
            corpus = result["corpus"]
            key = json.dumps([job.config.task, corpus["name"], corpus.get("vocabulary")])
            first, fingerprint = data.setdefault(key, (job.name, corpus["fingerprint"]))
            if fingerprint != corpus["fingerprint"]:
                raise DeepNLPError(
                    f"{job.name} and {first} were run on different texts of the name "
                    f"{corpus['name']}: remove {self.of(job).path} and run it again"
                )

    def take(self, job: Job, run: RunFolder) -> None:
        """Copy the logs of a finished run."""
        whole_result(run)
        changes = changed_options(run, job)
        if changes:
            raise DeepNLPError(changed_message(run.path, changes))
        copy_logs(run, self.of(job))

    def remove(self, job: Job) -> None:
        """Forget a run, ``result.json`` first."""
        for name in reversed(LOG_FILES):
            (self.of(job).path / name).unlink(missing_ok=True)


def changed_options(run: RunFolder, job: Job) -> list[str]:
    """The options of a run that are not those of the table, each as a text."""
    return differences(TrainConfig.load(run.config), job.config.task, job.config)


def differences(then: TrainConfig, task: str, options: Mapping[str, Any]) -> list[str]:
    """What of a run's options is not that task or these options, each as a text."""
    if then.task != task:
        return [f"task was {then.task!r}, is {task!r}"]
    return [
        f"{name} was {then[name]!r}, is {value!r}"
        for name, value in options.items()
        if then[name] != value
    ]


def changed_message(path: Path, changes: list[str]) -> str:
    """What to do about a run with other options than the table's."""
    return (
        f"{path} was run with other options than the table states ({'; '.join(changes)}): run it "
        "again with --rerun, or bring back the table's options"
    )


def checked_result(run: RunFolder) -> dict[str, Any]:
    """``result.json`` of a run, or an error unless it has all that pages say of every run."""
    Result.of(run)  # an error for a value of another kind
    result = run.read_result() or {}
    for where, table, names in (
        ("", result, ("steps", "seconds", "corpus", "versions")),
        ("corpus.", result.get("corpus", {}), ("name", "fingerprint")),
        ("versions.", result.get("versions", {}), ("backend", "python")),
    ):
        for name in names:
            if table.get(name) is None or (where and not isinstance(table[name], str)):
                raise DeepNLPError(f"{run.result} is damaged (it has no {where}{name}): remove it")
    return result


def whole_result(run: RunFolder, ended: Sequence[str] = ENDED) -> dict[str, Any]:
    """The result of a run that has ended, or an error unless its logs are whole."""
    for name in LOG_FILES:
        if not (run.path / name).is_file():
            raise FileNotFoundError(f"{run.path} holds no finished run: it has no {name}")
    Result.of(run)  # an error for a value of another kind
    result = run.read_result() or {}
    rows = run.read_metrics()
    if result.get("status") not in ended:
        raise DeepNLPError(f"{run.path} holds a run that has not finished: go on with it first")
    if (rows[-1]["epoch"] if rows else 0) != result["epochs"]:
        raise DeepNLPError(
            f"{run.path} is damaged: its metrics.jsonl does not end with epoch {result['epochs']}"
        )
    return result


def copy_logs(run: RunFolder, to: RunFolder) -> None:
    """Copy the logs of a run, ``result.json`` last and without the run's place."""
    result = run.read_result() or {}
    to.path.mkdir(parents=True, exist_ok=True)
    to.result.unlink(missing_ok=True)
    for name in LOG_FILES[:2]:
        with replacing(to.path / name) as file:
            file.write((run.path / name).read_bytes())
    to.write_result({key: value for key, value in result.items() if key not in PLACES})
