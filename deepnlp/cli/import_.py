"""``deepnlp import``: a checkpoint from a file of PyTorch, of safetensors, or of word vectors.

A file of ``deepnlp export`` holds the options and the vocabulary of its model. A state_dict that
comes from elsewhere, with the names of docs/exchange.md, needs a vocabulary: that of a run, with
all its options (--like), or a file of tokens (--vocab). Vectors go into a copy of the model that
--like names. Nothing in a file is executed.

examples:
  deepnlp import book.pt --out book.npz
  deepnlp evaluate book.npz --corpus ptb
  deepnlp import trained-in-torch.pt --like runs/book --out trained.npz
  deepnlp import theirs.pt --vocab tokens.txt --out theirs.npz
  deepnlp import vectors.txt --like runs/book --out book.npz
"""

import argparse
from functools import partial
from pathlib import Path

from deepnlp.cli.export import FORMATS, SIDES, refuse_to_replace
from deepnlp.cli.output import answer
from deepnlp.cli.parser import add_json, option, read_text

TOKENIZERS = ("whitespace", "words", "chars")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    add = partial(option, parser)
    add("file FILE", "the file to read")
    add("--out CHECKPOINT", "the checkpoint to write (.npz)", required=True)
    formats = "by default the end of FILE says it: .pt or .pth, .safetensors, .txt"
    add("--from", formats, FORMATS, dest="format")
    like = "take the options and the vocabulary of this model, whatever the file says"
    add("--like RUN_OR_CHECKPOINT", like)
    add("--vocab FILE", "a text file with a token a line, in the order of the ids")
    cut = "with --vocab: how texts are cut into these tokens"
    add("--tokenizer", cut, TOKENIZERS, "whitespace")
    add("--activation", "of an RNN, which its tensors do not tell", ["tanh", "relu"])
    add("--side", "glove: the input's vectors (the default) or the output's", SIDES)
    add("--overwrite", "replace CHECKPOINT if it exists", bool)
    add_json(parser)


def run(arguments: argparse.Namespace) -> int:
    """Write the checkpoint, and say what is in it."""
    from deepnlp.checkpoint import save
    from deepnlp.exchange import read_model
    from deepnlp.text import Vocabulary

    out = Path(arguments.out)
    if out.suffix != ".npz":
        raise ValueError(f"--out should end in .npz, as checkpoints do, got {arguments.out!r}")
    refuse_to_replace(out, arguments.overwrite)
    vocab = None
    if arguments.vocab is not None:
        tokens = read_text(arguments.vocab).removesuffix("\n").split("\n")
        vocab = Vocabulary(tokens, tokenizer=arguments.tokenizer)
    options = {} if arguments.activation is None else {"activation": arguments.activation}
    model = read_model(
        arguments.file,
        arguments.format,
        like=arguments.like,
        vocab=vocab,
        side=arguments.side or "input",
        **options,
    )
    if model.vocab is None and "vocab" in model.vocab_names:
        raise ValueError(
            f"{arguments.file} names no tokens: say whose they are with --like RUN_OR_CHECKPOINT, "
            "or which with --vocab FILE"
        )
    save(out, model)
    facts = {"out": str(out), "model": type(model).__name__, "config": model.config()}
    return answer(arguments, facts, f"{out}:\n{model.summary()}")
