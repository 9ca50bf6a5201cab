"""``deepnlp gradcheck``: a class of one's own, and the museum."""

from pathlib import Path

import pytest

from tests.broken.museum import right_layers

MUSEUM = Path(__file__).parents[1] / "broken" / "cases" / "museum"

LAYERS = """
import numpy as np


class Affine:
    def __init__(self, W, b):
        self.W, self.b = W, b

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b

    def backward(self, dy):
        self.dW, self.db = self.x.T @ dy, dy.sum(axis=0)
        return dy @ self.W.T


class Doubled(Affine):
    def backward(self, dy):
        return 2 * super().backward(dy)


class Cell:
    def __init__(self, Wx, Wh, H):
        self.Wx, self.Wh, self.H = Wx, Wh, H

    def forward(self, x, h_prev):
        a = x @ self.Wx + h_prev @ self.Wh
        self.x, self.h_prev = x, h_prev
        self.s = 1 / (1 + np.exp(-a))
        return self.s[:, : self.H] * self.s[:, self.H :]

    def backward(self, dh):
        s, H = self.s, self.H
        ds = np.hstack((dh * s[:, H:], dh * s[:, :H]))
        da = ds * s * (1 - s)
        self.dWx, self.dWh = self.x.T @ da, self.h_prev.T @ da
        return da @ self.Wx.T, da @ self.Wh.T


class Table:
    def __init__(self, E):
        self.E = E

    def forward(self, ids):
        self.ids = ids
        return self.E[ids]

    def backward(self, dy):
        self.dE = np.zeros_like(self.E)
        np.add.at(self.dE, self.ids, dy)


class Strange:
    def __init__(self, mystery):
        pass

    forward = backward = lambda self, x: x
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(LAYERS, encoding="utf-8")
    return path


def test_a_right_class(deepnlp, file):
    done = deepnlp("gradcheck", f"{file}:Affine", "--input", "N=3,D=4")
    assert done.code == 0
    assert "3 x 4" in done.out
    assert "second backward" in done.out


def test_a_wrong_class_and_its_cause(deepnlp, file):
    done = deepnlp("gradcheck", f"{file}:Doubled", "--input", "N=3,D=4", "--json")
    assert done.code == 1
    assert "likely cause: constant factor" in done.err
    wrong = [row for row in done.json["rows"] if not row["ok"]]
    assert [row["name"] for row in wrong] == ["x"]
    assert wrong[0]["causes"][0]["name"] == "constant factor"


def test_weights_states_and_ids(deepnlp, file):
    weights = ["--weight", "Wx=D,2H", "--weight", "Wh=H,2H"]
    done = deepnlp("gradcheck", f"{file}:Cell", "--input", "N=3,D=4", *weights, "--json")
    assert done.code == 0
    assert {row["name"]: row["shape"] for row in done.json["rows"]} == {
        "x": [3, 4],
        "h_prev": [3, 5],
        "Wx": [4, 10],
        "Wh": [5, 10],
    }
    done = deepnlp("gradcheck", f"{file}:Table", "--input", "N=3,T=4,V=6", "--json")
    assert done.code == 0
    assert done.json["rows"][0]["shape"] == [6, 4]
    done = deepnlp("gradcheck", f"{file}:Affine", "--input", "N=3,D=4", "--method", "direction")
    assert done.code == 0
    assert "all gradients" in done.out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["no.py:Layer"], "no file"),
        (["{file}:Nobody"], "has no class 'Nobody'"),
        (["{file}"], "it has: Affine, Doubled, Cell, Table"),
        (["{file}:Affine"], "--input 'x=3,4'"),
        (["{file}:Affine", "--input", "three"], "should read like"),
        (["{file}:Affine", "--input", "N=3,D=4", "--weight", "W"], "should read like"),
        (["{file}:Affine", "--input", "N=3,D=4", "--weight", "W=D,Q"], "cannot read the shape"),
        (["{file}:Strange", "--input", "N=3"], "'mystery'"),
        (["--museum", "nowhere"], "no bug museum in nowhere"),
        (["--method", "direction"], "class of your own"),
    ],
)
def test_mistakes_of_the_user(deepnlp, file, options, words):
    done = deepnlp("gradcheck", *[option.format(file=file) for option in options])
    assert done.code == 2
    assert words in done.err
    assert len(done.err.splitlines()) == 1


def test_a_file_that_cannot_be_loaded(deepnlp, tmp_path):
    path = tmp_path / "broken.py"
    path.write_text("import nothing_of_the_kind", encoding="utf-8")
    done = deepnlp("gradcheck", f"{path}:Layer")
    assert done.code == 2
    assert "cannot be loaded" in done.err


def test_the_museum(deepnlp, tmp_path, monkeypatch):
    """With one right layer: that none of the others is accused is tested elsewhere."""

    def only_one(collection):
        return {"deepnlp Affine": right_layers(collection)["deepnlp Affine"]}

    monkeypatch.setattr("tests.broken.museum.right_layers", only_one)
    text = (MUSEUM / "dense.toml").read_text(encoding="utf-8")
    (tmp_path / "dense.toml").write_text(text, encoding="utf-8")
    done = deepnlp("gradcheck", "--museum", tmp_path, "--shapes", 1, "--json")
    assert done.code == 0
    assert done.json["share"] == 1
    assert done.json["right_layers_checked"] == 50
    assert done.json["falsely_accused"] == []
    assert "AffineForgotBias" in done.err


FAILING = """
import numpy as np


