"""Models on disk: one ``.npz`` file of named arrays, without pickles.

A file holds each parameter under its own name (``layers.2.Wx``) and, under ``meta.json``, a JSON
text as bytes: the class, what its constructor takes, and the vocabulary. Arrays that are not
parameters have a slash in their name (``optimizer/0.m``). So ``numpy.load`` opens every file, a
training checkpoint can be loaded as a model, and nothing in a file is ever executed. The same
contents give the same bytes: no clock times, no paths, a fixed order.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from deepnlp.backend import asarray, asnumpy
from deepnlp.errors import DeepNLPError
from deepnlp.files import replacing
from deepnlp.layer import Layer
from deepnlp.models import MODELS, RNNLM
from deepnlp.text import Vocabulary

HostArray = np.ndarray[Any, Any]

FORMAT = "deepnlp"
VERSION = 1
META = "meta.json"
NO_DATE = (1980, 1, 1, 0, 0, 0)  # the first date a zip file can state


def save(path: str | PathLike[str], model: Layer, vocab: Vocabulary | None = None) -> None:
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
    write_npz(path, arrays, meta)


def load(path: str | PathLike[str], into: Layer | None = None) -> Layer:
    """Read a model that :func:`save`, or a training run, wrote.

    Parameters
    ----------
    path : str or path
        A file, or the folder of a run: then its ``best.npz``, or its ``checkpoint.npz`` where no
        epoch was finished yet.
    into : Layer, optional
        A model that is already built. Needed where layers were plugged together by hand; its
        parameters must have the names and shapes in the file, and keep their number type.

    Returns
    -------
    Layer
        ``into``, or a new model in training mode, as every fresh one is, with hidden state zero.
        Its ``vocab`` is the one in the file.

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
    """The model that the arrays and the JSON of a file describe: the way back from a pack."""
    model: Any = rebuild(path, meta) if into is None else into
    parameters = {name: array for name, array in arrays.items() if "/" not in name}
    try:
        if into is None and parameters:
            model.astype(next(iter(parameters.values())).dtype)
        set_parameters(model, parameters)
        vocabs = {name: _vocabulary(meta.get(name)) for name in _vocab_names(model)}
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: {error}") from error
    for name, vocab in vocabs.items():
        if vocab is not None:
            setattr(model, name, vocab)
    return model


def model_file(path: str | PathLike[str]) -> Path:
    """The file that holds the model: the path itself, or the best model of a run folder.

    >>> model_file("runs/none-of-that-name")
    Traceback (most recent call last):
        ...
    FileNotFoundError: no checkpoint runs/none-of-that-name
    """
    path = Path(path)
    if not path.is_dir():
        if not path.exists():
            raise FileNotFoundError(f"no checkpoint {path}")
        return path
    for name in ("best.npz", "checkpoint.npz"):
        if (path / name).exists():
            return path / name
    raise FileNotFoundError(
        f"no checkpoint in the folder {path}: expected best.npz or checkpoint.npz, which a "
        "training run writes"
    )


# --- A model as arrays and JSON --------------------------------------------------------------


def pack_model(
    model: Layer, vocab: Vocabulary | None = None
) -> tuple[dict[str, HostArray], dict[str, Any]]:
    """The parameters by name, on the host; and class, arguments and vocabulary, ready for JSON."""
    name = type(model).__name__
    vocabs = {key: getattr(model, key, None) for key in _vocab_names(model)}
    if vocab is not None:
        vocabs["vocab"] = vocab
    config = getattr(model, "config", None)
    meta = {
        "class": name,
        "config": config() if config is not None and name in MODELS else None,
        **{key: None if one is None else one.to_dict() for key, one in vocabs.items()},
    }
    return get_parameters(model), meta


def _vocab_names(model: Layer) -> tuple[str, ...]:
    """The attributes that hold a model's vocabularies."""
    return getattr(model, "vocab_names", ("vocab",))


def _vocabulary(kept: Any) -> Vocabulary | None:
    return None if kept is None else Vocabulary.from_dict(kept)


