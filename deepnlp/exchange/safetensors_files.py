"""Files of safetensors: named tensors and a header of texts, without anything to execute."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from deepnlp.backend import HostArray
from deepnlp.errors import DeepNLPError
from deepnlp.files.writing import replacing

KEY = "deepnlp"


def write_safetensors(path: Path, tensors: dict[str, HostArray], text: str) -> None:
    """Write tensors, and the text among the metadata."""
    from_numpy = _safetensors().numpy
    tensors = {name: np.ascontiguousarray(x) for name, x in tensors.items()}  # writes raw memory
    content = from_numpy.save(tensors, metadata={"format": KEY, KEY: text})
    with replacing(path) as file:
        file.write(content)


def read_safetensors(path: Path) -> tuple[dict[str, HostArray], str | None]:
    """The tensors and, if there is one, the text."""
    library = _safetensors()
    with path.open("rb"):  # an error of the system names the file
        pass
    try:
        with library.safe_open(path, framework="numpy") as file:
            text = (file.metadata() or {}).get(KEY)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except Exception as error:  # whatever the library makes of the bytes
        raise DeepNLPError(
            f"{path} is damaged, or no file of safetensors ({' '.join(str(error).split())})"
        ) from error
    for name, x in tensors.items():
        if x.dtype not in (np.float32, np.float64):
            raise DeepNLPError(
                f"{path}: the tensor {name} should be of float32 or float64, got {x.dtype}"
            )
    return tensors, text


def _safetensors() -> Any:
    try:
        import safetensors
        import safetensors.numpy
    except ImportError as error:
        raise DeepNLPError(
            "files of safetensors need the library: pip install 'deepnlp[safetensors]'"
        ) from error
    return safetensors
