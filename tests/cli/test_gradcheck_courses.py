"""``deepnlp gradcheck`` takes the code of courses as it lies in their files."""

import json

import pytest

CS231N = """
import numpy as np

def affine_forward(x, w, b):
    return x @ w + b, (x, w, b)

def affine_backward(dout, cache):
    x, w, b = cache
    return dout @ w.T, x.T @ dout, dout.sum(axis=0)

def conv_forward_naive(x, w, b, conv_param):
    return x * conv_param["stride"], conv_param

def conv_backward_naive(dout, cache):
    return dout * cache["stride"], None, None

def batchnorm_forward(x, gamma, beta, bn_param):
    x_hat = (x - x.mean(axis=0)) / np.sqrt(x.var(axis=0) + 1e-5)
    return (gamma * x_hat + beta if bn_param["mode"] == "train" else x), (x, x_hat, gamma)

def batchnorm_backward(dout, cache):
    x, x_hat, gamma = cache
    d = dout * gamma
    dx = (d - d.mean(axis=0) - x_hat * (d * x_hat).mean(axis=0)) / np.sqrt(x.var(axis=0) + 1e-5)
    return dx, (dout * x_hat).sum(axis=0), dout.sum(axis=0)

def lstm_step_forward(x, prev_h, prev_c, Wx, Wh, b):
    a = x @ Wx + prev_h @ Wh + b
    i, f, o, g = np.split(a, 4, axis=1)
    i, f, o, g = (1 / (1 + np.exp(-i)), 1 / (1 + np.exp(-f)), 1 / (1 + np.exp(-o)), np.tanh(g))
    c = f * prev_c + i * g
    return o * np.tanh(c), c, (x, prev_h, prev_c, Wx, Wh, i, f, o, g, c)

def lstm_step_backward(dh, dc, cache):
    x, prev_h, prev_c, Wx, Wh, i, f, o, g, c = cache
    dc = dc + dh * o * (1 - np.tanh(c) ** 2)
    di, df, do, dg = dc * g, dc * prev_c, dh * np.tanh(c), dc * i
    da = np.hstack([di * i * (1 - i), df * f * (1 - f), do * o * (1 - o), dg * (1 - g**2)])
    return da @ Wx.T, da @ Wh.T, dc * f, x.T @ da, prev_h.T @ da, da.sum(axis=0)

def word_embedding_forward(x, W):
    return W[x], (x, W)

def word_embedding_backward(dout, cache):
    x, W = cache
    dW = np.zeros_like(W)
    np.add.at(dW, x, dout)
    return dW

def lookup(ids, W):
    return W[ids].sum(), {"W": np.ones_like(W)}

def square_loss(x, y):
    return ((x - y) ** 2).sum(), 2 * (x - y)

class Scaled:
    def __init__(self, scale, kind):
        self.scale, self.kind = scale, kind

    def forward(self, x):
        self.x = x
        return x * self.scale

    def backward(self, dy):
        self.dscale = (self.x * dy).sum(axis=0)
        return dy * self.scale

class Endless:
    def forward(self, x):
        return x

    def backward(self, dy):
        while True:
            try:
                dy = dy + 0
            except Exception:
                pass

class Renamed:
    def __init__(self, W):
        self.W = W

    def forward(self, x):
        self.x = x
        return x @ self.W

    def backward(self, dy):
        self.slope_of_W = self.x.T @ dy
        return dy @ self.W.T

if __name__ == "__main__":
    scale, data = np.ones(4) * 2, np.arange(12.0).reshape(3, 4)
    print("never printed")


def activated_forward(x, kind):
    return {"tanh": np.tanh, "exp": np.exp}[kind](x), (x, kind)


def activated_backward(dout, cache):
    x, kind = cache
    return dout * {"tanh": 1 - np.tanh(x) ** 2, "exp": np.exp(x)}[kind]


class Sized:
    def __init__(self, input_size, hidden_dim):
        self.W = np.random.randn(input_size, hidden_dim)

    def forward(self, x):
        self.x = x
        return x @ self.W

    def backward(self, dout):
        self.dW = self.x.T @ dout
        return dout @ self.W.T
"""

