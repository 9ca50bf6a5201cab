"""The recurrent language model: stacked LSTM, GRU or RNN layers, with or without weight tying."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from deepnlp.backend import Array, Rng, asarray, xp
from deepnlp.backend.initialisers import drawn
from deepnlp.backend.shapes import expect
from deepnlp.layer import Layer, Sequential
from deepnlp.layers import AffineSoftmaxWithLoss, TimeAffine, TimeDropout
from deepnlp.layers.embedding import Embedding
from deepnlp.models import options
from deepnlp.models.language_model import LayeredModel
from deepnlp.parameter import Parameter, View


class RNNLM(LayeredModel):
    r"""Recurrent language model.

    .. math::
        x_t &= E_{w_t} \\
        h_t &= \mathrm{cell}(x_t, h_{t-1}) \quad \text{(stacked)} \\
        s_t &= h_t W + b \quad\text{(none)}, \qquad h_t E^T + b \quad\text{(tied)}, \qquad
               h_t L E^T + b \quad\text{(tied+L)} \\
        P(w_{t+1} \mid w_1 \dots w_t) &= \mathrm{softmax}(s_t)

    with dropout on the embedding, between the recurrent layers and before the output.

    Parameters
    ----------
    vocab_size : int
        V, the number of words.
    embed_size : int
        D, size of a word vector.
    hidden_size : int or list of int
        H, size of a hidden state; 8,8,4 for one a layer. The last is the H of the output.
    layers : int
        Number of recurrent layers.
    cell : {"lstm", "gru", "rnn", "mogrifier"}, a scan's, or a cell of one's own
        Recurrent layer. A key of ``deepnlp.models.options.CELLS``, such as
        :func:`~deepnlp.models.options.cell_of_file` gives for a class in a file.
    tie : {"none", "tied", "tied+L"}
        Tied: the output weight is the embedding, transposed (D = H); tied+L: a matrix L between.
        ``"none"`` gives the output a separate matrix (H, V). ``"tied"`` is that of Press and Wolf
        2017 and Inan et al. 2017. ``"tied+L"`` puts L (H, D) between (Gulordava, Aina and Boleda
        2018, eq. 5), so that D and H are free: L is the projection P_HD of a tied model with
        D != H, as Wx is its P_DH.
    dropout : float
        Probability of zeroing a number between layers.
    output_bias : bool
        Whether each word's score has a bias.
    init : {"uniform", "book"}
        Distribution of fresh weights: uniform (Gulordava et al. 2018), or book (normal).
        ``"uniform"``: embedding from U(-embed_bound, embed_bound), a separate output matrix from
        U(-0.1, 0.1), recurrent weights from U(-1/sqrt(H), 1/sqrt(H)), L from U(-0.01, 0.01).
        ``"book"``: embedding from N(0, 1) / 100, all other matrices from N(0, 1) / sqrt(fan-in).
        Biases are zero, except that of the forget gate.
    embed_bound : float
        Uniform: the embedding starts in U(-bound, bound).
    forget_bias : float, optional
        Lstm: initial bias of the forget gate; by default 1, for book 0.
    activation : {"tanh", "relu"}
        Nonlinearity of an rnn cell.
    reset_after : bool
        Gru: reset gate after the recurrent product, as in cuDNN.
    embedding : array (V, D), optional
        A pre-trained matrix to start from.
    dtype : data-type
        Number type of the weights.
    rng : numpy.random.Generator, optional

    Notes
    -----
    ``forward(ids, targets)`` takes integers (N, T) and gives the mean cross-entropy in nats, a 0-d
    array; ``backward()`` accumulates all gradients; ``logits(ids)`` gives scores (N, T, V).
    The hidden state is carried from call to call (truncated BPTT) until ``reset_state()``.
    :class:`~deepnlp.models.TiedRNNLM` is the same on one page, for one LSTM;
    :class:`~deepnlp.models.RegularisedRNNLM` adds what AWD-LSTM does. Zaremba, Sutskever and
    Vinyals 2014.

    Raises
    ------
    ValueError
        If an option is out of its range, or sizes do not fit each other.

    Examples
    --------
    >>> from deepnlp.backend import xp
    >>> model = RNNLM(vocab_size=10, embed_size=4, hidden_size=4, tie="tied")
    >>> ids = xp.asarray([[1, 2, 3]])
    >>> loss = model.forward(ids, ids)
    >>> model.zero_grad()
    >>> model.backward()
    >>> model.size()        # embedding 10 x 4, bias 10, two LSTMs of 4 x 16 + 4 x 16 + 16
    338
    """

    starts = ("rng", "embedding")

    def __init__(
        self,
        vocab_size: int,
        embed_size: options.Size,
        hidden_size: options.Sizes,
        layers: options.Layers = 2,
        cell: options.Cell = "lstm",
        tie: options.Tie = "tied",
        dropout: options.Probability = 0.5,
        *,
        init: options.Init = "uniform",
        embed_bound: options.Bound = 0.1,
        forget_bias: options.ForgetBias = None,
        activation: options.Activation = "tanh",
        reset_after: options.Switch = False,
        output_bias: options.Switch = True,
        embedding: Array | None = None,
        dtype: options.DType = "float32",
        rng: Rng = None,
    ) -> None:
        self._remember(RNNLM, **locals())
        self._build(embedding, rng)

    def _build(self, embedding: Array | None, rng: Rng) -> None:
        """Make the layers that the options describe, from the words to the scores."""
        self._rng, given = rng, self._config
        V, D, sizes = self.vocab_size, given["embed_size"], _layer_sizes(given)
        options.refuse("RNNLM", self._misfits(sizes))
        if embedding is None:
            embedding = self._draw((V, D), given["embed_bound"], 0.01)
        embedding = asarray(embedding).astype(given["dtype"])
        expect("RNNLM", "embedding", embedding, "V D", V=V, D=D)

        E = self._table(embedding)
        self.layers = [self._embed(E), *self._noise("input_dropout")]
        for number, (below, size) in enumerate(pairwise([D, *sizes]), start=1):
            place = "output_dropout" if number == len(sizes) else "dropout"
            self.layers += [self._recurrent(below, size), *self._noise(place)]
        if given["tie"] == "tied+L":
            self.layers.append(TimeAffine(Parameter(self._draw((sizes[-1], D), 0.01), "L")))
        is_tied, K = given["tie"] != "none", self.output_size
        W = self._tied(E) if is_tied else Parameter(self._draw((sizes[-1], K), 0.1), "W")
        b = Parameter.zeros(K, dtype=given["dtype"], name="b") if given["output_bias"] else None
        self.output = AffineSoftmaxWithLoss(W, b)

    def forward(self, ids: Array, targets: Array) -> Array:
        """Compute the mean cross-entropy of the next words from ids (N, T) and targets (N, T)."""
        self._expect("ids", ids, "N T")
        x = ids
        for layer in self.layers:
            x = layer.forward(x)
        return self.output.forward(x, targets)

    def backward(self, dloss: Any = 1) -> None:
        """Go back through the output and every layer, last to first."""
        gradient = self.output.backward(dloss)
        for layer in reversed(self.layers):
            gradient = layer.backward(gradient)

    def start(self, N: int) -> Any:
        """Return a state of zeros for N texts: that of every layer."""
        return Sequential(*self.layers).start(N)

    def step(self, ids: Array, state: Any = None) -> tuple[Array, Any]:
        """Return scores of the next words (N, V) and the new state, from the ids (N,) of a step."""
        h, state = Sequential(*self.layers).step(ids, state)
        return self.output.scores(h), state

    def start_from_unigram(self, counts: Any) -> None:
        r"""Set the output bias so that the untrained model predicts as the unigram model does.

        .. math:: b_w = \log \frac{n_w + 1}{\sum_v n_v + V}

        Training then need not spend its first steps on learning how frequent words are.

        Parameters
        ----------
        counts : array (V,) of host numbers
            How often each id occurs in the training text; with ``output_ids``, each of K targets.

        Raises
        ------
        ValueError
            If the model has no output bias, or not as many words as there are counts.
        """
        b: Any = self.output.b
        if b is None:
            raise ValueError("RNNLM: start_from_unigram needs output_bias=True")
        if len(counts) != self.output_size:
            expected = f"a count for each of {self.output_size} words, got {len(counts)}"
            raise ValueError(f"RNNLM: start_from_unigram needs {expected}")
        n = asarray(counts).astype("float64") + 1
        b.value = xp.log(n / xp.sum(n)).astype(b.dtype)

    # --- Parts of the model, which a subclass may make otherwise ------------------------------

    def _draw(self, shape: tuple[int, int], bound: float, std: float | None = None) -> Array:
        return drawn(self._config["init"], shape, bound, self._rng, self._config["dtype"], std)

    def _table(self, embedding: Array) -> View:
        """E (V, D), the vectors of the words that are read."""
        return Parameter(embedding, "E")

    def _embed(self, E: View) -> Layer:
        return Embedding(E)

    def _tied(self, E: View) -> View:
        """Return the output weight (D, V) where it is tied."""
        return E.T

    def _recurrent(self, D: int, H: int) -> Any:
        """Make a fresh recurrent layer, which carries its state from window to window."""
        cell, given = self._cell()
        usual: Any = {"scheme": self._config["init"], "stateful": True}
        usual |= options.cell_options(cell, given)
        return options.CELLS[cell].init(D, H, self._rng, self._config["dtype"], **usual)

    def _cell(self) -> tuple[str, dict[str, Any]]:
        """Return the name of the cell, and options of which it takes its own."""
        of_cells = ("forget_bias", "activation", "reset_after")
        return self._config["cell"], {name: self._config[name] for name in of_cells}

    def _noise(self, place: str) -> list[Layer]:
        """Dropout at a place: on the word vectors, between layers, or on the last states."""
        p = self._config["dropout"]
        return [TimeDropout(p, rng=self._rng)] if p else []

    def _misfits(self, sizes: Sequence[int]) -> dict[str, bool]:
        """Return options that do not fit each other: what to say, and whether it is so."""
        given, D, H = self._config, self._config["embed_size"], sizes[-1]
        options.check_cell("RNNLM", given["cell"], reset_after=given["reset_after"])
        return {
            "tie='tied' makes the output weight the embedding's transpose, so it needs embed_size "
            f"= hidden_size (that of the last layer), got {D} and {H}; tie='tied+L' is free of "
            "that": given["tie"] == "tied" and D != H
        }


def _layer_sizes(given: Mapping[str, Any]) -> list[int]:
    """H of each layer.

    >>> _layer_sizes({"hidden_size": 8, "layers": 2})
    [8, 8]
    """
    H, layers = given["hidden_size"], given["layers"]
    sizes = [H] * layers if isinstance(H, int) else [*H]
    message = f"hidden_size should be one number, or one for each of {layers} layers, got {sizes}"
    options.refuse("RNNLM", {message: len(sizes) != layers})
    return sizes
