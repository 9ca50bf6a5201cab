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

import argparse
import sys
from functools import partial

from deepnlp.cli.output import answer, aside
from deepnlp.cli.parser import add_corpus, add_json, add_model, at_least, option, picture


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    add = partial(option, parser)
    add_model(parser)
    add_corpus(parser, split="valid")
    add("--steps K", "steps back", at_least(1), 50)
    add("--batch-size N", "windows, spread over the text", at_least(1), 16)
    add("--figure PATH", "draw a figure, as .png, .pdf or .svg", picture)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Print the tables of the microscope."""
    from deepnlp import plots
    from deepnlp.cli.models import corpus_of, load_model
    from deepnlp.generation import vocabulary_of
    from deepnlp.gradflow import gradient_flow

    model = load_model(arguments.model)
    print("following gradients back in time (a minute for the default model) ...", file=sys.stderr)
    corpus = corpus_of(arguments.model, vocabulary_of(model), arguments.corpus)
    ids = corpus.splits[arguments.split]
    flow = gradient_flow(model, ids, arguments.steps, arguments.batch_size)
    facts = {"corpus": corpus.name, "split": arguments.split, **flow.to_dict()}
    answer(arguments, facts, flow.table())
    if arguments.figure is not None:
        plots.gradient_flow(flow, arguments.figure)
        print(f"\nfigure: {arguments.figure}", file=aside(arguments))
    return 0
