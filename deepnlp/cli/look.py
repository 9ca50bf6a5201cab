"""``deepnlp look``: the inside of a language model while it reads a sentence, as a page.

Of each layer what it would predict if it were the last (the logit lens); the gates of an LSTM or
GRU at each word; the attention of each head of a GPT with its induction score, which is near 1 for
a head that only continues repetitions; and the tokens, with the merges of byte pairs.

examples:
  deepnlp look runs/book "the list is empty"          writes look.html
  deepnlp look pydocs-small "the function returns" --out inside.html
"""

from typing import Annotated

from deepnlp.cli.models import load_model
from deepnlp.cli.shared import Answer, Model, PageFile
from deepnlp.options import Option


def run(
    model: Model, text: Annotated[str, Option(metavar="TEXT")], *, out: PageFile = None
) -> Answer:
    """Write the page.

    Parameters
    ----------
    text : str
        a sentence.
    out : str, optional
        where to write it; by default look.html in the current folder.
    """
    loaded = load_model(model)
    from deepnlp.reports.inside import write_look  # matplotlib takes a second to import

    path = write_look(loaded, text, out or "look.html")
    return Answer({"page": str(path)}, f"page: {path}")
