"""The logs of a run that has ended: three small files, which are copied and committed."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

from deepnlp.errors import DeepNLPError
from deepnlp.files.writing import write_whole
from deepnlp.tasks import TASKS
from deepnlp.training import Result, RunFolder, TrainConfig
from deepnlp.training.result import DIVERGED, FINISHED, OUT_OF_MEMORY, PRUNED, is_figure
from deepnlp.training.runfolder import PLACES
from studies.study import Study

LOG_FILES = ("config.toml", "metrics.jsonl", "result.json")
ENDED = (FINISHED, PRUNED, DIVERGED, OUT_OF_MEMORY)  # a repeated run would end in the same way
SLACK = 1e-4  # the difference that another processor may make to a figure of the best weights
NOT_RUN, NOT_ENDED, CHANGED = "not run", "not ended", "run with other options"


@dataclass(frozen=True)
class Run:
    """A run that has begun: its options, the figures of each epoch, and ``result.json``."""

    folder: RunFolder
    config: TrainConfig
    history: Sequence[Mapping[str, Any]]
    result: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.folder.path.name

    @property
    def status(self) -> str:
        """How it ended, or that it has not."""
        return str(self.result.get("status", NOT_ENDED))

    @cached_property
    def curve(self) -> list[float]:
        """The validation figure that decides, after each epoch."""
        metric, _ = judged_by(self.config)
        figures = [row.get(f"valid_{metric}") for row in self.history]
        curve = [float(figure) for figure in figures if isinstance(figure, int | float)]
        if len(curve) < len(figures):
            raise DeepNLPError(f"{self.folder.metrics} is damaged: an epoch has no valid_{metric}")
        return curve

    @property
    def best(self) -> float | None:
        """The best validation."""
        better: Callable[..., float | None] = max if judged_by(self.config)[1] else min
        return better(self.curve, default=None)

    @property
    def best_epoch(self) -> int | None:
        """The epoch of the best validation."""
        return None if self.best is None else 1 + self.curve.index(self.best)

    def contradictions(self) -> Iterator[str]:
        """Return the contradictions between the logs of a run that has ended."""
        result, rows = Result.from_dict(self.result), self.history
        for name, value in (cell for row in rows for cell in row.items()):
            measured = name.startswith(("train_", "valid_")) and not isinstance(value, dict)
            if measured and not is_figure(name, value):
                yield f"its metrics.jsonl says {name} {value!r}"
        if [row["epoch"] for row in rows] != [k for k, _ in enumerate(rows, 1)]:
            yield "the epochs of its metrics.jsonl are not 1, 2, 3 and so on"
        if result.epochs != len(rows):
            yield f"its metrics.jsonl does not end with epoch {result.epochs}"
        if result.status in (FINISHED, PRUNED) and not self._agrees(result):
            yield "its result.json is not of the last and the best epoch of its metrics.jsonl"
        if result.digest not in (None, self.folder.digest(self.result)):
            yield "its result.json is of other options or metrics (its digest differs)"

    def _agrees(self, result: Result) -> bool:
        """Return whether steps, best epoch and a figure of the result are those of the metrics."""
        if not self.best_epoch or self.best_epoch != result.best_epoch:
            return False
        row = self.history[self.best_epoch - 1]
        stated = [value for name, value in row.items() if name.startswith("valid_")]
        tables = [figure for figure in result.figures.values() if isinstance(figure, dict)]
        reached = [table.get("valid") for table in tables]
        numbers = [[x for x in some if isinstance(x, int | float)] for some in (stated, reached)]
        same = (math.isclose(a, b, rel_tol=SLACK) for a, b in product(*numbers))
        return any(same) and result.steps == self.history[-1].get("step")


def judged_by(config: TrainConfig) -> tuple[str, bool]:
    """The validation figure that decides, and whether more of it is better."""
    return TASKS[config.task].judged_by(config)


class Logs:
    """The run folders of a study, or what is committed of them: ``FOLDER/RUN``.

    Parameters
    ----------
    study : Study
    folder : path
        Such as ``docs/results/glove``.
    """

    def __init__(self, study: Study, folder: Path) -> None:
        self.study, self.folder = study, folder

    def of(self, name: str) -> RunFolder:
        """The folder of one run."""
        return RunFolder(self.folder / name)

    def state(self, name: str) -> str:
        """FINISHED, if with the options that the study states today; NOT_RUN; CHANGED."""
        if not self.has_ended(name):
            return NOT_RUN
        return CHANGED if self.changes(name) else FINISHED

    def has_ended(self, name: str) -> bool:
        """Return whether a run would end in the same way again."""
        return (self.of(name).read_result() or {}).get("status") in ENDED

    def changes(self, name: str) -> list[str]:
        """Which options of a run, or of one that it needs, are not those of the study."""
        if not self.of(name).config.exists():
            return []
        changes = self.study.changes(name, TrainConfig.load(self.of(name).config))
        return changes + [text for need in self.study.needs(name) for text in self.changes(need)]

    def refuse_changes(self, name: str) -> None:
        """An error if a run has other options than the study's, and what to do about it."""
        changes = self.changes(name)
        if changes:
            raise DeepNLPError(
                f"{self.of(name).path} was run with other options than the {self.study.kind} "
                f"states ({'; '.join(changes)}): {self.study.words['changed']}"
            )

    def begun(self, name: str) -> Run | None:
        """A run, whether it has ended or not; None where it has not begun."""
        folder = self.of(name)
        if not folder.config.exists():
            return None
        config = TrainConfig.load(folder.config)
        return Run(folder, config, folder.read_metrics(), folder.read_result() or {})

    def all_begun(self) -> list[Run]:
        """All runs that have begun, whether they have ended or not."""
        return [run for run in map(self.begun, self.study.run_names) if run is not None]

    def read(self, name: str) -> Run | None:
        """A run, None where it has not ended; an error unless it is whole and of the study."""
        folder = self.of(name)
        Result.of(folder)  # an error for a value of another kind
        if not self.has_ended(name):
            return None
        self.refuse_changes(name)
        run = self.begun(name)
        for said in ["it has no config.toml"] if run is None else run.contradictions():
            raise DeepNLPError(f"{folder.path} is damaged: {said}")
        return run

    def read_all(self) -> list[Run]:
        """All runs that have ended; an error if those of one task had different texts."""
        runs = [run for run in map(self.read, self.study.run_names) if run is not None]
        first: dict[str, tuple[str, Any]] = {}
        by_digest = {run.result.get("digest", run.name): run.name for run in runs}
        for run in runs:
            copy = by_digest[run.result.get("digest", run.name)]
            if copy != run.name:
                raise DeepNLPError(f"{run.folder.path} is {copy} once more: remove one of them")
            corpus = run.result.get("corpus", {})
            # the vocabulary may be what is searched, and then the fingerprint differs with it
            key = json.dumps([run.config.task, corpus.get("name"), corpus.get("vocabulary")])
            fingerprint = corpus.get("fingerprint")
            earlier, expected = first.setdefault(key, (run.name, fingerprint))
            if fingerprint != expected:
                advice = self.study.words["other_text"].format(
                    run=run.folder.path, folder=self.folder
                )
                raise DeepNLPError(
                    f"{run.name} and {earlier} were run on different texts of the name "
                    f"{corpus['name']}: {advice}"
                )
        return runs

    def take(self, source: Path) -> list[str]:
        """Copy the logs of the ended runs in another folder; gives their names.

        ``source`` holds their folders, or a folder of the study's name with them.
        """
        study, words = self.study, self.study.words
        if (source / study.name).is_dir():
            source = source / study.name
        runs = Logs(study, source).read_all()
        if not runs:
            raise FileNotFoundError(
                f"{source} holds no {words['done']} {words['run']} of {study.kind} {study.name}: "
                f"expected folders such as {study.run_names[0]}"
            )
        for run in runs:
            self.copy(run)
        return [run.name for run in runs]

    def copy(self, run: Run) -> None:
        """Copy the logs of a run, ``result.json`` last and without the run's place."""
        to = self.of(run.name)
        to.path.mkdir(parents=True, exist_ok=True)
        to.result.unlink(missing_ok=True)
        for name in LOG_FILES[:2]:
            write_whole(to.path / name, (run.folder.path / name).read_bytes())
        to.write_result({key: value for key, value in run.result.items() if key not in PLACES})
