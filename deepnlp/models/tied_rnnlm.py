"""A recurrent language model with a tied output, on one page: the whole of deepnlp in small."""

from typing import Any

from deepnlp.backend import Array, Rng
from deepnlp.layer import no_backward
from deepnlp.layers import Embedding, SoftmaxWithLoss, TimeAffine, TimeLSTM
from deepnlp.models.language_model import LanguageModel
from deepnlp.parameter import Parameter


class TiedRNNLM(LanguageModel):
    r"""Language model of an embedding, one LSTM, and the embedding again, transposed.

    .. math::
        e_t = E_{w_t}, \qquad h_t, c_t = \mathrm{LSTM}(e_t, h_{t-1}, c_{t-1}), \qquad
        P(w_{t+1} \mid w_1 \dots w_t) = \mathrm{softmax}(h_t E^T + b)

    Parameters
    ----------
    vocab_size, hidden_size : int
        V, and D = H, the size of a word vector and of a state.
    dtype : data-type
    rng : numpy.random.Generator, optional

    Notes
    -----
    ``forward(ids, targets)`` takes integers (N, T) and gives the mean cross-entropy in nats, a
    0-d array. The state is carried from one call to the next (truncated BPTT). E has two
    gradients, one from each of its uses, and backward adds them. Press and Wolf 2017.

    Examples
    --------
    >>> model = TiedRNNLM(vocab_size=10, hidden_size=4)
    >>> print(model)
    TiedRNNLM(vocab_size=10, hidden_size=4)
      embed.W   Embedding                10 x 4  40
      lstm.Wx   TimeLSTM(stateful=True)  4 x 16  64
      lstm.Wh                            4 x 16  64
      lstm.b                                 16  16
      output.W  TimeAffine               4 x 10  = embed.W, transposed
      output.b                               10  10
      loss      SoftmaxWithLoss
      194 parameters, 0.0 MB as float32
    """

    def __init__(
        self, vocab_size: int, hidden_size: int, dtype: Any = "float32", rng: Rng = None
    ) -> None:
        self._remember(TiedRNNLM, **locals())
        V, D = vocab_size, hidden_size
        self.embed = Embedding.init(V, D, rng, dtype)
        self.lstm = TimeLSTM.init(D, D, rng, dtype, stateful=True)
        b = Parameter.zeros(V, dtype=dtype, name="b")
        self.output = TimeAffine(self.embed.W.T, b)  # one weight, read in two ways
        self.loss = SoftmaxWithLoss()

    def forward(self, ids: Array, targets: Array) -> Array:
        """Compute the mean cross-entropy of the next words from ids (N, T) and targets (N, T)."""
        x = self.embed(ids)  # (N, T, D)
        h = self.lstm(x)  # (N, T, D)
        s = self.output(h)  # (N, T, V)
        return self.loss(s, targets)

    def backward(self, dloss: Any = 1) -> None:
        """Apply the chain rule: go back through each line of forward, last to first."""
        ds = self.loss.backward(dloss)
        dh = self.output.backward(ds)  # adds (h^T ds)^T to the gradient of E
        dx = self.lstm.backward(dh)
        self.embed.backward(dx)  # adds dx to the rows of E that were looked up

    def start(self, N: int) -> Any:
        """Return a state of zeros for N texts."""
        return self.lstm.start(N)

    def step(self, ids: Array, state: Any = None) -> tuple[Array, Any]:
        """Return scores of the next words (N, V) and the new state, from the ids (N,) of a step."""
        x, _ = self.embed.step(ids)
        h, state = self.lstm.step(x, state)
        s, _ = self.output.step(h)
        return s, state

    def logits(self, ids: Array) -> Array:
        """Return scores of the next words (N, T, V), with nothing saved for a backward."""
        with no_backward():
            return self.output(self.lstm(self.embed(ids)))
