"""Processes that these tests begin draw no learning curves, which would take most of their time."""

import os
from collections.abc import Iterator

import pytest

PLOTS = r"""
import sys, types
plots = types.ModuleType("deepnlp.plots")
plots.learning_curve = lambda rows, levels, path, *_, **__: path.write_bytes(b"\x89PNG\r\n\x1a\n")
sys.modules["deepnlp.plots"] = plots
"""


@pytest.fixture(autouse=True, scope="package")
def quick_processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("site")
    (folder / "sitecustomize.py").write_text(PLOTS, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
        yield
