"""The backend switch, and the strict stand-in that the other tests lean on."""

import copy
import inspect
import os
import subprocess
import sys

import numpy as np
import pytest

import deepnlp
from deepnlp import backend
from deepnlp.backend import asarray, asnumpy, xp
from deepnlp.errors import DeepNLPError
from deepnlp.evaluation import perplexity
from deepnlp.layers import Affine, Softmax, SoftmaxWithLoss
from deepnlp.models import RNNLM
from tests.cases import together
from tests.strict_backend import MISSING, REFUSED_KEYWORDS, strict

HOST = np.array([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]])


@pytest.fixture
def x(strict_backend):
    return asarray(HOST)


# The switch.


def test_xp_follows_the_module_in_use(array_backend):
    assert backend.name() == array_backend.__name__
    assert isinstance(xp.zeros(3), array_backend.ndarray)
    assert isinstance(asarray([1.0]), array_backend.ndarray)


def test_a_cached_name_is_forgotten_when_the_module_changes():
    assert xp.tanh is np.tanh
    backend.use_module(strict)
    try:
        assert xp.tanh is not np.tanh
    finally:
        backend.use("numpy")
    assert xp.tanh is np.tanh


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "int64"])
def test_the_two_doors_keep_values_and_types(array_backend, dtype):
    values = np.arange(6).reshape(2, 3).astype(dtype)
    back = asnumpy(asarray(values))
    assert type(back) is np.ndarray
    assert back.dtype == dtype
    np.testing.assert_array_equal(back, values)
    assert asarray([1, 2], dtype=dtype).dtype == dtype


def test_host_data_passes_the_door_out_unchanged(array_backend):
    np.testing.assert_array_equal(asnumpy(HOST), HOST)
    assert asnumpy(np.float32(2.5)) == 2.5


def test_an_unknown_backend_is_named_in_the_error():
    with pytest.raises(ValueError, match=r"abacus.*numpy.*cupy"):
        deepnlp.use("abacus")
    assert backend.name() == "numpy"


def test_cupy_without_a_gpu_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(DeepNLPError, match=r"not installed.*pip install"):
        deepnlp.use("cupy")

    class Unlucky:
        class cuda:
            @staticmethod
            def is_available():
                return False

    monkeypatch.setitem(sys.modules, "cupy", Unlucky)
    with pytest.raises(DeepNLPError, match="GPU"):
        deepnlp.use("cupy")
    assert backend.name() == "numpy"


def run_with_backend(name):
    code = "from deepnlp import backend; print(backend.name())"
    environment = {**os.environ, "DEEPNLP_BACKEND": name}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )


def test_the_environment_chooses_the_backend():
    assert run_with_backend("numpy").stdout.strip() == "numpy"
    wrong = run_with_backend("abacus")
    assert wrong.returncode != 0
    assert "DEEPNLP_BACKEND" in wrong.stderr
    assert "abacus" in wrong.stderr


def test_a_seed_repeats_what_is_drawn():
    deepnlp.seed(3)
    first = backend.rng().standard_normal(5)
    deepnlp.seed(3)
    np.testing.assert_array_equal(backend.rng().standard_normal(5), first)
    deepnlp.seed(4)
    assert not np.array_equal(backend.rng().standard_normal(5), first)


@pytest.mark.parametrize("number", [-1, 1.5, "0", True])
def test_a_seed_that_is_none_is_an_error(number):
    with pytest.raises(ValueError, match="seed"):
        deepnlp.seed(number)


# The stand-in refuses what CuPy refuses.


@together(
    mix=[
        lambda x: x + HOST,
        lambda x: HOST + x,
        lambda x: HOST @ x.T,
        lambda x: x == HOST,
        lambda x: np.maximum(x, HOST),
        lambda x: xp.where(x > 0, x, HOST),
        lambda x: xp.concatenate([x, HOST]),
        lambda x: x.__setitem__(0, HOST[0]),
        lambda x: xp.add(x, x, out=HOST.copy()),
        lambda x: HOST.copy().__iadd__(x),
        lambda x: x.__iadd__(HOST),
        lambda x: xp.add.at(x, xp.asarray([0]), HOST[:1]),
        lambda x: x[np.array([0, 1])],
        lambda x: x[[0, 1]],
        lambda x: x[HOST[:, 0] > 1],
        lambda x: HOST.__setitem__(0, x[0]),
        lambda x: np.asarray(x),
        lambda x: np.zeros(2).fill(x),
        lambda x: np.concatenate([x, HOST]),
        lambda x: xp.add(x, x, where=x > 0),
        lambda x: x.sum(where=x > 0),
        lambda x: xp.sum(x, initial=1),
        lambda x: xp.clip(x, min=0),
    ]
)
def test_two_worlds_do_not_mix(x, mix):
    with pytest.raises((TypeError, ValueError)) as error:
        mix(x)
    assert error.type is TypeError or "sequence" in str(error.value)


def test_the_message_of_an_implicit_conversion_is_cupys(x):
    with pytest.raises(TypeError, match="Implicit conversion to a NumPy array is not allowed"):
        np.asarray(x)


def test_names_that_cupy_lacks_are_absent(strict_backend):
    for name in ("errstate", "insert", "unstack", "vecdot", "block", "geomspace", "nditer"):
        assert name in MISSING
        assert not hasattr(xp, name)
    assert not hasattr(xp, "random")
    assert not hasattr(xp, "no_such_function")


