"""Text from a language model: sample the next word, feed it back, repeat.

The model gives a score z_i for every word i; what becomes of the scores is a chain of three
small functions, each from probabilities to probabilities:

    apply_temperature ──> keep_top_k ──> keep_top_p ──> draw

All of it runs on the host in float64, whatever the backend and the dtype of the model. One id is
fed at a time and the hidden state carries the past, so memory does not grow with the length.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepnlp import backend
from deepnlp.evaluation import evaluating, expect_language_model
from deepnlp.models import RNNLM
from deepnlp.text import Vocabulary

Probabilities = NDArray[np.float64]
LINE_MEMORY = 100  # words of a line that are kept to decide on spaces and quotes


def apply_temperature(logits: NDArray[Any], temperature: float = 1.0) -> Probabilities:
    r"""Turn scores into probabilities, sharper below temperature 1 and flatter above.

    .. math:: p_i = \frac{\exp(z_i / \tau)}{\sum_j \exp(z_j / \tau)}

    As tau goes to 0 all probability goes to the highest score, as tau grows p becomes uniform.

    Parameters
    ----------
    logits : array, shape (V,)
        Scores z; minus infinity gives probability 0.
    temperature : float
        tau, above 0.

    Returns
    -------
    numpy.ndarray of float64, shape (V,)

    Raises
    ------
    ValueError
        If the temperature is not a finite number above 0.

    References
    ----------
    Holtzman, Buys, Du, Forbes, Choi 2020, "The curious case of neural text degeneration", eq. 4.

    Examples
    --------
    >>> import numpy as np
    >>> logits = np.log([0.5, 0.25, 0.25])
    >>> apply_temperature(logits, 0.5).round(3).tolist()
    [0.667, 0.167, 0.167]
    """
    if not 0 < temperature < float("inf"):
        raise ValueError(
            f"temperature should be a number above 0, got {temperature}; "
            "for the likeliest word at every step use greedy instead"
        )
    z = np.asarray(logits, dtype=np.float64)
    with np.errstate(over="ignore"):  # a tiny tau may send z / tau to minus infinity: exp is 0
        weights = np.exp((z - z.max()) / temperature)
    return np.asarray(weights / weights.sum())


def keep_top_k(probabilities: Probabilities, k: int) -> Probabilities:
    """Keep the k likeliest words and share the probability out among them.

    Of equally likely words the one with the smaller id comes first.

    Parameters
    ----------
    probabilities : array, shape (V,)
    k : int
        At least 1; from V on nothing changes.

    Returns
    -------
    numpy.ndarray of float64, shape (V,)

    Raises
    ------
    ValueError
        If k is below 1.

    References
    ----------
    Fan, Lewis, Dauphin 2018, "Hierarchical neural story generation", section 5.1.

    Examples
    --------
    >>> import numpy as np
    >>> keep_top_k(np.array([0.125, 0.5, 0.25, 0.125]), 2).round(3).tolist()
    [0.0, 0.667, 0.333, 0.0]
    """
    if k < 1:
        raise ValueError(f"top_k should be 1 or more, got {k}; leave it out to keep all words")
    return _keep(probabilities, _likeliest_first(probabilities)[:k])


def keep_top_p(probabilities: Probabilities, p: float) -> Probabilities:
    r"""Keep the nucleus: the fewest likeliest words whose probabilities reach p together.

    .. math::

        \sum_{i \in V^{(p)}} p_i \ge p, \qquad
        p'_i = p_i / \sum_{j \in V^{(p)}} p_j \;\text{ for } i \in V^{(p)}, \text{ else } 0

    Parameters
    ----------
    probabilities : array, shape (V,)
    p : float
        Above 0 and at most 1; 1 changes nothing.

    Returns
    -------
    numpy.ndarray of float64, shape (V,)

    Raises
    ------
    ValueError
        If p lies outside (0, 1].

    References
    ----------
    Holtzman, Buys, Du, Forbes, Choi 2020, "The curious case of neural text degeneration", eq. 2
    and 3.

    Examples
    --------
    >>> import numpy as np
    >>> keep_top_p(np.array([0.125, 0.5, 0.25, 0.125]), 0.75).round(3).tolist()
    [0.0, 0.667, 0.333, 0.0]
    """
    if not 0 < p <= 1:
        raise ValueError(f"top_p should be above 0 and at most 1, got {p}")
    if p == 1:  # the rounded sum might reach 1 before the last word
        return probabilities
    order = _likeliest_first(probabilities)
    size = int(np.searchsorted(np.cumsum(probabilities[order]), p)) + 1
    return _keep(probabilities, order[:size])


def draw(probabilities: Probabilities, rng: np.random.Generator) -> int:
    """Draw an id by the inverse of the cumulative distribution.

    One uniform number u in [0, 1) gives the first id at which p_0 + ... + p_id exceeds u.

    Parameters
    ----------
    probabilities : array, shape (V,)
        At least one above 0.
    rng : numpy.random.Generator
        One number is taken from it.

    Returns
    -------
    int
        An id whose probability is above 0.

    Examples
    --------
    >>> import numpy as np
    >>> draw(np.array([0.0, 1.0, 0.0]), np.random.default_rng(0))
    1
    """
    cumulative = np.cumsum(probabilities)
    id_ = int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))
    # u times a sum just above 1 may round up to that sum, which no id exceeds.
    return min(id_, int(np.flatnonzero(probabilities)[-1]))


def _likeliest_first(probabilities: Probabilities) -> NDArray[np.intp]:
    return np.argsort(-probabilities, kind="stable")


def _keep(probabilities: Probabilities, ids: NDArray[np.intp]) -> Probabilities:
    kept = np.zeros_like(probabilities)
    kept[ids] = probabilities[ids]
    return np.asarray(kept / kept.sum())


@dataclass(frozen=True)
class Sampler:
    """How the next word is chosen from the model's scores.

    Parameters
    ----------
    temperature : float
        See :func:`apply_temperature`.
    top_k : int, optional
        See :func:`keep_top_k`; all words by default.
    top_p : float, optional
        See :func:`keep_top_p`, which comes after top_k; all words by default.
    greedy : bool
        Always the word with the highest score; then nothing is random and the rest is unused.
    banned : tuple of int
        Ids that are never chosen.

    Raises
    ------
    ValueError
        If a number is out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> sampler = Sampler(greedy=True, banned=(0,))
    >>> sampler.choose(np.array([3.0, 1.0, 2.0]), np.random.default_rng(0))
    2
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None
    greedy: bool = False
    banned: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        # An error in an option is an error here, before any word is chosen.
        self.probabilities(np.zeros(max(self.banned, default=0) + 2))

    def probabilities(self, logits: NDArray[Any]) -> Probabilities:
        """Probability with which each word is chosen.

        Parameters
        ----------
        logits : array, shape (V,)

        Returns
        -------
        numpy.ndarray of float64, shape (V,)
        """
        p = apply_temperature(self._allowed(logits), self.temperature)
        if self.top_k is not None:
            p = keep_top_k(p, self.top_k)
        if self.top_p is not None:
            p = keep_top_p(p, self.top_p)
        return p

    def choose(self, logits: NDArray[Any], rng: np.random.Generator) -> int:
        """Choose the next word.

        Parameters
        ----------
        logits : array, shape (V,)
        rng : numpy.random.Generator
            Where the random number comes from; a greedy choice takes none.

        Returns
        -------
        int
            The id of the word.

        Raises
        ------
        ValueError
            If no word is allowed, or a score is not a number.
        """
        if self.greedy:
            return int(np.argmax(self._allowed(logits)))
        return draw(self.probabilities(logits), rng)

    def _allowed(self, logits: NDArray[Any]) -> NDArray[np.float64]:
        z = np.array(logits, dtype=np.float64)
        z[list(self.banned)] = -np.inf
        highest = z.max(initial=-np.inf)
        if np.isnan(highest) or highest == np.inf:
            raise ValueError(
                "the model's scores are not finite, so no word can be chosen; "
                "its weights have diverged: load an earlier checkpoint"
            )
        if highest == -np.inf:
            raise ValueError(
                "no word is left to choose from: the vocabulary holds only words that are banned"
            )
        return z


