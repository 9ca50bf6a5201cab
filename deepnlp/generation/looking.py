"""The inside of a language model: what heads look at, what layers would predict, and gates."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from deepnlp.backend import HostArray, asarray, asnumpy
from deepnlp.evaluation import evaluating
from deepnlp.evaluation.prediction import likeliest_of
from deepnlp.generation.writing import tokenize_prompt, vocabulary_of
from deepnlp.gradflow import gate_values
from deepnlp.layer import Layer, Sequential
from deepnlp.layers import TimeGRU, TimeLSTM, TransformerBlock
from deepnlp.layers.recurrent import TimeRecurrent

REPEATED = 24  # random tokens that the induction score reads twice


def look(model: Any, text: str) -> tuple[list[str], HostArray]:
    """Return the attention of each head of a GPT, from every token of a text to those before it.

    Parameters
    ----------
    model : GPT
        With its vocabulary in ``model.vocab``.
    text : str
        At most as many tokens as the model reads at a time.

    Returns
    -------
    tokens : list of str
        T tokens.
    weights : numpy.ndarray, shape (blocks, heads, T, T)
        Each row sums to 1.

    Raises
    ------
    ValueError
        If the model has no blocks or no vocabulary, or the text is empty or too long.

    Examples
    --------
    >>> from deepnlp.models import GPT
    >>> from deepnlp.text import Vocabulary
    >>> vocab = Vocabulary.build("abc", tokenizer="chars")
    >>> model = GPT(len(vocab), embed_size=8, layers=2, heads=4, context=8)
    >>> model.vocab = vocab
    >>> tokens, weights = look(model, "cab")
    >>> weights.shape
    (2, 4, 3, 3)
    """
    tokens, ids = _read(model, text)
    return tokens, _weights(model, ids)


def _read(model: Any, text: str) -> tuple[list[str], HostArray]:
    """The tokens of a text, and their ids."""
    vocab = vocabulary_of(model)
    tokens = tokenize_prompt(vocab, text)
    if not tokens:
        raise ValueError("an empty text has nothing to look at")
    return tokens, vocab.encode(tokens)


def _weights(model: Any, ids: HostArray) -> HostArray:
    """The attention of each head, (blocks, heads, T, T), from ids (T,)."""
    layers = getattr(model, "layers", ())
    blocks: list[Any] = [layer for layer in layers if isinstance(layer, TransformerBlock)]
    if not blocks:
        raise ValueError("this model has no heads of attention: train one with --model gpt")
    with evaluating(model):
        model.forward(asarray(ids)[None], asarray(ids)[None])  # for a backward weights are held
    return np.array([asnumpy(block.attention.layer.weights)[0] for block in blocks])


def induction(model: Any, seed: int = 0) -> HostArray:
    r"""How much each head of a GPT looks for what came after the same token before.

    .. math:: \frac{1}{n} \sum_{t=n}^{2n-1} a_{t,\, t - n + 1}

    where the second half of 2n tokens repeats the first, which is drawn at random: 1 for a head
    that only continues repetitions (Olsson et al. 2022).

    Parameters
    ----------
    model : GPT
    seed : int
        Of the random tokens.

    Returns
    -------
    numpy.ndarray, shape (blocks, heads)

    Examples
    --------
    >>> from deepnlp.models import GPT
    >>> induction(GPT(vocab_size=50, embed_size=8, layers=2, heads=4, context=64)).shape
    (2, 4)
    """
    n = min(REPEATED, getattr(model, "context", 2 * REPEATED) // 2)
    ids = np.tile(np.random.default_rng(seed).integers(0, model.vocab_size, n), 2)
    weights = _weights(model, ids)
    return np.asarray(np.diagonal(weights[..., n:, 1 : n + 1], axis1=2, axis2=3).mean(axis=-1))


class Lens(NamedTuple):
    """Predictions of each layer, as if it were the last: L layers, T tokens, the k likeliest.

    Parameters
    ----------
    tokens : list of str
        T tokens that were read.
    layers : list of str
        Names, from the input upwards.
    words : list of list of list of str
        The likeliest next words, (L, T, k).
    probabilities : numpy.ndarray, shape (L, T, k)
    """

    tokens: list[str]
    layers: list[str]
    words: list[list[list[str]]]
    probabilities: HostArray


def lens(model: Any, text: str, k: int = 1) -> Lens:
    """Return what each layer of a language model would predict: the logit lens.

    What a layer gives goes straight through what stands above the last layer, such as its norm,
    and the output (nostalgebraist 2020). Layers of another width than the last are left out.

    Parameters
    ----------
    model : RNNLM or GPT
        With its vocabulary in ``model.vocab``.
    text : str
    k : int
        How many words for each token.

    Raises
    ------
    ValueError
        If the model has no such layers or no vocabulary, or the text is empty or too long.

    Examples
    --------
    >>> from deepnlp.models import GPT
    >>> from deepnlp.text import Vocabulary
    >>> vocab = Vocabulary.build("abc", tokenizer="chars")
    >>> model = GPT(len(vocab), embed_size=8, layers=2, heads=4, context=8)
    >>> model.vocab = vocab
    >>> seen = lens(model, "cab", k=2)
    >>> seen.layers, seen.probabilities.shape
    (['words', 'block 1', 'block 2'], (3, 3, 2))
    """
    tokens, ids = _read(model, text)
    with evaluating(model.twin()) as model:
        read, given, layers = _through(model, ids)
        places = [n for n, layer in enumerate(layers) if _is_block(layer)]
        if not places:
            raise ValueError("this model has no layers one above the other to look into")
        kind = "block" if isinstance(layers[places[-1]], TransformerBlock) else "layer"
        above = {"words": read[places[0]]}
        above |= {f"{kind} {number}": given[n] for number, n in enumerate(places, start=1)}
        above = {name: h for name, h in above.items() if h.shape == given[places[-1]].shape}
        tail = Sequential(*layers[places[-1] + 1 :])
        scores = [model.output.scores(tail.forward(h))[0] for h in above.values()]
        found = [likeliest_of(model, asnumpy(each), k) for each in scores]
        words = [[model.vocab.decode(row) for row in best] for best, _ in found]
    return Lens(tokens, [*above], words, np.array([p for _, p in found]))


def gates(model: Any, text: str) -> tuple[list[str], dict[str, HostArray]]:
    """How far each gate of the recurrent layers is open at each token: the mean over its units.

    Parameters
    ----------
    model : RNNLM
        With layers that are LSTMs or GRUs, and its vocabulary in ``model.vocab``.
    text : str

    Returns
    -------
    tokens : list of str
        T tokens.
    means : dict of str to numpy.ndarray (T,)
        By layer and gate, such as ``"layer 1: f"``.

    Raises
    ------
    ValueError
        If the model has no gates or no vocabulary, or the text is empty.

    Examples
    --------
    >>> from deepnlp.models import RNNLM
    >>> from deepnlp.text import Vocabulary
    >>> model = RNNLM(5, 4, 4, layers=1)
    >>> model.vocab = Vocabulary.build("abc", tokenizer="chars")
    >>> tokens, means = gates(model, "cab")
    >>> [*means], means["layer 1: f"].shape
    (['layer 1: i', 'layer 1: f', 'layer 1: o'], (3,))
    """
    tokens, ids = _read(model, text)
    means: dict[str, HostArray] = {}
    with evaluating(model.twin()) as model:
        read, given, layers = _through(model, ids)
        gated = [n for n, layer in enumerate(layers) if type(layer) in (TimeLSTM, TimeGRU)]
        for number, n in enumerate(gated, start=1):
            x, h, layer = asnumpy(read[n])[0], asnumpy(given[n])[0], layers[n]
            h_prev = np.concatenate([np.zeros_like(h[:1]), h[:-1]])
            for gate, values in gate_values(layer, asarray(x), asarray(h_prev)).items():
                means[f"layer {number}: {gate}"] = asnumpy(values).mean(axis=1)
    if not means:
        raise ValueError("this model has no gates: train one with --cell lstm or --cell gru")
    return tokens, means


def _is_block(layer: Any) -> bool:
    """Return whether a layer is one of those that a model repeats."""
    return isinstance(layer, TransformerBlock | TimeRecurrent)


def _through(model: Any, ids: HostArray) -> tuple[list[Any], list[Any], Sequence[Any]]:
    """Return what each layer of a model reads and gives for ids (T,), and the layers."""
    layers: Sequence[Layer] = getattr(model, "layers", ())
    if len(ids) > getattr(model, "context", len(ids)):
        raise ValueError(f"the model reads {model.context} tokens at a time, got {len(ids)}")
    arrays = [asarray(ids)[None]]
    for layer in layers:
        arrays.append(layer.forward(arrays[-1]))
    return arrays[:-1], arrays[1:], layers
