"""When a test of real data can run."""

import os
from pathlib import Path

import pytest


def needs(relative: str) -> pytest.MarkDecorator:
    """Skip a test unless DEEPNLP_DATA names a folder that holds the file."""
    folder = os.environ.get("DEEPNLP_DATA")
    there = folder is not None and (Path(folder) / relative).is_file()
    return pytest.mark.skipif(not there, reason=f"DEEPNLP_DATA has no {relative}")
