"""The position of a run, as a checkpoint holds it: arrays by name, and numbers for JSON."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from deepnlp.backend import HostArray, asnumpy

KINDS: dict[Any, tuple[type, ...]] = {  # by what the fields of a State are annotated with
    "int": (int,),
    "float": (int, float),
    "int | None": (int, type(None)),
    "float | None": (int, float, type(None)),
}


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

    epoch: int = 0
    batch: int = 0
    step: int = 0
    loss_sum: float = 0.0
    targets: int = 0
    norm_sum: float = 0.0
    best: float | None = None
    best_epoch: int | None = None
    epochs_without: int = 0

    @property
    def mean_loss(self) -> float:
        """Mean loss of the current epoch, in nats."""
        return self.loss_sum / max(1, self.targets)

    def check(self, epochs: int, batches: Callable[[int], int]) -> None:
        """A ValueError unless a run of so many epochs, of so many batches each, can be here."""
        for field in fields(self):
            value, kinds = getattr(self, field.name), KINDS[field.type]
            if type(value) not in kinds or not (value is None or 0 <= abs(value) < math.inf):
                raise ValueError(f"{field.name} should be {field.type} and finite, is {value!r}")
        for name in ("epoch", "batch", "step", "targets", "norm_sum", "epochs_without"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} should be 0 or more, is {getattr(self, name)!r}")
        if self.epoch > epochs:
            raise ValueError(f"epoch should be at most {epochs}, is {self.epoch}")
        length = batches(self.epoch) if self.epoch < epochs else 0
        if self.batch > length:
            raise ValueError(f"batch should be at most {length}, is {self.batch}")
        steps = sum(map(batches, range(self.epoch))) + self.batch
        if self.step != steps:
            raise ValueError(
                f"step should be {steps} after {self.epoch} epochs and {self.batch} batches, is "
                f"{self.step}"
            )
        if not self.batch and (self.loss_sum, self.targets, self.norm_sum) != (0, 0, 0):
            raise ValueError("sums of an epoch should be 0 at its beginning")
        validated = self.epoch > 0
        if (self.best is not None) != validated or (self.best_epoch is not None) != validated:
            raise ValueError(f"best and best_epoch should {'be' if validated else 'not be'} there")
        if self.epochs_without != self.epoch - (self.best_epoch or 0):
            raise ValueError(
                f"epochs_without should be {self.epoch} - best_epoch, is {self.epochs_without} "
                f"with best_epoch {self.best_epoch}"
            )

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
