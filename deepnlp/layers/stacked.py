"""Recurrent layers one on another."""

from itertools import pairwise
from typing import Any

from deepnlp.backend import Array, Rng
from deepnlp.kernels.steps import States
from deepnlp.layer import Layer, Sequential, check_layers
from deepnlp.layers.bidirectional import TimeBidirectional
from deepnlp.layers.dropout import TimeDropout
from deepnlp.layers.lengths import check_lengths
from deepnlp.layers.recurrent import TimeRecurrent


class TimeStacked(Layer):
    r"""A stack of recurrent layers: the states of each are the inputs of the next.

    .. math::
        h_t^{(l)} = \mathrm{cell}_l(m^{(l)} \odot h_t^{(l-1)},\; h_{t-1}^{(l)}), \qquad
        h_t^{(0)} = x_t

    with a dropout mask m between two layers, and none before the first or after the last.

    Parameters
    ----------
    *layers : TimeRNN, TimeLSTM, TimeGRU, TimeDeepTransition, or TimeBidirectional
        At least one, of one kind. Bidirectional ones make the deep bidirectional network.
    dropout : float
        Probability of zeroing a number between two layers.
    rng : numpy.random.Generator, optional
        For the dropout masks.

    Attributes
    ----------
    state : list of tuple
        For each layer (h,), or of an LSTM (h, c), after the last forward.
    dstate0 : list of tuple
        After backward: the gradients with respect to the states at the start.

    Notes
    -----
    ``forward(x, lengths=None)`` takes (N, T, D) and gives the states of the last layer (N, T, H).
    ``backward(dhs, *dstate)`` gives dx; ``dstate`` holds, for each layer, a tuple of the gradients
    with respect to its final state, such as another stack's ``dstate0``. So an encoder hands its
    state to a decoder with ``decoder.set_state(*encoder.state)`` and gets its gradient with
    ``encoder.backward(dhs, *decoder.dstate0)``. El Hihi and Bengio 1996; Graves, Mohamed and Hinton
    2013; Pascanu et al. 2013.

    Raises
    ------
    ValueError
        If there is no layer, or one does not fit the one below.

    Examples
    --------
    >>> from deepnlp.backend import xp
    >>> from deepnlp.layers import TimeGRU
    >>> layer = TimeStacked(TimeGRU.init(3, 5), TimeGRU.init(5, 4), dropout=0.2)
    >>> layer.forward(xp.zeros((2, 6, 3), dtype="float32")).shape
    (2, 6, 4)
    >>> [h.shape for (h,) in layer.state]
    [(2, 5), (2, 4)]
    """

    axes = "N T D -> N T H"

    def __init__(
        self,
        *layers: TimeRecurrent | TimeBidirectional,
        dropout: float = 0.0,
        rng: Rng = None,
    ) -> None:
        if not layers:
            raise ValueError("TimeStacked: expected at least one layer")
        for layer in layers:
            check_layers("TimeStacked", layers=layer)
        for below, above in pairwise(layers):
            if above.D != below.H:
                sizes = f"D = {above.D} does not fit one below with {below.H} outputs"
                raise ValueError(f"TimeStacked: a layer with {sizes}")
        self.layers: list[Any] = list(layers)
        self.dropouts = [TimeDropout(dropout, rng=rng) for _ in layers[1:]] if dropout else []
        self.D, self.H = layers[0].D, layers[-1].H

    def forward(self, x: Array, lengths: Any = None) -> Array:
        """Return the states of the last layer (N, T, H)."""
        lengths = check_lengths("TimeStacked", lengths, *x.shape[:2])
        self.save_for_backward()
        for layer, dropout in self._with_dropout():
            x = layer.forward(dropout.forward(x), lengths)
        return x

    def backward(self, dhs: Array, *dstate: States) -> Array:
        """dx (N, T, D) from the gradients of all outputs and of each layer's final state."""
        self.saved()
        final = dstate or [()] * len(self.layers)
        for (layer, dropout), dlast in reversed([*zip(self._with_dropout(), final, strict=True)]):
            dhs = dropout.backward(layer.backward(dhs, *dlast))
        return dhs

    def _with_dropout(self) -> list[tuple[Any, Layer]]:
        """Pair each layer with the dropout before it, or with a Sequential of no layers."""
        none_between = [Sequential() for _ in self.layers[1:]]
        return [*zip(self.layers, [Sequential(), *(self.dropouts or none_between)], strict=True)]

    # --- The state, layer by layer ------------------------------------------------------------

    @property
    def state(self) -> list[States]:
        """The states of all layers: (h,) each, or (h, c) of an LSTM."""
        return [layer.state for layer in self.layers]

    @property
    def dstate0(self) -> list[States]:
        """The gradients with respect to the first state of each layer."""
        return [layer.dstate0 for layer in self.layers]

    @property
    def top(self) -> Any:
        """The last layer, whose states are the outputs."""
        return self.layers[-1]

    def set_state(self, *state: States) -> None:
        """Set the states from which the next forward starts: a tuple for each layer."""
        for layer, given in zip(self.layers, state, strict=True):
            layer.set_state(*given)

    def keep_state(self) -> None:
        """Let the next forward start from the states that the last one ended in."""
        for layer in self.layers:
            layer.keep_state()

    def start(self, N: int) -> list[States]:
        """Return states of zeros, a tuple for each layer."""
        return [layer.start(N) for layer in self.layers]

    def step(self, x: Array, state: Any = None) -> tuple[Array, Any]:
        """Compute one step of every layer in turn: (N, D) to (N, H)."""
        state = list(self.start(len(x)) if state is None else state)
        for k, (layer, dropout) in enumerate(self._with_dropout()):
            x, state[k] = layer.step(dropout.step(x)[0], state[k])
        return x, state
