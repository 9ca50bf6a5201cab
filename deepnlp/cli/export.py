"""``deepnlp export``: a trained model for PyTorch, safetensors or transformers, or its vectors.

The numbers stay what they are, bit for bit. Beside a file for PyTorch its tokens are written,
in the order of the ids: book.vocab.json. docs/exchange.md has the module in PyTorch that takes
the file and computes the same scores. ``deepnlp import`` reads all of them.

examples:
  deepnlp export runs/book --out book.pt
  deepnlp export runs/book --out book.safetensors
  deepnlp export runs/book --out vectors.txt --side output
  deepnlp export runs/gpt --out gpt --to gpt2
  deepnlp export runs/book --out book.npz --half       # a checkpoint of half the size
"""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

from deepnlp.checkpoint import load, save
from deepnlp.cli.shared import Answer, Flag, Model, Out, Side, megabytes, refuse_to_replace
from deepnlp.exchange import FORMATS, write_model
from deepnlp.exchange.models import format_for
from deepnlp.exchange.places import constructor
from deepnlp.files.writing import write_whole
from deepnlp.options import Option


def run(
    model: Model,
    *,
    out: Out,
    to: Annotated[str | None, Option(choices=FORMATS)] = None,
    side: Side = None,
    half: Flag = False,
    overwrite: Flag = False,
) -> Answer:
    """Write the file, and say what is in it.

    Parameters
    ----------
    out : str
        the file to write.
    to : str, optional
        by default the end of FILE says it: .pt or .pth, .safetensors, .txt. With gpt2 FILE is a
        folder, and becomes a GPT-2 of Hugging Face.
    side : str, optional
        glove: the input's vectors (the default) or the output's.
    half : bool
        a checkpoint (.npz) of float16, to hand on; it is rounded.
    overwrite : bool
        replace FILE if it exists.
    """
    path = Path(out)
    if half and (path.suffix != ".npz" or to):
        raise ValueError(f"--half writes a checkpoint: expected a name in .npz, got {out}")
    format = "npz" if half else format_for(path, to)
    if side is not None and format != "glove":
        raise ValueError(f"--side goes with --to glove, this is --to {format}")
    words = path.with_suffix(".vocab.json") if format == "torch" else None
    for file in filter(None, (path, words)):
        refuse_to_replace(file, overwrite)
    loaded: Any = load(model)
    if half:
        save(path, loaded, half=True)
    else:
        write_model(path, loaded, format, side or "input")
    if format == "glove" and loaded.parameters()[0].dtype != "float32":
        print("note: the vectors were rounded to float32", file=sys.stderr)
    facts = {"out": str(path), "format": format, "module": None, "size": loaded.size()}
    parts = path.iterdir() if path.is_dir() else [path]
    text = f"{out}: {megabytes(sum(part.stat().st_size for part in parts))}"
    if words is not None:
        write_whole(words, json.dumps(loaded.vocab and loaded.vocab.to_dict()))
        facts |= {"module": constructor(loaded), "vocab": str(words)}
        text += f"\nits tokens, in the order of the ids: {words}"
        text += f"\nin PyTorch, with the module of docs/exchange.md: {facts['module']}"
    return Answer(facts, text)
