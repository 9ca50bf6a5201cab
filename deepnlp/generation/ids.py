"""Ids from a language model: sample the next word, feed it back, repeat.

One id of a text is fed at a time and the hidden state carries the past, so memory does not grow
with the length.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deepnlp import backend
from deepnlp.evaluation import expect_language_model
from deepnlp.generation.sampling import Sampler
from deepnlp.generation.stepping import stepper_for
from deepnlp.generation.text import vocabulary_of
from deepnlp.models import RNNLM


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
    rng = _generator(length, seed, rng)
    sampler = Sampler(temperature, top_k, top_p, greedy, _banned(model, allow_unknown))
    last = vocabulary_of(model).eos_id if stop_at_eos else None
    steps = _continuations(model, [_prompt(model, prompt_ids)], length, sampler, [rng])
    return _until((id_ for (id_,) in steps), last)


def generate_batch(
    model: RNNLM,
    prompts: Sequence[Iterable[int]],
    length: int = 50,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    greedy: bool = False,
    seed: int | None = None,
    rng: np.random.Generator | None = None,
    allow_unknown: bool = False,
) -> Iterator[NDArray[np.int_]]:
    """Yield the continuations of B prompts side by side, the next id of each at every step.

    A step of B rows reads the weights once, so it takes much less time than B steps of one row.
    Where prompts differ in length, their ends are aligned: a shorter one is read later, from a
    state of zeros, and all rows choose their first id at the same step. Row b has a random
    generator of its own, ``rng.spawn(B)[b]``, so that its ids depend neither on the other rows nor
    on how many there are: they are those of :func:`generate_ids` with that generator, but for the
    rounding of the scores. The model is borrowed as by :func:`generate_ids`.

    Parameters
    ----------
    model : RNNLM
    prompts : sequence of B iterables of int
        Ids to continue; an empty one starts after ``<eos>``.
    length : int
        How many ids to yield of every row.
    temperature, top_k, top_p, greedy, allow_unknown
        As for :func:`generate_ids`.
    seed : int, optional
        Instead of ``rng``, the seed of ``numpy.random.default_rng``.
    rng : numpy.random.Generator, optional
        The parent of the rows' generators; by default the one that ``deepnlp.seed`` set. Every
        call gets other children from it.

    Returns
    -------
    iterator of numpy.ndarray of int, shape (B,)

    Raises
    ------
    ValueError
        At once if there is no prompt or a number is out of its range.

    Examples
    --------
    >>> from deepnlp.models import RNNLM
    >>> model = RNNLM(4, 8, 8)
    >>> steps = list(generate_batch(model, [[2, 3], [1]], length=5, seed=1))
    >>> len(steps), steps[0].shape
    (5, (2,))
    """
    parent = _generator(length, seed, rng)
    sampler = Sampler(temperature, top_k, top_p, greedy, _banned(model, allow_unknown))
    rows = [_prompt(model, ids) for ids in prompts]
    if not rows:
        raise ValueError("there is no prompt to continue: give one or more, each a list of ids")
    return _continuations(model, rows, length, sampler, parent.spawn(len(rows)))


def _generator(
    length: int, seed: int | None, rng: np.random.Generator | None
) -> np.random.Generator:
    """Where randomness comes from, once the numbers are found to be in range."""
    if length < 0:
        raise ValueError(f"length should be 0 or more, got {length}")
    if seed is not None and rng is not None:
        raise ValueError("give a seed or an rng, not both")
    if seed is not None:
        if seed < 0:
            raise ValueError(f"seed should be 0 or more, got {seed}")
        return np.random.default_rng(seed)
    return rng or backend.rng()


def _banned(model: RNNLM, allow_unknown: bool) -> tuple[int, ...]:
    expect_language_model("generate", model)
    return () if allow_unknown or model.vocab is None else (model.vocab.unk_id,)


def _prompt(model: RNNLM, ids: Iterable[int]) -> list[int]:
    prompt = [int(id_) for id_ in ids] or [vocabulary_of(model).eos_id]
    for id_ in prompt:
        if not 0 <= id_ < model.vocab_size:
            raise ValueError(
                f"ids of a prompt should be from 0 to {model.vocab_size - 1}, got {id_}; "
                "model.vocab.encode gives the ids of words"
            )
    return prompt


def _continuations(
    model: RNNLM,
    prompts: Sequence[Sequence[int]],
    length: int,
    sampler: Sampler,
    rngs: Sequence[np.random.Generator],
) -> Iterator[NDArray[np.int_]]:
    """The next id of every row, ``length`` times; the prompts end at the same step."""
    if length == 0:
        return
    longest = max(len(prompt) for prompt in prompts)
    begins = [longest - len(prompt) for prompt in prompts]
    stepper = stepper_for(model)
    for step in range(longest):
        # A row that has not begun reads id 0 in vain, and begins with a state of zeros.
        ids = [
            prompt[step - begin] if step >= begin else 0
            for prompt, begin in zip(prompts, begins, strict=True)
        ]
        if step:
            stepper.start_again(row for row, begin in enumerate(begins) if begin == step)
        logits = stepper.read(ids)
    for step in range(length):
        if step:
            logits = stepper.read(ids)
        ids = [sampler.choose(row, rng) for row, rng in zip(logits, rngs, strict=True)]
        yield np.array(ids)


def _until(ids: Iterator[Any], last: int | None) -> Iterator[int]:
    """Ids as Python's integers, up to and including the last."""
    for id_ in ids:
        yield int(id_)
        if id_ == last:
            return