SIZES = ["--input", "N=3,D=4"]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "layers.py"
    path.write_text(CS231N, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "options", "rows"),
    [
        ("affine", SIZES, ["x", "w", "b"]),
        ("affine_forward", SIZES, ["x", "w", "b"]),
        ("affine_backward", SIZES, ["x", "w", "b"]),
        ("batchnorm", SIZES, ["x", "gamma", "beta"]),
        ("conv_forward_naive", SIZES, ["x"]),
        ("lstm_step", SIZES, ["x", "prev_h", "prev_c", "Wx", "Wh", "b"]),
        ("word_embedding", ["--input", "x=[[0, 2, 2], [1, 0, 3]]", "--input", "W=5,3"], ["W"]),
        ("square_loss", ["--input", "x=3,4", "--input", "y=3,4"], ["x"]),
        ("Scaled", ["--call", "Scaled(scale, 'up').forward(data)"], ["x", "scale"]),
        ("affine", ["--call", "f(data, rng.normal(size=(4, 2)), np.zeros(2))"], ["x", "w", "b"]),
        ("affine", ["--input", "x=5,4", "--input", "w=4,2", "--input", "b=2"], ["x", "w", "b"]),
        ("activated", [*SIZES, "--input", "kind='tanh'"], ["x"]),
        ("Sized", [*SIZES, "--weight", "input_size=4", "--weight", "hidden_dim=6"], ["x", "W"]),
        ("Renamed", [*SIZES, "--gradient", "W=slope_of_W"], ["x", "W"]),
    ],
)
def test_what_lies_in_a_file(deepnlp, file, name, options, rows):
    done = deepnlp("gradcheck", f"{file}:{name}", *options, "--json")
    assert done.code == 0, done.err
    assert [row["name"] for row in done.json["rows"]] == rows
    assert done.json["runs"]["backward"] > 0
    assert "never printed" not in done.err


PROGRAM = """
import numpy as np


def shift_forward(x, by):
    return x**2 + by, x


def shift_backward(dout, cache):
    return 2 * cache * dout, dout.sum(axis=0)


class Gain:
    def __init__(self, options):
        self.g = options["start"]

    def forward(self, x, mask):
        self.x, self.mask = x, mask
        return x * self.g * mask

    def backward(self, dy):
        self.dg = (dy * self.x * self.mask).sum(axis=0)
        return dy * self.g * self.mask


class Product:
    @staticmethod
    def forward(ctx, a, b):
        ctx.save_for_backward(a, b)
        return a * b

    @staticmethod
    def backward(ctx, dy):
        a, b = ctx.saved_values
        return dy * b, dy * a


def around(function):
    def forward(x):
        return x + function(x), lambda dy: dy * (2 - function(x) ** 2)

    return forward


class Twice:
    def __call__(self, x):
        return 2 * x

    def backward(self, dy):
        return 2 * dy


class Thrice(Twice):
    def __call__(self, x):
        return 3 * x

    def backward(self, dy):
        return 3 * dy


def main():
    np.random.seed(0)
    pair = [np.ones((2, 2)), np.ones((2, 2))]
    ctx = object()
    Product.forward(ctx, *pair)
    Twice()(pair[0])
    around(np.tanh)(pair[0])
    thrice = Thrice()
    y = thrice(pair[1])
    x = np.random.rand(4, 3)
    layer = Gain({"start": np.array([1.0, 2.0, 3.0])})
    y = layer.forward(x, x > 0.3)
    out, cache = shift_forward(x, by=np.ones(3))
    open("written", "w").write("by main")


if __name__ == "__main__":
    print("never printed")
    main()
"""


