"""Two recurrent layers over the same sequence, one from each end."""

from typing import Any, NoReturn

from deepnlp.backend import Array, xp
from deepnlp.kernels.steps import States
from deepnlp.layer import Layer, check_layers
from deepnlp.layers.lengths import check_lengths, reverse_by_length
from deepnlp.layers.recurrent import TimeRecurrent


class TimeBidirectional(Layer):
    r"""A recurrent layer that reads from left to right beside one that reads from right to left.

    .. math::
        \overrightarrow{h}_t &= \mathrm{cell}(x_t, \overrightarrow{h}_{t-1}), \quad t = 1 \dots T \\
        \overleftarrow{h}_t &= \mathrm{cell}'(x_t, \overleftarrow{h}_{t+1}), \quad t = T \dots 1 \\
        h_t &= [\overrightarrow{h}_t, \overleftarrow{h}_t]

    So h_t knows the whole sequence. A sequence that is shorter than T is reversed by its own
    length: the second layer starts at its last step, not in the padding.

    Parameters
    ----------
    forward_layer, backward_layer : TimeRNN, TimeLSTM, TimeGRU or another layer of that kind
        From left to right and from right to left; of one kind, with the same D. Neither may be
        ``stateful``, since the second layer ends where the sequence begins.

    Attributes
    ----------
    h, c : array (N, 2H) or None
        The states in which both layers ended, side by side: that of ``forward_layer`` after the
        last step, that of ``backward_layer`` after the first. c of an LSTM only.
    state, dstate0 : tuple of array (N, 2H)
        (h,) or (h, c); and after backward the gradients with respect to the states at the start.

    Notes
    -----
    ``forward(x, lengths=None)`` takes (N, T, D) and gives (N, T, 2H), zero past the end of a
    sequence. ``backward(dhs, dh=None, dc=None)`` gives dx (N, T, D): the reversal is its own
    inverse, so that the gradient takes the same way. There is no ``step``: a step from right to
    left needs what comes later. Layers one on another, as in ``TimeStacked``, are the deep
    bidirectional LSTM. Schuster and Paliwal 1997; Graves, Mohamed and Hinton 2013.

    Raises
    ------
    ValueError
        If the two layers do not fit each other or a shape is wrong.
    TypeError
        From ``start`` and ``step``.

    Examples
    --------
    >>> from deepnlp.layers import TimeLSTM
    >>> layer = TimeBidirectional(TimeLSTM.init(3, 5), TimeLSTM.init(3, 5))
    >>> layer.forward(xp.zeros((2, 4, 3), dtype="float32"), lengths=[4, 2]).shape
    (2, 4, 10)
    >>> layer.h.shape
    (2, 10)
    """

    axes = "N T D -> N T 2H"

    def __init__(self, forward_layer: TimeRecurrent, backward_layer: TimeRecurrent) -> None:
        self.forward_layer, self.backward_layer = ahead, back = forward_layer, backward_layer
        check_layers("TimeBidirectional", forward_layer=ahead, backward_layer=back)
        if ahead.D != back.D or len(ahead.start(1)) != len(back.start(1)):
            both = " and ".join(
                f"{type(side).__name__} with D = {side.D}" for side in (ahead, back)
            )
            raise ValueError(f"TimeBidirectional: both should be of one kind and D, got {both}")
        if ahead.stateful or back.stateful:
            # from right to left there is no earlier window
            raise ValueError("TimeBidirectional: neither layer may be stateful")
        self.D, self.H = ahead.D, ahead.H + back.H

    def forward(self, x: Array, lengths: Any = None) -> Array:
        """Return both layers' states side by side, (N, T, 2H)."""
        lengths = check_lengths("TimeBidirectional", lengths, *x.shape[:2])
        ahead = self.forward_layer.forward(x, lengths)
        back = self.backward_layer.forward(reverse_by_length(x, lengths), lengths)
        self.save_for_backward(lengths)
        return xp.concatenate([ahead, reverse_by_length(back, lengths)], axis=2)

    def backward(self, dhs: Array, dh: Array | None = None, dc: Array | None = None) -> Array:
        """dx, the sum over both ways through the sequence.

        Parameters
        ----------
        dhs : array (N, T, 2H)
        dh, dc : array (N, 2H), optional
            Gradients with respect to ``h`` and ``c``.

        Returns
        -------
        array (N, T, D)
        """
        (lengths,) = self.saved()
        H, M = self.forward_layer.H, self.forward_layer.state_size
        dahead, dback = dhs[..., :H], dhs[..., H:]
        (dh1, dh2), (dc1, dc2) = (self._halves(d, M) for d in (dh, dc))
        # h_t = [ahead_t, back_t], back = reversed states of the reversed x
        dx = self.forward_layer.backward(dahead, dh1, dc1)
        dx_reversed = self.backward_layer.backward(reverse_by_length(dback, lengths), dh2, dc2)
        return dx + reverse_by_length(dx_reversed, lengths)

    @staticmethod
    def _halves(array: Array | None, M: int) -> tuple[Any, Any]:
        """Return the parts of the two layers of a state (N, 2M)."""
        return (None, None) if array is None else (array[:, :M], array[:, M:])

    # --- The state ----------------------------------------------------------------------------

    @property
    def state(self) -> States:
        """The states in which both layers ended, side by side: (h,), of an LSTM (h, c)."""
        return self._side_by_side(self.forward_layer.state, self.backward_layer.state)

    @property
    def dstate0(self) -> States:
        """The gradients with respect to the states at the start, side by side."""
        return self._side_by_side(self.forward_layer.dstate0, self.backward_layer.dstate0)

    @property
    def h(self) -> Array:
        """The last states of both layers, (N, 2H)."""
        return self.state[0]

    @property
    def c(self) -> Array | None:
        """The last memory cells of both layers, (N, 2H); None if they have none."""
        return self.state[1] if len(self.state) > 1 else None

    def set_state(self, h: Array, c: Array | None = None) -> None:
        """Set the states from which the next forward starts, side by side (N, 2H)."""
        M = self.forward_layer.state_size
        sizes: dict[str, Any] = {"2H": M + self.backward_layer.state_size}
        self._expect("h", h, "N 2H", **sizes)
        (h1, h2), (c1, c2) = self._halves(h, M), self._halves(c, M)
        self.forward_layer.set_state(h1, c1)
        self.backward_layer.set_state(h2, c2)

    @staticmethod
    def _side_by_side(ahead: States, back: States) -> States:
        if ahead[0] is None:
            return ahead
        return tuple(xp.concatenate(both, axis=1) for both in zip(ahead, back, strict=True))

    def start(self, N: int) -> NoReturn:
        """Raise an error: see :meth:`step`."""
        raise TypeError("TimeBidirectional has no step: it needs the whole sequence; use forward")

    def step(self, x: Array, state: Any = None) -> NoReturn:
        """Raise an error: from right to left, a step needs what comes later."""
        self.start(len(x))
