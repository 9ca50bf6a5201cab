"""Options that loaders share."""

import os
from typing import Annotated

from deepnlp.options import Option
from deepnlp.text import BPE, Tokeniser, tokeniser

NameOrPath = Annotated[
    str | os.PathLike[str], Option(name="corpus", metavar="NAME|PATH", resume="moved")
]
VocabSize = Annotated[int | None, Option(low=0)]
MinCount = Annotated[int, Option(low=1)]
TOKENS = {"word": "words", "character": "chars", "whitespace": "whitespace", "bpe": "bpe"}
Tokens = Annotated[str | None, Option(choices=tuple(TOKENS))]
KeepCase = Annotated[bool, Option()]
Column = Annotated[str | None, Option(metavar="NAME")]
Encoding = Annotated[str | None, Option(metavar="NAME")]
DataSeed = Annotated[int, Option(low=0)]


def tokeniser_of(tokens: str | None, usual: str, keep_case: bool) -> Tokeniser:
    """Return the tokeniser for a choice of tokens, of a text that has a way of its own.

    ``"word"`` is its own way too, unless that is characters. One that learns has not learned yet.

    >>> tokeniser_of("word", "whitespace", keep_case=False).name
    'whitespace'
    >>> tokeniser_of(None, "words", keep_case=True).name
    'cased'
    """
    if tokens not in (None, *TOKENS):
        names = ", ".join(map(repr, TOKENS))
        raise ValueError(f"tokens should be one of {names}, got {tokens!r}")
    way = usual if tokens is None or (tokens == "word" and usual != "chars") else TOKENS[tokens]
    if way == "bpe":
        return BPE([])
    return tokeniser("cased" if keep_case and way == "words" else way)
