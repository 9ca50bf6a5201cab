"""How a run is described, written to a checkpoint, and resumed bit for bit."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from deepnlp import backend
from deepnlp.checkpoint import pack_model, set_parameters
from deepnlp.errors import DeepNLPError
from deepnlp.files.archives import read_npz, write_npz
from deepnlp.files.writing import finite
from deepnlp.models import Model
from deepnlp.options import arguments_of, kept_at_resume, options_of, values_of
from deepnlp.training.runfolder import RunFolder
from deepnlp.training.schema import check_contents, check_pieces, join, split

CAUSES = {"total_steps": " (its schedule ends with the last epoch, so epochs must be the same)"}
TIMES = ("tokens_per_second", "seconds", "cpu_seconds")  # in the figures of an epoch


def describe(trainer: Any) -> dict[str, Any]:
    """Every option of a run and its parts, by name."""
    model = trainer.model
    return {
        "task": type(trainer.task).__name__,
        "corpus": trainer.task.name,
        "model": type(model).__name__,
        **(model.config() if isinstance(model, Model) else {}),
        "optimizer": type(trainer.optimizer).__name__,
        **arguments_of(trainer.optimizer),
        "lr": trainer.first_lr,
        "schedule": type(trainer.schedule).__name__,
        **arguments_of(trainer.schedule),
        **values_of(trainer.task),
        **values_of(trainer),
    }


def settings_of(trainer: Any) -> dict[str, dict[str, Any]]:
    """What must be the same when a run is resumed: its setup, and options of ``config.toml``."""
    options = options_of(type(trainer.task)) | options_of(type(trainer))
    setup = kept_at_resume(describe(trainer), options)
    del setup["corpus"]  # its fingerprint is compared instead
    fixed = trainer.config.fixed() if hasattr(trainer.config, "fixed") else {}
    return {"setup": json.loads(json.dumps(setup)), "options": fixed}


def write_checkpoint(trainer: Any, path: Path) -> None:
    """Everything the rest of the run depends on, in one file; an error if a number is not finite.

    What a checkpoint is read with must hold for what is written.
    """
    arrays, meta = pack_model(trainer.model)
    best = split("best", trainer.best or {})[0]
    optimizer, updates = split("optimizer", trainer.optimizer.state())
    carried, counters = split("carried", trainer.slices.snapshot())
    meta["training"] = {
        "state": asdict(trainer.state),
        "optimizer": updates,
        "schedule": trainer.schedule.state(),
        "carried": counters,
        "random": backend.rng().bit_generator.state,
        "corpus": trainer.task.facts(),
        # what is the same whenever an epoch is trained
        "history": finite([{n: row[n] for n in row if n not in TIMES} for row in trainer.history]),
        **settings_of(trainer),
    }
    try:
        write_npz(path, {**arrays, **best, **optimizer, **carried}, meta)
    except ValueError as error:
        raise trainer.diverged(str(error)) from error


class Written(NamedTuple):
    """A checkpoint and the figures beside it, as they are in the folder of a run."""

    path: Path
    arrays: dict[str, Any]
    meta: dict[str, Any]
    metrics: list[dict[str, Any]]


def read_checkpoint(folder: RunFolder | None) -> Written | None:
    """What there is to resume from, None where a run was killed before its first checkpoint."""
    if folder is None or not folder.has_checkpoint():
        return None
    return Written(folder.checkpoint, *read_npz(folder.checkpoint), folder.read_metrics())


def load_checkpoint(trainer: Any, written: Written) -> None:
    """Restore a run to the step at which its checkpoint was written.

    Everything in the file is checked before the trainer gets any of it.
    """
    path, arrays, meta = written.path, written.arrays, written.meta
    training = meta.get("training")
    if training is None:
        raise DeepNLPError(f"{path} holds a model but no training run: choose another folder")
    with wrong_pieces_of(path):
        check_pieces(training)
    can_start = "start_from" in (trainer.config or {})
    from_it = f" from its weights (--start-from {path.parent})" if can_start else ""
    _check_data(training["corpus"], trainer.task.facts(), from_it)
    for name, settings in settings_of(trainer).items():
        _check_same(training[name], settings)
    rows = [*written.metrics, *[{}] * len(training["history"])]  # they may have been lost
    with wrong_pieces_of(path):
        state = check_contents(trainer, arrays, meta)
        # which checks all of it before it takes any
        trainer.optimizer.load_state(join("optimizer", arrays, training["optimizer"]))
    set_parameters(trainer.model, {n: a for n, a in arrays.items() if "/" not in n})
    trainer.best = join("best", arrays, {}) or None
    trainer.schedule.load_state(training["schedule"])
    trainer.slices.restore(join("carried", arrays, training["carried"]))
    backend.rng().bit_generator.state = training["random"]
    trainer.state = state
    trainer.history = [  # in the order, and with the times, that were written
        {**{n: value for n, value in old.items() if n in row or n in TIMES}, **row}
        for row, old in zip(training["history"], rows)
    ]


@contextmanager
def wrong_pieces_of(path: Path) -> Iterator[None]:
    """Context in which an error about a piece of a checkpoint names the file, and a way out."""
    try:
        yield
    except (ValueError, TypeError, KeyError) as error:
        said = f"it has no {error}" if isinstance(error, KeyError) else error
        advice = "take another copy, or begin a new run"
        raise DeepNLPError(f"{path} cannot be resumed: {said}; {advice}") from error


def _check_data(then: Mapping[str, Any], now: Mapping[str, Any], from_it: str) -> None:
    if now["fingerprint"] == then["fingerprint"]:
        return
    keys = sorted(now, key="fingerprint".__eq__)  # what follows from others comes last
    changes = [f"{k} was {then.get(k)}, is {now[k]}" for k in keys if then.get(k) != now[k]]
    other = re.sub("(?<=[0-9a-f]{12})[0-9a-f]{52}", "", "; ".join(changes))  # of a fingerprint
    advice = f"bring back the old one, or begin a new run{from_it}"
    raise ValueError(f"the corpus is not the one the run began with ({other}): {advice}")


def _check_same(then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    for key in sorted(now, key=CAUSES.__contains__):  # what follows from others comes last
        value = now[key]
        if then.get(key, value) != value:
            change = f"the run began with {then[key]!r}, got {value!r}{CAUSES.get(key, '')}"
            advice = "resume with the first, or begin a new run"
            raise ValueError(f"cannot resume with another {key}: {change}; {advice}")
