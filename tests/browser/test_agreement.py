"""The page, the command line and Python give the same verdict on files as students have them."""

import contextlib
import io
import json

import pytest

from deepnlp.cli.main import main
from deepnlp.gradcheck import check_gradients
from deepnlp.gradcheck.cells import without_commands
from tests.browser.test_page import PAGE

# What defines, what tries it, what Python checks, and a mistake.
CODES = {
    "pair": ("""def affine_forward(x, w, b):
    return x @ w + b, (x, w, b)

def affine_backward(dout, cache):
    x, w, b = cache
    return dout @ w.T, x.T @ dout, dout.sum(axis=0)
""", """x, w, b = np.random.randn(3, 4), np.random.randn(4, 2), np.random.randn(2)
out, cache = affine_forward(x, w, b)
dx, dw, db = affine_backward(np.ones_like(out), cache)
""", "(affine_forward, affine_backward), x, w, b", ("dout.sum(axis=0)", "dout.mean(axis=0)")),
    "cell": ("""class Cell:
    def __init__(self, Wx, Wh):
        self.Wx, self.Wh = Wx, Wh

    def forward(self, x, h):
        self.cache = x, h, np.tanh(x @ self.Wx + h @ self.Wh)
        return self.cache[2], self.cache[2] * h

    def backward(self, dh, dc):
        x, h, y = self.cache
        dz = (dh + dc * h) * (1 - y**2)
        self.dWx, self.dWh = x.T @ dz, h.T @ dz
        return dz @ self.Wx.T, dz @ self.Wh.T + dc * y
""", """cell = Cell(np.random.randn(4, 5), np.random.randn(5, 5))
x, h_prev = np.random.randn(3, 4), np.random.randn(3, 5)
h, c = cell.forward(x, h_prev)
cell.backward(h, c)
""", "cell, x, h_prev", ("1 - y**2", "1 - y")),
    "book": ("""class RNN:
    def __init__(self, Wx, Wh, b):
        self.params = [Wx, Wh, b]
        self.grads = [np.zeros_like(Wx), np.zeros_like(Wh), np.zeros_like(b)]
        self.cache = None

    def forward(self, x, h_prev):
        Wx, Wh, b = self.params
        h_next = np.tanh(h_prev @ Wh + x @ Wx + b)
        self.cache = (x, h_prev, h_next)
        return h_next

    def backward(self, dh_next):
        Wx, Wh, b = self.params
        x, h_prev, h_next = self.cache
        dt = dh_next * (1 - h_next**2)
        self.grads[0][...], self.grads[1][...] = x.T @ dt, h_prev.T @ dt
        self.grads[2][...] = dt.sum(axis=0)
        return dt @ Wx.T, dt @ Wh.T
""", """rnn = RNN(np.random.randn(4, 5), np.random.randn(5, 5), np.random.randn(5))
x, h = np.random.randn(3, 4), np.random.randn(3, 5)
for t in range(3):
    h = rnn.forward(x, h)
""", "rnn, x, h", ("h_prev.T @ dt", "h_next.T @ dt")),
    "labels": ("""def forward(X, parameters):
    Z = parameters["W1"] @ X + parameters["b1"]
    return 1 / (1 + np.exp(-Z)), Z

def compute_cost(AL, Y):
    return -np.mean(Y * np.log(AL) + (1 - Y) * np.log(1 - AL))

def backward(AL, Y, X, cache):
    dZ = (AL - Y) / X.shape[1]
    return {"dW1": dZ @ X.T, "db1": dZ.sum(axis=1, keepdims=True)}
""", """X, Y = np.random.randn(4, 6), np.array([[1, 0, 1, 1, 0, 0]])
parameters = {"W1": np.random.randn(1, 4), "b1": np.zeros((1, 1))}
AL, cache = forward(X, parameters)
print("cost", compute_cost(AL, Y))
grads = backward(AL, Y, X, cache)
""", "(forward, backward), X, parameters", ("dZ.sum(axis=1", "2 * dZ.sum(axis=1")),
    "step": ("""class Dense:
    def __init__(self, n, m):
        self.W, self.b = np.random.randn(n, m), np.zeros((1, m))

    def forward(self, x):
        self.x = x
        return np.dot(x, self.W) + self.b

    def backward(self, output_gradient, learning_rate):
        dx = np.dot(output_gradient, self.W.T)
        self.W -= learning_rate * np.dot(self.x.T, output_gradient)
        self.b -= learning_rate * output_gradient.sum(axis=0, keepdims=True)
        return dx
""", """layer = Dense(4, 3)
x = np.random.randn(5, 4)
y = layer.forward(x)
layer.backward(y, 0.01)
""", "layer, x", ("np.dot(output_gradient, self.W.T)", "np.dot(output_gradient, self.W.T) / 5")),
    "loss": ("""def svm_loss(W, X, y, reg):
    scores = X @ W
    margins = np.maximum(0, scores - scores[np.arange(len(y)), y][:, None] + 1)
    margins[np.arange(len(y)), y] = 0
    loss = margins.sum() / len(y) + reg * (W * W).sum()
    hot = (margins > 0).astype(float)
    hot[np.arange(len(y)), y] = -hot.sum(axis=1)
    dW = X.T @ hot / len(y) + 2 * reg * W
    return loss, dW
""", """W, X, y = np.random.randn(4, 3), np.random.randn(5, 4), np.array([0, 2, 1, 1, 0])
loss, dW = svm_loss(W, X, y, 0.1)
print("loss: %f" % loss)
""", "svm_loss, W, X, y, 0.1", ("+ 2 * reg * W", "+ reg * W")),
    "called": ("""class Tanh:
    def __call__(self, x):
        self.y = np.tanh(x)
        return self.y

    def backward(self, grad):
        return grad * (1 - self.y**2)
""", """act = Tanh()
x = np.random.randn(3, 4)
print(act(x).shape)
""", "act, x", ("1 - self.y**2", "1 + self.y**2")),
    "embedding": ("""class Embedding:
    def __init__(self, W):
        self.params, self.grads, self.idx = [W], [np.zeros_like(W)], None

    def forward(self, idx):
        W, = self.params
        self.idx = idx
        return W[idx]

    def backward(self, dout):
        dW, = self.grads
        dW[...] = 0
        np.add.at(dW, self.idx, dout)
""", """embed = Embedding(np.random.randn(6, 4))
idx = np.array([0, 2, 2, 5])
out = embed.forward(idx)
embed.backward(out)
""", "embed, idx", ("np.add.at(dW, self.idx, dout)", "dW[self.idx] += dout")),
    "attention": ("""def softmax(z):
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)

def attention_forward(q, k, v):
    a = softmax(q @ k.T / np.sqrt(k.shape[1]))
    return a @ v, (q, k, v, a)

def attention_backward(dout, cache):
    q, k, v, a = cache
    da = dout @ v.T
    ds = a * (da - (da * a).sum(axis=-1, keepdims=True)) / np.sqrt(k.shape[1])
    return ds @ k, ds.T @ q, a.T @ dout
""", """q, k, v = np.random.randn(2, 4), np.random.randn(5, 4), np.random.randn(5, 3)
out, cache = attention_forward(q, k, v)
""", "(attention_forward, attention_backward), q, k, v", ("ds.T @ q", "ds.T @ q * 2")),
    "net": ("""class Affine:
    def __init__(self, W, b):
        self.W, self.b = W, b

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b

    def backward(self, dout):
        self.dW, self.db = self.x.T @ dout, dout.sum(axis=0)
        return dout @ self.W.T

def make():
    return Affine(np.random.randn(4, 3), np.random.randn(3))
""", """fc = make()
x = np.random.randn(5, 4)
scores = fc.forward(x)
losses = []
for _ in range(2):
    losses.append((fc.forward(x) ** 2).mean())
    fc.backward(2 * fc.forward(x) / scores.size)
    fc.W -= 0.1 * fc.dW
""", "fc, x", ("self.x.T @ dout,", "-self.x.T @ dout,")),
}  # fmt: skip

