"""What every test stands on: no window, markers that skip, a chosen array backend, chosen cases."""

from __future__ import annotations

import gc
import importlib.util
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import matplotlib
import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from deepnlp import backend
from tests.strict_backend import strict

matplotlib.use("Agg")

# `make test` tries the same cases every time; `make fuzz` others, and many.
settings.register_profile("tests", derandomize=True, deadline=None, max_examples=12, database=None)
settings.register_profile(
    "fuzz",
    deadline=None,
    max_examples=int(os.environ.get("DEEPNLP_FUZZ") or 2000),
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("fuzz" if os.environ.get("DEEPNLP_FUZZ") else "tests")

# The constants of all modules that a worker happens to have imported are no cases of every time,
# and to look for them takes seconds.
if providers := sys.modules.get("hypothesis.internal.conjecture.providers"):
    vars(providers)["is_local_module_file"] = lambda path: False

# A shell script starts its background processes with Ctrl-C ignored, which their children inherit.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def gpu_is_available() -> bool:
    """Whether CuPy is installed and sees a device."""
    if importlib.util.find_spec("cupy") is None:
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import cupy

        return bool(cupy.cuda.is_available())


def pytest_configure(config: pytest.Config) -> None:
    required = os.environ.get("DEEPNLP_REQUIRE_PARITY") == "1"
    for name in ("torch", "gensim", "tokenizers", "transformers"):
        if required and importlib.util.find_spec(name) is None:
            raise pytest.UsageError(
                f"DEEPNLP_REQUIRE_PARITY=1 but {name} is not installed: pip install -e '.[parity]'"
            )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    of_the_gpu = [item for item in items if item.get_closest_marker("gpu")]
    if of_the_gpu and not gpu_is_available():
        for item in of_the_gpu:
            item.add_marker(pytest.mark.skip(reason="needs CuPy and a GPU"))


def pytest_collection_finish() -> None:
    """What collection made stays to the end: garbage is looked for among newer objects."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(params=["numpy", "strict"])
def array_backend(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Each array module in turn, in place as `deepnlp.backend.xp` while the test runs."""
    module = {"numpy": np, "strict": strict}[request.param]
    backend.use_module(module)
    yield module
    backend.use("numpy")


@pytest.fixture
def strict_backend() -> Iterator[Any]:
    """The strict stand-in for CuPy, in place while the test runs."""
    backend.use_module(strict)
    yield strict
    backend.use("numpy")
