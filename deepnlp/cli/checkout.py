"""What is in a checkout of the source, but not in the installed package."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import deepnlp
from deepnlp.errors import DeepNLPError

CHECKOUT = Path(deepnlp.__file__).parents[1]


def from_checkout(module: str, what: str) -> Any:
    """A module of the checkout; an error if the package is not part of one."""
    path = CHECKOUT.joinpath(*module.split("."))
    if not (path.is_dir() or path.with_suffix(".py").is_file()):
        raise DeepNLPError(
            f"{what} are in the source, not in the installed package: run this in a checkout "
            "that is installed with `pip install -e .`"
        )
    if str(CHECKOUT) not in sys.path:
        sys.path.append(str(CHECKOUT))
    return import_module(module)