PLOT = "import matplotlib.pyplot as plt\n"
STYLES = {
    "calls": (["import numpy as np\n"], ["print('done')\n"]),
    "magics": (
        ["%matplotlib inline\n%load_ext autoreload\nimport numpy as np\nfiles = !ls\n"],
        ["%timeit -n 1 np.ones(3)\n", "np.dot?\n", "%%bash\nls -l | head\n"],
    ),
    "plots": (
        ["import numpy as np\n" + PLOT + "np.random.seed(1)\n"],
        ["plt.plot([1, 2], [3, 4])\nplt.title('loss')\nplt.show()\n"],
    ),
    "fails": (["import numpy as np\n"], ["assert False, 'an old test'\n", "print(nowhere)\n"]),
}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("name", CODES)
def test_three_ways_give_one_verdict(name, style, tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(PAGE)
    import checking

    # The search for mistakes takes seconds, and is the same for all.
    monkeypatch.setattr("deepnlp.gradcheck.explaining._diagnose", lambda *_: None)
    define, tries, checked, (right, wrong) = CODES[name]
    is_right = [*STYLES].index(style) % 2 == [*CODES].index(name) % 2
    define = define if is_right else define.replace(right, wrong)
    before, after = STYLES[style]
    cells = [*before, define, tries, *after]

    names = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for cell in cells[: -len(after)]:
            with contextlib.suppress(ImportError):
                exec(without_commands(cell).replace(PLOT, ""), names)
        verdicts = {"python": eval(f"check({checked})", {**names, "check": check_gradients}).ok}
    file = tmp_path / "mine.ipynb"
    made = [{"cell_type": "code", "source": cell.splitlines(True)} for cell in cells]
    file.write_text(json.dumps({"cells": made}), "utf-8")
    text = tmp_path / "mine.py"
    text.write_text("\n".join(cell for cell in cells if not cell.startswith("%%")), "utf-8")
    for path in (file, text):
        target = checked.split(",")[0].strip("(")
        kind = {"cell": "Cell", "rnn": "RNN", "layer": "Dense", "act": "Tanh", "fc": "Affine",
                "embed": "Embedding"}.get(target, target)  # fmt: skip
        code = main(["gradcheck", f"{path}:{kind}", "--seconds", "60"])
        verdicts[path.suffix] = {0: True, 1: False}.get(code, capsys.readouterr().err)
    answer = json.loads(checking.check(text.read_text("utf-8")))
    verdicts["page"] = answer["text"] if answer["ok"] is None else answer["ok"]
    assert verdicts == dict.fromkeys(verdicts, is_right)
