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

LEAST_TORCH = 2, 6  # before it, CVE-2025-32434: weights_only executes what a file holds
WRAPPERS = ("_orig_mod.", "module.", "_orig_mod.")  # torch.compile and DataParallel, in any order

KEY = FORMAT = "deepnlp"
VERSION = 1


def to_text(meta: dict[str, Any]) -> str:
    """Class, arguments and vocabularies as JSON."""
    head = {"format": FORMAT, "version": VERSION, **meta}
    return json.dumps(head, ensure_ascii=False, sort_keys=True)


def from_text(text: Any) -> dict[str, Any]:
    """Return the text that :func:`to_text` wrote."""
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
    """Read the tensors of a ``state_dict``, and its text if there is one; nothing is executed."""
    torch, content = _library("torch"), path.read_bytes()
    if tuple(map(int, torch.__version__.split(".")[:2])) < LEAST_TORCH:
        needed = f"{path} needs torch 2.6, which executes nothing in it"
        raise DeepNLPError(f"{needed}; this is torch {torch.__version__}: upgrade it with pip")
    with _reading(path, "state_dict of PyTorch"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        state = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    if isinstance(state, dict) and isinstance(state.get("state_dict"), dict):
        state = state["state_dict"]
    state = state if isinstance(state, dict) and state else {"": state}
    try:
        text = state._metadata[""].get(KEY)  # type: ignore[attr-defined]
    except (AttributeError, KeyError, TypeError):
        text = None
    for prefix in WRAPPERS:
        if all(str(name).startswith(prefix) for name in state):
            state = {name[len(prefix) :]: tensor for name, tensor in state.items()}
    state = {name: tensor for name, tensor in state.items() if not skipped.fullmatch(str(name))}
    _check_sizes(path, state, len(content))
    with _reading(path, "state_dict of PyTorch"):
        whole = {k: x.detach().resolve_neg().contiguous() for k, x in state.items()}
        return {k: (x.float() if x.itemsize == 2 else x).numpy() for k, x in whole.items()}, text


def _check_sizes(path: Path, state: dict[Any, Any], room: int) -> None:
    """Raise an error for what is no dense tensor, or more numbers than the file can hold.

    A crafted tensor may repeat one stored number as often as it likes.
    """
    torch, held, seen = _library("torch"), 0, set()
    for name, tensor in state.items():
        if not isinstance(name, str) or not name or not isinstance(tensor, torch.Tensor):
            kind = type(tensor).__name__
            raise DeepNLPError(
                f"{path} holds no state_dict: expected tensors by name, got {name!r} with a {kind}"
            )
        if not tensor.is_floating_point() or tensor.itemsize == 1 or tensor.layout != torch.strided:
            raise DeepNLPError(
                f"{path}: the tensor {name} should be dense and of 16 to 64 bits, got "
                f"{str(tensor.dtype).removeprefix('torch.')}: convert it with .float()"
            )
        size = tensor.numel() * tensor.element_size()
        if not (tensor.is_contiguous() and tensor.data_ptr() in seen):  # the head of a tied model
            held += size
        seen.add(tensor.data_ptr())
        if max(held, size) > room:
            raise DeepNLPError(f"{path} is damaged: its tensors are larger than the file")


def _bfloat16(path: Path, name: str) -> HostArray:
    """Read a bfloat16 tensor of a checked file: the upper halves of float32 numbers."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        entry = json.loads(file.read(length))[name]
        begin, end = entry["data_offsets"]
        file.seek(8 + length + begin)
        upper = np.frombuffer(file.read(end - begin), "<u2").astype("<u4")
    return (upper << 16).view("<f4").reshape(entry["shape"])


def write_safetensors(path: Path, tensors: dict[str, HostArray], meta: dict[str, str]) -> None:
    """Write tensors and metadata."""
    tensors = {name: np.ascontiguousarray(x) for name, x in tensors.items()}  # writes raw memory
    content = _library("safetensors.numpy").save(tensors, meta)
    write_whole(path, content)


def read_safetensors(
    path: Path, skipped: Pattern = NONE
) -> tuple[dict[str, HostArray], str | None]:
    """Return the tensors and, if there is one, the text."""
    library = _library("safetensors.numpy")
    with (
        _reading(path, "file of safetensors"),
        library.safe_open(path, framework="numpy") as file,
    ):
        text = (file.metadata() or {}).get(KEY)
        names = [name for name in file.keys() if not skipped.fullmatch(name)]  # noqa: SIM118
        kinds = {name: file.get_slice(name).get_dtype() for name in names}
        tensors = {name: file.get_tensor(name) for name in names if kinds[name] != "BF16"}
    tensors |= {name: _bfloat16(path, name) for name in names if kinds[name] == "BF16"}
    for name, x in tensors.items():
        if x.dtype == np.float16:
            tensors[name] = x.astype(np.float32)
        elif x.dtype not in (np.float32, np.float64):
            raise DeepNLPError(
                f"{path}: the tensor {name} should be of float32 or float64, got {x.dtype}"
            )
    return tensors, text
