"""Mistakes in functions of torch, flat scripts and engines are named, with the learner's line."""

import ast
import math
import re
import sys
from array import array
from pathlib import Path

import numpy as np
import pytest

import deepnlp.gradcheck
from deepnlp.gradcheck import check_gradients
from deepnlp.gradcheck.causes import _DATA
from deepnlp.gradcheck.translating import in_numpy

SCRIPT = """
rng = np.random.default_rng(0)
x = rng.normal(size=(5, 4))
W = rng.normal(size=(4, 3))
b = rng.normal(size=3)
z = x @ W + b
h = np.tanh(z)
p = h.mean(0)
loss = (p ** 2).sum()
dp = 2 * p
dh = np.ones_like(h) * dp / 5
dz = (1 - h ** 2) * dh
dW = x.T @ dz
db = dz.sum(0)
dx = dz @ W.T
"""


def cause_of(script):
    """The likeliest cause of the first wrong value of a script."""
    report = check_gradients("import numpy as np" + script)
    assert not report.ok
    return report.causes[0]


@pytest.mark.parametrize(
    ("right", "wrong", "name", "line"),
    [
        ("* dp / 5", "* dp", "constant factor", "dh = np.ones_like(h) * dp"),
        ("db = dz.sum(0)", "db = dz[0]", "summed or broadcast over the wrong axis", "db = dz[0]"),
        ("dx = dz @ W.T", "dx = -dz @ W.T", "sign", "dx = -dz @ W.T"),
    ],
)
def test_the_first_wrong_line_of_a_script_is_named(right, wrong, name, line):
    cause = cause_of(SCRIPT.replace(right, wrong))
    assert cause.name == name
    assert line in cause.evidence
    assert "right so far: the gradients of p" in cause.evidence


def test_a_window_that_overwrites_others_does_not_pass():
    script = """
x = np.arange(8.0) / 7 - 0.3
y = np.zeros(6)
for i in range(6):
    y[i] = x[i : i + 3].sum() ** 2
loss = y.sum()
dy = np.ones(6)
dx = np.zeros(8)
for i in range(6):
    dx[i : i + 3] {} 2 * x[i : i + 3].sum() * dy[i]
"""
    assert check_gradients("import numpy as np" + script.format("+=")).ok
    cause = cause_of(script.format("="))
    assert "dx[i : i + 3] = 2" in cause.evidence


def test_a_gradient_of_another_shape_on_the_way_is_no_mistake():
    script = SCRIPT.replace("p = h.mean(0)", "p = h.mean(0, keepdims=True)")
    assert check_gradients("import numpy as np" + script.replace("dp = 2 * p", "dp = 2 * p[0]")).ok


TORCH = """
import torch

class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        s = torch.softmax(x.mm(w.t()), dim=1)
        ctx.save_for_backward(x, w, s)
        return s

    @staticmethod
    def backward(ctx, grad_output):
        x, w, s = ctx.saved_tensors
        inner = (grad_output * s).sum(dim=1, keepdim=True)
        ds = s * (grad_output - inner)
        return ds.mm(w), ds.t().mm(x)
"""


@pytest.mark.parametrize(
    ("right", "wrong", "name"),
    [
        ("sum(dim=1", "sum(dim=0", "summed or broadcast over the wrong axis"),
        ("ds.mm(w)", "ds.mm(w) / 3", "constant factor"),
        ("ds.t().mm(x)", "-ds.t().mm(x)", "sign"),
    ],
)
def test_a_function_of_torch_is_diagnosed_in_numpy(tmp_path, right, wrong, name):
    torch = pytest.importorskip("torch")
    path = tmp_path / "scaled.py"
    path.write_text(TORCH.replace(right, wrong), encoding="utf-8")
    sys.path.insert(0, str(tmp_path))
    sys.modules.pop("scaled", None)
    try:
        import scaled
    finally:
        sys.path.remove(str(tmp_path))
    rng = np.random.default_rng(0)
    x, w = torch.tensor(rng.normal(size=(5, 4))), torch.tensor(rng.normal(size=(3, 4)))
    report = check_gradients(scaled.Scaled, x, w)
    assert [cause.name for cause in report.causes][:1] == [name]
    forward, _ = in_numpy([scaled.Scaled.forward, scaled.Scaled.backward])
    assert forward.__code__.co_firstlineno == 6  # lines keep their numbers


WINDOWS = [
    ("functional.unfold(x, 3, padding=1)", [(2, 3, 4, 5)]),
    ("functional.unfold(x, kernel_size=2, stride=2)", [(2, 3, 4, 6)]),
    ("functional.fold(x, (4, 5), 3, padding=1)", [(2, 27, 20)]),
    ("functional.fold(x, output_size=(4, 6), kernel_size=2, stride=2)", [(2, 12, 6)]),
    ("x.unfold(2, 3, 2)", [(2, 3, 7)]),
    ("functional.conv2d(x, y, z, padding=1)", [(2, 3, 4, 5), (4, 3, 3, 3), (4,)]),
    ("functional.conv2d(x, y, stride=2)", [(2, 3, 4, 5), (4, 3, 2, 2)]),
    ("functional.conv1d(x, y, z)", [(2, 3, 6), (4, 3, 2), (4,)]),
    ("functional.conv_transpose2d(x, y, padding=1)", [(2, 4, 4, 5), (4, 3, 3, 3)]),
    ("torch.nn.grad.conv2d_weight(x, y.shape, z)", [(2, 3, 4, 5), (4, 3, 2, 3), (2, 4, 3, 3)]),
    ("torch.nn.grad.conv2d_input(x.shape, y, z)", [(2, 3, 4, 5), (4, 3, 2, 2), (2, 4, 3, 4)]),
    ("functional.linear(x, y)", [(2, 3), (4, 3)]),
    ("x.repeat(2, 1) + x.chunk(2, dim=1)[0].repeat_interleave(2, 0).sum()", [(2, 4)]),
]


