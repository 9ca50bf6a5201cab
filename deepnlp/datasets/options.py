"""Options that loaders share."""

import os
from typing import Annotated

from deepnlp.options import Option
from deepnlp.text.tokenisers import TOKENISERS

NameOrPath = Annotated[
    str | os.PathLike[str], Option(name="corpus", metavar="NAME|PATH", resume="moved")
]
VocabSize = Annotated[int | None, Option(low=0)]
MinCount = Annotated[int, Option(low=1)]
Tokenizer = Annotated[str | None, Option(choices=tuple(TOKENISERS))]
DataSeed = Annotated[int, Option(low=0)]
