"""Models in the form of another program, written and read."""

from os import PathLike
from pathlib import Path
from typing import Any, cast

import numpy as np

from deepnlp.backend import asarray, asnumpy
from deepnlp.checkpoint import check_vocabularies, load, pack_model, rebuild, unpack_model
from deepnlp.errors import DeepNLPError
from deepnlp.exchange import files
from deepnlp.exchange.gpt2 import read_gpt2, write_gpt2
from deepnlp.exchange.places import check_finite, options_of_tensors, set_tensors, to_tensors
from deepnlp.models import Model
from deepnlp.models.model import SIDES
from deepnlp.models.regularised_rnnlm import rnnlm_of
from deepnlp.text import Vocabulary
from deepnlp.vectors import WordVectors
from deepnlp.vectors.formats import format_of

ENDINGS = {".pt": "torch", ".pth": "torch", ".safetensors": "safetensors", ".txt": "glove"}
FORMATS = (*dict.fromkeys(ENDINGS.values()), "gpt2")
SIZES = ("vocab_size", "embed_size", "hidden_size", "layers", "cell")


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
        word vectors and a vocabulary, for ``"gpt2"`` a :class:`~deepnlp.models.GPT` in its form.
    format : {"torch", "safetensors", "glove", "gpt2"}, optional
        ``"torch"``: the ``state_dict`` of the module in ``docs/exchange.md``. ``"safetensors"``:
        the arrays of a checkpoint under their own names. Both hold the options and the vocabulary
        too, from which :func:`read_model` builds the model again. ``"glove"``: a word and its
        vector a line. ``"gpt2"``: a folder with weights, config and tokeniser as Hugging Face has
        them. By default the end of the name says it: ``.pt`` or ``.pth``, ``.safetensors``,
        ``.txt``; a folder that is there already is GPT-2's.
    side : {"input", "output"}
        Whose vectors a ``"glove"`` file holds.

    Raises
    ------
    DeepNLPError
        If PyTorch or GPT-2's files cannot hold the model, or a library is missing.
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
    path, format = Path(path), format_for(Path(path), format)
    if format == "glove":
        model.word_vectors(side).save(path, "glove")
        return
    if format == "gpt2":
        write_gpt2(path, model)
        return
    arrays, meta = pack_model(model)
    if format == "torch":
        files.write_torch(path, to_tensors(model), files.to_text(meta))
    else:
        meta_text = {"format": files.KEY, files.KEY: files.to_text(meta)}
        files.write_safetensors(path, arrays, meta_text)


