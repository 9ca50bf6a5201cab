"""Processes that these tests begin draw no learning curves: they wait instead of computing."""

import os
from collections.abc import Iterator

import pytest

PLOTS = r"""
import importlib.util, sys, time, types

def learning_curve(rows, levels, path, *_, **__):
    time.sleep(0.5)  # a run is not over before it can be interrupted
    path.write_bytes(b"\x89PNG\r\n\x1a\n")

sys.modules["deepnlp.plots"] = plots = types.ModuleType("deepnlp.plots")
plots.learning_curve = learning_curve
plots.__path__ = [importlib.util.find_spec("deepnlp").submodule_search_locations[0] + "/plots"]
"""


@pytest.fixture(autouse=True, scope="package")
def quick_processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("site")
    (folder / "sitecustomize.py").write_text(PLOTS, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(folder), prepend=os.pathsep)
        yield
