"""Stories with a question at the end, and small networks that learn to answer it."""

from collections.abc import Callable

import numpy as np

from deepnlp.backend import Generator, HostArray, asarray, asnumpy
from deepnlp.demos.memory import NAMES, VOCABULARY
from deepnlp.demos.training import fit, gradient_of_choice
from deepnlp.layer import Layer, Sequential, no_backward
from deepnlp.layers import Embedding, TimeAffine
from deepnlp.optimizers import Adam

Stories = Callable[[Generator, int, int], tuple[HostArray, HostArray]]

OTHER_WORDS = 12  # that mean nothing
WORDS = len(NAMES) + OTHER_WORDS + 1  # of `arrivals`


def arrivals(rng: Generator, N: int, distance: int, which: int) -> tuple[HostArray, HostArray]:
    """Stories in which people come in one after the other among other words; who was it?

    The people are ids 0 to 7, one in each eighth of the distance up to half of it; the other words
    are ids 8 to 19, and the question at the end is 20.

    Parameters
    ----------
    rng : numpy.random.Generator
    N : int
    distance : int
        Words from the first person to the question.
    which : int
        0 asks for the first, -1 for the last.

    Returns
    -------
    ids : numpy.ndarray (N, distance + 1)
    answers : numpy.ndarray (N,)

    Examples
    --------
    >>> ids, answers = arrivals(np.random.default_rng(0), N=1, distance=8, which=-1)
    >>> ids.tolist(), answers.tolist()
    ([[6, 5, 7, 4, 11, 8, 8, 8, 20]], [4])
    """
    people = len(NAMES)
    ids = rng.integers(people, people + OTHER_WORDS, (N, distance + 1))
    places = range(0, distance // 2, max(1, distance // 8))
    came = rng.integers(people, size=(N, len(places)))
    ids[:, places] = came
    ids[:, -1] = people + OTHER_WORDS
    return ids, came[:, which]


def story_net(
    make: Callable[[int, int, Generator], Layer],
    words: int = len(VOCABULARY),
    seed: int = 0,
    D: int = 16,
    H: int = 32,
) -> Sequential:
    """An embedding, the layer that ``make(D, H, rng)`` gives, and eight scores at each step."""
    rng = np.random.default_rng(seed)
    look_up = Embedding(asarray(rng.normal(size=(words, D)).astype("float32")))
    return Sequential(look_up, make(D, H, rng), TimeAffine.init(H, len(NAMES), rng))


def learn_stories(
    net: Sequential, stories: Stories, distance: int, updates: int, seed: int = 0, N: int = 32
) -> float:
    """Learn to answer the question at the end of a story; accuracy on 500 fresh stories.

    The loss counts at the last word alone. Adam, rate 0.01, gradients clipped to a norm of 1.
    """
    rng = np.random.default_rng(seed)
    optimizer = Adam(net.parameters(), lr=0.01)
    for _ in range(updates):
        ids, answers = stories(rng, N, distance)
        targets = np.full_like(ids, -1)  # ignored, but for the last
        targets[:, -1] = answers
        fit(net, optimizer, ids, targets, gradient_of_choice, max_norm=1.0)
    ids, answers = stories(rng, 500, distance)
    net.eval()
    with no_backward():
        scores = asnumpy(net.forward(asarray(ids)))[:, -1]
    net.train()
    return float(np.mean(scores.argmax(axis=1) == answers))
