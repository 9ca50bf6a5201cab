"""A cell of one step, unrolled over time: for cells that have no loop of their own."""

from collections.abc import Sequence
from typing import Any

from deepnlp.backend import Array, Rng, xp
from deepnlp.layer import Layer, backward_for_each, no_backward
from deepnlp.layers.dropout import Dropout
from deepnlp.layers.lengths import check_steps


class Unrolled(Layer):
    r"""T steps of a cell with the same Parameters, with or without dropout in time.

    .. math::
        (h_t, c_t) = \mathrm{cell}(x_t,\; m_t \odot h_{t-1},\; m'_t \odot c_{t-1}),
        \qquad m_t, m'_t \in \{0, \tfrac{1}{1 - p}\}

    Parameters
    ----------
    cell : Layer
        One step: ``forward(x, h)`` gives h, or ``forward(x, h, c)`` gives h and c, each (N, H);
        ``start(N)`` gives the states before the first step.
    dropout : sequence of float
        For each state, h and then c, the probability p that an entry is zeroed on its way from one
        step to the next; none by default.
    locked : bool
        Whether one mask is drawn for all steps of a sequence, and not one for each step.
    rng : numpy.random.Generator, optional
        As in :class:`Dropout`.

    Notes
    -----
    ``forward(x)`` takes (N, T, D) and gives all h, (N, T, H), from the states of ``start``. The
    layers :class:`TimeRNN`, :class:`TimeLSTM` and :class:`TimeGRU` do the same for their cells, and
    faster. Locked masks on h: Gal and Ghahramani 2016.

    Raises
    ------
    ValueError
        If a probability is outside [0, 1).

    Examples
    --------
    >>> from deepnlp.backend import xp
    >>> from deepnlp.layers import RNN
    >>> layer = Unrolled(RNN(xp.ones((1, 1)), xp.zeros((1, 1)), xp.zeros(1)))
    >>> layer.forward(xp.zeros((1, 3, 1))).tolist()
    [[[0.0], [0.0], [0.0]]]
    """

    axes = "N T D -> N T H"

    def __init__(
        self,
        cell: Layer,
        dropout: Sequence[float] = (),
        locked: bool = False,
        rng: Rng = None,
    ) -> None:
        self.cell, self.locked = cell, locked
        self.noise = [Dropout(p, rng) for p in dropout]

    def forward(self, x: Array) -> Array:
        """Return all h (N, T, H) from all inputs (N, T, D)."""
        check_steps(type(self).__name__, x)
        state = tuple(self.cell.start(x.shape[0]))
        hs, masks = [], [self._masks(state)]
        with backward_for_each(self.cell):
            for t in range(x.shape[1]):
                if t and not self.locked:
                    masks.append(self._masks(state))
                state = _states(self.cell.forward(x[:, t], *_times(state, masks[-1])))
                hs.append(state[0])
        self.save_for_backward(masks)
        return xp.stack(hs, axis=1)

    def backward(self, dhs: Array) -> Array:
        """dx (N, T, D) from the gradients of all h (N, T, H)."""
        (masks,) = self.saved()
        # dstate: gradients of the states that the next step read
        dstate: tuple[Array, ...] = tuple(xp.zeros_like(dhs[:, 0]) for _ in self.cell.start(1))
        dxs = []
        for t in reversed(range(dhs.shape[1])):
            dh = dhs[:, t] + dstate[0]  # from above and from the next step
            dx, *dstate_read = self.cell.backward(dh, *dstate[1:])
            dstate = _times(tuple(dstate_read), masks[0 if self.locked else t])
            dxs.append(dx)
        return xp.stack(dxs[::-1], axis=1)

    def start(self, N: int) -> tuple[Array, ...]:
        """Return the states of the cell before the first step, (N, H) each."""
        return tuple(self.cell.start(N))

    def step(self, x: Array, state: Any = None) -> tuple[Array, Any]:
        """Compute one step, (N, D) to h (N, H); in training every step has fresh masks."""
        state = self.start(len(x)) if state is None else tuple(state)
        with no_backward():
            return self.cell.step(x, _times(state, self._masks(state)))

    def _masks(self, state: tuple[Array, ...]) -> list[Any]:
        """Return a mask (N, H) for each state; 1 where there is no dropout."""
        drawn = [noise.forward(xp.ones_like(s)) for noise, s in zip(self.noise, state)]
        return drawn + [1] * (len(state) - len(drawn))


def _states(after: Any) -> tuple[Array, ...]:
    return after if isinstance(after, tuple) else (after,)


def _times(state: tuple[Array, ...], masks: list[Any]) -> tuple[Array, ...]:
    return tuple(s * mask for s, mask in zip(state, masks, strict=True))
