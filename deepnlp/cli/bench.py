"""``deepnlp bench``: the benchmarks, which stand beside the package in a checkout of the source."""

import argparse
import sys
from importlib import import_module
from pathlib import Path

import deepnlp
from deepnlp.errors import DeepNLPError

CHECKOUT = Path(deepnlp.__file__).parents[1]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of the benchmarks; without a checkout there are none, and no command."""
    if not (CHECKOUT / "benchmarks" / "command.py").exists():
        raise DeepNLPError(
            "the benchmarks are in the source, not in the installed package: run `make bench` or "
            "`python -m benchmarks` in a checkout"
        )
    if str(CHECKOUT) not in sys.path:
        sys.path.append(str(CHECKOUT))
    import_module("benchmarks.command").configure(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the benchmarks."""
    code: int = import_module("benchmarks.command").run(arguments)
    return code
