"""Models on disk: one ``.npz`` file of named arrays, without pickles.

A file holds each parameter under its own name (``layers.2.Wx``) and, in its JSON text, the class,
what its constructor takes, and the vocabulary (:mod:`deepnlp.files.archives`). Arrays that are not
parameters have a slash in their name (``optimizer/0.m``), so that a training checkpoint can be
loaded as a model. All of it is checked before a model gets any of it.
"""

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from deepnlp.backend import HostArray, asarray, asnumpy
from deepnlp.errors import DeepNLPError
from deepnlp.files.archives import read_npz, write_npz
from deepnlp.layer import Layer
from deepnlp.models import Model
from deepnlp.models.regularised_rnnlm import rnnlm_kind
from deepnlp.text import Vocabulary

FLOATS = ("float16", "float32", "float64")
MOST_NAMED = 6  # runs, in the error of one that is not there
#: Trained models in the package, by name; docs/pretrained.md says how each was made.
PRETRAINED = {path.stem: path for path in Path(__file__).with_name("pretrained").glob("*.npz")}


def save(
    path: str | PathLike[str], model: Layer, vocab: Vocabulary | None = None, half: bool = False
) -> None:
    """Write a model to one ``.npz`` file, all of it or nothing.

    The file is written beside its final name and then renamed, so that a crash on the way leaves
    an older file of that name as it was.

    Parameters
    ----------
    path : str or path
        Its folder must exist.
    model : Layer
        A model of ``deepnlp.models``, or layers plugged together by hand.
    vocab : Vocabulary, optional
        Stored with the model; ``model.vocab`` by default.
    half : bool
        Round the numbers to float16: a file of half the size, to hand on and not to train on.

    Examples
    --------
    >>> import tempfile, os
    >>> from deepnlp.models import RNNLM
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "model.npz")
    ...     save(path, RNNLM(vocab_size=7, embed_size=3, hidden_size=3))
    ...     load(path).vocab_size
    7
    """
    arrays, meta = pack_model(model, vocab)
    if half:
        arrays = {name: array.astype(np.float16) for name, array in arrays.items()}
    write_npz(path, arrays, meta)


def load(path: str | PathLike[str], into: Layer | None = None) -> Layer:
    """Read a model that :func:`save`, or a training run, wrote.

    Parameters
    ----------
    path : str or path
        A file, or the folder of a run: then its ``best.npz``, or its ``checkpoint.npz`` where no
        epoch was finished yet. Or the name of a model that comes with the package:
        ``"pydocs-small"``, the model of ``deepnlp train``, or ``"dates"``, which writes dates in
        ISO 8601.
    into : Layer, optional
        A model that is already built. Needed where layers were plugged together by hand; its
        parameters must have the names and shapes in the file, and keep their number type.

    Returns
    -------
    Layer
        ``into``, or a new model in evaluation mode, ready to be used, with hidden state zero: say
        ``.train()`` to go on training it. Its ``vocab`` is the one in the file.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    DeepNLPError
        If the file is damaged, or is not a checkpoint of deepnlp.
    ValueError
        If names or shapes differ from those of ``into``: the text gives the first difference.

    Examples
    --------
    >>> load("nowhere.npz")
    Traceback (most recent call last):
        ...
    FileNotFoundError: no checkpoint nowhere.npz
    """
    path = model_file(path)
    return unpack_model(path, *read_npz(path), into)


def unpack_model(
    path: Path, arrays: Mapping[str, HostArray], meta: Mapping[str, Any], into: Layer | None = None
) -> Layer:
    """Return the model that arrays and JSON of a file describe: what :func:`pack_model` gave."""
    parameters: Any = {name: array for name, array in arrays.items() if "/" not in name}
    held = sum(array.size for array in parameters.values())
    model: Any = rebuild(path, meta, held) if into is None else into
    try:
        for name, parameter in model.named_parameters():
            if name in parameters and parameters[name].dtype == np.float16:  # to hand on
                parameters[name] = parameters[name].astype(str(parameter.dtype))
        check_parameters(model, parameters, exactly=into is None)
        vocabs = check_vocabularies(model, meta)
        set_parameters(model, parameters)
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from error
    for name, vocab in vocabs.items():
        setattr(model, name, vocab)
    return model.eval() if into is None else model


def model_file(path: str | PathLike[str]) -> Path:
    """Return the file that holds the model: the path itself, or the best model of a run folder.

    >>> model_file("model.npz").name
    'model.npz'
    """
    path = Path(path)
    if str(path) in PRETRAINED and not path.exists():
        return PRETRAINED[str(path)]
    if not path.exists() and path.suffix != ".npz":
        there = sorted(str(file.parent) for file in path.parent.glob("*/best.npz"))[:MOST_NAMED]
        raise FileNotFoundError(
            f"no checkpoint {path}" + (f": there are {', '.join(there)}" if there else "")
        )
    if not path.is_dir():
        return path
    for file in (path / "best.npz", path / "checkpoint.npz"):
        if file.exists():
            return file
    expected = "best.npz or checkpoint.npz, which a training run writes"
    raise FileNotFoundError(f"no checkpoint in the folder {path}: expected {expected}")


# --- A model as arrays and JSON --------------------------------------------------------------