def get_parameters(model: Layer) -> dict[str, HostArray]:
    """The parameters of a model by name, copied to the host."""
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
    named, arrays = model.named_parameters(), _with_names_of_today(model, arrays)
    for name, parameter in named:
        if name not in arrays:
            raise ValueError(f"the model has a parameter {name}, the file has none of that name")
        if arrays[name].shape != parameter.shape:
            raise ValueError(
                f"parameter {name} should have shape {parameter.shape}, the file has "
                f"{arrays[name].shape}"
            )
    known = {name for name, _ in named}
    for name in arrays:
        if name not in known:
            raise ValueError(f"the file has a parameter {name}, the model has none of that name")
    for name, parameter in named:
        parameter.value[...] = asarray(arrays[name])


def _with_names_of_today(model: Layer, arrays: Mapping[str, HostArray]) -> Mapping[str, HostArray]:
    """Early files name the output of an RNNLM as the last of its layers."""
    if not isinstance(model, RNNLM):
        return arrays
    last = f"layers.{len(model.layers)}."
    return {
        f"output.{name.removeprefix(last)}" if name.startswith(last) else name: array
        for name, array in arrays.items()
    }


def rebuild(path: Path, meta: Mapping[str, Any]) -> Layer:
    """A fresh model of the class and the sizes that the file states."""
    name, config = meta.get("class"), meta.get("config")
    if name not in MODELS or config is None:
        raise ValueError(
            f"{path} holds a {name}, which was plugged together by hand: build it again and pass "
            "it as load(path, into=model)"
        )
    try:
        model: Layer = MODELS[name](**config)
    except (TypeError, ValueError) as error:
        raise DeepNLPError(f"{path}: cannot build the {name} it describes: {error}") from error
    return model


# --- Files -----------------------------------------------------------------------------------


def write_npz(
    path: str | PathLike[str], arrays: Mapping[str, HostArray], meta: Mapping[str, Any]
) -> None:
    """Write named arrays and a JSON text; the same contents give the same bytes.

    >>> import tempfile, os
    >>> import numpy as np
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "a.npz")
    ...     write_npz(path, {"x": np.arange(3)}, {"step": 7})
    ...     read_npz(path)
    ({'x': array([0, 1, 2])}, {'step': 7})
    """
    head = {"format": FORMAT, "version": VERSION, **meta}
    text = json.dumps(head, ensure_ascii=False, sort_keys=True).encode("utf-8")
    members = {META: np.frombuffer(text, dtype=np.uint8), **dict(sorted(arrays.items()))}
    with replacing(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in members.items():
            info = zipfile.ZipInfo(f"{name}.npy", date_time=NO_DATE)
            info.create_system = 3  # the same on every system
            with archive.open(info, "w", force_zip64=True) as member:
                array = np.asarray(array, order="C")
                np.lib.format.write_array(member, array, allow_pickle=False)


def read_npz(path: str | PathLike[str]) -> tuple[dict[str, HostArray], dict[str, Any]]:
    """The arrays and the JSON text that :func:`write_npz` wrote."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no checkpoint {path}")
    try:
        with zipfile.ZipFile(path) as archive:
            # read() compares the checksum before anything is made of the bytes
            arrays = {
                name.removesuffix(".npy"): _array(archive.read(name)) for name in archive.namelist()
            }
        meta = json.loads(arrays.pop(META).tobytes().decode("utf-8"))
        if meta.pop("format") != FORMAT:
            raise ValueError("another format")
        version = meta.pop("version")
    except (
        zipfile.BadZipFile,
        KeyError,
        ValueError,
        EOFError,
        OSError,
        AttributeError,
        NotImplementedError,
        RuntimeError,
    ) as error:
        raise DeepNLPError(
            f"{path} is damaged, or is not a checkpoint of deepnlp ({_reason(error)}): take "
            "another copy, or train again"
        ) from error
    if version != VERSION:
        raise DeepNLPError(
            f"{path} is a checkpoint of format {version}, this deepnlp reads format {VERSION}: "
            "use the release of deepnlp that wrote it"
        )
    return arrays, meta


def _array(data: bytes) -> HostArray:
    array: HostArray = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    return array


def _reason(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"it has no {error.args[0]}"
    return " ".join(str(error).split())