def generate(
    model: RNNLM,
    prompt: str = "",
    length: int = 50,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    greedy: bool = False,
    seed: int | None = None,
    rng: np.random.Generator | None = None,
    stop_at_eos: bool = False,
    allow_unknown: bool = False,
) -> str:
    """Continue a prompt with words that the model finds likely.

    Training mode and hidden state of the model are afterwards what they were.

    Parameters
    ----------
    model : RNNLM
        With its vocabulary in ``model.vocab``.
    prompt : str
        The text to continue; the empty one starts a new sentence, after ``<eos>``.
    length : int
        How many words (or characters, for a character vocabulary) to add.
    temperature, top_k, top_p, greedy
        See :class:`Sampler`.
    seed : int, optional
        The same seed, prompt and model give the same text. By default ``rng``.
    rng : numpy.random.Generator, optional
        Where randomness comes from; by default the generator that ``deepnlp.seed`` set.
    stop_at_eos : bool
        Stop before ``length`` at the end of the sentence.
    allow_unknown : bool
        Whether ``<unk>`` may be chosen.

    Returns
    -------
    str
        The prompt and its continuation.

    Raises
    ------
    ValueError
        If a number is out of its range, or the model has no vocabulary.

    Examples
    --------
    >>> from deepnlp.models import RNNLM
    >>> from deepnlp.text import Vocabulary
    >>> model = RNNLM(4, 8, 8)
    >>> model.vocab = Vocabulary.build(["ha", "ho"])
    >>> text = generate(model, "Ha!", length=10, temperature=0.8, seed=1)
    >>> text.startswith("ha!") and "<unk>" not in text
    True
    """
    vocab = vocabulary_of(model)
    tokens = tokenize_prompt(vocab, prompt)
    ids = generate_ids(
        model,
        vocab.encode(tokens).tolist(),
        length,
        temperature=temperature,
        top_k=top_k,
        top_p=top_p,
        greedy=greedy,
        seed=seed,
        rng=rng,
        stop_at_eos=stop_at_eos,
        allow_unknown=allow_unknown,
    )
    return vocab.detokenize([*tokens, *vocab.decode(ids)])


