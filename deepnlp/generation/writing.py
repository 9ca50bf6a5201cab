"""Text from a language model: sample the next word, feed it back, repeat.

One id of each text is fed at a time, and a state carries the past. The model is not changed: its
training mode and the state that it carries from forward to forward stay as they are.
"""

from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, TypedDict, Unpack

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from deepnlp import backend
from deepnlp.backend import asarray, asnumpy, check_number
from deepnlp.backend.threads import one_blas_thread
from deepnlp.evaluation import expect_language_model
from deepnlp.generation.sampling import Sampler
from deepnlp.layer import map_state, with_rows
from deepnlp.models import RNNLM
from deepnlp.text import Vocabulary

Ids = NDArray[np.int_]

LINE_MEMORY = 100  # words of a line that are kept to decide on spaces and quotes


class Sampling(TypedDict, total=False):
    """How words are chosen: the options that every function here takes, all of them optional.

    Parameters
    ----------
    temperature : float
        1 by default; see :class:`Sampler`, also for the next three.
    top_k : int or None
    top_p : float or None
    greedy : bool
    seed : int or None
        Seed of ``numpy.random.default_rng``, instead of ``rng``.
    rng : numpy.random.Generator or None
        The source of randomness; by default the generator that ``deepnlp.seed`` set.
    allow_unknown : bool
        Whether ``<unk>`` may be chosen; false by default.
    """

    temperature: float
    top_k: int | None
    top_p: float | None
    greedy: bool
    seed: int | None
    rng: Generator | None
    allow_unknown: bool


