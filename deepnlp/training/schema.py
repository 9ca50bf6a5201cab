"""What a checkpoint of a run is; it is compared, whole, before a trainer gets any of it.

:mod:`deepnlp.files.archives` has compared the digest by then, and found all numbers to be finite.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any

from deepnlp import backend
from deepnlp.backend import HostArray, asnumpy
from deepnlp.checkpoint import FLOATS, check_parameters, check_vocabularies, pack_model
from deepnlp.options import Option, check_options

PIECES = {
    **dict.fromkeys(("state", "optimizer", "schedule", "carried", "random", "setup"), dict),
    **{"options": dict, "corpus": dict, "history": list},
}
ARRAYS = ("best", "optimizer", "carried")  # what the names of arrays begin with, before a slash


Count = Annotated[int, Option(low=0)]


@dataclass
class State:
    """The position of a run.

    Parameters
    ----------
    epoch : int
        Epochs finished, validation included.
    batch : int
        Batches of the current epoch that are done.
    step : int
        Updates made in all.
    loss_sum, targets : float, int
        Sum of the losses of the current epoch, in nats, and the number of targets in it.
    norm_sum : float
        Sum of the gradient norms of the current epoch, before clipping.
    best, best_epoch : float, int or None
        Best validation figure, and the epoch it came after.
    epochs_without : int
        Epochs since then.

    Examples
    --------
    >>> State(loss_sum=2.0, targets=4).mean_loss
    0.5
    """

    epoch: Count = 0
    batch: Count = 0
    step: Count = 0
    loss_sum: Annotated[float, Option()] = 0.0
    targets: Count = 0
    norm_sum: Annotated[float, Option(low=0)] = 0.0
    best: Annotated[float | None, Option()] = None
    best_epoch: Annotated[int | None, Option(low=1)] = None
    epochs_without: Count = 0

    def __post_init__(self) -> None:
        check_options(State, vars(self))

    @property
    def mean_loss(self) -> float:
        """Mean loss of the current epoch, in nats."""
        return self.loss_sum / max(1, self.targets)

    def begin_epoch(self) -> None:
        """Set the sums of the epoch to zero."""
        self.batch, self.loss_sum, self.targets, self.norm_sum = 0, 0.0, 0, 0.0

    def add(self, loss: float, norm: float, targets: int) -> None:
        """Count an update; the loss is the mean over the targets."""
        self.batch += 1
        self.step += 1
        self.loss_sum += loss * targets
        self.targets += targets
        self.norm_sum += norm

    def judge(self, valid: float, higher_is_better: bool = False) -> bool:
        """Count an epoch; true if its validation is the best so far."""
        self.epoch += 1
        best = self.best
        if best is None or (valid > best if higher_is_better else valid < best):
            self.best, self.best_epoch, self.epochs_without = valid, self.epoch, 0
            return True
        self.epochs_without += 1
        return False


def split(prefix: str, values: Mapping[str, Any]) -> tuple[dict[str, HostArray], dict[str, Any]]:
    """Divide a mapping into arrays, named ``prefix/key``, and what JSON can hold.

    >>> import numpy as np
    >>> split("optimizer", {"t": 3, "0.m": np.zeros(1)})
    ({'optimizer/0.m': array([0.])}, {'t': 3})
    """
    arrays, plain = {}, {}
    for key, value in values.items():
        if value is None or isinstance(value, bool | int | float | str):
            plain[key] = value
        else:
            arrays[f"{prefix}/{key}"] = asnumpy(value).copy()
    return arrays, plain


def join(prefix: str, arrays: Mapping[str, HostArray], plain: Mapping[str, Any]) -> dict[str, Any]:
    """The mapping that :func:`split` divided; ``arrays`` may hold others too.

    >>> import numpy as np
    >>> join("optimizer", {"optimizer/0.m": np.zeros(1), "W": np.ones(1)}, {"t": 3})
    {'t': 3, '0.m': array([0.])}
    """
    start = f"{prefix}/"
    own = {key.removeprefix(start): a for key, a in arrays.items() if key.startswith(start)}
    return {**plain, **own}


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
