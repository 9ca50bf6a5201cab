"""Weight drop: dropout of the recurrent weights, one mask for each forward."""

from typing import Any

from deepnlp.backend import Array, Rng
from deepnlp.layer import Layer
from deepnlp.layers.dropout import Dropout
from deepnlp.layers.lengths import check_lengths
from deepnlp.layers.recurrent import TimeRecurrent
from deepnlp.views import MaskedView


class WeightDrop(Layer):
    r"""A recurrent layer whose weights W_h are zeroed at random while training.

    .. math::
        h_t = \mathrm{cell}(x_t, h_{t-1};\; M \odot W_h), \qquad dW_h = M \odot d(M \odot W_h),
        \qquad M_{jk} \in \{0, \tfrac{1}{1 - p}\}

    A forward draws one mask M for all its steps and sequences, so that the same connections are
    missing throughout a window. The weight itself is kept and trained; the layer reads it through
    a :class:`~deepnlp.views.MaskedView`, which masks its gradient too. In evaluation it is whole.

    Parameters
    ----------
    layer : TimeRNN, TimeLSTM, or TimeGRU
        Its ``Wh`` becomes the masked view.
    p : float
        Probability that a weight is zeroed, 0 <= p < 1.
    rng : numpy.random.Generator, optional
        As in :class:`Dropout`.

    Notes
    -----
    ``forward``, ``backward`` and ``step`` are those of the layer inside, which also holds the state
    and ``dh0``. Wan et al. 2013 (DropConnect); Merity, Keskar and Socher 2018, section 2.

    Raises
    ------
    TypeError
        If the layer is not a recurrent one, or has no Wh.
    ValueError
        If p is outside [0, 1).

    Examples
    --------
    >>> from deepnlp.backend import xp
    >>> from deepnlp.layers import TimeRNN
    >>> import deepnlp
    >>> deepnlp.seed(2)
    >>> layer = WeightDrop(TimeRNN(xp.eye(2), xp.ones((2, 2)), xp.zeros(2)), p=0.5)
    >>> y = layer.forward(xp.ones((1, 3, 2)))
    >>> layer.layer.Wh.value
    array([[0., 2.],
           [0., 2.]])
    >>> [name for name, _ in layer.named_parameters()]
    ['layer.Wx', 'layer.Wh', 'layer.b']
    """

    axes = "N T D -> N T H"

    def __init__(self, layer: TimeRecurrent, p: float, rng: Rng = None) -> None:
        if not isinstance(layer, TimeRecurrent) or layer.Wh is None:
            expected = "a recurrent layer over time with a Wh, such as TimeLSTM"
            raise TypeError(f"WeightDrop: expected {expected}, got a {type(layer).__name__}")
        self.layer = layer
        self.noise = Dropout(p, rng)
        self._Wh = MaskedView(layer.Wh)
        layer.Wh = self._Wh
        self.D, self.H = layer.D, layer.H

    def forward(self, x: Array, lengths: Any = None) -> Array:
        """Return all states (N, T, H) from all inputs (N, T, D), with one mask."""
        lengths = check_lengths("WeightDrop", lengths, *x.shape[:2])
        self._draw()
        self.save_for_backward(self._Wh.mask)
        return self.layer.forward(x, lengths)

    def backward(self, dhs: Array, dh: Array | None = None, dc: Array | None = None) -> Array:
        """Go back through the layer with the mask of its forward."""
        (self._Wh.mask,) = self.saved()
        return self.layer.backward(dhs, dh, dc)

    def start(self, N: int) -> Any:
        """Return a state of zeros, that of the layer."""
        return self.layer.start(N)

    def step(self, x: Array, state: Any = None) -> tuple[Array, Any]:
        """Compute one step of the layer; in training every step has a fresh mask."""
        self._draw()
        return self.layer.step(x, state)

    def _draw(self) -> None:
        """Draw a mask in training, none in evaluation."""
        self._Wh.mask = self.noise.mask(self._Wh.shape, self._Wh.dtype)
