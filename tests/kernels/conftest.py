"""The emulator of a GPU, for all tests of the kernels."""

import pytest

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
