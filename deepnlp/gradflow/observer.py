"""Records the arrays of every recurrent layer in a backward pass, step by step."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from deepnlp.backend import Array, xp
from deepnlp.gradflow.cells import cell_gradient
from deepnlp.layer import Layer
from deepnlp.layers.recurrent import TimeRecurrent


class Observation(NamedTuple):
    """One backward pass of one layer, in the order of time.

    x (T, N, D), h_prev (T, N, H), dh (T, N, H) and, for an LSTM, c_prev and dc (T, N, H), where
    dh is dL/dh_t and dc is dL/dc_t, each over all paths.
    """

    x: Array
    h_prev: Array
    dh: Array
    c_prev: Array | None
    dc: Array | None


@dataclass
class Observer:
    """Records the arrays that the backward of one layer shows."""

    layer: TimeRecurrent
    _steps: list[tuple[Array, ...]] = field(default_factory=list)

    def __call__(self, t: int, *seen: Array) -> None:
        """Record the arrays of step t; see :class:`~deepnlp.layers.recurrent.TimeRecurrent`.

        Parameters
        ----------
        t : int
        *seen : array
        """
        self._steps.append(seen)

    def observation(self) -> Observation:
        """Return the record of one backward pass."""
        x, h_prev, dh, *memory = map(xp.stack, zip(*reversed(self._steps), strict=True))
        if not memory:
            return Observation(x, h_prev, dh, None, None)
        c_prev, dc = memory
        rows = [array.reshape(-1, array.shape[2]) for array in (x, h_prev, c_prev, dh, dc)]
        dc = cell_gradient(self.layer, *rows).reshape(dh.shape)
        return Observation(x, h_prev, dh, c_prev, dc)


@contextmanager
def observe(model: Layer) -> Iterator[dict[str, Observer]]:
    """Context in which every recurrent layer shows its backward pass.

    Parameters
    ----------
    model : Layer
        A recurrent layer, or anything that holds some.

    Yields
    ------
    dict of str to Observer
        By path, such as ``layers.2``, from the input upwards.

    Raises
    ------
    ValueError
        If there is no recurrent layer.

    Examples
    --------
    >>> from deepnlp.layers import TimeRNN
    >>> layer = TimeRNN.init(3, 4)
    >>> with observe(layer) as observers:
    ...     h = layer.forward(xp.ones((2, 5, 3), dtype="float32"))
    ...     dx = layer.backward(xp.ones_like(h))
    >>> observers[""].observation().dh.shape
    (5, 2, 4)
    """
    layers = dict(model._named_layers())
    observers = {p: Observer(h) for p, h in layers.items() if isinstance(h, TimeRecurrent)}
    if not observers:
        seen = "the microscope looks at TimeRNN, TimeLSTM and TimeGRU"
        raise ValueError(f"{type(model).__name__} has no recurrent layer over time: {seen}")
    for observer in observers.values():
        observer.layer.watch = observer
    try:
        yield observers
    finally:
        for observer in observers.values():
            observer.layer.watch = None