@pytest.mark.parametrize(
    ("name", "options", "shapes"),
    [
        ("shift", [], {"x": [4, 3], "by": [3]}),
        ("Gain", [], {"x": [4, 3], "g": [3]}),
        ("Product", [], {"a": [2, 2], "b": [2, 2]}),
        ("Twice", [], {"x": [2, 2]}),
        ("around", [], {"x": [2, 2]}),
        ("Thrice", [], {"x": [2, 2]}),
        ("shift", ["--input", "x=2,5", "--input", "by=5"], {"x": [2, 5], "by": [5]}),
        ("shift", ["--call", "f(x, w)", "--weight", "w=3"], {"x": [4, 3], "by": [3]}),
        ("shift", ["--call", "f(x, w)", "--input", "x=2,5", "--weight", "w=5"],
         {"x": [2, 5], "by": [5]}),
    ],
)  # fmt: skip
def test_arguments_of_the_users_own_program(deepnlp, tmp_path, monkeypatch, name, options, shapes):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    done = deepnlp("gradcheck", f"program.py:{name}", *options, "--json")
    assert done.code == 0, done.err
    assert {row["name"]: row["shape"] for row in done.json["rows"]} == shapes
    assert "never printed" not in done.out + done.err
    assert not (tmp_path / "written").exists()  # what follows the call does not run


def test_a_function_that_gives_a_function_is_no_layer(deepnlp, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM, encoding="utf-8")
    done = deepnlp("gradcheck", f"{path}:around", "--call", "around(np.tanh)")
    assert done.code == 2
    assert "should return an array of numbers, or several; it returned function" in done.err


def test_a_call_in_a_notebook(deepnlp, tmp_path):
    cells = [
        ["import numpy as np"],
        ["def half_forward(x):\n", "    return x / 2, None"],
        ["def half_backward(dout, cache):\n", "    return dout / 3"],
        ["data = np.ones((2, 5))"],
        ["half_forward(data)"],
    ]
    path = tmp_path / "hw.ipynb"
    code = [{"cell_type": "code", "source": source} for source in cells]
    path.write_text(json.dumps({"cells": code}), encoding="utf-8")
    done = deepnlp("gradcheck", f"{path}:half", "--json")
    assert done.code == 1
    assert done.json["rows"][0]["shape"] == [2, 5]


def test_integers_by_name(deepnlp, file):
    done = deepnlp(
        "gradcheck", f"{file}:lookup", "--input", "ids=3,5", "--input", "W=7,2", "--json"
    )
    assert [row["name"] for row in done.json["rows"]] == ["W"]


def test_quiet(deepnlp, file):
    done = deepnlp("gradcheck", f"{file}:affine", *SIZES, "--quiet")
    assert (done.code, done.out) == (0, "")
    done = deepnlp("gradcheck", f"{file}:lookup", "--input", "ids=3,5", "--quiet")
    assert done.code == 1
    assert len(done.out.splitlines()) == 1


def test_a_refusal_prints_the_lines_of_python(deepnlp, file):
    done = deepnlp("gradcheck", f"{file}:Scaled", *SIZES)
    assert done.code == 2
    assert len(done.err.splitlines()) == 1
    assert "from layers import Scaled" in done.out
    assert "print(check_gradients(Scaled(...), x))" in done.out
    assert '--call "Scaled(scale, kind).forward(x)"' in done.out


def test_a_loop_without_an_end_is_told_in_one_line(deepnlp, file):
    done = deepnlp("gradcheck", f"{file}:Endless", *SIZES, "--seconds", 1)
    assert done.code == 2
    assert "took more than 1 s" in done.err
    assert len(done.err.splitlines()) == 1


ENDINGS = {  # lines of a backward that would not end, or end the program
    "swallows": ("while True:\n            try:\n                while True: pass\n"
                 "            except BaseException: pass", "took more than 1 s"),
    "exits": ("import os; os._exit(0)", "ended the program, with exit code 0"),
    "exits with 1": ("import os; os._exit(1)", "ended the program, with exit code 1"),
    "is killed": ("import os; os.kill(os.getpid(), 9)", "ended the program, with exit code -9"),
    "leaves": ("raise SystemExit(0)", "ended the program with sys.exit(0)"),
    "waits": ("import time; time.sleep(10_000)", "took more than 1 s"),
    "calls": ("sum(iter(int, 1))", "took more than 1 s"),
    "threads": ("import threading; threading.Event().wait()", "took more than 1 s"),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDINGS)
