"""Cutting text into sentences, and lines into tokens in several ways that can be joined again."""

import re
from collections.abc import Callable, Iterable
from typing import Any

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
ELIDED = frozenset([*"cdjlmnst", "qu"])  # l'été, in French

# An end mark, closing quotes or brackets, white space, and then something that can begin a
# sentence: a capital, a digit, an underscore, perhaps inside quotes or brackets.
BOUNDARY = re.compile(r"""([.!?]["'”’)\]]*)\s+(?=["'“‘(\[]?[A-Z0-9_])""")
PARAGRAPH = re.compile(r"\n\s*\n")
NO_BOUNDARY = re.compile(r"(?:\b(?:e\.g|i\.e|vs|cf|Mrs?|Ms|Dr|Prof|St|Fig|Eq|Sec|No)|\b[A-Z])\.$")


def split_words(text: str) -> list[str]:
    """Cut raw English into lower-case words, numbers and punctuation.

    Contractions are cut as in the Penn Treebank (``do n't``, ``it 's``); dotted and hyphenated
    names stay whole, and so does the ``()`` behind the name of a function.

    >>> split_words("It doesn't call os.path.join() 1,000 times, e.g. twice.")[:6]
    ['it', 'does', "n't", 'call', 'os.path.join', '()']
    """
    return WORD.findall(text.lower())


def written_words(text: str) -> list[str]:
    """Cut a text as :func:`split_words` does, but keep the capital letters.

    >>> written_words("DON'T ask NASA.")
    ['DO', "N'T", 'ask', 'NASA', '.']
    """
    lower = text.lower()
    if len(lower) != len(text):  # a rare letter becomes two in lower case
        return WORD.findall(text)
    return [text[match.start() : match.end()] for match in WORD.finditer(lower)]


def join_words(tokens: Iterable[str]) -> str:
    r"""Join words with spaces where English has them; ``<eos>`` ends a line.

    >>> join_words(["it", "does", "n't", "(", "yet", ")", "say", '"', "no", '"', ".", "<eos>"])
    'it doesn\'t (yet) say "no".\n'
    >>> join_words(["l", "'", "homme", "d", "'", "ici"])
    "l'homme d'ici"
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
        elided = token in "'’" and pieces[-1:] and pieces[-1].lower() in ELIDED
        closes = token in open_quotes
        contraction = elided or (len(token) > 1 and token[0] in "'’")
        if not (glue or closes or contraction or token in NO_SPACE_BEFORE):
            pieces.append(" ")
        pieces.append(token)
        open_quotes ^= set() if elided else QUOTES & {token}
        glue = elided or token in open_quotes or token in NO_SPACE_AFTER
    return "".join(pieces)


def join_whitespace(tokens: Iterable[str]) -> str:
    r"""Join tokens with single spaces; ``<eos>`` ends a line.

    >>> join_whitespace(["the", "company", "'s", "plan", "<eos>", "it"])
    "the company 's plan\nit"
    """
    text = " ".join("\n" if token == EOS else token for token in tokens)
    return re.sub(" ?\n ?", "\n", text)


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

    Attributes
    ----------
    unk : str or None
        The token for what a vocabulary lacks; None where it lacks nothing.
    needs : tuple of str
        The tokens that its vocabulary must have.
    learned : dict
        What it has learned from a text, ready for JSON; a checkpoint keeps it.

    Examples
    --------
    >>> TOKENISERS["chars"].split("ab c")
    ['a', 'b', ' ', 'c']
    """

    unk: str | None = UNK

    def __init__(
        self,
        name: str,
        split: Callable[[str], list[str]],
        join: Callable[[Iterable[str]], str],
        eos: str = EOS,
    ) -> None:
        self.name, self.split, self.join, self.eos = name, split, join, eos
        self.needs: tuple[str, ...] = (UNK, eos)
        self.learned: dict[str, Any] = {}

    def split_lines(self, text: str) -> list[str]:
        r"""Cut a text of any number of lines into tokens, with the end-of-line token for a break.

        Parameters
        ----------
        text : str

        Returns
        -------
        list of str

        Examples
        --------
        >>> TOKENISERS["whitespace"].split_lines("a b\n\nc")
        ['a', 'b', '<eos>', '<eos>', 'c']
        """
        lines = text.split("\n")
        return [token for line in lines for token in (*self.split(line), self.eos)][:-1]

    def stream(self, lines: Iterable[str]) -> list[str]:
        """Return tokens of all lines in a row, the end-of-line token after each line.

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
        return self.split_lines("".join(f"{line}\n" for line in lines))

    def to_bytes(self, tokens: Iterable[str]) -> bytes:
        r"""Return the text of tokens in UTF-8.

        Parameters
        ----------
        tokens : iterable of str

        Returns
        -------
        bytes

        Examples
        --------
        >>> TOKENISERS["chars"].to_bytes("né")
        b'n\xc3\xa9'
        """
        return self.join(tokens).encode("utf-8", "surrogatepass")

    def fitted(self, text: str, vocab_size: int | None = None, min_count: int = 1) -> "Tokeniser":
        """Return the tokeniser for a training text: itself, unless it is one that learns.

        Parameters
        ----------
        text : str
        vocab_size : int, optional
            How many tokens it may learn.
        min_count : int
            How often what it learns must occur.

        Returns
        -------
        Tokeniser

        Examples
        --------
        >>> TOKENISERS["words"].fitted("a cat").name
        'words'
        """
        return self


#: ``words`` for raw English in lower case, ``cased`` for words as they are written, ``chars`` for
#: characters (with the line break in place of ``<eos>``), ``whitespace`` for corpora that were cut
#: beforehand, such as PTB.
TOKENISERS: dict[str, Tokeniser] = {
    "words": Tokeniser("words", split_words, join_words),
    "cased": Tokeniser("cased", written_words, join_words),
    "chars": Tokeniser("chars", list, "".join, eos="\n"),
    "whitespace": Tokeniser("whitespace", str.split, join_whitespace),
}


def tokeniser(name: str | Tokeniser) -> Tokeniser:
    """Look a tokeniser up by name.

    Parameters
    ----------
    name : str or Tokeniser
        A key of :data:`TOKENISERS`; a tokeniser is given back as it is.

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
    if isinstance(name, Tokeniser):
        return name
    if name not in TOKENISERS:
        raise ValueError(f"unknown tokenizer {name!r}: expected one of {', '.join(TOKENISERS)}")
    return TOKENISERS[name]


def sentences(text: str) -> list[str]:
    r"""Cut raw text into sentences, each on one line.

    A blank line always ends a sentence. Inside a paragraph a full stop, an exclamation or a
    question mark ends one where what follows can begin the next; abbreviations (``e.g.``, ``Dr.``)
    and initials do not.

    Parameters
    ----------
    text : str
        Raw text; line breaks inside a paragraph count as spaces.

    Returns
    -------
    list of str
        Sentences without surrounding white space, none of them empty.

    Examples
    --------
    >>> sentences("Dr. No came, e.g. At noon. He\nleft.\n\nA title")
    ['Dr. No came, e.g. At noon.', 'He left.', 'A title']
    """
    ends = []
    for paragraph in PARAGRAPH.split(text):
        line = " ".join(paragraph.split())
        start = 0
        for boundary in BOUNDARY.finditer(line):
            candidate = line[start : boundary.end(1)]
            if not NO_BOUNDARY.search(candidate):
                ends.append(candidate)
                start = boundary.end()
        if start < len(line):
            ends.append(line[start:])
    return ends
