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
from functools import partial
from pathlib import Path

from deepnlp.cli.output import answer, megabytes
from deepnlp.cli.parser import add_json, add_model, option

SIDES = ("input", "output")
FORMATS = ("torch", "safetensors", "glove")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    add = partial(option, parser)
    add_model(parser)
    add("--out FILE", "the file to write", required=True)
    add("--to", "by default the end of FILE says it: .pt or .pth, .safetensors, .txt", FORMATS)
    add("--side", "glove: the input's vectors (the default) or the output's", SIDES)
    add("--overwrite", "replace FILE if it exists", bool)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the file, and say what is in it."""
    from typing import Any

    from deepnlp.checkpoint import load
    from deepnlp.exchange import write_model
    from deepnlp.exchange.models import ENDINGS
    from deepnlp.exchange.places import constructor
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
    text = f"{out}: {megabytes(out.stat().st_size)}"
    if made is not None:
        text += f"\nin PyTorch, with the module of docs/exchange.md: {made}"
    facts = {"out": str(out), "format": format, "module": made, "size": model.size()}
    return answer(arguments, facts, text)


def refuse_to_replace(path: Path, overwrite: bool) -> None:
    """An error where a file would be replaced that nobody said may be."""
    if path.exists() and not overwrite:
        raise ValueError(f"{path} exists: choose another name, or say --overwrite")
