"""A memory beside a language model: the words that followed states like the present one."""

import numpy as np

from deepnlp.backend import Array, HostArray, asarray, asnumpy, check_number, xp
from deepnlp.evaluation.prediction import Ids, checked_ids, evaluating, exponential, windows
from deepnlp.models import RNNLM
from deepnlp.models.language_model import to_predict


def cache_surprisal(
    model: RNNLM,
    ids: Ids,
    size: int = 500,
    flatness: float = 1.0,
    share: float = 0.1,
    window: int | None = None,
) -> HostArray:
    r"""Return how unexpected each token of a text is to a model with a cache, in nats.

    .. math::
        p_c(w \mid w_{\le t}) &= \frac{\sum_{i = t - n}^{t - 1} [w_{i+1} = w]
            \exp(\theta\, h_t \cdot h_i)}{\sum_{i = t - n}^{t - 1} \exp(\theta\, h_t \cdot h_i)} \\
        p(w \mid w_{\le t}) &= (1 - \lambda)\, p_m(w \mid w_{\le t})
            + \lambda\, p_c(w \mid w_{\le t})

    where h_i is the state after word i from which the model computes p_m, the probability of the
    next word. The first word of a text has no cache: there p is p_m. The model is not changed, nor
    is anything trained: the cache remembers how the text itself went on.

    Parameters
    ----------
    model : RNNLM
    ids : array of int, shape (n_ids,)
        On the host; read as one stream, the first as context.
    size : int
        n, how many states are remembered.
    flatness : float
        theta: at 0 all remembered words count alike, the larger it is the more only the words after
        the most similar states.
    share : float
        lambda, in [0, 1).
    window : int, optional
        Steps at a time, which bounds memory and does not change the result.

    Returns
    -------
    numpy.ndarray of float64, shape (n_ids - 1,)
        One for each target.

    Raises
    ------
    ValueError
        If there are fewer than 2 tokens, an id is not in the vocabulary, or a number is out of its
        range.

    Notes
    -----
    Grave, Joulin and Usunier 2017, section 3. They and Merity, Keskar and Socher (2018) choose n,
    theta and lambda on the validation split.

    Examples
    --------
    The weights are zero: the model hesitates between 5 words, the cache has seen one of them twice.

    >>> model = RNNLM(vocab_size=5, embed_size=2, hidden_size=2)
    >>> for parameter in model.parameters():
    ...     parameter.value[...] = 0
    >>> np.exp(-cache_surprisal(model, [0, 1, 1, 1], share=0.5)).round(3).tolist()
    [0.2, 0.6, 0.6]
    """
    check_number("size of the cache", size, whole=True, low=1)
    check_number("flatness", flatness, low=0)
    check_number("share of the cache", share, low=0, below=1)
    ids = checked_ids(model, ids)
    targets = asarray(to_predict(model, ids)[1:])
    surprisals: list[HostArray] = []
    kept: Array | None = None  # the last states of the windows before, at most (n, H)
    with evaluating(model.twin()) as model, np.errstate(divide="ignore"):
        for x, t, T in windows(model, ids, 1, window):
            first, predicted = sum(map(len, surprisals)), t[0]
            h = model.hidden(x)
            losses = asnumpy(model.output.losses(h, t)[0]).astype("float64")
            states = h[0] if kept is None else xp.concatenate([kept, h[0]])  # (K + T, H)
            K = len(states) - T
            followed_by = targets[first - K : first + T]
            cache = _cache_of(states, h[0], followed_by, predicted, K, size, flatness)
            p = asnumpy(cache).astype("float64")
            lam = np.where(np.arange(first, first + T) > 0, share, 0.0)
            surprisals.append(-np.logaddexp(np.log1p(-lam) - losses, np.log(lam) + np.log(p)))
            kept = states[-size:]
    return np.concatenate(surprisals)


def _cache_of(
    states: Array,
    h: Array,
    followed_by: Array,
    predicted: Array,
    K: int,
    size: int,
    flatness: float,
) -> Array:
    """p_c of the words ``predicted`` (T,), from K + T states of which the last T are h (T, H)."""
    i, t = xp.arange(len(states))[None, :], K + xp.arange(len(h))[:, None]
    scores = xp.where((i < t) & (i >= t - size), flatness * (h @ states.T), -xp.inf)
    highest = xp.max(scores, axis=1, keepdims=True)
    weights = xp.exp(scores - xp.where(highest == -xp.inf, 0, highest))
    right = xp.where(followed_by[None, :] == predicted[:, None], weights, 0)
    total = xp.sum(weights, axis=1)
    return xp.sum(right, axis=1) / xp.where(total == 0, 1, total)


def cache_perplexity(
    model: RNNLM,
    ids: Ids,
    size: int = 500,
    flatness: float = 1.0,
    share: float = 0.1,
) -> float:
    """Return the perplexity of a model with a cache: exp of the mean :func:`cache_surprisal`.

    Parameters
    ----------
    model, ids, size, flatness, share
        As for :func:`cache_surprisal`.

    Raises
    ------
    ValueError
        As :func:`cache_surprisal`.

    Examples
    --------
    >>> model = RNNLM(vocab_size=5, embed_size=2, hidden_size=2)
    >>> for parameter in model.parameters():
    ...     parameter.value[...] = 0
    >>> round(cache_perplexity(model, [0, 1, 1, 1], share=0.5), 3)   # (5 / 0.6 / 0.6) ** (1 / 3)
    2.404
    """
    return exponential(float(np.mean(cache_surprisal(model, ids, size, flatness, share))))