def read_model(
    path: str | PathLike[str],
    format: str | None = None,
    *,
    like: str | PathLike[str] | None = None,
    vocab: Vocabulary | None = None,
    side: str = "input",
    **options: Any,
) -> Model:
    """Read a model that :func:`write_model`, or another program, wrote.

    Nothing in a file is executed. A file of :func:`write_model` describes its model whole. Of a
    ``state_dict`` with the names of ``docs/exchange.md`` that comes from elsewhere, sizes, cell and
    tie are seen from the tensors; what they cannot say comes from ``like`` or ``options``. Where
    both biases of an LSTM or an RNN are other than zero, their sum, rounded once, becomes ours.

    Parameters
    ----------
    path : str or path
        Of GPT-2 the folder, or the file of weights with the other files beside it.
    format : {"torch", "safetensors", "glove", "gpt2"}, optional
        By default the end of the name says it, as for :func:`write_model`.
    like : str or path, optional
        A run folder or checkpoint, whose options and vocabulary the model gets. Needed with
        ``"glove"``, which holds vectors only: all else stays as it is in ``like``.
    vocab : Vocabulary, optional
        For a file that has none.
    side : {"input", "output"}
        Whose vectors a ``"glove"`` file holds.
    **options
        Of :class:`~deepnlp.models.RNNLM`, for a file that describes none: ``activation="relu"``,
        or a dropout to train on with.

    Returns
    -------
    Model
        In evaluation mode, its hidden state zero.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    DeepNLPError
        If the file is damaged, holds something else, or does not fit the model; the text names the
        tensor.
    ValueError
        If an argument is wrong.

    Examples
    --------
    >>> read_model("nowhere.pt")
    Traceback (most recent call last):
        ...
    FileNotFoundError: no file nowhere.pt: check the path
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"no file {path}: check the path")
    format = format_for(path, format)
    if path.is_dir() and format != "gpt2":
        raise FileNotFoundError(f"{path} is a folder: only a GPT-2 is read from one")
    if format == "glove":
        return _with_vectors(path, like, side)
    if format == "gpt2":
        return _gpt2(path, like, vocab, options)
    tensors, text = files.read_torch(path) if format == "torch" else files.read_safetensors(path)
    try:
        check_finite(tensors)
        meta = None if text is None or like is not None else files.from_text(text)
        if meta is not None and format == "safetensors":
            return cast(Model, unpack_model(path, tensors, meta))
        inferred = options_of_tensors(tensors)
        if like is not None:
            model: Any = load(like)
            _check_options(model.config(), inferred)
        elif meta is not None:
            _check_options(meta.get("config"), inferred)
            model = rebuild(path, meta, sum(x.size for x in tensors.values()))
            model.vocab = check_vocabularies(model, meta).get("vocab")
        else:
            model = rnnlm_of({"dropout": 0.0} | inferred | options)
            model.vocab = vocab
        model.astype(inferred["dtype"])
        set_tensors(model, tensors)
        if model.vocab is not None and len(model.vocab) != model.vocab_size:
            V, n = model.vocab_size, len(model.vocab)
            raise ValueError(f"the vocabulary should have {V} tokens, as encoder.weight, got {n}")
    except ValueError as error:
        raise DeepNLPError(f"{path}: {error}") from error
    return cast(Model, model.eval())


def format_for(path: Path, format: str | None) -> str:
    """Return the format that was asked for, or that a path is of: a folder's is GPT-2's.

    >>> format_for(Path("model.pt"), None)
    'torch'
    """
    if format == "gpt2" or (format is None and path.is_dir()):
        return "gpt2"
    return format_of(path, format, ENDINGS)


def _gpt2(path: Path, *others: Any) -> Model:
    """Return the model of a folder that says all of it."""
    if any(others):
        raise ValueError("the files of GPT-2 say all of their model: leave out other options")
    try:
        return read_gpt2(path)
    except (ValueError, TypeError) as error:  # of a value in the config, too
        raise DeepNLPError(f"{path}: {error}") from error


def _with_vectors(path: Path, like: Any, side: str) -> Model:
    """Make a model whose words have the vectors of a file."""
    if like is None:
        raise ValueError(
            f"{path} holds vectors and no model: name one that is to get them (like, --like)"
        )
    model: Any = load(like)
    known = model.word_vectors(side)
    vectors = WordVectors.load(path, "glove", words={*known.words})
    missing = [word for word in known.words if word not in vectors]
    if missing:
        raise DeepNLPError(
            f"{path} has no vector of {missing[0]!r} and {len(missing) - 1} other words of {like}"
        )
    matrix = np.stack([vectors[word] for word in known.words])
    n, D = matrix.shape[1], known.matrix.shape[1]
    if n != D:
        raise DeepNLPError(f"{path} holds vectors of {n} numbers, the {side} of {like} has {D}")
    table = model._tables()[SIDES.index(side)]
    table.value[...] = asarray(matrix)
    if not np.array_equal(asnumpy(table.value), matrix):  # what was written to is a copy
        raise DeepNLPError(f"{like}: the {side} vectors of this model are put together from parts")
    return model


def _check_options(config: Any, inferred: dict[str, Any]) -> None:
    """Raise an error if options differ from the tensors', before anything is built."""
    for name in SIZES if isinstance(config, dict) else ():
        said = config.get(name, {"layers": 1, "cell": "rnn"}.get(name))
        if said not in (inferred[name], [inferred[name]] * inferred["layers"]):
            raise ValueError(f"the tensors have {name} {inferred[name]}, the model has {said}")
