"""Ways to cut a line of text into tokens, by name, each with the way to join them again."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

UNK = "<unk>"
EOS = "<eos>"

WORD = re.compile(
    r"""
      <unk>|<eos>                       # the special tokens, where a text already has them
    | \w+?(?=n['’]t\b)                  # do|n't, as the Penn Treebank cuts it
    | n['’]t\b
    | (?<=\w)['’](?:s|re|ve|ll|d|m)\b   # it|'s, we|'re
    | (?:[^\W\d_]\.){2,}                # e.g.
    | \d+(?:[.,]\d+)+                   # 3.14 and 1,000
    | \w+(?:[.-]\w+)*                   # words, well-known ones, os.path.join, __init__
    | \.{3} | --+ | -> | [=!<>]= | \(\) # signs of several characters
    | [^\w\s]                           # any other sign
    """,
    re.VERBOSE,
)

NO_SPACE_BEFORE = frozenset([*",.;:!?)]}%", "...", "()", "n't", "n’t"])
NO_SPACE_AFTER = frozenset("([{$#@¿¡")
QUOTES = frozenset("\"'`")


def split_words(text: str) -> list[str]:
    """Cut raw English into lower-case words, numbers and punctuation.

    Contractions are cut as in the Penn Treebank (``do n't``, ``it 's``); dotted and hyphenated
    names stay whole, and so does the ``()`` behind the name of a function.

    >>> split_words("It doesn't call os.path.join() 1,000 times, e.g. twice.")[:6]
    ['it', 'does', "n't", 'call', 'os.path.join', '()']
    """
    return WORD.findall(text.lower())


def join_words(tokens: Iterable[str]) -> str:
    r"""Join words with spaces where English has them; ``<eos>`` ends a line.

    >>> join_words(["it", "does", "n't", "(", "yet", ")", "say", '"', "no", '"', ".", "<eos>"])
    'it doesn\'t (yet) say "no".\n'
    """
    pieces: list[str] = []
    glue = True  # the next token follows without a space
    open_quotes: set[str] = set()
    for token in tokens:
        if token == EOS:
            pieces.append("\n")
            glue = True
            open_quotes.clear()
            continue
        closes = token in open_quotes
        contraction = len(token) > 1 and token[0] in "'’"
        if not (glue or closes or contraction or token in NO_SPACE_BEFORE):
            pieces.append(" ")
        pieces.append(token)
        open_quotes ^= QUOTES & {token}
        glue = token in open_quotes or token in NO_SPACE_AFTER
    return "".join(pieces)


def join_whitespace(tokens: Iterable[str]) -> str:
    r"""Join tokens with single spaces; ``<eos>`` ends a line.

    >>> join_whitespace(["the", "company", "'s", "plan", "<eos>", "it"])
    "the company 's plan\nit"
    """
    text = " ".join("\n" if token == EOS else token for token in tokens)
    return re.sub(" ?\n ?", "\n", text)


@dataclass(frozen=True)
class Tokeniser:
    """A way to cut one line of text, the way back, and the token that ends a line.

    Parameters
    ----------
    name : str
        The name it is registered by; a checkpoint stores it.
    split : callable
        Text to list of tokens.
    join : callable
        Tokens to text.
    eos : str
        The token that stands for the end of a line.

    Examples
    --------
    >>> TOKENISERS["chars"].split("ab c")
    ['a', 'b', ' ', 'c']
    """

    name: str
    split: Callable[[str], list[str]]
    join: Callable[[Iterable[str]], str]
    eos: str = EOS

    def stream(self, lines: Iterable[str]) -> list[str]:
        """Tokens of all lines in a row, the end-of-line token after each line.

        Parameters
        ----------
        lines : iterable of str
            Lines without their line breaks; an empty one gives just the end-of-line token.

        Returns
        -------
        list of str
            The tokens.

        Examples
        --------
        >>> TOKENISERS["whitespace"].stream(["a b", "c"])
        ['a', 'b', '<eos>', 'c', '<eos>']
        """
        return [token for line in lines for token in (*self.split(line), self.eos)]


#: ``words`` for raw English, ``chars`` for characters (with the line break in place of ``<eos>``),
#: ``whitespace`` for corpora that were cut beforehand, such as PTB.
TOKENISERS: dict[str, Tokeniser] = {
    "words": Tokeniser("words", split_words, join_words),
    "chars": Tokeniser("chars", list, "".join, eos="\n"),
    "whitespace": Tokeniser("whitespace", str.split, join_whitespace),
}


def tokeniser(name: str) -> Tokeniser:
    """Look a tokeniser up by name.

    Parameters
    ----------
    name : str
        A key of :data:`TOKENISERS`.

    Returns
    -------
    Tokeniser
        The tokeniser of this name.

    Raises
    ------
    ValueError
        If there is none of this name.

    Examples
    --------
    >>> tokeniser("words").split("Hello, world!")
    ['hello', ',', 'world', '!']
    """
    if name not in TOKENISERS:
        raise ValueError(f"unknown tokenizer {name!r}: expected one of {', '.join(TOKENISERS)}")
    return TOKENISERS[name]