@pytest.mark.parametrize(
    "make",
    [
        lambda x: x.sum(),
        lambda x: x.max(),
        lambda x: xp.mean(x),
        lambda x: xp.sqrt(x.sum() ** 2),
        lambda x: x[1, 2],
        lambda x: xp.linalg.norm(x),
        lambda x: xp.add.reduce(x, axis=None),
        lambda x: x.argmax(),
    ],
)
def test_scalars_stay_arrays_on_the_device(x, make):
    before = strict.waits
    result = make(x)
    assert isinstance(result, strict.ndarray)
    assert result.shape == ()
    assert strict.waits == before


@pytest.mark.parametrize(
    "read",
    [
        lambda x: float(x[0, 0]),
        lambda x: int(x[0, 0]),
        lambda x: bool(x[0, 0]),
        lambda x: x[0, 0].item(),
        lambda x: x.get(),
        lambda x: asnumpy(x),
        lambda x: str(x),
        lambda x: f"{x[0, 0]:.2f}",
        lambda x: repr(x),
        lambda x: x.tolist(),
        lambda x: xp.nonzero(x),
        lambda x: x[x > 0],
    ],
)
def test_reading_on_the_host_is_counted(x, read):
    before = strict.waits
    read(x)
    assert strict.waits == before + 1


def test_computing_is_not_counted_and_agrees_with_numpy(x):
    before = strict.waits
    results = {
        "operators": (-x @ x.T + 2.0) / 3 - x.T[:2, :2] ** 2,
        "scalars": np.float64(2.0) * x - 1,
        "functions": xp.tanh(xp.where(x > 0, x, 0.5)),
        "ufunc of numpy": np.exp(x),
        "function of numpy": np.sum(x, axis=0),
        "fancy": x[xp.asarray([1, 1, 0]), xp.asarray([0, 2, 1])],
        "methods": x.reshape(3, 2).transpose(1, 0).sum(axis=1, keepdims=True),
        "einsum": xp.einsum("ij,kj->ik", x, x),
        "complex": (x + 1j).imag,
    }
    assert strict.waits == before
    h = HOST
    expected = {
        "operators": (-h @ h.T + 2.0) / 3 - h.T[:2, :2] ** 2,
        "scalars": 2.0 * h - 1,
        "functions": np.tanh(np.where(h > 0, h, 0.5)),
        "ufunc of numpy": np.exp(h),
        "function of numpy": h.sum(axis=0),
        "fancy": h[[1, 1, 0], [0, 2, 1]],
        "methods": h.reshape(3, 2).T.sum(axis=1, keepdims=True),
        "einsum": h @ h.T,
        "complex": np.ones_like(h),
    }
    for name, value in expected.items():
        np.testing.assert_array_equal(asnumpy(results[name]), value, err_msg=name)


def test_writing_in_place(x):
    view = x[0]
    view += 1.0
    x[:, 2] = 0
    x[xp.asarray([False, True])] *= 2.0
    out = xp.empty_like(x)
    assert xp.multiply(x, 10.0, out=out) is out
    xp.add.at(x, xp.asarray([1, 1]), xp.ones((2, 3)))
    np.testing.assert_array_equal(asnumpy(x), [[2, -1, 0], [10, 12, 2]])
    np.testing.assert_array_equal(asnumpy(out), [[20, -10, 0], [80, 100, 0]])
    total = x.sum()
    total += 1
    assert float(total) == 26.0


def test_the_door_in_copies(strict_backend):
    host = np.zeros(2)
    device = asarray(host)
    host += 1
    np.testing.assert_array_equal(asnumpy(device), [0.0, 0.0])
    assert asarray(device) is not None
    assert isinstance(asarray(device), strict.ndarray)


def test_copies_share_nothing(x):
    for twin in (copy.deepcopy(x), copy.copy(x), x.copy()):
        twin += 1
        np.testing.assert_array_equal(asnumpy(twin), HOST + 1)
    np.testing.assert_array_equal(asnumpy(x), HOST)


def test_the_stand_in_offers_no_more_than_cupy():
    cupy = pytest.importorskip("cupy")
    functions = [name for name in np.__all__ if callable(getattr(np, name))]
    functions = [name for name in functions if not isinstance(getattr(np, name), type)]
    assert {name for name in functions if hasattr(strict, name)} <= set(dir(cupy))
    for name in (n for n in dir(strict.ndarray) if not n.startswith("_")):
        assert hasattr(cupy.ndarray, name), name
    for name, keywords in REFUSED_KEYWORDS.items():
        assert not keywords & inspect.signature(getattr(cupy, name)).parameters.keys(), name


MASKED = np.ma.masked_array(np.ones((2, 3)), mask=[[1, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize(
    "call",
    [
        lambda: asarray(MASKED),
        lambda: Softmax().forward(MASKED),
        lambda: [layer := Softmax(), layer.forward(np.ones((2, 3))), layer.backward(MASKED)],
        lambda: Affine(MASKED),
        lambda: Affine(np.ones((3, 2))).forward(np.asmatrix(np.ones((2, 3)))),
        lambda: SoftmaxWithLoss().forward(np.ones((2, 3)), np.ma.masked_array([0, 1])),
        lambda: perplexity(RNNLM(5, 4, 4), np.ma.masked_array([0, 1, 2], mask=[0, 1, 0])),
    ],
)
@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_arrays_whose_operators_mean_something_else_are_refused(call):
    with pytest.raises(TypeError, match=r"should be a plain array, got a (MaskedArray|matrix)"):
        call()
