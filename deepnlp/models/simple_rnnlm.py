"""A recurrent language model on one page."""

from typing import Any

from deepnlp.backend import Array, Rng
from deepnlp.layer import no_backward
from deepnlp.layers import Embedding, SoftmaxWithLoss, TimeAffine, TimeRNN
from deepnlp.models.language_model import LanguageModel
from deepnlp.parameter import View


class SimpleRNNLM(LanguageModel):
    r"""Language model of an embedding, one simple recurrent layer and an affine output.

    .. math::
        e_t = E_{w_t}, \qquad h_t = \tanh(e_t W_x + h_{t-1} W_h + b), \qquad
        P(w_{t+1} \mid w_1 \dots w_t) = \mathrm{softmax}(h_t W + b_o)

    Parameters
    ----------
    vocab_size, embed_size, hidden_size : int
        V, D and H.
    dtype : data-type
    rng : numpy.random.Generator, optional

    Notes
    -----
    ``forward(ids, targets)`` takes integers (N, T) and gives the mean cross-entropy in nats, a
    0-d array. The hidden state is carried from one call to the next (truncated BPTT).
    Mikolov et al. 2010.

    Raises
    ------
    ValueError
        If the shapes do not fit or an id is out of range.

    Examples
    --------
    >>> from deepnlp.backend import xp
    >>> model = SimpleRNNLM(vocab_size=10, embed_size=4, hidden_size=5)
    >>> model.logits(xp.asarray([[1, 2, 3]])).shape
    (1, 3, 10)
    """

    def __init__(
        self,
        vocab_size: int,
        embed_size: int,
        hidden_size: int,
        dtype: Any = "float32",
        rng: Rng = None,
    ) -> None:
        self._remember(SimpleRNNLM, **locals())
        V, D, H = vocab_size, embed_size, hidden_size
        self.embed = Embedding.init(V, D, rng, dtype)
        self.rnn = TimeRNN.init(D, H, rng, dtype, stateful=True)
        self.affine = TimeAffine.init(H, V, rng, dtype)
        self.loss = SoftmaxWithLoss()

    def forward(self, ids: Array, targets: Array) -> Array:
        """Compute the mean cross-entropy of the next words from ids (N, T) and targets (N, T)."""
        self._expect("ids", ids, "N T")
        x = self.embed.forward(ids)  # (N, T, D)
        h = self.rnn.forward(x)  # (N, T, H)
        s = self.affine.forward(h)  # (N, T, V)
        return self.loss.forward(s, targets)

    def backward(self, dloss: Any = 1) -> None:
        """Apply the chain rule: go back through each line of forward, last to first."""
        ds = self.loss.backward(dloss)
        dh = self.affine.backward(ds)
        dx = self.rnn.backward(dh)
        self.embed.backward(dx)

    def start(self, N: int) -> Any:
        """Return a state of zeros for N texts."""
        return self.rnn.start(N)

    def step(self, ids: Array, state: Any = None) -> tuple[Array, Any]:
        """Return scores of the next words (N, V) and the new state, from the ids (N,) of a step."""
        x, _ = self.embed.step(ids)
        h, state = self.rnn.step(x, state)
        s, _ = self.affine.step(h)
        return s, state

    def logits(self, ids: Array) -> Array:
        """Return scores of the next words (N, T, V), with nothing saved for a backward."""
        with no_backward():
            x = self.embed.forward(ids)
            h = self.rnn.forward(x)
            return self.affine.forward(h)

    def _tables(self) -> tuple[View, View]:
        """E (V, D), and the output weight by rows (V, H)."""
        return self.embed.W, self.affine.W.T
