"""Evaluation of a language model that goes on learning from the text it is evaluated on."""

import copy
from collections.abc import Iterator

from deepnlp.backend import Array, HostArray, check_number, xp
from deepnlp.evaluation.prediction import Ids, checked_ids, exponential, windows
from deepnlp.models import RNNLM
from deepnlp.optimizers.optimizer import Update, update_all
from deepnlp.parameter import Parameter

STREAMS = 100  # rows of the training text that the statistics are taken from


def dynamic_perplexity(
    model: RNNLM,
    ids: Ids,
    train: Ids,
    lr: float = 0.002,
    decay: float = 0.02,
    eps: float = 0.002,
    segment: int = 5,
) -> float:
    r"""Return the perplexity of a model that learns from each segment after predicting it.

    .. math::
        R &= \sqrt{\tfrac1K \textstyle\sum_k g_k^2}, \qquad
        D = \min\bigl(1 / \lambda,\; R / \operatorname{mean}(R)\bigr) \\
        W_i &= W_{i-1} - \mathrm{lr}\, \frac{\nabla L(s_i)}{R + \epsilon}
            + \lambda\, D\, (W_0 - W_{i-1})

    element by element. Segment s_i of the text is predicted with W_(i-1), which counts, and only
    then learnt from. g_k is the gradient of batch k of the training text at the trained weights
    W_0: a weight whose gradients are small there takes larger steps, and one whose gradients are
    large is drawn back to W_0 more strongly. Dropout is off. It is a copy of the model that learns.

    Parameters
    ----------
    model : RNNLM
    ids : array of int, shape (n,)
        On the host; read as one stream, the first as context.
    train : array of int, shape (m,)
        The text that the model was trained on; it is read once, in 100 streams.
    lr, decay, eps : float
        decay is lambda, 0 for none.
    segment : int
        Steps of a segment; the state is carried from one to the next, and gradients are not.

    Raises
    ------
    ValueError
        If there are fewer than 2 tokens, an id is not in the vocabulary, or a number is out of its
        range.

    Notes
    -----
    Krause, Kahembwe, Murray and Renals 2018 (arXiv:1709.07432, section 5): the rule with a global
    prior and decay that are scaled by RMS. They choose lr and decay on the validation split. The
    mean of R is over all weights.

    Examples
    --------
    >>> from deepnlp.backend import seed
    >>> seed(0)
    >>> model = RNNLM(vocab_size=5, embed_size=4, hidden_size=4)
    >>> train, text = [0, 1, 2, 3, 4] * 40, [1] * 100
    >>> [dynamic_perplexity(model, text, train, lr) < 2 for lr in (0.0, 0.01)]
    [False, True]
    """
    check_number("lr", lr, low=0)
    check_number("decay", decay, low=0)
    check_number("eps", eps, above=0)
    ids, train = checked_ids(model, ids), checked_ids(model, train)
    model = copy.deepcopy(model.twin()).eval()
    trained = [p for p in model.parameters() if p.trainable]
    start = [p.value.copy() for p in trained]
    model.reset_state()
    rms = _root_mean_square(model, trained, train, segment)
    mean = sum(float(xp.sum(R)) for R in rms) / sum(R.size for R in rms)
    pull = [decay * xp.minimum(1 / decay, R / mean) if decay and mean else 0 * R for R in rms]
    kept = [{"W0": W0, "pull": D, "rate": lr / (R + eps)} for W0, D, R in zip(start, pull, rms)]
    model.reset_state()
    total = 0.0
    for loss, targets in _losses(model, ids, 1, segment):
        total += loss * targets
        update_all(_learn, [Update(p.value, p.grad, k, {}) for p, k in zip(trained, kept)])
    return exponential(total / (len(ids) - 1))


def _learn(W: Array, g: Array, W0: Array, pull: Array, rate: Array) -> None:
    """Apply the rule above, element by element, with lambda D and lr / (R + epsilon) as arrays."""
    W += pull * (W0 - W) - rate * g


def _root_mean_square(
    model: RNNLM, trained: list[Parameter], train: HostArray, segment: int
) -> list[Array]:
    """R of each parameter: the root of the mean square of its gradients over the training text."""
    squares, batches = [xp.zeros_like(p.value) for p in trained], 0
    for _ in _losses(model, train, STREAMS, segment):
        batches += 1
        for square, p in zip(squares, trained, strict=True):
            square += p.grad**2
    return [xp.sqrt(square / batches) for square in squares]


def _losses(
    model: RNNLM, ids: HostArray, batch_size: int, segment: int
) -> Iterator[tuple[float, int]]:
    """Yield each segment's mean loss and targets; the parameters then have its gradient."""
    for x, t, count in windows(model, ids, batch_size, segment):
        loss = float(model.forward(x, t))
        model.zero_grad()
        model.backward()
        yield loss, count
