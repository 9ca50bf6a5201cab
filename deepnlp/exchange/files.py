"""The files of PyTorch and of safetensors: named tensors, and a text that describes the model.

The text is what a checkpoint says of its model besides its weights. PyTorch keeps metadata of
modules in the attribute ``_metadata`` of a ``state_dict`` (the version of each, by its name). The
text goes there, under the name of the whole, so that the dict itself holds tensors only and
``load_state_dict`` takes it as it is. Nothing in either file is executed.
"""

import io
import json
import re
import warnings
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from deepnlp.backend import HostArray
from deepnlp.errors import DeepNLPError, required
from deepnlp.files.writing import write_whole

Pattern = re.Pattern[str]
NONE = re.compile(r"(?!)")  # no name

KEY = FORMAT = "deepnlp"
VERSION = 1


def to_text(meta: dict[str, Any]) -> str:
    """Class, arguments and vocabularies as JSON."""
    head = {"format": FORMAT, "version": VERSION, **meta}
    return json.dumps(head, ensure_ascii=False, sort_keys=True)


def from_text(text: Any) -> dict[str, Any]:
    """What :func:`to_text` wrote."""
    try:
        meta = json.loads(text)
        format, version = meta.pop("format"), meta.pop("version")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"its description of the model cannot be read ({error})") from None
    if (format, version) != (FORMAT, VERSION):
        raise ValueError(
            f"it describes a model in {format} {version}, this deepnlp reads {FORMAT} {VERSION}"
        )
    return dict(meta)


def _library(name: str) -> Any:
    return required(name, f"this file needs {name.partition('.')[0]}")


@contextmanager
def _reading(path: Path, what: str) -> Iterator[None]:
    """Context in which an error is what a library makes of the bytes of a file."""
    try:
        yield
    except Exception as error:
        reason = " ".join(str(error).split()).split(". ")[0][:200] or type(error).__name__
        raise DeepNLPError(f"{path} is damaged, or no {what} ({reason})") from error


def write_torch(path: Path, tensors: dict[str, HostArray], text: str) -> None:
    """Write tensors, those that are one array sharing their memory, and the text."""
    torch = _library("torch")
    shared = {id(x): torch.from_numpy(x.copy()) for x in tensors.values()}
    state = OrderedDict((name, shared[id(x)]) for name, x in tensors.items())
    state._metadata = OrderedDict({"": {"version": 1, KEY: text}})  # type: ignore[attr-defined]
    content = io.BytesIO()
    torch.save(state, content)
    write_whole(path, content.getbuffer())


def read_torch(path: Path, skipped: Pattern = NONE) -> tuple[dict[str, HostArray], str | None]:
    """The tensors of a ``state_dict``, and the text if there is one; nothing in it is executed."""
    torch, content = _library("torch"), path.read_bytes()
    with _reading(path, "state_dict of PyTorch"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        state = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    state = state if isinstance(state, dict) and state else {"": state}
    try:
        text = state._metadata[""].get(KEY)  # type: ignore[attr-defined]
    except (AttributeError, KeyError, TypeError):
        text = None
    state = {name: tensor for name, tensor in state.items() if not skipped.fullmatch(str(name))}
    _check_sizes(path, state, len(content))
    with _reading(path, "state_dict of PyTorch"):
        return {k: x.detach().resolve_neg().contiguous().numpy() for k, x in state.items()}, text


def _check_sizes(path: Path, state: dict[Any, Any], room: int) -> None:
    """An error for what is no dense tensor, or more numbers than the file can hold.

    A crafted tensor may repeat one stored number as often as it likes.
    """
    torch, held, seen = _library("torch"), 0, set()
    for name, tensor in state.items():
        if not isinstance(name, str) or not name or not isinstance(tensor, torch.Tensor):
            kind = type(tensor).__name__
            raise DeepNLPError(
                f"{path} holds no state_dict: expected tensors by name, got {name!r} with a {kind}"
            )
        if tensor.dtype not in (torch.float32, torch.float64) or tensor.layout != torch.strided:
            raise DeepNLPError(
                f"{path}: the tensor {name} should be dense and of float32 or float64, got "
                f"{str(tensor.dtype).removeprefix('torch.')}: convert it with .float()"
            )
        size = tensor.numel() * tensor.element_size()
        if not (tensor.is_contiguous() and tensor.data_ptr() in seen):  # the head of a tied model
            held += size
        seen.add(tensor.data_ptr())
        if max(held, size) > room:
            raise DeepNLPError(f"{path} is damaged: its tensors are larger than the file")


def write_safetensors(path: Path, tensors: dict[str, HostArray], meta: dict[str, str]) -> None:
    """Write tensors and metadata."""
    tensors = {name: np.ascontiguousarray(x) for name, x in tensors.items()}  # writes raw memory
    content = _library("safetensors.numpy").save(tensors, meta)
    write_whole(path, content)


def read_safetensors(
    path: Path, skipped: Pattern = NONE
) -> tuple[dict[str, HostArray], str | None]:
    """The tensors and, if there is one, the text."""
    library = _library("safetensors.numpy")
    with (
        _reading(path, "file of safetensors"),
        library.safe_open(path, framework="numpy") as file,
    ):
        text = (file.metadata() or {}).get(KEY)
        names = [name for name in file.keys() if not skipped.fullmatch(name)]  # noqa: SIM118
        tensors = {name: file.get_tensor(name) for name in names}
    for name, x in tensors.items():
        if x.dtype not in (np.float32, np.float64):
            raise DeepNLPError(
                f"{path}: the tensor {name} should be of float32 or float64, got {x.dtype}"
            )
    return tensors, text