def generate(
    model: RNNLM,
    prompt: str = "",
    length: int = 50,
    *,
    stop_at_eos: bool = False,
    **sampling: Unpack[Sampling],
) -> str:
    """Continue a prompt with words that the model finds likely.

    The training mode and the hidden state of the model are not changed.

    Parameters
    ----------
    model : RNNLM
        With its vocabulary in ``model.vocab``.
    prompt : str
        The text to continue; the empty one starts a new sentence, after ``<eos>``.
    length : int
        How many words (or characters, for a character vocabulary) to add.
    stop_at_eos : bool
        Stop before ``length`` at the end of the sentence.
    **sampling
        How a word is chosen; see :class:`Sampling`. The same seed, prompt and model give the same
        text.

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
    ids = generate_ids(model, vocab.encode(tokens), length, stop_at_eos=stop_at_eos, **sampling)
    return vocab.detokenize([*tokens, *vocab.decode(ids)])


def generate_many(
    model: RNNLM,
    prompts: Sequence[str],
    length: int = 50,
    *,
    stop_at_eos: bool = False,
    **sampling: Unpack[Sampling],
) -> list[str]:
    """Continue several prompts side by side, which is faster than one after the other.

    A text depends on its place in the list, but not on the other prompts or on how many there are;
    see :func:`generate_batch`.

    Parameters
    ----------
    model : RNNLM
        With its vocabulary in ``model.vocab``.
    prompts : sequence of str
        The texts to continue, which may be the same one several times.
    length : int
        How many words to add to each.
    stop_at_eos : bool
        End a text at the end of its sentence.
    **sampling
        See :class:`Sampling`; with the same seed the texts are not those of :func:`generate`.

    Returns
    -------
    list of str
        Every prompt and its continuation.

    Raises
    ------
    ValueError
        If there is no prompt, a number is out of its range, or the model has no vocabulary.
    TypeError
        If one text was given instead of several.

    Examples
    --------
    >>> from deepnlp.models import RNNLM
    >>> from deepnlp.text import Vocabulary
    >>> model = RNNLM(4, 8, 8)
    >>> model.vocab = Vocabulary.build(["ha", "ho"])
    >>> texts = generate_many(model, ["Ha!", "Ho ho"], length=10, seed=1)
    >>> [text[:2] for text in texts]
    ['ha', 'ho']
    """
    if isinstance(prompts, str) or not isinstance(prompts, Iterable):
        got = "one text" if isinstance(prompts, str) else f"a {type(prompts).__name__}"
        raise TypeError(f"generate_many takes a list of prompts, got {got}: put it in a list")
    vocab = vocabulary_of(model)
    texts = [tokenize_prompt(vocab, prompt) for prompt in prompts]
    unfinished = set(range(len(texts)))
    for ids in generate_batch(model, [*map(vocab.encode, texts)], length, **sampling):
        for row in sorted(unfinished):
            texts[row].append(vocab.token(ids[row]))
            if stop_at_eos and vocab.ends_line(texts[row][-1]):
                unfinished.remove(row)
        if not unfinished:
            break
    return [vocab.detokenize(tokens) for tokens in texts]


def generate_ids(
    model: RNNLM,
    prompt_ids: Iterable[int] = (),
    length: int = 50,
    *,
    stop_at_eos: bool = False,
    **sampling: Unpack[Sampling],
) -> Iterator[int]:
    """Yield the ids of a continuation one by one, as they are chosen.

    Between two ids the training mode and hidden state of the model are as the caller left them,
    also when the iterator is never finished.

    Parameters
    ----------
    model : RNNLM
    prompt_ids : iterable of int
        Ids to continue; without any, the text starts after ``<eos>``.
    length : int
        How many ids to yield.
    stop_at_eos : bool
        Stop before ``length`` at the end of the sentence, with ``<eos>`` as the last id.
    **sampling
        See :class:`Sampling`.

    Raises
    ------
    ValueError
        At the call, if a number is out of its range; see :func:`generate`.

    Examples
    --------
    >>> from deepnlp.models import RNNLM
    >>> model = RNNLM(4, 8, 8)
    >>> len(list(generate_ids(model, [2, 3], length=5, seed=1)))
    5
    """
    sampler, rng = _sampler(model, length, **sampling)
    vocab = vocabulary_of(model) if stop_at_eos else None
    steps = _continuations(model, _prompts(model, [prompt_ids]), length, sampler, [rng])

    def ids() -> Iterator[int]:
        for (id_,) in steps:
            yield int(id_)
            if vocab is not None and vocab.ends_line(vocab.token(id_)):
                return

    return ids()


def generate_batch(
    model: RNNLM, prompts: Sequence[Iterable[int]], length: int = 50, **sampling: Unpack[Sampling]
) -> Iterator[Ids]:
    """Yield the continuations of B prompts side by side, the next id of each at every step.

    A step of B rows reads the weights once, so it takes much less time than B steps of one row.
    Where prompts differ in length, their ends are aligned: a shorter one is read later, from a
    state of zeros, and all rows choose their first id at the same step. Row b draws from the
    generator ``rng.spawn(B)[b]``, so its ids do not depend on the other rows or on how many there
    are: except for the rounding of the scores, they are those of :func:`generate_ids` with that
    generator. The model is left as by :func:`generate_ids`.

    Parameters
    ----------
    model : RNNLM
    prompts : sequence of B iterables of int
        Ids to continue; an empty one starts after ``<eos>``.
    length : int
        How many ids to yield of every row.
    **sampling
        See :class:`Sampling`. The generator is the parent of the rows' generators; every call gets
        different children of it.

    Returns
    -------
    iterator of numpy.ndarray of int, shape (B,)

    Raises
    ------
    ValueError
        At the call, if there is no prompt or a number is out of its range.

    Examples
    --------
    >>> from deepnlp.models import RNNLM
    >>> model = RNNLM(4, 8, 8)
    >>> steps = list(generate_batch(model, [[2, 3], [1]], length=5, seed=1))
    >>> len(steps), steps[0].shape
    (5, (2,))
    """
    sampler, parent = _sampler(model, length, **sampling)
    rows = _prompts(model, prompts)
    return _continuations(model, rows, length, sampler, parent.spawn(len(rows)))


def vocabulary_of(model: RNNLM) -> Vocabulary:
    """Return the vocabulary of a model, or an error that says what to do without one.

    Parameters
    ----------
    model : RNNLM

    Raises
    ------
    ValueError
        If the model was built without one.
    """
    expect_language_model("generate", model)
    if model.vocab is None:
        raise ValueError(
            "this model has no vocabulary: set model.vocab, or give generate_ids a prompt of ids"
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
    if not isinstance(prompt, str):
        raise TypeError(f"a prompt should be a text, got a {type(prompt).__name__}")
    return vocab.cut.split_lines(prompt)


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
    yield vocab.detokenize(tokens)
    letters = getincrementaldecoder("utf-8")("replace")  # byte pairs may hold parts of a letter
    line = list(tokens)
    for id_ in ids:
        # Spaces and quotes depend on the words before in the line; the last ones are enough.
        line = line[-LINE_MEMORY:]
        before = vocab.cut.to_bytes(line)
        line.append(vocab.token(id_))
        yield letters.decode(vocab.cut.to_bytes(line)[len(before) :])
        if vocab.ends_line(line[-1]):
            line = []
    if part := letters.decode(b"", final=True):
        yield part


def _sampler(
    model: RNNLM,
    length: int,
    seed: int | None = None,
    rng: Generator | None = None,
    allow_unknown: bool = False,
    **choice: Any,
) -> tuple[Sampler, Generator]:
    """Return the sampler of words and its generator, after a check of all numbers."""
    expect_language_model("generate", model)
    check_number("length", length, whole=True, low=0)
    if seed is not None and rng is not None:
        raise ValueError("give a seed or an rng, not both")
    if seed is not None:
        check_number("seed", seed, whole=True, low=0)
        rng = np.random.default_rng(seed)
    unknown = None if allow_unknown or model.vocab is None else model.vocab.unk_id
    banned = () if unknown is None else (unknown,)
    return Sampler(**choice, banned=banned), rng or backend.rng()


def _prompts(model: RNNLM, prompts: Iterable[Iterable[int]]) -> list[list[int]]:
    """Return the ids of each prompt; an empty one is the end of a line."""
    rows = []
    for ids in prompts:
        if isinstance(ids, str) or not isinstance(ids, Iterable):
            raise TypeError(f"a prompt should be a sequence of ids, got {ids!r:.60}")
        row = [*ids] or [vocabulary_of(model).eos_id]
        for id_ in row:
            check_number("an id of a prompt", id_, whole=True, low=0, below=model.vocab_size)
        rows.append([int(id_) for id_ in row])
    if not rows:
        raise ValueError("there is no prompt to continue: give one or more")
    return rows


def _continuations(
    model: RNNLM, prompts: list[list[int]], length: int, sampler: Sampler, rngs: list[Generator]
) -> Iterator[Ids]:
    """Return the next id of every row, ``length`` times; the prompts end at the same step."""
    longest = max(map(len, prompts))
    begins = [longest - len(prompt) for prompt in prompts]
    # A row that has not begun reads id 0 without effect: it begins with a fresh state.
    padded = np.array([[0] * begin + prompt for begin, prompt in zip(begins, prompts)])
    state = model.start(len(prompts))
    model = model.twin().eval()
    for step in range(longest - 1 + length if length else 0):
        if step and step in begins:
            beginning = asarray(np.flatnonzero(np.array(begins) == step))
            fresh = model.start(len(beginning))
            state = map_state(partial(with_rows, beginning), state, fresh)
        if step < longest:
            ids = padded[:, step]
        logits, state = _read(model, ids, state)
        if step >= longest - 1:
            ids = np.array([sampler.choose(row, rng) for row, rng in zip(logits, rngs)])
            yield ids.copy()


def _read(model: RNNLM, ids: Ids, state: Any) -> tuple[NDArray[Any], Any]:
    """Return the next scores (B, V), on the host, and the new state, after one id of each row."""
    with one_blas_thread():
        logits, state = model.step(asarray(ids), state)
    scores = asnumpy(logits)
    return model.scores_by_id(scores) if hasattr(model, "scores_by_id") else scores, state
