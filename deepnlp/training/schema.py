"""What a checkpoint of a run must be; it is compared, whole, before a trainer gets any of it.

:mod:`deepnlp.files.archives` has compared the digest by then, and found all arrays to be finite
numbers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from deepnlp import backend
from deepnlp.checkpoint import FLOATS, check_parameters, check_vocabularies, pack_model
from deepnlp.training.schedules import Schedule
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
    fields = State.__dataclass_fields__
    _same_names("state", training["state"], fields)
    _expect("corpus", "fingerprint" in training["corpus"], "a table with a fingerprint", "another")


def state_of(trainer: Any, training: Mapping[str, Any]) -> State:
    """The position of the run, or an error if it cannot be one of this trainer's run."""
    state = State(**training["state"])
    state.check(trainer.epochs, lambda epoch: len(trainer.task.batches(epoch)))
    return state


def check_contents(
    trainer: Any,
    arrays: Mapping[str, Any],
    meta: Mapping[str, Any],
    state: State,
) -> None:
    """An error that names the first of the other pieces that cannot be one of its run."""
    training, model = meta["training"], trainer.model
    _check_history(training["history"], state)
    _check_model(model, meta)
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
    _check_updates(training["optimizer"], trainer.first_steps + state.step)
    _check_schedule(training["schedule"], trainer.schedule, state.epoch)
    _check_random(training["random"])
    if hasattr(model, "check_snapshot"):
        model.check_snapshot(join("carried", arrays, training["carried"]))
    if state.batch:
        _check_rows(trainer, join("carried", arrays, {}), state)


def _check_model(model: Any, meta: Mapping[str, Any]) -> None:
    """Class, options and vocabularies are those of the trainer's model."""
    expected = json.loads(json.dumps(pack_model(model)[1]))
    vocabularies = check_vocabularies(model, meta)
    for name, value in expected.items():
        if name in vocabularies:
            _expect(name, meta.get(name) == value, "that of the data", "another")
        else:
            _expect(f"{name} of the model", meta.get(name) == value, repr(value), meta.get(name))


def _check_history(history: Sequence[Any], state: State) -> None:
    """There is a row of figures for each epoch, whose steps rise to those of the run."""
    before = 0
    for epoch, row in enumerate(history, start=1):
        what = f"row {epoch} of the figures"
        _expect(what, isinstance(row, dict), "a table", row)
        _expect(
            f"epoch in {what}", _is_count(row.get("epoch"), epoch, epoch), epoch, row.get("epoch")
        )
        step = row.get("step")
        _expect(f"step in {what}", _is_count(step, before + 1), "larger than before", step)
        before = step
        for name, value in row.items():
            plain = value is None or isinstance(value, bool | int) or _is_number(value)
            _expect(f"{name} in {what}", plain, "a finite number", value)
    _expect("the number of rows of figures", len(history) == state.epoch, state.epoch, len(history))
    _expect("step", state.step == before + state.batch, before + state.batch, state.step)


def _check_updates(numbers: Mapping[str, Any], most: int) -> None:
    """No parameter has had more updates than the run."""
    for name, value in numbers.items():
        if name.endswith(".steps"):
            _expect(f"optimizer {name}", _is_count(value, 1, most), f"from 1 to {most}", value)


def _check_schedule(found: Mapping[str, Any], schedule: Schedule, epoch: int) -> None:
    """The schedule remembers numbers by the names it has, and counts no more epochs than were."""
    now = schedule.state()
    _same_names("schedule", found, now)
    for name, value in found.items():
        what = f"schedule {name}"
        if isinstance(now[name], bool):
            _expect(what, isinstance(value, bool), "true or false", value)
        elif isinstance(now[name], int):
            _expect(what, _is_count(value, 0, epoch), f"from 0 to {epoch}", value)
        elif name in schedule.fractions:
            _expect(what, _is_number(value) and 0 <= value <= 1, "from 0 to 1", value)
        else:
            _expect(what, value is None or _is_number(value), "a finite number", value)


def _check_random(found: Any) -> None:
    """A state that the generator in use takes, and gives back as it is."""
    generator = backend.rng().bit_generator
    twin = type(generator)()
    try:
        twin.state = found
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"random should be a state of {type(generator).__name__}") from error
    right = twin.state == found and found.get("has_uint32", 0) in (0, 1)
    _expect("random", right, f"a state of {type(generator).__name__}", "another")


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


def _is_count(value: Any, low: int = 0, high: float = math.inf) -> bool:
    return type(value) is int and low <= value <= high


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def _expect(what: str, right: bool, expected: Any, found: Any) -> None:
    if not right:
        raise ValueError(f"{what} should be {expected}, got {found!r:.80}")
