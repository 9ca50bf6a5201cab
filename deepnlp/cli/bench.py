"""``deepnlp bench``: the benchmarks, which are in a checkout of the source only."""

import argparse
from typing import Any

from deepnlp.cli.checkout import from_checkout


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of the benchmarks; without a checkout they cannot be run."""
    _command().configure(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the benchmarks."""
    return int(_command().run(arguments))


def _command() -> Any:
    return from_checkout("benchmarks.command", "the benchmarks")
