"""How a run is described, written to a checkpoint, and resumed bit for bit."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from deepnlp import backend
from deepnlp.checkpoint import pack_model, set_parameters
from deepnlp.errors import DeepNLPError, DivergedError
from deepnlp.files.archives import read_npz, write_npz
from deepnlp.models import Model
from deepnlp.options import arguments_of, kept_at_resume, options_of, values_of
from deepnlp.training.runfolder import RunFolder
from deepnlp.training.schema import check_contents, check_pieces, join, split
from deepnlp.training.strict_json import finite

CAUSES = {"total_steps": " (its schedule ends with the last epoch, so epochs must be the same)"}
TIMES = ("tokens_per_second", "seconds", "cpu_seconds")  # in the figures of an epoch


def fixed_options(trainer: Any) -> dict[str, Any]:
    """Those options of its ``config.toml`` that must be the same when it is resumed."""
    return trainer.config.fixed() if hasattr(trainer.config, "fixed") else {}


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


def setup_of(trainer: Any) -> dict[str, Any]:
    """Those options that must be the same when a run is resumed."""
    options = options_of(type(trainer.task)) | options_of(type(trainer))
    same = kept_at_resume(describe(trainer), options)
    del same["corpus"]  # its fingerprint is compared instead
    return dict(json.loads(json.dumps(same)))


def write_checkpoint(trainer: Any, path: Path) -> None:
    """Everything the rest of the run depends on, in one file; an error if a number is not finite.

    What a checkpoint is read with must hold for what is written.
    """
    arrays, meta = pack_model(trainer.model)
    best, _ = split("best", trainer.best or {})
    optimizer, optimizer_numbers = split("optimizer", trainer.optimizer.state())
    carried, carried_numbers = split("carried", trainer.model.snapshot())
    arrays |= {**best, **optimizer, **carried}
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise DivergedError(trainer.diverged(f"{name} has values that are not finite"))
    meta["training"] = {
        "state": asdict(trainer.state),
        "optimizer": optimizer_numbers,
        "schedule": trainer.schedule.state(),
        "carried": carried_numbers,
        "random": backend.rng().bit_generator.state,
        "setup": setup_of(trainer),
        "options": fixed_options(trainer),
        "corpus": trainer.task.facts(),
        "history": [without_times(row) for row in trainer.history],
    }
    write_npz(path, arrays, meta)


def without_times(row: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of an epoch that are the same whenever it is trained."""
    kept: dict[str, Any] = finite({name: row[name] for name in row if name not in TIMES})
    return kept


def load_checkpoint(trainer: Any, folder: RunFolder) -> None:
    """Restore a run to the step at which its checkpoint was written.

    Everything in the file is checked before the trainer gets any of it.
    """
    path = folder.checkpoint
    arrays, meta = read_npz(path)
    training = meta.get("training")
    if training is None:
        raise DeepNLPError(f"{path} holds a model but no training run: choose another folder")
    with wrong_pieces_of(path):
        check_pieces(training)
    _check_data(training["corpus"], trainer.task.facts())
    _check_same(training["setup"], setup_of(trainer))
    _check_same(training["options"], fixed_options(trainer))
    rows = folder.read_metrics()
    with wrong_pieces_of(path):
        state = check_contents(trainer, arrays, meta)
        # which checks all of it before it takes any
        trainer.optimizer.load_state(join("optimizer", arrays, training["optimizer"]))
    set_parameters(trainer.model, {n: a for n, a in arrays.items() if "/" not in n})
    trainer.best = join("best", arrays, {}) or None
    trainer.schedule.load_state(training["schedule"])
    trainer.model.restore(join("carried", arrays, training["carried"]))
    backend.rng().bit_generator.state = training["random"]
    trainer.state = state
    written = [*rows, *[{}] * state.epoch]  # metrics.jsonl may have been lost
    trainer.history = [_with_times(row, written[k]) for k, row in enumerate(training["history"])]


def _with_times(row: Mapping[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
    """A row of figures in the order of the one that was written, and with its times."""
    return {**{n: value for n, value in written.items() if n in row or n in TIMES}, **row}


@contextmanager
def wrong_pieces_of(path: Path) -> Iterator[None]:
    """Context in which an error about a piece of a checkpoint names the file, and a way out."""
    try:
        yield
    except (ValueError, TypeError, KeyError) as error:
        said = f"it has no {error}" if isinstance(error, KeyError) else error
        raise DeepNLPError(
            f"{path} cannot be resumed: {said}; take another copy, or begin a new run"
        ) from error


def _check_data(then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    if now["fingerprint"] == then["fingerprint"]:
        return
    keys = sorted(now, key="fingerprint".__eq__)  # what follows from others comes last
    changes = [f"{k} was {then.get(k)}, is {now[k]}" for k in keys if then.get(k) != now[k]]
    raise ValueError(
        f"the corpus is not the one the run began with ({'; '.join(changes)}): bring back the "
        "old one, or begin a new run"
    )


def _check_same(then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    for key in sorted(now, key=CAUSES.__contains__):  # what follows from others comes last
        value = now[key]
        if then.get(key, value) != value:
            raise ValueError(
                f"cannot resume with another {key}: the run began with {then[key]!r}, got "
                f"{value!r}{CAUSES.get(key, '')}; resume with the first, or begin a new run"
            )
