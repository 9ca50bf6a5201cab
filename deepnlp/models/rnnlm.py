"""The recurrent language model: stacked LSTM, GRU or RNN layers, with or without weight tying."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any

from deepnlp.backend import Array, HostArray, Rng, asarray, xp
from deepnlp.backend.initialisers import drawn
from deepnlp.layer import Layer, Sequential, expect
from deepnlp.layers import AffineSoftmaxWithLoss, AugmentedLoss, TimeAffine, TimeDropout, WeightDrop
from deepnlp.layers.embedding import Embedding, EmbeddingDropout
from deepnlp.layers.lstm import LARGEST_BIAS
from deepnlp.layers.regularisation import ActivationRegularisation, TemporalActivationRegularisation
from deepnlp.layers.rnn import ACTIVATIONS
from deepnlp.models import options
from deepnlp.models.language_model import LayeredModel
from deepnlp.models.word_rows import OutputWords, frozen_in_part
from deepnlp.options import Option
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
    cell : {"lstm", "gru", "rnn", "mogrifier"}, or a cell of one's own
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
    input_dropout : float, optional
        The same for the word vectors; by default as dropout.
    output_dropout : float, optional
        The same for the last layer's states; by default as dropout.
    embed_dropout : float
        Probability of leaving out a word, wherever it is read in a window
        (:class:`~deepnlp.layers.EmbeddingDropout`).
    weight_drop : float
        Probability of zeroing a weight of W_h for a window (:class:`~deepnlp.layers.WeightDrop`).
    ar : float
        Alpha, weight of the mean square of the last layer's states after dropout. Like ``tar`` and
        ``augment`` it is added to the loss while training
        (:class:`~deepnlp.layers.ActivationRegularisation`).
    tar : float
        Beta, weight of the mean square of their changes from step to step, before dropout
        (:class:`~deepnlp.layers.TemporalActivationRegularisation`).
    augment : float
        Gamma, weight of the augmented loss, as a fraction of its temperature (Inan et al. 2017).
        See :class:`~deepnlp.layers.AugmentedLoss`.
    augment_temperature : float
        Tau of the augmented loss.
    output_bias : bool
        Whether each word's score has a bias.
    locked_dropout : bool
        One dropout mask for all steps of a window (variational dropout).
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
    input_matrix : bool
        Rnn: an input matrix Wx in the first layer; without it D = H. Its form is then
        h = f(x + h_prev Wh + b).
    mogrifier_rounds : int
        Lstm: rounds in which input and state scale each other before each step; 0 for none
        (:class:`~deepnlp.layers.TimeMogrifierLSTM`).
    mogrifier_rank : int
        Rank of the two matrices of a round.
    reset_after : bool
        Gru: reset gate after the recurrent product, as in cuDNN.
    embedding : array (V, D), optional
        A pre-trained matrix to start from.
    freeze_embedding : bool
        Leave the embedding as it starts; with vectors, only the words that the file has. With
        tying, the output weight stays too (L and b are trained).
    trained_ids : sequence of int, optional
        With ``freeze_embedding``: words whose vectors are trained all the same, such as those that
        a file of vectors lacks.
    output_ids : sequence of int (K,), optional
        For an output vocabulary of K words that is another than the input's: for each word that the
        model predicts its id among those that it reads, or -1 for a word that it only predicts.
        With tying, a word in both has one vector and any other its own
        (:class:`~deepnlp.views.SharedRows`). By default the model predicts what it reads.
    dtype : data-type
        Number type of the weights.
    rng : numpy.random.Generator, optional

    Notes
    -----
    ``forward(ids, targets)`` takes integers (N, T) and gives the mean cross-entropy in nats, while
    training with the terms of ``ar``, ``tar`` and ``augment``, a 0-d array; ``backward()``
    accumulates all gradients; ``logits(ids)`` gives scores (N, T, V).
    With ``output_ids`` targets and scores are those of the K words: ``targets(ids)`` gives the
    targets for ids of a text, ``scores_by_id`` the scores by the ids of a text.
    The hidden state is carried from call to call (truncated BPTT) until ``reset_state()``.
    Zaremba, Sutskever and Vinyals 2014; sizes, dropout and weight drop as in AWD-LSTM (Merity,
    Keskar and Socher 2018).

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
    penalty: Any = 0  # what ar, tar and augment added to the last loss

    def __init__(
        self,
        vocab_size: int,
        embed_size: options.Size,
        hidden_size: Annotated[int | list[int], Option(low=1)],
        layers: options.Layers = 2,
        cell: options.Cell = "lstm",
        tie: Annotated[str, Option(choices=options.TIES)] = "tied",
        dropout: options.Probability = 0.5,
        *,
        input_dropout: Annotated[float | None, Option(low=0, below=1)] = None,
        output_dropout: Annotated[float | None, Option(low=0, below=1)] = None,
        embed_dropout: options.Probability = 0.0,
        weight_drop: options.Probability = 0.0,
        ar: Annotated[float, Option(low=0)] = 0.0,
        tar: Annotated[float, Option(low=0)] = 0.0,
        augment: Annotated[float, Option(low=0)] = 0.0,
        augment_temperature: Annotated[float, Option(above=0)] = 20.0,
        output_bias: options.Switch = True,
        locked_dropout: options.Switch = False,
        init: options.Init = "uniform",
        embed_bound: Annotated[float, Option(above=0, high=1000)] = 0.1,
        forget_bias: Annotated[float | None, Option(low=-LARGEST_BIAS, high=LARGEST_BIAS)] = None,
        activation: Annotated[str, Option(choices=ACTIVATIONS)] = "tanh",
        input_matrix: options.Switch = True,
        mogrifier_rounds: Annotated[int, Option(low=0, high=100)] = 0,
        mogrifier_rank: Annotated[int, Option(low=1)] = 40,
        reset_after: options.Switch = False,
        embedding: Array | None = None,
        freeze_embedding: options.Switch = False,
        trained_ids: options.Ids = None,
        output_ids: options.Ids = None,
        dtype: options.DType = "float32",
        rng: Rng = None,
    ) -> None:
        self._remember(RNNLM, **locals())
        V, D, sizes = self.vocab_size, embed_size, _layer_sizes(self._config["hidden_size"], layers)
        H = sizes[-1]
        _check_together(self._config, sizes)
        if embedding is not None:
            embedding = asarray(embedding)
            expect("RNNLM", "embedding", embedding, "V D", V=V, D=D)

        given: dict[str, Any] = {
            "forget_bias": forget_bias, "reset_after": reset_after, "activation": activation,
            "input_matrix": input_matrix, "rank": mogrifier_rank,
        }  # fmt: skip
        if mogrifier_rounds:
            cell, given["rounds"] = "mogrifier", mogrifier_rounds
        of_cell = options.cell_options(cell, given)

        def draw(shape: tuple[int, int], bound: float, std: float | None = None) -> Array:
            return drawn(init, shape, bound, rng, dtype, std)

        def recurrent(D: int, H: int) -> Layer:
            kind = options.CELLS[cell]
            layer = kind.init(D, H, rng, dtype, scheme=init, stateful=True, **of_cell)
            return WeightDrop(layer, weight_drop, rng) if weight_drop else layer

        def noise(p: float | None) -> list[Layer]:
            p = dropout if p is None else p
            return [TimeDropout(p, locked_dropout, rng)] if p else []

        table = draw((V, D), embed_bound, 0.01) if embedding is None else embedding.astype(dtype)
        E: View = Parameter(table, "E", trainable=not freeze_embedding)
        if trained_ids is not None:
            E = frozen_in_part(table, trained_ids)
        embed = EmbeddingDropout(E, embed_dropout, rng) if embed_dropout else Embedding(E)
        self.layers = [embed, *noise(input_dropout)]
        *before_last, last = pairwise([D, *sizes])
        for below, size in before_last:
            self.layers += [recurrent(below, size), *noise(dropout)]
        self.layers.append(recurrent(*last))
        # Terms of the loss while training, each with the number of layers below it
        slow = [(len(self.layers), TemporalActivationRegularisation(tar))] if tar else []
        self.layers += noise(output_dropout)
        small = [(len(self.layers), ActivationRegularisation(ar))] if ar else []
        self._terms: list[tuple[int, Layer]] = [*slow, *small]
        if tie == "tied+L":
            self.layers.append(TimeAffine(Parameter(draw((H, D), 0.01), "L")))
        ids = self._config["output_ids"]
        self._output = None if ids is None else OutputWords(ids, V)
        K = self.output_size
        W: View = E.T
        if tie == "none":
            W = Parameter(draw((H, K), 0.1), "W")
        elif self._output is not None:
            own = draw((self._output.apart, D), embed_bound, 0.01) if self._output.apart else None
            W = self._output.rows(E, own).T
        b = Parameter.zeros(K, dtype=dtype, name="b") if output_bias else None
        self.output = AffineSoftmaxWithLoss(W, b)
        tau = augment_temperature
        self._augmented = [AugmentedLoss(W, b, E, augment, tau)] if augment else []

    def forward(self, ids: Array, targets: Array) -> Array:
        """The loss of the next words: a number from ids (N, T) and targets (N, T).

        It is the mean cross-entropy and, while training, what ``ar``, ``tar`` and ``augment`` add.
        The attribute ``penalty`` holds what they add, 0 for nothing.
        """
        self._expect("ids", ids, "N T")
        x, terms, added = ids, self._terms if self.training else [], []
        for number, layer in enumerate(self.layers, start=1):
            x = layer.forward(x)
            added += [term.forward(x) for below, term in terms if below == number]
        loss = self.output.forward(x, targets)
        augmented = self._augmented if self.training else []
        added += [term.forward(x, targets) for term in augmented]
        self.save_for_backward(terms, augmented)
        self.penalty = sum(added)
        return loss + self.penalty if added else loss

    def backward(self, dloss: Any = 1) -> None:
        """Back through the output and every layer, last to first."""
        terms, augmented = self.saved()
        gradient = self.output.backward(dloss)
        for term in augmented:
            gradient = gradient + term.backward(dloss)
        for number, layer in reversed([*enumerate(self.layers, start=1)]):
            for term in (term for below, term in terms if below == number):
                gradient = gradient + term.backward(dloss)  # its input is this layer's output
            gradient = layer.backward(gradient)

    def targets(self, ids: HostArray) -> HostArray:
        """Ids of the words to predict, from those of a text: words it cannot predict are <unk>."""
        if self._output is None:
            return ids
        unk_id = None if self.vocab is None else self.vocab.unk_id
        if unk_id is None:
            raise ValueError("RNNLM: with output_ids, model.vocab must say which id <unk> has")
        return self._output.targets(ids, unk_id)

    @property
    def output_size(self) -> int:
        """How many words the model can predict: V, or K."""
        return self.vocab_size if self._output is None else self._output.size

    def scores_by_id(self, scores: HostArray) -> HostArray:
        """Scores (..., V) by the ids of a text: -inf for words that are never predicted."""
        return scores if self._output is None else self._output.scores_by_id(scores)

    def start(self, N: int) -> Any:
        """A state of zeros for N texts: that of every layer."""
        return Sequential(*self.layers).start(N)

    def step(self, ids: Array, state: Any = None) -> tuple[Array, Any]:
        """Scores of the next words (N, V) and the new state, from the ids (N,) of one step."""
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
        b = self.output.b
        if b is None:
            raise ValueError("RNNLM: start_from_unigram needs output_bias=True")
        if len(counts) != self.output_size:
            expected = f"a count for each of {self.output_size} words, got {len(counts)}"
            raise ValueError(f"RNNLM: start_from_unigram needs {expected}")
        n = asarray(counts).astype("float64") + 1
        b.value = xp.log(n / xp.sum(n)).astype(b.dtype)


def _layer_sizes(hidden_size: int | list[int], layers: int) -> list[int]:
    """H of each layer.

    >>> _layer_sizes(8, 2), _layer_sizes([8, 4], 2)
    ([8, 8], [8, 4])
    """
    sizes = [hidden_size] * layers if isinstance(hidden_size, int) else [*hidden_size]
    message = f"hidden_size should be one number, or one for each of {layers} layers, got {sizes}"
    options.refuse("RNNLM", {message: len(sizes) != layers})
    return sizes


def _check_together(given: Mapping[str, Any], sizes: Sequence[int]) -> None:
    """An error where options do not fit each other."""
    cell, D, H = given["cell"], given["embed_size"], sizes[-1]
    kind, mogrifier = options.CELLS[cell], options.CELLS["mogrifier"]
    broken = {
        "tie='tied' makes the output weight the embedding's transpose, so it needs embed_size = "
        f"hidden_size (that of the last layer), got {D} and {H}; tie='tied+L' is free of that": (
            given["tie"] == "tied" and D != H
        ),
        "input_matrix=False is the form h = f(x + h_prev Wh + b) of cell='rnn' with embed_size = "
        f"hidden_size, got cell={cell!r}, {D} and {given['hidden_size']}": (
            not given["input_matrix"]
            and (not options.cell_options(cell, {"input_matrix": False}) or {D} != {*sizes})
        ),
        f"mogrifier_rounds are rounds of cell='lstm', got cell={cell!r}": (
            given["mogrifier_rounds"] > 0 and not issubclass(mogrifier, kind)
        ),
        "trained_ids belong to freeze_embedding=True": (
            given["trained_ids"] is not None and not given["freeze_embedding"]
        ),
        "the augmented loss compares the vectors of all words that are predicted; with output_ids "
        "some have none": given["augment"] and given["output_ids"] is not None,
    }
    options.check_cell("RNNLM", cell, reset_after=given["reset_after"])
    options.refuse("RNNLM", broken)
