"""A tagger: one label for each word of a text."""

from typing import Any

from deepnlp.backend import Array, Rng, asarray, xp
from deepnlp.backend.initialisers import fan_in_bound, uniform
from deepnlp.layer import Sequential, no_backward
from deepnlp.layers import AffineSoftmaxWithLoss, Embedding, TimeDropout
from deepnlp.layers.losses import IGNORED
from deepnlp.models import options
from deepnlp.models.model import Model
from deepnlp.models.parts import stack_of
from deepnlp.parameter import Parameter
from deepnlp.text import Vocabulary


class Tagger(Model):
    r"""A label for each word, from recurrent layers that read one way or both.

    .. math::
        h_t = [\mathrm{cell}(E_{w_t}, \overrightarrow{h}_{t-1}),\;
               \mathrm{cell}'(E_{w_t}, \overleftarrow{h}_{t+1})], \qquad
        P(y_t \mid w_1 \dots w_T) = \mathrm{softmax}(h_t W + b)

    Parameters
    ----------
    vocab_size, tags : int
        Words and labels.
    embed_size : int
        D, size of a word vector.
    hidden_size : int
        H, size of a hidden state.
    layers : int
        Number of recurrent layers.
    cell : {"lstm", "gru", "rnn", "mogrifier"}, a scan's, or a cell of one's own
        Recurrent layer. A key of ``deepnlp.models.options.CELLS``.
    bidirectional : bool
        Read from both ends, H units each. Otherwise h_t is only the state from left to right, and
        knows nothing of what follows.
    dropout : float
        Probability of zeroing a number between layers. Also on the embedding and before the output.
    reset_after : bool
        Gru: reset gate after the recurrent product, as in cuDNN.
    dtype : data-type
        Number type of the weights.
    rng : numpy.random.Generator, optional

    Attributes
    ----------
    vocab, tag_vocab : Vocabulary or None
        What ids and labels stand for. A task sets them, a checkpoint keeps them.

    Notes
    -----
    ``forward(ids, lengths, targets)`` takes ids (N, T) with any id as padding, their lengths (N,)
    or None, and labels (N, T), -1 where they do not count; it gives the mean cross-entropy in nats,
    a 0-d array. ``tags(ids, lengths)`` gives the most probable labels (N, T), -1 past the end.
    Graves and Schmidhuber 2005.

    Raises
    ------
    ValueError
        If an option is out of its range.

    Examples
    --------
    >>> model = Tagger(10, tags=3, embed_size=4, hidden_size=5)
    >>> ids, targets = xp.asarray([[1, 2, 3], [4, 0, 0]]), xp.asarray([[0, 1, 2], [1, -1, -1]])
    >>> loss = model.forward(ids, [3, 1], targets)
    >>> model.backward()
    >>> model.tags(ids, [3, 1])[1, 1:]
    array([-1, -1])
    """

    vocab_names = ("vocab", "tag_vocab")
    tag_vocab: Vocabulary | None = None

    def __init__(
        self,
        vocab_size: int,
        tags: int,
        embed_size: options.Size,
        hidden_size: options.Size,
        layers: options.Layers = 1,
        cell: options.Cell = "lstm",
        bidirectional: options.Switch = True,
        dropout: options.Probability = 0.0,
        *,
        reset_after: options.Switch = False,
        dtype: options.DType = "float32",
        rng: Rng = None,
    ) -> None:
        self._remember(Tagger, **locals())
        options.check_cell("Tagger", cell, reset_after=reset_after)

        E = Parameter(uniform((vocab_size, embed_size), 0.1, rng, dtype), "E")
        sizes = (cell, embed_size, hidden_size, layers, dropout, dtype, rng)
        stack = stack_of(*sizes, bidirectional=bidirectional, reset_after=reset_after)
        below, above = ([TimeDropout(dropout, rng=rng)] if dropout else [] for _ in range(2))
        self.below, self.stack, self.above = [Embedding(E), *below], stack, above
        W = uniform((stack.H, tags), fan_in_bound(stack.H), rng, dtype)
        self.output = AffineSoftmaxWithLoss(W, Parameter.zeros(tags, dtype=dtype, name="b"))

    def forward(self, ids: Array, lengths: Any, targets: Array) -> Array:
        """Compute the mean cross-entropy of the labels that count: a number."""
        return self.output.forward(self._features(ids, lengths), targets)

    def backward(self, dloss: Any = 1) -> None:
        """Go back through the output and every layer, last to first."""
        gradient = self.output.backward(dloss)
        for layer in reversed([*self.below, self.stack, *self.above]):
            gradient = layer.backward(gradient)

    def losses(self, ids: Array, lengths: Any, targets: Array) -> Array:
        """Return the cross-entropy of each label (N, T), zero where ignored, nothing saved."""
        with no_backward():
            return self.output.losses(self._features(ids, lengths), targets)

    def logits(self, ids: Array, lengths: Any = None) -> Array:
        """Return scores of all labels (N, T, tags), nothing saved for a backward."""
        with no_backward():
            return self.output.scores(self._features(ids, lengths))

    def tags(self, ids: Array, lengths: Any = None) -> Array:
        """Return the most probable label of each word (N, T), -1 past the end."""
        tags = xp.argmax(self.logits(ids, lengths), axis=2)
        if lengths is None:
            return tags
        return xp.where(xp.arange(ids.shape[1]) < asarray(lengths)[:, None], tags, IGNORED)

    def _features(self, ids: Array, lengths: Any) -> Array:
        """Compute the input of the output layer, (N, T, H) or (N, T, 2H)."""
        self._expect("ids", ids, "N T")
        x = self.stack.forward(Sequential(*self.below).forward(ids), lengths)
        return Sequential(*self.above).forward(x)