def generate_ids(
    model: RNNLM,
    prompt_ids: Iterable[int] = (),
    length: int = 50,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    greedy: bool = False,
    seed: int | None = None,
    rng: np.random.Generator | None = None,
    stop_at_eos: bool = False,
    allow_unknown: bool = False,
) -> Iterator[int]:
    """Yield the ids of a continuation one by one, as they are chosen.

    The model is borrowed for one step at a time: whenever the caller has the turn, training mode
    and hidden state are as the caller left them, also when the iterator is never finished.

    Parameters
    ----------
    model : RNNLM
    prompt_ids : iterable of int
        Ids to continue; none starts after ``<eos>``.
    length : int
        How many ids to yield.
    temperature, top_k, top_p, greedy, seed, rng, stop_at_eos, allow_unknown
        As for :func:`generate`. The closing ``<eos>`` is yielded too.

    Returns
    -------
    iterator of int

    Raises
    ------
    ValueError
        At once if a number is out of its range; see :func:`generate`.

    Examples
    --------
    >>> from deepnlp.models import RNNLM
    >>> model = RNNLM(4, 8, 8)
    >>> len(list(generate_ids(model, [2, 3], length=5, seed=1)))
    5
    """
    if length < 0:
        raise ValueError(f"length should be 0 or more, got {length}")
    if seed is not None and rng is not None:
        raise ValueError("give a seed or an rng, not both")
    if seed is not None:
        if seed < 0:
            raise ValueError(f"seed should be 0 or more, got {seed}")
        rng = np.random.default_rng(seed)
    banned = () if allow_unknown or model.vocab is None else (model.vocab.unk_id,)
    sampler = Sampler(temperature, top_k, top_p, greedy, banned)
    prompt = [int(id_) for id_ in prompt_ids] or [vocabulary_of(model).eos_id]
    last = vocabulary_of(model).eos_id if stop_at_eos else None
    return _continuation(model, prompt, length, sampler, rng or backend.rng(), last)