class Stumbles:
    def forward(self, x):
        return x

    def backward(self, dy):
        return dy * self.mask


class Divides:
    def __init__(self):
        self.scale = 1 / 0

    def forward(self, x):
        return x

    def backward(self, dy):
        return dy


class Mute:
    def forward(self, x):
        pass

    def backward(self, dy):
        return dy


class OnlyIds:
    def forward(self, ids):
        return ids * 2.0

    def backward(self, dy):
        return None
"""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Stumbles", ["failing.py, line 10", "Stumbles raised AttributeError", "'mask'"]),
        ("Divides", ["failing.py, line 15", "Divides raised ZeroDivisionError"]),
        ("Mute", ["Mute.forward should return an array"]),
        ("OnlyIds", ["nothing to check: OnlyIds"]),
    ],
)
def test_a_class_that_raises_is_told_in_one_line(deepnlp, tmp_path, name, words):
    path = tmp_path / "failing.py"
    path.write_text(FAILING, encoding="utf-8")
    done = deepnlp("gradcheck", f"{path}:{name}", "--input", "N=3,V=5")
    assert done.code == 2
    (line,) = done.err.splitlines()
    assert [word for word in words if word not in line] == []


CONVENTIONS = """
import numpy as np


class BySizes:
    def __init__(self, input_size, hidden_size):
        self.W, self.b = np.random.randn(input_size, hidden_size), np.zeros(hidden_size)

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b

    def backward(self, dy):
        self.dW, self.db = self.x.T @ dy, dy.sum(axis=0)
        return dy @ self.W.T


class Masked:
    def forward(self, x, *, mask, scale=2.0):
        self.factor = mask * scale
        return x * self.factor

    def backward(self, dy):
        return dy * self.factor


def affine_forward(x, w, b):
    return x @ w + b, (x, w, b)


def affine_backward(dout, cache):
    x, w, b = cache
    return dout @ w.T, x.T @ dout, dout.sum(axis=0)


def cell_forward(x, prev_h, Wx, Wh, b):
    h = np.tanh(x @ Wx + prev_h @ Wh + b)
    return h, (x, prev_h, Wx, Wh, h)


def cell_backward(dh, cache):
    x, prev_h, Wx, Wh, h = cache
    da = dh * (1 - h)
    return da @ Wx.T, da @ Wh.T, x.T @ da, prev_h.T @ da, da.sum(axis=0)


class Product:
    @staticmethod
    def forward(ctx, x, W):
        ctx.save_for_backward(x, W)
        return x @ W

    @staticmethod
    def backward(ctx, dy):
        x, W = ctx.saved_tensors
        return dy @ W.T, x.T @ dy


class Scaled:
    def __init__(self, W, table):
        self.W, self.table = W, table

    def forward(self, x):
        self.x = x
        return x @ self.W * self.table

    def backward(self, dy):
        self.dW = self.x.T @ (dy * self.table)
        return (dy * self.table) @ self.W.T
"""


@pytest.fixture
def conventions(tmp_path):
    path = tmp_path / "conventions.py"
    path.write_text(CONVENTIONS, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("name", "options", "code", "rows"),
    [
        ("BySizes", [], 0, {"x": [3, 4], "W": [4, 5], "b": [5]}),
        ("Masked", [], 0, {"x": [3, 4]}),
        ("affine", [], 0, {"x": [3, 4], "w": [4, 5], "b": [5]}),
        ("affine_forward", ["--weight", "w=D,2", "--weight", "b=2"], 0, {"w": [4, 2], "b": [2]}),
        ("affine_forward, affine_backward", [], 0, {"w": [4, 5]}),
        ("cell", [], 1, {"x": [3, 4], "prev_h": [3, 5], "Wh": [5, 5]}),
        ("Product", [], 0, {"x": [3, 4], "W": [4, 5]}),
        ("Scaled", ["--weight", "table=H"], 1, {"table": [5]}),
        ("Scaled", ["--weight", "table=H", "--constant", "table"], 0, {"W": [4, 5]}),
    ],
)
def test_conventions_of_courses(deepnlp, conventions, name, options, code, rows):
    target = f"{conventions}:{name}"
    done = deepnlp("gradcheck", target, "--input", "N=3,D=4", *options, "--json")
    assert done.code == code, done.err
    found = {row["name"]: row["shape"] for row in done.json["rows"]}
    assert found | rows == found


def test_a_constant_that_is_not_there(deepnlp, conventions):
    done = deepnlp("gradcheck", f"{conventions}:BySizes", "--input", "N=3,D=4", "--constant", "c")
    assert done.code == 2
    (line,) = done.err.splitlines()
    assert "'c'" in line
