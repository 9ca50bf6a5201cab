"""From text to the ids of a prompt, and from ids back to text that grows word by word."""

from collections.abc import Iterable, Iterator, Sequence

from deepnlp.evaluation import expect_language_model
from deepnlp.models import RNNLM
from deepnlp.text import Vocabulary

LINE_MEMORY = 100  # words of a line that are kept to decide on spaces and quotes


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