def test_code_that_does_not_end_is_ended(deepnlp, tmp_path, monkeypatch, name):
    monkeypatch.setattr("deepnlp.cli.apart._LEAST", 4)
    line, told = ENDINGS[name]
    (tmp_path / "mine.py").write_text(
        f"class Mine:\n    def forward(self, x):\n        return x\n"
        f"    def backward(self, dy):\n        {line}\n        return dy\n", "utf-8"
    )  # fmt: skip
    done = deepnlp("gradcheck", f"{tmp_path / 'mine.py'}:Mine", *SIZES, "--seconds", 1)
    assert done.code == 2
    assert told in done.err


def test_without_processes_lines_are_counted(deepnlp, file, monkeypatch):
    def refuse(*_, **__):
        raise OSError

    monkeypatch.setattr("multiprocessing.context.ForkProcess.start", refuse)
    monkeypatch.setattr("deepnlp.cli.apart._LINES", 1_000_000)
    monkeypatch.delattr("signal.setitimer")
    done = deepnlp("gradcheck", f"{file}:Endless", *SIZES)
    assert done.code == 2
    assert "does a loop of the checked code not end?" in done.err
    assert deepnlp("gradcheck", f"{file}:affine", *SIZES).code == 0


def test_a_package_with_relative_imports(deepnlp, tmp_path, monkeypatch):
    package = tmp_path / "course"
    package.mkdir()
    (package / "__init__.py").write_text("", encoding="utf-8")
    (package / "tools.py").write_text("def double(x):\n    return 2 * x\n", encoding="utf-8")
    (tmp_path / "beside.py").write_text("factor = 1.0\n", encoding="utf-8")
    (package / "layer.py").write_text(
        "from beside import factor\nfrom .tools import double\n\n"
        "def twice_forward(x):\n    return double(x) * factor, None\n\n"
        "def twice_backward(dout, cache):\n    return double(dout)\n",
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    done = deepnlp("gradcheck", "course/layer.py:twice", *SIZES)
    assert done.code == 0, done.err


def test_a_notebook(deepnlp, tmp_path):
    cells = [
        ["%matplotlib inline\n", "import numpy as np\n", "import nothing_of_the_kind"],
        ["def tanh_forward(x):\n", "    y = np.tanh(x)\n", "    return y, y"],
        ["def tanh_backward(dout, cache):\n", "    return dout * (1 - cache)"],
        ["train_for_hours()"],
    ]
    path = tmp_path / "hw.ipynb"
    code = [{"cell_type": "code", "source": source} for source in cells]
    path.write_text(json.dumps({"cells": [{"cell_type": "markdown", "source": []}, *code]}))
    done = deepnlp("gradcheck", f"{path}:tanh", *SIZES)
    assert done.code == 1
    assert "cache" in done.out


def test_a_script_of_lines(deepnlp, tmp_path):
    path = tmp_path / "exercise.py"
    text = (
        "import numpy as np\nrng = np.random.default_rng(0)\n"
        "x, W = rng.normal(size=(3, 4)), rng.normal(size=(4, 2))\n"
        "h = x @ W\nt = np.tanh(h)\nloss = (t**3).sum()\n"
        "dt = 3 * t**2\ndh = dt * (1 - t**2)\nslope = x.T @ dh\n"
    )
    path.write_text(text, encoding="utf-8")
    done = deepnlp("gradcheck", path, "--gradient", "W=slope", "--json")
    assert done.code == 0, done.err
    assert [row["name"] for row in done.json["rows"]] == ["t", "h", "W"]
    cells = [{"cell_type": "code", "source": [part]} for part in text.splitlines(True)]
    notebook = path.with_suffix(".ipynb")
    notebook.write_text(json.dumps({"cells": cells}), encoding="utf-8")
    assert deepnlp("gradcheck", notebook, "--gradient", "W=slope").code == 0
    path.write_text(text.replace("(1 - t**2)", "(1 - t)"), encoding="utf-8")
    done = deepnlp("gradcheck", path)
    assert done.code == 1
    assert "exercise.py:8: dh = dt * (1 - t)" in done.out
