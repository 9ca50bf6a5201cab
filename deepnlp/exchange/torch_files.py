"""Files of PyTorch: a ``state_dict``, with the description of the model among its metadata.

PyTorch keeps metadata of modules in the attribute ``_metadata`` of a ``state_dict`` (the version of
each, by its name). The description goes there, under the name of the whole, so that the dict itself
holds tensors only and ``load_state_dict`` takes it as it is.
"""

from __future__ import annotations

import io
import warnings
from collections import OrderedDict
from pathlib import Path
from typing import Any

from deepnlp.backend import HostArray
from deepnlp.errors import DeepNLPError
from deepnlp.files.writing import replacing

KEY = "deepnlp"


def write_torch(path: Path, tensors: dict[str, HostArray], text: str) -> None:
    """Write tensors, those that are one array sharing their memory, and the text."""
    torch = _torch()
    shared: dict[int, Any] = {}
    state = OrderedDict(
        (name, shared.setdefault(id(x), torch.from_numpy(x.copy()))) for name, x in tensors.items()
    )
    state._metadata = OrderedDict({"": {"version": 1, KEY: text}})  # type: ignore[attr-defined]
    content = io.BytesIO()
    torch.save(state, content)
    with replacing(path) as file:
        file.write(content.getbuffer())


def read_torch(path: Path) -> tuple[dict[str, HostArray], str | None]:
    """The tensors of a ``state_dict``, and the text if there is one; nothing in it is executed."""
    torch, content = _torch(), path.read_bytes()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            state = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    except Exception as error:  # whatever PyTorch makes of the bytes
        raise DeepNLPError(
            f"{path} is damaged, or no state_dict of PyTorch ({_reason(error)}): expected a file "
            "that torch.save(model.state_dict(), FILE) wrote"
        ) from error
    if not isinstance(state, dict) or not state:
        raise DeepNLPError(
            f"{path} holds no state_dict but a {type(state).__name__}: expected a file that "
            "torch.save(model.state_dict(), FILE) wrote"
        )
    _check_sizes(path, state, len(content))
    arrays = {name: tensor.detach().contiguous().numpy() for name, tensor in state.items()}
    try:
        text = state._metadata[""].get(KEY)  # type: ignore[attr-defined]
    except (AttributeError, KeyError, TypeError):
        text = None
    return arrays, text


def _check_sizes(path: Path, state: dict[Any, Any], room: int) -> None:
    """An error for what is no dense tensor, or more numbers than the file can hold.

    A crafted tensor may repeat one stored number as often as it likes.
    """
    torch, held = _torch(), 0
    for name, tensor in state.items():
        if not isinstance(name, str) or not isinstance(tensor, torch.Tensor):
            raise DeepNLPError(
                f"{path} holds no state_dict: expected tensors by name, got {name!r} with a "
                f"{type(tensor).__name__}"
            )
        if tensor.dtype not in (torch.float32, torch.float64) or tensor.layout != torch.strided:
            raise DeepNLPError(
                f"{path}: the tensor {name} should be dense and of float32 or float64, got "
                f"{str(tensor.dtype).removeprefix('torch.')}: convert it with .float()"
            )
        if name != "decoder.weight":  # that of a tied model is the encoder's
            held += tensor.numel() * tensor.element_size()
        if max(held, tensor.numel() * tensor.element_size()) > room:
            raise DeepNLPError(f"{path} is damaged: its tensors are larger than the file")


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise DeepNLPError(
            "files of PyTorch need PyTorch: pip install torch; --to safetensors does without"
        ) from error
    return torch


def _reason(error: Exception) -> str:
    """The first sentence of a long text."""
    return " ".join(str(error).split()).split(". ")[0][:200] or type(error).__name__
