"""Write a run to a checkpoint, check whether it may go on from one, and restore it bit for bit.

:func:`may_go_on` is the only check: it compares the whole checkpoint before the trainer takes any
of it. The file's digest has been compared before, and all its numbers are finite
(:mod:`deepnlp.files.archives`). :meth:`RunFolder.held` checks whether a folder may be written.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from deepnlp import backend
from deepnlp.backend import HostArray, asnumpy
from deepnlp.checkpoint import (
    FLOATS,
    as_today,
    check_parameters,
    check_vocabularies,
    pack_model,
    set_parameters,
)
from deepnlp.errors import DeepNLPError
from deepnlp.files.archives import read_npz, write_npz
from deepnlp.files.writing import finite
from deepnlp.models import Model
from deepnlp.options import (
    Option,
    arguments_of,
    check_options,
    kept_at_resume,
    options_of,
    values_of,
)
from deepnlp.training.runfolder import RunFolder

CAUSES = {"total_steps": " (its schedule ends with the last epoch, so epochs must be the same)"}
TIMES = ("tokens_per_second", "seconds", "cpu_seconds")  # in the figures of an epoch
TABLES = ("state", "optimizer", "schedule", "carried", "random", "setup", "options", "corpus")
PIECES = {**dict.fromkeys(TABLES, dict), "history": list}
ARRAYS = ("best", "optimizer", "carried")  # prefixes of the names of arrays, before a slash


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

        While the metric is still 0, every epoch counts as the best so far.
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
    """Return the mapping that :func:`split` divided; ``arrays`` may hold others too.

    >>> import numpy as np
    >>> join("optimizer", {"optimizer/0.m": np.zeros(1), "W": np.ones(1)}, {"t": 3})
    {'t': 3, '0.m': array([0.])}
    """
    start = f"{prefix}/"
    joined = {key.removeprefix(start): a for key, a in arrays.items() if key.startswith(start)}
    return {**plain, **joined}


def describe(trainer: Any) -> dict[str, Any]:
    """Return every option of a run and its parts, by name."""
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
    """Return the setup and the options of ``config.toml`` that must be the same at a resume."""
    options = options_of(type(trainer.task)) | options_of(type(trainer))
    setup = kept_at_resume(describe(trainer), options)
    del setup["corpus"]  # its fingerprint is compared instead
    fixed = trainer.config.fixed() if hasattr(trainer.config, "fixed") else {}
    return {"setup": json.loads(json.dumps(setup)), "options": fixed}


def write_checkpoint(trainer: Any, path: Path) -> None:
    """Write all that the rest of the run depends on; raise an error if a number is not finite.

    It writes only what :func:`load_checkpoint` accepts.
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
        # the figures that do not depend on the time of training
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
    """Return what there is to resume from, or None if a run was killed before its first checkpoint.

    Raises
    ------
    DeepNLPError
        If a run has lost its checkpoint.
    """
    if folder is None:
        return None
    if folder.checkpoint.exists():
        return Written(folder.checkpoint, *read_npz(folder.checkpoint), folder.read_metrics())
    status = (folder.read_result() or {}).get("status", "diverged")
    if folder.best.exists() or folder.read_metrics() or status != "diverged":
        lost = "holds a run without its checkpoint.npz, so it cannot go on"
        advice = "bring the file back, or begin again (--overwrite)"
        raise DeepNLPError(f"{folder.path} {lost}: {advice}")
    return None


def load_checkpoint(trainer: Any, written: Written) -> None:
    """Restore a run to the step at which its checkpoint was written, if it may go on."""
    state = may_go_on(trainer, written)
    arrays, training = written.arrays, written.meta["training"]
    set_parameters(trainer.model, {n: a for n, a in arrays.items() if "/" not in n})
    trainer.best = join("best", arrays, {}) or None
    trainer.schedule.load_state(training["schedule"])
    trainer.slices.restore(join("carried", arrays, training["carried"]))
    backend.rng().bit_generator.state = training["random"]
    trainer.state = state
    rows = [*written.metrics, *[{}] * len(training["history"])]  # they may have been lost
    trainer.history = [  # in the order of the file, and with its times
        {**{n: value for n, value in old.items() if n in row or n in TIMES}, **row}
        for row, old in zip(training["history"], rows)
    ]


# --- May this run go on? ------------------------------------------------------------------------


def may_go_on(trainer: Any, written: Written) -> State:
    """Return the position of the run, or raise an error that says why it may not go on.

    Afterwards the optimizer has its state, all of which it checks first; nothing else of the
    trainer has changed.
    """
    path, arrays, meta = written.path, written.arrays, written.meta
    training = meta.get("training")
    if training is None:
        raise DeepNLPError(f"{path} holds a model but no training run: choose another folder")
    with wrong_pieces_of(path):
        _check_pieces(training)
    can_start = "start_from" in (trainer.config or {})
    from_it = f" from its weights (--start-from {path.parent})" if can_start else ""
    _check_data(training["corpus"], trainer.task.facts(), from_it)
    for name, settings in settings_of(trainer).items():
        _check_same(training[name], settings)
    with wrong_pieces_of(path):
        state = _check_contents(trainer, arrays, meta)
        trainer.optimizer.load_state(join("optimizer", arrays, training["optimizer"]))
    return state


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


def _check_pieces(training: Any) -> None:
    """Raise an error unless each piece of the JSON text is there, and is a table or a list."""
    _expect("training", isinstance(training, dict), "a table", training)
    for name, kind in PIECES.items():
        expected = "a table" if kind is dict else "a list"
        _expect(name, isinstance(training[name], kind), expected, training[name])
    names = [*State.__dataclass_fields__]
    _expect("names in state", {*names} == {*training["state"]}, names, [*training["state"]])
    _expect("corpus", "fingerprint" in training["corpus"], "a table with a fingerprint", "another")


def _check_contents(trainer: Any, arrays: Mapping[str, Any], meta: Mapping[str, Any]) -> State:
    """Return the position of the run, or raise an error that names the first wrong piece."""
    meta, training, model = as_today(meta), meta["training"], trainer.model
    state = State(**training["state"])
    _check_position(state, training["history"], trainer)
    check_vocabularies(model, meta)
    for name, value in json.loads(json.dumps(pack_model(model)[1])).items():
        kept = meta.get(name)
        if name == "config" and isinstance(kept, dict):
            kept = {**value, **kept}  # older checkpoints lack newer options
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
        if name in numbers:  # other names belong to a schedule of the user's own
            numbers[name].check(value, f"schedule {name}")
    generator = type(backend.rng().bit_generator)()
    with suppress(KeyError, TypeError, ValueError, OverflowError):
        generator.state = training["random"]
    name = type(generator).__name__
    _expect("random", generator.state == training["random"], f"a state of {name}", "another")
    trainer.slices.check_snapshot(join("carried", arrays, training["carried"]))
    return state


def _check_position(state: State, history: Sequence[Any], trainer: Any) -> None:
    """Check that each epoch has a row of figures, with rising steps, and that counters agree."""
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


def _expect(what: str, right: Any, expected: Any, got: Any) -> None:
    if not right:
        raise ValueError(f"{what} should be {expected}, got {got!r:.80}")
