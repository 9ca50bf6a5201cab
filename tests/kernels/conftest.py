"""The emulator of a GPU, for all tests of the kernels."""

import pytest

from deepnlp import kernels
from deepnlp.kernels.cuda import launching
from tests.kernels.emulator import Emulator, build, compiler


@pytest.fixture(scope="session")
def libraries(tmp_path_factory):
    if compiler() is None:
        pytest.skip("needs a C++ compiler")
    folder = tmp_path_factory.mktemp("emulator")
    return {letter: build(folder, letter) for letter in launching.REALS}


@pytest.fixture
def device(libraries, monkeypatch):
    """Stands in place of the GPU, and keeps the names of the kernels launched."""
    emulator = Emulator(libraries)
    monkeypatch.setattr(launching, "device", emulator)
    return emulator


@pytest.fixture
def small_grid(monkeypatch):
    """A grid that cannot cover the larger cases at once."""
    monkeypatch.setattr(launching, "most_rows", 2)
    monkeypatch.setattr(launching, "most_blocks", 1)


@pytest.fixture
def cuda_kernels(device, monkeypatch):
    """Whatever has a CUDA kernel is done by it, though the arrays are NumPy's."""
    monkeypatch.setitem(kernels.QUICK_FORMS, "numpy", kernels.QUICK_FORMS["cupy"])
    return device
