"""``deepnlp bench``: the benchmarks, which stand beside the package in a checkout of the source."""

import argparse
from typing import Any

from deepnlp.cli.checkout import from_checkout


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of the benchmarks; without a checkout there is no such command."""
    _command().configure(parser)


def run(arguments: argparse.Namespace) -> int:
    """Run the benchmarks."""
    return int(_command().run(arguments))


def _command() -> Any:
    return from_checkout("benchmarks.command", "the benchmarks")
