"""A corpus and a trainer so small that a whole run takes a blink."""

from __future__ import annotations

import functools
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deepnlp
from deepnlp.datasets import Corpus
from deepnlp.models import RNNLM
from deepnlp.optimizers import Adam
from deepnlp.tasks import Task
from deepnlp.text import Vocabulary
from deepnlp.training import Plateau, RunFolder, Trainer

WORDS = ["<eos>", "<unk>", *"abcdefghi"]
STEPS_AN_EPOCH = 14  # of tiny_trainer: (203 - 1) // 3 = 67 tokens a row, 5 at a time


def tiny_corpus(seed: int = 0) -> Corpus:
    """203, 31 and 38 tokens; each word has a likely follower."""
    vocab = Vocabulary(WORDS, np.arange(1, len(WORDS) + 1), "whitespace")
    return Corpus("tiny", vocab, *(ids.copy() for ids in _splits(seed)))


@functools.cache
def _splits(seed: int) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)

    def chain(n: int) -> np.ndarray[Any, Any]:
        ids = [0]
        for _ in range(n - 1):
            ids.append(int(ids[-1] * 2 + rng.choice([1, 1, 1, 1, 2])) % len(WORDS))
        return np.array(ids, dtype=np.int32)

    return [chain(203), chain(31), chain(38)]


def tiny_trainer(out: Path | bool | None = False, **options: Any) -> Trainer:
    """Two LSTM layers, tied by default, with dropout, Adam and annealing, all from seed 5."""
    deepnlp.seed(5)
    corpus = options.pop("corpus", None) or tiny_corpus()
    tie = options.pop("tie", "tied")
    model = RNNLM(len(corpus.vocab), 6, 6, layers=2, tie=tie, dropout=0.3)
    lr = options.pop("lr", 0.1)
    defaults: dict[str, Any] = {
        "epochs": 3,
        "batch_size": 3,
        "time_size": 5,
        "max_norm": 1.0,
        "schedule": Plateau(factor=0.5),
        "eval_batch_size": 4,
        "checkpoint_every": 4,
        "progress": False,
        "baselines": False,
    }
    return Trainer(model, corpus, Adam(model.parameters(), lr=lr), out=out, **defaults | options)


def quick_figure(task: Task, history: Any, baselines: Any, path: Path) -> None:
    """In place of a learning curve: the beginning of a picture."""
    path.write_bytes(b"\x89PNG\r\n\x1a\n")


class SlowTrainer(Trainer):
    """Says each step on standard output, and waits a little, so that it can be stopped there."""

    def _draw(self, folder: RunFolder) -> None:
        quick_figure(self.task, self.history, self.baselines, folder.figure)

    def train_step(self, *batch: Any) -> tuple[float, float]:
        import time

        figures = super().train_step(*batch)
        print(self.state.step, flush=True)
        time.sleep(0.02)
        return figures


FINAL = ("checkpoint.npz", "best.npz")


class Killed(BaseException):
    """As good as SIGKILL: nothing in the package catches it."""


def stop_at(trainer: Any, step: int, how: str) -> None:
    """Have the trainer stopped in the middle of the given update."""
    train_step = trainer.train_step

    def stopping(*batch: Any) -> tuple[float, float]:
        if trainer.state.step == step - 1:
            if how == "interrupt":
                signal.raise_signal(signal.SIGINT)
            elif how == "terminate":
                signal.raise_signal(signal.SIGTERM)
            else:
                raise Killed
        figures: tuple[float, float] = train_step(*batch)
        return figures

    trainer.train_step = stopping


TIMES = "seconds", "cpu_seconds", "tokens_per_second"


def end_of(folder: Path) -> dict[str, Any]:
    """What must not depend on when the run was stopped: bits, and figures but for times."""
    rows = RunFolder(folder).read_metrics()
    result = RunFolder(folder).read_result()
    assert result is not None
    for row in [*rows, result]:
        for name in (*TIMES, "peak_memory_mb", "folder", "digest"):
            row.pop(name, None)
    return {
        **{name: (folder / name).read_bytes() for name in FINAL},
        "metrics": rows,
        "result": result,
    }


def stopped_and_resumed(
    make: Callable[..., Trainer], folder: Path, step: int, how: str
) -> dict[str, Any]:
    """The end of a run that is stopped in the middle of an update, and resumed by a new trainer."""
    stopped = make(folder)
    stop_at(stopped, step, how)
    if how == "kill":
        with pytest.raises(Killed):
            stopped.fit()
    else:
        assert stopped.fit().status == "interrupted"
    deepnlp.seed(99)
    assert make(folder).fit(resume=True).status == "finished"
    return end_of(folder)


PROCESS = """
import importlib
import sys
import tests  # one BLAS thread
from pathlib import Path
from tests.training.tools import SlowTrainer
module = importlib.import_module(sys.argv[1])
module.Trainer = SlowTrainer
module.MAKERS[sys.argv[2]](Path(sys.argv[3])).fit()
"""


def killed_and_resumed(make: Callable[..., Trainer], folder: Path, step: int) -> dict[str, Any]:
    """The end of a run whose process gets SIGKILL after an update, and that is resumed here.

    ``make`` is one of the ``MAKERS`` of its module, which builds it from the name ``Trainer``.
    """
    with subprocess.Popen(
        [sys.executable, "-c", PROCESS, make.__module__, make.__name__, str(folder)],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) == step:
                process.kill()
                break
        process.stdout.read()
    assert process.returncode == -signal.SIGKILL
    make(folder).fit(resume=True)
    return end_of(folder)
