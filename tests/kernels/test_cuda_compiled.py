"""The CUDA sources through NVIDIA's own compiler, which needs no GPU to compile for one.

It is in the package `nvidia-cuda-nvrtc`; a CUDA toolkit has it too. CuPy compiles with it as well.
"""

import ctypes
import ctypes.util
import importlib.metadata
import os
import re
import tomllib

import pytest

from deepnlp.kernels.cuda import launching
from tests.kernels.emulator import SOURCES, kernels_of
from tests.test_architecture import ROOT

ARCHITECTURES = {"f": "sm_80", "d": "sm_100"}  # A100 and B200: one each, since a compile takes long

WHERE_DOUBLE = {"clip", "update"}
"""Sources that compute in double precision on purpose: a norm, the numbers of a formula."""


def find_nvrtc() -> str | None:
    """Path or name of the compiler's library, if this machine has one."""
    try:
        files = importlib.metadata.files("nvidia-cuda-nvrtc") or []
    except importlib.metadata.PackageNotFoundError:
        return ctypes.util.find_library("nvrtc")
    return next(str(f.locate()) for f in files if re.match(r"(lib)?nvrtc(\.so|64)", f.name))


LIBRARY = find_nvrtc()


def test_the_compiler_is_there_where_it_must_be():
    if os.environ.get("DEEPNLP_REQUIRE_PARITY") == "1":
        assert LIBRARY, "DEEPNLP_REQUIRE_PARITY=1 but there is no NVRTC: pip install '.[parity]'"


needs_nvrtc = pytest.mark.skipif(LIBRARY is None, reason="needs NVRTC: nvidia-cuda-nvrtc")


@pytest.fixture(scope="session")
def nvrtc():
    return ctypes.CDLL(LIBRARY)


def compiled(nvrtc, text: str, options: tuple[str, ...]) -> tuple[bytes, str]:
    """A source as machine code and in the assembly language PTX."""
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"source.cu", 0, None, None)
    arguments = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    status = nvrtc.nvrtcCompileProgram(program, len(options), arguments)
    log = fetched(nvrtc, program, "ProgramLog").rstrip(b"\0").decode()
    assert status == 0, log
    assert not log.strip(), log  # no warnings either
    result = fetched(nvrtc, program, "CUBIN"), fetched(nvrtc, program, "PTX").decode()
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return result


def fetched(nvrtc, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    assert nvrtc[f"nvrtcGet{what}Size"](program, ctypes.byref(size)) == 0
    buffer = ctypes.create_string_buffer(size.value)
    assert nvrtc[f"nvrtcGet{what}"](program, buffer) == 0
    return buffer.raw


def doubles(ptx: str) -> list[str]:
    """Operations in double precision."""
    return re.findall(r"\b(?:add|sub|mul|fma|div|sqrt|rcp)\.(?:\w+\.)?f64", ptx)


@needs_nvrtc
@pytest.mark.parametrize("file", SOURCES)
def test_every_source_compiles_in_its_precision_and_for_registers_alone(nvrtc, file):
    text = launching.source(file)
    for letter in launching.REALS:
        options = (*launching.options(letter), f"--gpu-architecture={ARCHITECTURES[letter]}")
        code, ptx = compiled(nvrtc, text, options)
        assert code.startswith(b"\x7fELF")
        assert all(name.encode() in code for name in kernels_of(text))
        assert bool(doubles(ptx)) == (letter == "d" or file in WHERE_DOUBLE)
        if letter == "f":
            assert ".local" not in ptx


@needs_nvrtc
def test_an_error_would_be_seen(nvrtc):
    with pytest.raises(AssertionError, match="undeclared_name"):
        compiled(nvrtc, "__global__ void f() { undeclared_name(); }", ())


@pytest.mark.parametrize("file", SOURCES)
def test_kernels_are_in_the_file_of_their_first_word(file):
    names = kernels_of(SOURCES[file].read_text(encoding="utf-8"))
    assert names
    assert {name.split("_")[0] for name in names} == {file}
    for name in names:
        assert f" {name}(" in launching.source(name)


def test_the_structure_of_a_launch_fits_where_arguments_go():
    from deepnlp.kernels.cuda import weights

    others = 4 * 8
    assert weights._WEIGHTS.itemsize + others <= 4096


def test_the_sources_travel_with_the_package():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = settings["tool"]["setuptools"]["package-data"]["deepnlp"]
    for file in [launching.HERE / "common.cuh", *SOURCES.values()]:
        assert any(file.match(pattern) for pattern in patterns), f"package-data leaves out {file}"
