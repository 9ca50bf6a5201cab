"""Options that loaders share."""

import os
from typing import Annotated

from deepnlp.options import Option
from deepnlp.text.tokenisers import TOKENISERS, Tokeniser, tokeniser

NameOrPath = Annotated[
    str | os.PathLike[str], Option(name="corpus", metavar="NAME|PATH", resume="moved")
]
VocabSize = Annotated[int | None, Option(low=0)]
MinCount = Annotated[int, Option(low=1)]
Tokenizer = Annotated[str | None, Option(choices=tuple(TOKENISERS))]
KeepCase = Annotated[bool, Option()]
Column = Annotated[str | None, Option(metavar="NAME")]
Encoding = Annotated[str | None, Option(metavar="NAME")]
DataSeed = Annotated[int, Option(low=0)]


def tokeniser_of(name: str, keep_case: bool) -> Tokeniser:
    """The tokeniser of a name, or the one that cuts in the same way and keeps capital letters.

    >>> tokeniser_of("words", keep_case=True).name
    'cased'
    """
    return tokeniser("cased" if keep_case and name == "words" else name)
