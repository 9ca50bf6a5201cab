"""What a checkpoint of a run must be; it is compared, whole, before a trainer gets any of it.

:mod:`deepnlp.files.archives` has compared the digest by then, and found all numbers to be finite.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from deepnlp import backend
from deepnlp.checkpoint import FLOATS, check_parameters, check_vocabularies, pack_model
from deepnlp.options import Option
from deepnlp.training.state import State, join

PIECES = {
    **dict.fromkeys(("state", "optimizer", "schedule", "carried", "random", "setup"), dict),
    **{"options": dict, "corpus": dict, "history": list},
}
ARRAYS = ("best", "optimizer", "carried")  # what the names of arrays begin with, before a slash


def check_pieces(training: Any) -> None:
    """An error unless each piece of the JSON text is there, and is a table or a list."""
    _expect("training", isinstance(training, dict), "a table", training)
    _same_names("training", training, PIECES)
    for name, kind in PIECES.items():
        expected = "a table" if kind is dict else "a list"
        _expect(name, isinstance(training[name], kind), expected, training[name])
    _same_names("state", training["state"], State.__dataclass_fields__)
    _expect("corpus", "fingerprint" in training["corpus"], "a table with a fingerprint", "another")


def check_contents(trainer: Any, arrays: Mapping[str, Any], meta: Mapping[str, Any]) -> State:
    """The position of the run, or an error that names the first piece that cannot be its own."""
    training, model = meta["training"], trainer.model
    state = State(**training["state"])
    _check_position(state, trainer)
    _check_history(training["history"], state)
    check_vocabularies(model, meta)
    for name, value in json.loads(json.dumps(pack_model(model)[1])).items():
        _expect(f"{name} of the model", meta.get(name) == value, "the trainer's", meta.get(name))
    for name, array in arrays.items():
        first, slash, _ = name.partition("/")
        _expect("the name of an array", not slash or first in ARRAYS, "known", name)
        _expect(name, array.dtype.name in FLOATS, "floating-point numbers", array.dtype.name)
    check_parameters(model, {n: a for n, a in arrays.items() if "/" not in n})
    best = join("best", arrays, {})
    if state.best_epoch is None:
        _expect("weights of the best epoch", not best, "missing before the first epoch", [*best])
    else:
        check_parameters(model, best, what="best weight")
    _check_counts(trainer, training, state)
    _check_random(training["random"])
    if hasattr(model, "check_snapshot"):
        model.check_snapshot(join("carried", arrays, training["carried"]))
    if state.batch:
        _check_rows(trainer, join("carried", arrays, {}), state)
    return state


def _check_position(state: State, trainer: Any) -> None:
    """The counters agree with each other and with the batches of each epoch."""
    epochs, batches = trainer.epochs, trainer.task.batches
    _expect("epoch", state.epoch <= epochs, f"at most {epochs}", state.epoch)
    length = len(batches(state.epoch)) if state.epoch < epochs else 0
    _expect("batch", state.batch <= length, f"at most {length}", state.batch)
    step = sum(len(batches(epoch)) for epoch in range(state.epoch)) + state.batch
    expected = f"{step} after {state.epoch} epochs and {state.batch} batches"
    _expect("step", state.step == step, expected, state.step)
    sums = (state.loss_sum, state.targets, state.norm_sum)
    _expect("sums of an epoch", state.batch or not any(sums), "0 at its beginning", sums)
    best = (state.best, state.best_epoch)
    there = [value is not None for value in best] == [state.epoch > 0] * 2
    _expect("best and best_epoch", there, "there" if state.epoch else "None", best)
    without = state.epoch - (state.best_epoch or 0)
    _expect("epochs_without", state.epochs_without == without, without, state.epochs_without)


def _check_history(history: Sequence[Any], state: State) -> None:
    """There is a row of figures for each epoch, whose steps rise to those of the run."""
    before = 0
    for epoch, row in enumerate(history, start=1):
        what = f"row {epoch} of the figures"
        _expect(what, isinstance(row, dict), "a table", row)
        for name, value in row.items():
            is_number = value is None or isinstance(value, int | float)
            _expect(f"{name} in {what}", is_number, "a number", value)
        _expect(f"epoch in {what}", row.get("epoch") == epoch, epoch, row.get("epoch"))
        step = row.get("step")
        _expect(f"step in {what}", type(step) is int and step > before, "larger than before", step)
        before = step
    _expect("the number of rows of figures", len(history) == state.epoch, state.epoch, len(history))
    _expect("step", state.step == before + state.batch, before + state.batch, state.step)


def _check_counts(trainer: Any, training: Mapping[str, Any], state: State) -> None:
    """No parameter has had more updates, and no schedule counts more epochs, than the run."""
    updates = Option(kind=int, low=1, high=trainer.first_steps + state.step)
    for name, value in training["optimizer"].items():
        if name.endswith(".steps"):
            updates.check(value, f"optimizer {name}")
    epochs = Option(kind=int, low=0, high=state.epoch)
    remembered = {
        "level": Option(kind=float, low=0, high=1),
        "best": Option(kind=float, optional=True),
        "epochs": epochs,
        "epochs_without": epochs,
    }
    _same_names("schedule", training["schedule"], trainer.schedule.state())
    for name, value in training["schedule"].items():
        if name in remembered:  # else it is of a schedule of somebody's own
            remembered[name].check(value, f"schedule {name}")


def _check_random(found: Mapping[str, Any]) -> None:
    """A state that the generator in use takes, and gives back as it is."""
    kind = type(backend.rng().bit_generator)
    twin = kind()
    with suppress(KeyError, TypeError, ValueError, OverflowError):
        twin.state = found
    right = twin.state == found and found.get("has_uint32", 0) in (0, 1)
    _expect("random", right, f"a state of {kind.__name__}", "another")


def _check_rows(trainer: Any, carried: Mapping[str, Any], state: State) -> None:
    """A state that is carried into the next batch has as many rows as the batch."""
    batches = trainer.task.batches(state.epoch)
    N = len(batches[min(state.batch, len(batches) - 1)][0])
    for path, layer in getattr(trainer.model, "_named_layers", list)():
        if getattr(layer, "stateful", False):
            for name in getattr(layer, "_states", ()):
                h = carried.get(f"{path}.{name}" if path else name)
                rows = N if h is None else len(h)
                _expect(f"carried {path}.{name}", rows == N, f"{N} rows", rows)


def _same_names(what: str, found: Mapping[str, Any], expected: Any) -> None:
    strange = sorted({*found} ^ {*expected})
    _expect(f"names in {what}", not strange, ", ".join(expected), f"{strange} missing or besides")


def _expect(what: str, right: Any, expected: Any, found: Any) -> None:
    if not right:
        raise ValueError(f"{what} should be {expected}, got {found!r:.80}")
