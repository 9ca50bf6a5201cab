"""A recurrent language model with the regularisation of AWD-LSTM and vocabularies in part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any

from deepnlp.backend import Array, HostArray, Rng
from deepnlp.layer import Layer
from deepnlp.layers import AugmentedLoss, TimeDropout, WeightDrop
from deepnlp.layers.embedding import EmbeddingDropout
from deepnlp.layers.regularisation import ActivationRegularisation, TemporalActivationRegularisation
from deepnlp.models import options
from deepnlp.models.rnnlm import RNNLM
from deepnlp.models.word_rows import OutputWords, frozen_in_part
from deepnlp.parameter import Parameter, View


class RegularisedRNNLM(RNNLM):
    r"""Recurrent language model with what AWD-LSTM adds, and with words read or predicted in part.

    .. math::
        loss = \mathrm{CE} + \alpha \, \mathrm{mean}(\tilde h_t^2)
               + \beta \, \mathrm{mean}((h_t - h_{t-1})^2) + \gamma \tau \, \mathrm{augmented}

    where h are the states of the last layer, before dropout, and with a tilde after it. Arguments
    that are not described here are those of :class:`RNNLM`.

    Parameters
    ----------
    input_dropout : float, optional
        Dropout of the word vectors; by default as dropout.
    output_dropout : float, optional
        Dropout of the last layer's states; by default as dropout.
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
    locked_dropout : bool
        One dropout mask for all steps of a window (variational dropout).
    input_matrix : bool
        Rnn: an input matrix Wx in the first layer; without it D = H. Its form is then
        h = f(x + h_prev Wh + b).
    mogrifier_rounds : int
        Lstm: rounds in which input and state scale each other before each step; 0 for none
        (:class:`~deepnlp.layers.TimeMogrifierLSTM`).
    mogrifier_rank : int
        Rank of the two matrices of a round.
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

    Notes
    -----
    While training ``forward(ids, targets)`` gives the mean cross-entropy with the terms of ``ar``,
    ``tar`` and ``augment``; the attribute ``penalty`` holds what they add, 0 for nothing.
    With ``output_ids`` targets and scores are those of the K words: ``targets(ids)`` gives the
    targets for ids of a text, ``scores_by_id`` the scores by the ids of a text.
    Merity, Keskar and Socher 2018.

    Raises
    ------
    ValueError
        If an option is out of its range, or sizes do not fit each other.

    Examples
    --------
    >>> from deepnlp.backend import xp
    >>> model = RegularisedRNNLM(10, 4, 4, dropout=0.0, weight_drop=0.5, ar=2.0, tar=1.0)
    >>> ids = xp.asarray([[1, 2, 3]])
    >>> loss = model(ids, ids)
    >>> bool(0 < model.penalty < loss)
    True
    """

    penalty: Any = 0  # what ar, tar and augment added to the last loss

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
        input_dropout: options.Chance = None,
        output_dropout: options.Chance = None,
        embed_dropout: options.Probability = 0.0,
        weight_drop: options.Probability = 0.0,
        ar: options.Weight = 0.0,
        tar: options.Weight = 0.0,
        augment: options.Weight = 0.0,
        augment_temperature: options.Positive = 20.0,
        output_bias: options.Switch = True,
        locked_dropout: options.Switch = False,
        init: options.Init = "uniform",
        embed_bound: options.Bound = 0.1,
        forget_bias: options.ForgetBias = None,
        activation: options.Activation = "tanh",
        input_matrix: options.Switch = True,
        mogrifier_rounds: options.Rounds = 0,
        mogrifier_rank: options.Size = 40,
        reset_after: options.Switch = False,
        embedding: Array | None = None,
        freeze_embedding: options.Switch = False,
        trained_ids: options.Ids = None,
        output_ids: options.Ids = None,
        dtype: options.DType = "float32",
        rng: Rng = None,
    ) -> None:
        self._remember(RegularisedRNNLM, **locals())
        ids = self._config["output_ids"]
        self._output = None if ids is None else OutputWords(ids, vocab_size)
        self._build(embedding, rng)
        # Terms of the loss while training, each with the number of layers below it
        top = len(self.layers) - (tie == "tied+L")
        last = top - bool(self._dropped("output_dropout"))
        self._terms: list[tuple[int, Layer]] = []
        self._terms += [(last, TemporalActivationRegularisation(tar))] if tar else []
        self._terms += [(top, ActivationRegularisation(ar))] if ar else []
        embed: Any = self.layers[0]
        W, b, E = self.output.W, self.output.b, embed.W
        self._augmented = [AugmentedLoss(W, b, E, augment, augment_temperature)] if augment else []

    def forward(self, ids: Array, targets: Array) -> Array:
        """Return the loss of the next words: a number from ids (N, T) and targets (N, T)."""
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
        """Go back through the output and every layer, last to first."""
        terms, augmented = self.saved()
        gradient = self.output.backward(dloss)
        for term in augmented:
            gradient = gradient + term.backward(dloss)
        for number, layer in reversed([*enumerate(self.layers, start=1)]):
            for term in (term for below, term in terms if below == number):
                gradient = gradient + term.backward(dloss)  # its input is this layer's output
            gradient = layer.backward(gradient)

    start, step = RNNLM.start, RNNLM.step  # forward adds to the loss alone

    def targets(self, ids: HostArray) -> HostArray:
        """Return ids of the words to predict from those of a text; other words are <unk>."""
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
        """Return scores (..., V) by the ids of a text: -inf for words that are never predicted."""
        return scores if self._output is None else self._output.scores_by_id(scores)

    # --- Parts that are made otherwise --------------------------------------------------------

    def _table(self, embedding: Array) -> View:
        trained, is_frozen = self._config["trained_ids"], self._config["freeze_embedding"]
        if trained is not None:
            return frozen_in_part(embedding, trained)
        return Parameter(embedding, "E", trainable=not is_frozen)

    def _embed(self, E: View) -> Layer:
        p = self._config["embed_dropout"]
        return EmbeddingDropout(E, p, self._rng) if p else super()._embed(E)

    def _tied(self, E: View) -> View:
        if self._output is None:
            return E.T
        D, apart = self._config["embed_size"], self._output.apart
        rest = self._draw((apart, D), self._config["embed_bound"], 0.01) if apart else None
        return self._output.rows(E, rest).T

    def _recurrent(self, D: int, H: int) -> Any:
        p, layer = self._config["weight_drop"], super()._recurrent(D, H)
        return WeightDrop(layer, p, self._rng) if p else layer

    def _cell(self) -> tuple[str, dict[str, Any]]:
        rounds, rank = self._config["mogrifier_rounds"], self._config["mogrifier_rank"]
        cell, given = super()._cell()
        given |= {"input_matrix": self._config["input_matrix"], "rank": rank}
        return ("mogrifier", {**given, "rounds": rounds}) if rounds else (cell, given)

    def _dropped(self, place: str) -> float:
        p: float | None = self._config[place]
        return self._config["dropout"] if p is None else p

    def _noise(self, place: str) -> list[Layer]:
        p = self._dropped(place)
        return [TimeDropout(p, self._config["locked_dropout"], self._rng)] if p else []

    def _misfits(self, sizes: Sequence[int]) -> dict[str, bool]:
        given, cell, D = self._config, self._config["cell"], self._config["embed_size"]
        kind, mogrifier = options.CELLS[cell], options.CELLS["mogrifier"]
        return super()._misfits(sizes) | {
            "input_matrix=False is the form h = f(x + h_prev Wh + b) of cell='rnn' with embed_size "
            f"= hidden_size, got cell={cell!r}, {D} and {given['hidden_size']}": (
                not given["input_matrix"]
                and (not options.cell_options(cell, {"input_matrix": False}) or {D} != {*sizes})
            ),
            f"weight_drop is of cells with a Wh, got cell={cell!r}": (
                given["weight_drop"] > 0 and getattr(kind, "Wh", self) is None
            ),
            f"mogrifier_rounds are rounds of cell='lstm', got cell={cell!r}": (
                given["mogrifier_rounds"] > 0 and not issubclass(mogrifier, kind)
            ),
            "trained_ids belong to freeze_embedding=True": (
                given["trained_ids"] is not None and not given["freeze_embedding"]
            ),
            "the augmented loss compares the vectors of all words that are predicted; with "
            "output_ids some have none": given["augment"] > 0 and given["output_ids"] is not None,
        }


def rnnlm_kind(given: Mapping[str, Any]) -> tuple[type[RNNLM], dict[str, Any]]:
    """Return the class that arguments need, and those of them that it takes.

    It is RegularisedRNNLM where one of its own arguments is not at its default, and RNNLM else.

    >>> rnnlm_kind({"layers": 1, "ar": 0.0})
    (<class 'deepnlp.models.rnnlm.RNNLM'>, {'layers': 1})
    """
    defaults = {name: p.default for name, p in signature(RegularisedRNNLM).parameters.items()}
    further = defaults.keys() - signature(RNNLM).parameters.keys()
    if any(given.get(name, defaults[name]) != defaults[name] for name in further):
        return RegularisedRNNLM, dict(given)
    return RNNLM, {name: value for name, value in given.items() if name not in further}


def rnnlm_of(given: Mapping[str, Any]) -> RNNLM:
    """Build the model of these arguments."""
    kind, arguments = rnnlm_kind(given)
    return kind(**arguments)
