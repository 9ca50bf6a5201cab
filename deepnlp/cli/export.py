"""``deepnlp export``: write a trained model for PyTorch, for safetensors, or its vectors as text.

The numbers stay what they are, bit for bit. docs/exchange.md has the module in PyTorch that takes
the file and computes the same scores. ``deepnlp import`` reads all three.

examples:
  deepnlp export runs/book --out book.pt
  deepnlp export runs/book --out book.safetensors
  deepnlp export runs/book --out vectors.txt --side output
"""

import argparse
import sys
from pathlib import Path

from deepnlp.cli.output import aside, megabytes, print_json
from deepnlp.cli.parser import add_json, add_model

SIDES = ("input", "output")
FORMATS = ("torch", "safetensors", "glove")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    add_model(parser)
    parser.add_argument("--out", required=True, metavar="FILE", help="the file to write")
    parser.add_argument(
        "--to",
        choices=FORMATS,
        help="by default the end of FILE says it: .pt or .pth, .safetensors, .txt",
    )
    parser.add_argument(
        "--side", choices=SIDES, help="glove: the input's vectors (the default) or the output's"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace FILE if it exists")
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the file, and say what is in it."""
    from typing import Any

    from deepnlp.checkpoint import load
    from deepnlp.exchange import write_model
    from deepnlp.exchange.places import constructor
    from deepnlp.exchange.writing import ENDINGS
    from deepnlp.vectors.formats import format_of

    out = Path(arguments.out)
    format = format_of(out, arguments.to, ENDINGS)
    if arguments.side is not None and format != "glove":
        raise ValueError(f"--side goes with --to glove, this is --to {format}")
    refuse_to_replace(out, arguments.overwrite)
    model: Any = load(arguments.model)
    write_model(out, model, format, arguments.side or "input")
    if format == "glove" and model.parameters()[0].dtype != "float32":
        print("note: the vectors were rounded to float32", file=sys.stderr)
    made = constructor(model) if format == "torch" else None
    if arguments.json:
        print_json({"out": str(out), "format": format, "module": made, "size": model.size()})
        return 0
    print(f"{out}: {megabytes(out.stat().st_size)}", file=aside(arguments))
    if made is not None:
        print(f"in PyTorch, with the module of docs/exchange.md: {made}")
    return 0


def refuse_to_replace(path: Path, overwrite: bool) -> None:
    """An error where a file would be replaced that nobody said may be."""
    if path.exists() and not overwrite:
        raise ValueError(f"{path} exists: choose another name, or say --overwrite")
