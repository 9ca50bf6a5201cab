"""Writing a model in the form of another program."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from deepnlp.checkpoint import pack_model
from deepnlp.exchange.files import to_text, write_safetensors, write_torch
from deepnlp.exchange.places import to_tensors
from deepnlp.models import Model
from deepnlp.vectors.formats import format_of

ENDINGS = {".pt": "torch", ".pth": "torch", ".safetensors": "safetensors", ".txt": "glove"}
FORMATS = tuple(dict.fromkeys(ENDINGS.values()))


def write_model(
    path: str | PathLike[str], model: Model, format: str | None = None, side: str = "input"
) -> None:
    """Write a model to a file that another program reads, all of it or nothing.

    The numbers in the file are those of the model, bit for bit.

    Parameters
    ----------
    path : str or path
        Its folder must exist.
    model : Model
        For ``"torch"`` a language model of which PyTorch has the layers, for ``"glove"`` one with
        word vectors and a vocabulary.
    format : {"torch", "safetensors", "glove"}, optional
        ``"torch"``: the ``state_dict`` of the module in ``docs/exchange.md``. ``"safetensors"``:
        the arrays of a checkpoint under their own names. Both hold the options and the vocabulary
        too, from which :func:`read_model` builds the model again. ``"glove"``: a word and its
        vector a line. By default the end of the name says it: ``.pt`` or ``.pth``,
        ``.safetensors``, ``.txt``.
    side : {"input", "output"}
        Whose vectors a ``"glove"`` file holds.

    Raises
    ------
    DeepNLPError
        If PyTorch cannot hold the model, or a library is missing.
    ValueError
        If the format is not known, or the model has no vectors of this side to write.

    Examples
    --------
    >>> import os, tempfile
    >>> from deepnlp.models import RNNLM
    >>> from deepnlp.text import Vocabulary
    >>> model = RNNLM(vocab_size=4, embed_size=2, hidden_size=2)
    >>> model.vocab = Vocabulary.build(["the", "cat"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "vectors.txt")
    ...     write_model(path, model)
    ...     with open(path) as file:
    ...         [line.split()[0] for line in file]
    ['cat', 'the', '<eos>', '<unk>']
    """
    path, format = Path(path), format_of(Path(path), format, ENDINGS)
    if format == "glove":
        model.word_vectors(side).save(path, "glove")
        return
    arrays, meta = pack_model(model)
    if format == "torch":
        write_torch(path, to_tensors(model), to_text(meta))
    else:
        write_safetensors(path, arrays, to_text(meta))
