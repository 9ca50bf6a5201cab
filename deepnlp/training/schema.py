"""What a checkpoint of a run is; it is compared, whole, before a trainer gets any of it.

:mod:`deepnlp.files.archives` has compared the digest by then, and found all numbers to be finite.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any

from deepnlp import backend
from deepnlp.backend import HostArray, asnumpy
from deepnlp.checkpoint import FLOATS, check_parameters, check_vocabularies, pack_model
from deepnlp.options import Option, check_options

TABLES = ("state", "optimizer", "schedule", "carried", "random", "setup", "options", "corpus")
PIECES = {**dict.fromkeys(TABLES, dict), "history": list}
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
        """Count an epoch; true if its validation is the best so far.

        As long as nothing is right, none of several shares of 0 is better: the latest counts.
        """
        self.epoch += 1
        best = self.best
        is_best = best is None or (valid > best if higher_is_better else valid < best)
        is_best = is_best or (higher_is_better and valid == best == 0)
        if is_best:
            self.best, self.best_epoch = valid, self.epoch
        self.epochs_without = self.epoch - (self.best_epoch or 0)
        return is_best


def split(prefix: str, values: Mapping[str, Any]) -> tuple[dict[str, HostArray], dict[str, Any]]:
    """Divide a mapping into arrays, named ``prefix/key``, and what JSON can hold.

    >>> import numpy as np
    >>> split("optimizer", {"t": 3, "0.m": np.zeros(1)})
    ({'optimizer/0.m': array([0.])}, {'t': 3})
    """
    plain = {key: v for key, v in values.items() if isinstance(v, int | float | str | None)}
    others = values.keys() - plain.keys()
    return {f"{prefix}/{key}": asnumpy(values[key]).copy() for key in others}, plain


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
    for name, kind in PIECES.items():
        expected = "a table" if kind is dict else "a list"
        _expect(name, isinstance(training[name], kind), expected, training[name])
    names = [*State.__dataclass_fields__]
    _expect("names in state", {*names} == {*training["state"]}, names, [*training["state"]])
    _expect("corpus", "fingerprint" in training["corpus"], "a table with a fingerprint", "another")


def check_contents(trainer: Any, arrays: Mapping[str, Any], meta: Mapping[str, Any]) -> State:
    """The position of the run, or an error that names the first piece that cannot be its own."""
    training, model = meta["training"], trainer.model
    state = State(**training["state"])
    _check_position(state, training["history"], trainer)
    check_vocabularies(model, meta)
    for name, value in json.loads(json.dumps(pack_model(model)[1])).items():
        kept = meta.get(name)
        if name == "config" and isinstance(kept, dict):
            kept = {**value, **kept}  # of before an option was there
        _expect(f"{name} of the model", kept == value, "the trainer's", kept)
    for name, array in arrays.items():
        first, slash, _ = name.partition("/")
        _expect("the name of an array", not slash or first in ARRAYS, "known", name)
        _expect(name, array.dtype.name in FLOATS, "floating-point numbers", array.dtype.name)
    check_parameters(model, {n: a for n, a in arrays.items() if "/" not in n})
    best_weights = join("best", arrays, {})
    if state.best_epoch is not None:
        check_parameters(model, best_weights, what="best weight")
    elif best_weights:
        raise ValueError("weights of the best epoch should be missing before the first epoch")
    best, count = Option(kind=float, optional=True), Option(kind=int, low=0, high=state.epoch)
    numbers = {"best": best, "epochs": count, "epochs_without": count}
    numbers["level"] = Option(kind=float, low=0, high=1)
    for name in trainer.schedule.state():
        value = training["schedule"][name]
        if name in numbers:  # else it is of a schedule of somebody's own
            numbers[name].check(value, f"schedule {name}")
    generator = type(backend.rng().bit_generator)()
    with suppress(KeyError, TypeError, ValueError, OverflowError):
        generator.state = training["random"]
    name = type(generator).__name__
    _expect("random", generator.state == training["random"], f"a state of {name}", "another")
    trainer.slices.check_snapshot(join("carried", arrays, training["carried"]))
    return state


def _check_position(state: State, history: Sequence[Any], trainer: Any) -> None:
    """Each epoch has a row of figures, whose steps rise to those of the run; the counters agree."""
    epochs, steps = trainer.epochs, 0
    _expect("epoch", state.epoch <= epochs, f"at most {epochs}", state.epoch)
    length = len(trainer.task.batches(state.epoch)) if state.epoch < epochs else 0
    _expect("batch", state.batch <= length, f"at most {length}", state.batch)
    for epoch, row in enumerate(history, start=1):
        what = f"row {epoch} of the figures"
        _expect(what, isinstance(row, dict), "a table", row)
        for name, value in row.items():
            is_number = value is None or isinstance(value, int | float)
            _expect(f"{name} in {what}", is_number, "a number", value)
        _expect(f"epoch in {what}", row.get("epoch") == epoch, epoch, row.get("epoch"))
        step = row.get("step")
        _expect(f"step in {what}", type(step) is int and step > steps, "larger than before", step)
        steps = step
    _expect("the number of rows of figures", len(history) == state.epoch, state.epoch, len(history))
    _expect("step", state.step == steps + state.batch, steps + state.batch, state.step)
    sums = (state.loss_sum, state.targets, state.norm_sum)
    _expect("sums of an epoch", state.batch or not any(sums), "0 at its beginning", sums)
    best = (state.best, state.best_epoch)
    there = [value is not None for value in best] == [state.epoch > 0] * 2
    _expect("best and best_epoch", there, "there" if state.epoch else "None", best)
    without = state.epoch - (state.best_epoch or 0)
    _expect("epochs_without", state.epochs_without == without, without, state.epochs_without)


def _expect(what: str, right: Any, expected: Any, found: Any) -> None:
    if not right:
        raise ValueError(f"{what} should be {expected}, got {found!r:.80}")
