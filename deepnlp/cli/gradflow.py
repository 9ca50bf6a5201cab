"""``deepnlp gradflow``: the gradient microscope.

The loss is that of the last token of a window. For each recurrent layer and each step back in
time: the norm of dL/dh and dL/dc, absolute and relative to the last step; how far the gates are
open; singular values and spectral radius of W_h and of the product of step Jacobians, and the rate
of decay that they predict beside the measured one.

examples:
  deepnlp gradflow runs/book
  deepnlp gradflow runs/book --steps 100 --figure flow.png
  deepnlp gradflow runs/book/checkpoint.npz --corpus other.txt --json
"""

import sys
from typing import Annotated

from deepnlp.cli.models import corpus_of, load_model
from deepnlp.cli.shared import Answer, CorpusName, Model, Picture, Split
from deepnlp.generation import vocabulary_of
from deepnlp.gradflow import gradient_flow
from deepnlp.options import Option


def run(
    model: Model,
    *,
    corpus: CorpusName = None,
    split: Split = "valid",
    steps: Annotated[int, Option(metavar="K", low=1)] = 50,
    batch_size: Annotated[int, Option(low=1)] = 16,
    figure: Picture = None,
) -> Answer:
    """Print the tables of the microscope.

    Parameters
    ----------
    corpus : str, optional
        name of a corpus, or path of a text file or folder; by default the run's own.
    steps : int
        steps back.
    batch_size : int
        windows, spread over the text.
    figure : str, optional
        draw a figure, as .png, .pdf or .svg.
    """
    loaded = load_model(model)
    print("following gradients back in time (a minute for the default model) ...", file=sys.stderr)
    text = corpus_of(model, vocabulary_of(loaded), corpus)
    flow = gradient_flow(loaded, text.splits[split], steps, batch_size)
    facts, shown = {"corpus": text.name, "split": split, **flow.to_dict()}, flow.table()
    if figure is not None:
        from deepnlp import plots

        plots.gradient_flow(flow, figure)
        shown += f"\n\nfigure: {figure}"
    return Answer(facts, shown)
