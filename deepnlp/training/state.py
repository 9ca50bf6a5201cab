"""The position of a run, as a checkpoint holds it: arrays by name, and numbers for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

from deepnlp.backend import HostArray, asnumpy
from deepnlp.options import Option, check_options

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