@pytest.mark.parametrize(("words", "shapes"), WINDOWS)
def test_windows_of_torch_have_words_in_numpy(tmp_path, words, shapes):
    torch = pytest.importorskip("torch")
    text = f"from torch.nn import functional\n\n\ndef f(x, y=None, z=None):\n    return {words}\n"
    path = tmp_path / "windows.py"
    path.write_text(text, encoding="utf-8")
    space = {"torch": torch}
    exec(compile(text, str(path), "exec"), space)
    given = [torch.randn(*shape, dtype=torch.float64) for shape in shapes]
    (inside,) = in_numpy([space["f"]])
    np.testing.assert_allclose(inside(*(t.numpy() for t in given)), space["f"](*given).numpy())


class Value:
    """A number that goes backward."""

    def __init__(self, data, made=()):
        self.data, self.grad, self.made, self.step = data, 0.0, made, lambda: None

    def __mul__(self, other):
        out = Value(self.data * other.data, (self, other))

        def step():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out.step = step
        return out

    def __add__(self, other):
        out = Value(self.data + other.data, (self, other))

        def step():
            self.grad = out.grad
            other.grad = out.grad

        out.step = step
        return out

    def exp(self):
        out = Value(math.exp(self.data), (self,))

        def step():
            self.grad += self.data * out.grad

        out.step = step
        return out

    def backward(self):
        order = []

        def visit(one):
            if one not in order:
                for other in one.made:
                    visit(other)
                order.append(one)

        visit(self)
        self.grad = 1.0
        for one in reversed(order):
            one.step()


def test_the_operation_of_an_engine_that_is_wrong_is_named():
    report = check_gradients(lambda a, b: (a * b).exp() * a, Value(0.4), Value(-0.7))
    cause = report.causes[0]
    assert cause.name == "derivative taken at the input instead of the output"
    assert cause.evidence.startswith("exp:")


def test_an_operation_that_adds_nothing_up_is_named_with_its_line():
    report = check_gradients(lambda a, b: a * b + a + a, Value(0.4), Value(-0.7))
    cause = report.causes[0]
    assert cause.name == "assigned instead of accumulated"
    assert re.search(r"__add__ .* in line \d+, `self.grad = out.grad`", cause.evidence)


class Buffers:
    """A weight in an array of the standard library."""

    def __init__(self, factor):
        self.factor, self.memory, self.dmemory = factor, array("d", [1.0, 2.0]), array("d", [0, 0])

    def forward(self, x):
        self.x = x
        return x * np.frombuffer(self.memory)

    def backward(self, dy):
        np.frombuffer(self.dmemory)[...] = self.factor * (dy * self.x).sum(0)
        return dy * np.frombuffer(self.memory)


def test_weights_in_buffers_and_in_attributes_of_functions_are_checked():
    x = np.random.default_rng(0).normal(size=(4, 2))
    assert check_gradients(Buffers(1.0), x).ok
    assert not check_gradients(Buffers(2.0), x).ok

    def forward(x):
        return x * forward.w

    def backward(dy):
        forward.dw = 2 * (dy * x).sum(0)
        return dy * forward.w

    forward.w = np.array([1.0, 2.0])
    assert not check_gradients((forward, backward), x).ok


def test_a_right_affine_layer_passes_through_fourteen_files():
    """Of this room; five milliseconds are measured, not tested."""
    files = set()

    class Affine:
        def __init__(self):
            self.W, self.b = np.eye(3) + 0.5, np.ones(3)

        def forward(self, x):
            self.x = x
            return x @ self.W + self.b

        def backward(self, dout):
            self.dW, self.db = self.x.T @ dout, dout.sum(axis=0)
            return dout @ self.W.T

    folder = str(Path(deepnlp.gradcheck.__file__).parent)
    before = sys.getprofile()
    sys.setprofile(lambda frame, *_: files.add(frame.f_code.co_filename))
    try:
        report = check_gradients(Affine(), np.random.default_rng(0).normal(size=(5, 3)))
    finally:
        sys.setprofile(before)
    assert report.ok
    assert len([file for file in files if file.startswith(folder)]) <= 14


def test_every_sentence_is_used_and_every_one_that_is_used_is_there():
    folder = Path(deepnlp.gradcheck.__file__).parent
    used = set()
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                used.add(node.value)
    assert set(_DATA["sentences"]) <= used


@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_a_backward_of_ones_own_in_torch_is_run(factor):
    torch = pytest.importorskip("torch")

    def forward(x, w):
        return x @ w, (x, w)

    def backward(dy, cache):
        x, w = cache
        return dy @ w.T, factor * x.T @ dy

    class Tanh:
        def forward(self, x):
            self.y = torch.tanh(x)
            return self.y

        def backward(self, dy):
            return factor * dy * (1 - self.y**2)

    rng = np.random.default_rng(0)
    x, w = torch.tensor(rng.normal(size=(5, 4))), torch.tensor(rng.normal(size=(4, 3)))
    report = check_gradients((forward, backward), x, w)
    assert [row.ok for row in report.rows] == [True, factor == 1]
    assert check_gradients(Tanh(), x).ok == (factor == 1)
    layer = Tanh()
    layer.scale = w
    with pytest.raises(TypeError, match="two functions that take scale"):
        check_gradients(layer, x)
