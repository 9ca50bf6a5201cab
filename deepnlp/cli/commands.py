"""The commands by name, and the parser with the options of the one that is called."""

import argparse
from collections.abc import Sequence
from importlib import import_module
from keyword import iskeyword

from deepnlp import __version__
from deepnlp.cli.parser import Parser, add_backend

COMMANDS = {
    "train": "train a model and show what it reaches",
    "data": "which data sets are there; fetch, verify and find them",
    "evaluate": "how good a trained model is on a split of a corpus",
    "generate": "continue a prompt with a trained model",
    "translate": "what a sequence-to-sequence model writes, given a text",
    "score": "surprisal of every word of a text, in bits",
    "gradcheck": "compare every layer's backward pass with numerical gradients",
    "gradflow": "how much of a gradient is left, step by step back in time, in a trained model",
    "demo": "run a demonstration: exploding and vanishing gradients, memory, clipping, tying",
    "vectors": "word vectors of a file or a trained model: neighbours, analogies, similarity",
    "reproduce": "run the rows of a table of results, and write its page",
    "search": "search for the best options of a model, on the validation split",
    "bench": "time deepnlp against PyTorch and the machine's limit, and write the page on speed",
    "export": "write a trained model for PyTorch or safetensors, or its vectors as text",
    "import": "a checkpoint from a file of PyTorch or safetensors, or from vectors",
    "info": "parameters, shapes and sizes of a run, a checkpoint or a recipe",
}

EPILOG = """\
examples:
  deepnlp train                                    the default model on the built-in corpus
  deepnlp train --corpus book.txt --epochs 10 --out runs/book
  deepnlp generate runs/book --prompt "the list is"
  deepnlp COMMAND --help                           what a command can do
"""


def build_parser(argv: Sequence[str] = ()) -> Parser:
    """Build the parser, with the options of the command that ``argv`` names.

    >>> parser = build_parser(["gradcheck", "--seed", "3"])
    >>> parser.parse_args(parser.called.arguments).seed
    3
    """
    parser = Parser(
        prog="deepnlp",
        description="Deep learning for language, from scratch on NumPy and CuPy.",
        epilog=EPILOG,
    )
    parser.arguments = argv
    parser.add_argument("--version", action="version", version=f"deepnlp {__version__}")
    add_backend(parser, default=None)
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", required=True)
    called = next((word for word in argv if word in COMMANDS), None)
    for name, summary in COMMANDS.items():
        command = commands.add_parser(
            name, help=summary, description=summary[0].upper() + summary[1:] + "."
        )
        if name == called:
            file = f"{name}_" if iskeyword(name) else name
            module = import_module(f"deepnlp.cli.{file}")
            command.arguments, parser.called = argv, command
            command.epilog = (module.__doc__ or "").partition("\n\n")[2]  # more, and examples
            module.configure(command)
            command.set_defaults(run=module.run)
            # Without a default, so that a value given before the command is kept.
            add_backend(command, default=argparse.SUPPRESS)
    return parser