def _continuation(
    model: RNNLM,
    prompt: Sequence[int],
    length: int,
    sampler: Sampler,
    rng: np.random.Generator,
    last: int | None,
) -> Iterator[int]:
    state: dict[str, Any] | None = None
    for id_ in prompt[:-1] if length else ():
        _, state = _step(model, id_, state)
    id_ = prompt[-1]
    for _ in range(length):
        logits, state = _step(model, id_, state)
        id_ = sampler.choose(logits, rng)
        yield id_
        if id_ == last:
            return


def _step(
    model: RNNLM, id_: int, state: dict[str, Any] | None
) -> tuple[NDArray[Any], dict[str, Any]]:
    """Feed one id after the given state: the scores of the next word, and the new state."""
    with evaluating(model):  # from a state of zeros; afterwards the model is as it was
        if state is not None:
            model.restore(state)
        logits = model.logits(backend.asarray([[id_]]))
        return backend.asnumpy(logits)[0, 0], model.snapshot()


def vocabulary_of(model: RNNLM) -> Vocabulary:
    """Vocabulary of a model, or an error that says what to do without one.

    Parameters
    ----------
    model : RNNLM

    Returns
    -------
    Vocabulary

    Raises
    ------
    ValueError
        If the model was built without one.
    """
    expect_language_model("generate", model)
    if model.vocab is None:
        raise ValueError(
            "this model has no vocabulary, so it cannot read or write text: "
            "set model.vocab, or give generate_ids the ids of a prompt"
        )
    return model.vocab


def tokenize_prompt(vocab: Vocabulary, prompt: str) -> list[str]:
    r"""Cut a prompt into tokens, with the end-of-line token where a line breaks.

    Parameters
    ----------
    vocab : Vocabulary
    prompt : str

    Returns
    -------
    list of str
        Words outside the vocabulary stay as they are.

    Examples
    --------
    >>> from deepnlp.text import Vocabulary
    >>> tokenize_prompt(Vocabulary.build([]), "Yes.\nNo")
    ['yes', '.', '<eos>', 'no']
    """
    first, *others = prompt.split("\n")
    tokens = vocab.tokenize(first)
    for line in others:
        tokens += [vocab.token(vocab.eos_id), *vocab.tokenize(line)]
    return tokens


def text_pieces(vocab: Vocabulary, tokens: Sequence[str], ids: Iterable[int]) -> Iterator[str]:
    """Yield a text as it grows: the prompt, then what each id adds, spaces included.

    Parameters
    ----------
    vocab : Vocabulary
    tokens : sequence of str
        The prompt, cut by :func:`tokenize_prompt`.
    ids : iterable of int
        Its continuation, from :func:`generate_ids`.

    Yields
    ------
    str

    Examples
    --------
    >>> from deepnlp.text import Vocabulary
    >>> vocab = Vocabulary.build(["it", "'s", "so", "."])
    >>> list(text_pieces(vocab, ["it"], vocab.encode(["'s", "so", "."]).tolist()))
    ['it', "'s", ' so', '.']
    """
    line = list(tokens)
    yield vocab.detokenize(line)
    for id_ in ids:
        # Spaces and quotes follow from what went before in the line: its last words are enough.
        line = line[-LINE_MEMORY:]
        before = vocab.detokenize(line)
        line.append(vocab.token(id_))
        yield vocab.detokenize(line)[len(before) :]
        if id_ == vocab.eos_id:
            line = []