def pack_model(
    model: Layer, vocab: Vocabulary | None = None
) -> tuple[dict[str, HostArray], dict[str, Any]]:
    """Return the parameters by name, on the host; and class, arguments and vocabulary for JSON."""
    if not isinstance(model, Layer):
        raise TypeError(f"save(path, model) takes a model, got a {type(model).__name__}")
    vocabs = {key: getattr(model, key, None) for key in _vocab_names(model)}
    if vocab is not None:
        vocabs["vocab"] = vocab
    meta = {
        "class": model.kind() if isinstance(model, Model) else type(model).__name__,
        "config": model.config() if isinstance(model, Model) else None,
        **{key: None if each is None else each.to_dict() for key, each in vocabs.items()},
    }
    return get_parameters(model), meta


def _vocab_names(model: Layer) -> tuple[str, ...]:
    """Return the attributes that hold a model's vocabularies."""
    return getattr(model, "vocab_names", ("vocab",))


def check_vocabularies(model: Layer, meta: Mapping[str, Any]) -> dict[str, Vocabulary]:
    """Return the vocabularies that a file states, by attribute, if they fit the model."""
    vocabs, kinds = {}, {"tokens": list, "counts": list, "tokenizer": str}
    sizes = model.config() if isinstance(model, Model) else {}
    for name in _vocab_names(model):
        kept = meta.get(name)
        if kept is None:
            continue
        right = isinstance(kept, dict) and all(type(kept.get(k)) is kinds[k] for k in kinds)
        right = right and all(isinstance(token, str) for token in kept["tokens"])
        if not right or not all(type(n) is int and 0 <= n < 2**63 for n in kept["counts"]):
            raise ValueError(f"{name} should have tokens, as many counts, and a tokenizer")
        vocab = vocabs[name] = Vocabulary.from_dict(kept)
        size = sizes.get(f"{name}_size", len(vocab))
        if len(vocab) != size:
            raise ValueError(f"{name} should have {size} tokens, the file has {len(vocab)}")
    return vocabs


def get_parameters(model: Layer) -> dict[str, HostArray]:
    """Return the parameters of a model by name, copied to the host."""
    return {name: asnumpy(p.value).copy() for name, p in model.named_parameters()}


def set_parameters(model: Layer, arrays: Mapping[str, HostArray]) -> None:
    """Put host arrays, one for each parameter, into a model in place; tying and number types hold.

    Where the names or shapes differ, nothing is changed.

    >>> import numpy as np
    >>> from deepnlp.layers import Affine
    >>> set_parameters(Affine([[1.0], [2.0]]), {"W": np.zeros((3, 1))})
    Traceback (most recent call last):
        ...
    ValueError: parameter W should have shape (2, 1), the file has (3, 1)
    """
    check_parameters(model, arrays, exactly=False)
    for name, parameter in model.named_parameters():
        parameter.value[...] = asarray(arrays[name])


def check_parameters(
    model: Layer, arrays: Mapping[str, HostArray], exactly: bool = True, what: str = "parameter"
) -> None:
    """Raise an error that names the first array that is not as the model has it."""
    named = dict(model.named_parameters())
    for name, parameter in named.items():
        if name not in arrays:
            raise ValueError(f"the model has a {what} {name}, the file has none of that name")
        array, types = arrays[name], (str(parameter.dtype),) if exactly else FLOATS
        if array.shape != parameter.shape:
            shape = f"{what} {name} should have shape {parameter.shape}"
            raise ValueError(f"{shape}, the file has {array.shape}")
        if array.dtype.name not in types:
            expected = " or ".join(types)
            raise ValueError(f"{what} {name} should be {expected}, the file has {array.dtype}")
    if strange := [name for name in arrays if name not in named]:
        raise ValueError(f"the file has a {what} {strange[0]}, the model has none of that name")


def as_today(meta: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a file says of its model, with the class of today: RNNLM once was one class."""
    if meta.get("class") != "RNNLM" or not isinstance(meta.get("config"), dict):
        return meta
    kind, config = rnnlm_kind(meta["config"])
    return {**meta, "class": kind.__name__, "config": config}


def rebuild(path: Path, meta: Mapping[str, Any], held: int) -> Layer:
    """Make a fresh model of the class and the sizes that a file of so many weights states."""
    meta = as_today(meta)
    name, config = meta.get("class"), meta.get("config")
    into = "build it again and pass it as load(path, into=model)"
    if not isinstance(name, str) or not isinstance(config, dict):
        raise ValueError(f"{path} holds a {name}, which was plugged together by hand: {into}")
    if name not in Model.kinds:
        module = name.rpartition(".")[0] or "that defines it"
        raise ValueError(f"{path} holds a {name}: import the module {module} first, or {into}")
    least = _least_size(config)
    if least > held:
        stated = f"a {name} of {least:,} weights or more"
        raise DeepNLPError(f"{path} describes {stated}, and holds {held:,}")
    try:
        return Model.kinds[name](**config)
    except (TypeError, ValueError) as error:
        raise DeepNLPError(f"{path}: cannot build the {name} it describes: {error}") from error


def _least_size(config: Mapping[str, Any]) -> int:
    """Return a lower bound of a model's weights, so that no file can ask for too much memory.

    A vocabulary has a matrix (V, D), and a recurrent layer W_h with a row of H numbers or more for
    each of its H units.

    >>> _least_size({"vocab_size": 10, "embed_size": 4, "hidden_size": [5, 4]})
    40
    """

    def largest(name: str) -> int:
        sizes = config[name] if isinstance(config.get(name), list) else [config.get(name)]
        return max((size for size in sizes if type(size) is int), default=0)

    tables = [largest(name) * largest("embed_size") for name in config if "vocab_size" in name]
    return max([largest("hidden_size") ** 2, *tables])
