"""deepnlp: deep learning for language, from scratch, with every backward pass in the open.

Layers live in ``deepnlp.layers``, models in ``deepnlp.models``, corpora in ``deepnlp.datasets``,
training in ``deepnlp.training``. At the top: the backend switch, the seed, ``no_backward``, what
is plugged together, and ``save`` and ``load``, which put a model on disk and read it.
"""

from __future__ import annotations

from importlib import import_module

from deepnlp.errors import DeepNLPError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from deepnlp.backend import seed, threads, use
    from deepnlp.checkpoint import load, save
    from deepnlp.layer import Layer, Sequential, no_backward
    from deepnlp.parameter import Parameter

__version__ = "0.1.0"

__all__ = [
    "DeepNLPError",
    "Layer",
    "Parameter",
    "Sequential",
    "__version__",
    "load",
    "no_backward",
    "save",
    "seed",
    "threads",
    "use",
]

# Where the names are from. They are imported when they are first used, so that the command line
# starts at once.
_HOMES = {
    **dict.fromkeys(("seed", "use", "backend"), "deepnlp.backend"),
    **dict.fromkeys(("Layer", "Sequential", "no_backward", "layer"), "deepnlp.layer"),
    **dict.fromkeys(("Parameter", "parameter"), "deepnlp.parameter"),
    **dict.fromkeys(("load", "save", "checkpoint"), "deepnlp.checkpoint"),
    "errors": "deepnlp.errors",
    "kernels": "deepnlp.kernels",
    "products": "deepnlp.backend.products",
    "threads": "deepnlp.backend.threads",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'deepnlp' has no attribute {name!r}")
    home = import_module(_HOMES[name])
    return home if _HOMES[name].endswith(f".{name}") else getattr(home, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
