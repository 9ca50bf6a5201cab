"""``deepnlp import``: a checkpoint from a file of PyTorch, of safetensors, or of word vectors.

A file of ``deepnlp export`` holds the options and the vocabulary of its model. A state_dict that
comes from elsewhere, with the names of docs/exchange.md, needs a vocabulary: that of a run, with
all its options (--like), or a file of tokens (--vocab). Vectors go into a copy of the model that
--like names. A folder is a GPT-2 of Hugging Face, with its config and tokeniser; you bring the
files, nothing is downloaded. Nothing in a file is executed.

examples:
  deepnlp import book.pt --out book.npz
  deepnlp evaluate book.npz --corpus ptb
  deepnlp import trained-in-torch.pt --like runs/book --out trained.npz
  deepnlp import theirs.pt --vocab tokens.txt --out theirs.npz
  deepnlp import vectors.txt --like runs/book --out book.npz
  deepnlp import gpt2 --out gpt2.npz          a folder with config.json, vocab.json, merges.txt
"""

from pathlib import Path
from typing import Annotated

from deepnlp.checkpoint import save
from deepnlp.cli.shared import Answer, Flag, Out, Side, read_text, refuse_to_replace
from deepnlp.exchange import FORMATS, read_model
from deepnlp.options import Option
from deepnlp.text import Vocabulary


def run(
    file: Out,
    *,
    out: Annotated[str, Option(metavar="CHECKPOINT")],
    format: Annotated[str | None, Option(name="from", choices=FORMATS)] = None,
    like: Annotated[str | None, Option(metavar="RUN_OR_CHECKPOINT")] = None,
    vocab: Annotated[str | None, Option(metavar="FILE")] = None,
    tokenizer: Annotated[str, Option(choices=("whitespace", "words", "chars"))] = "whitespace",
    activation: Annotated[str | None, Option(choices=("tanh", "relu"))] = None,
    side: Side = None,
    overwrite: Flag = False,
) -> Answer:
    """Write the checkpoint, and say what is in it.

    Parameters
    ----------
    file : str
        the file to read.
    out : str
        the checkpoint to write (.npz).
    format : str, optional
        by default the end of FILE says it: .pt or .pth, .safetensors, .txt; a folder is gpt2.
    like : str, optional
        take the options and the vocabulary of this model, whatever the file says.
    vocab : str, optional
        a text file with a token a line, in the order of the ids.
    tokenizer : str
        with --vocab: how texts are cut into these tokens.
    activation : str, optional
        of an RNN, which its tensors do not tell.
    side : str, optional
        glove: the input's vectors (the default) or the output's.
    overwrite : bool
        replace CHECKPOINT if it exists.
    """
    path = Path(out)
    if path.suffix != ".npz":
        raise ValueError(f"--out should end in .npz, as checkpoints do, got {out!r}")
    refuse_to_replace(path, overwrite)
    words = None
    if vocab is not None:
        tokens = read_text(vocab).removesuffix("\n").split("\n")
        words = Vocabulary(tokens, tokenizer=tokenizer)
    options = {} if activation is None else {"activation": activation}
    model = read_model(file, format, like=like, vocab=words, side=side or "input", **options)
    if model.vocab is None and "vocab" in model.vocab_names:
        raise ValueError(
            f"{file} names no tokens: say whose they are with --like RUN_OR_CHECKPOINT, or which "
            "with --vocab FILE"
        )
    save(path, model)
    facts = {"out": str(path), "model": type(model).__name__, "config": model.config()}
    first, *_, last = model.summary().splitlines()
    return Answer(facts, f"{path}: {first}\n{last}")
