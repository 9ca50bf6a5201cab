"""How a run is described, written to a checkpoint, and resumed bit for bit."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from deepnlp import backend
from deepnlp.checkpoint import pack_model, read_npz, set_parameters, write_npz
from deepnlp.errors import DeepNLPError
from deepnlp.options import options_of, values_of
from deepnlp.training.runfolder import RunFolder
from deepnlp.training.state import State, join, split


def describe(trainer: Any) -> dict[str, Any]:
    """Every option of a run and its parts, by name."""
    model = trainer.model
    return {
        "task": type(trainer.task).__name__,
        "corpus": trainer.task.name,
        "model": type(model).__name__,
        **(model.config() if hasattr(model, "config") else {}),
        "optimizer": type(trainer.optimizer).__name__,
        **values_of(trainer.optimizer),
        "lr": trainer.first_lr,
        "schedule": type(trainer.schedule).__name__,
        **values_of(trainer.schedule),
        **values_of(trainer.task),
        **values_of(trainer),
    }


def setup_of(trainer: Any) -> dict[str, Any]:
    """Those options that must be the same when a run is resumed."""
    options = {**options_of(type(trainer.task)), **options_of(type(trainer))}
    free = {name for name, option in options.items() if option.resume != "same"}
    same = {name: value for name, value in describe(trainer).items() if name not in free}
    del same["corpus"]  # its fingerprint is compared instead
    table: dict[str, Any] = json.loads(json.dumps(same))
    return table


def write_checkpoint(trainer: Any, folder: RunFolder) -> None:
    """Everything the rest of the run depends on, in one file."""
    arrays, meta = pack_model(trainer.model)
    best, _ = split("best", trainer.best or {})
    optimizer, optimizer_numbers = split("optimizer", trainer.optimizer.state())
    carried, carried_numbers = split("carried", trainer.model.snapshot())
    meta["training"] = {
        "state": asdict(trainer.state),
        "optimizer": optimizer_numbers,
        "schedule": trainer.schedule.state(),
        "carried": carried_numbers,
        "random": backend.rng().bit_generator.state,
        "setup": setup_of(trainer),
        "corpus": trainer.task.facts(),
    }
    write_npz(folder.checkpoint, {**arrays, **best, **optimizer, **carried}, meta)


def load_checkpoint(trainer: Any, folder: RunFolder) -> None:
    """Restore a run to the step at which its checkpoint was written."""
    arrays, meta = read_npz(folder.checkpoint)
    if "training" not in meta:
        raise DeepNLPError(
            f"{folder.checkpoint} holds a model but no training run: choose another folder"
        )
    training = meta["training"]
    _check_data(training["corpus"], trainer.task.facts())
    _check_same(training["setup"], setup_of(trainer))
    set_parameters(trainer.model, {n: a for n, a in arrays.items() if "/" not in n})
    trainer.best = join("best", arrays, {}) or None
    trainer.optimizer.load_state(join("optimizer", arrays, training["optimizer"]))
    trainer.schedule.load_state(training["schedule"])
    trainer.model.restore(join("carried", arrays, training["carried"]))
    backend.rng().bit_generator.state = training["random"]
    trainer.state = State(**training["state"])


def _check_data(then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    if now["fingerprint"] == then["fingerprint"]:
        return
    keys = [key for key in now if key != "fingerprint"] + ["fingerprint"]
    changes = [f"{k} was {then.get(k)}, is {now[k]}" for k in keys if then.get(k) != now[k]]
    raise ValueError(
        f"the corpus is not the one the run began with ({'; '.join(changes)}): bring back the "
        "old one, or begin a new run"
    )


def _check_same(then: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    for key, value in now.items():
        if then.get(key, value) != value:
            raise ValueError(
                f"cannot resume with another {key}: the run began with {then[key]!r}, got "
                f"{value!r}; resume with the first, or begin a new run"
            )
