# ruff: noqa: E501
"""Wrong backwards that a forgiving rule would let pass, and right ones that a strict one accuses.

Each kind is a text with places and the rows that fill them; every row is a case. ``WRONG`` are to be
called wrong, ``SAID`` at least noted, and ``RIGHT`` are to be ok. A case is lines of Python that
leave a ``report``; ``S`` makes one of a script and its arrays.
"""

import itertools
import types

import numpy as np

from deepnlp.gradcheck import check_gradients

HEAD = """
import numpy as np
rng = np.random.default_rng(3)
normal = lambda *shape: rng.normal(size=shape)
"""

LAYER = """
class Layer:
    def __init__(self, **given):
        self.__dict__.update(given)
    def forward(self, x{more}):
{forward}
    def backward(self, dy):
{backward}
"""


def layer(forward, backward, call, more=""):
    """A class with these lines, and the call that checks it."""
    both = [
        "\n".join("        " + line for line in text.strip().splitlines())
        for text in (forward, backward)
    ]
    made = LAYER.format(forward=both[0], backward=both[1], more=more)
    return f"{made}\nreport = check_gradients({call})"


def rows(template, *lists, **named):
    """A case for each choice of what fills the places <0>, <1>, ... of a text."""
    for chosen in itertools.product(*lists):
        text = template
        for k, filling in enumerate(chosen):
            text = text.replace(f"<{k}>", str(filling))
        yield text


def check_case(text):
    """The report of a case."""
    names = {"check_gradients": check_gradients, "S": script, "__name__": "case", "types": types}
    with np.errstate(all="ignore"):
        exec(compile(HEAD + text, "<case>", "exec", dont_inherit=True), names)
    return names["report"]


def script(text, **names):
    """The report of lines and the arrays that they use."""
    return check_gradients(text.strip() + "\n", **names)


# --- Fills, and other large numbers -------------------------------------------------------------

_ATTENTION = """
T, D = <1>, 3
S_ = '''
scores = q @ k.T / D**0.5
masked = <0>
e = np.exp(masked - masked.max(-1, keepdims=True))
p = e / e.sum(-1, keepdims=True)
out = p @ v
loss = (out * w).sum()
dout = w
dv = p.T @ dout
dp = dout @ v.T
dscores = p * (dp - (dp * p).sum(-1, keepdims=True)) <2>
dq = dscores @ k / D**0.5
dk = dscores.T @ q / D**0.5
'''
mask = np.tril(np.ones((T, T)))
report = S(S_, q=normal(T, D), k=normal(T, D), v=normal(T, D), w=normal(T, D), T=T, D=D, mask=mask,
           bias=np.where(mask == 0, -1e30, 0.0), np=np)
"""
_FILLS = [f"np.where(mask == 0, {fill}, scores)" for fill in ("-1e30", "-1e9", "-np.inf")] + [
    "scores + bias", "np.where(mask > 0, scores, np.finfo(float).min)",
]  # fmt: skip

_MASKED = layer(
    "self.x = x\ns = x @ self.W\nself.keep = np.tril(np.ones(s.shape)) > 0\nreturn np.where(self.keep, s, <0>)",
    "dy = dy * self.keep\nself.dW = <1> * self.x.T @ dy\nreturn <2> * dy @ self.W.T",
    "Layer(W=normal(4, <3>)), normal(<3>, 4), method='<4>'",
)
_BIASED = layer(
    "s = x @ self.W + bias\ne = np.exp(s - s.max(1, keepdims=True))\nself.x, self.p = x, e / e.sum(1, keepdims=True)\nreturn self.p",
    "ds = self.p * (dy - <1> * (dy * self.p).sum(1, keepdims=True))\nself.dW = self.x.T @ ds\nreturn ds @ self.W.T, ds",
    "Layer(W=normal(4, 5)), normal(5, 4), np.where(np.tril(np.ones((5, 5))) == 0, <0>, 0.1)",
    more=", bias",
)
_STAMPS = layer(
    "y = np.zeros((len(x), 3))\nself.x = x\ny[:] = x @ self.W + self.b\nreturn y",
    "self.dW = self.x.T @ dy\nself.db = <0> * dy.sum(0)\nreturn dy @ self.W.T",
    "Layer(W=normal(2, 3), b=normal(3)), <2> + normal(<1>, 2)",
)
FILLS = [
    *rows(_ATTENTION, _FILLS, [4, 8], ["* 2", "+ 0.1 * scores"]),
    *rows(_MASKED, ["-1e9", "-1e30", "-1e10"], ["2", "-1"], ["1"], [8, 32], ["auto", "central"]),
    *rows(_BIASED, ["-1e30", "-1e9", "-np.inf"], ["0", "2"]),
    *rows(_STAMPS, ["0", "2"], [16, 256], ["1.7e9", "3e7"]),
]

# --- The complex step loses a term, and the backward forgets the same --------------------------

_BRANCH = layer(
    "self.x = x\nreturn x @ self.W + <1> * <0>",
    "self.dW = self.x.T @ dy\ndx = dy @ self.W.T\nself.dV = np.zeros_like(self.V)\nreturn dx",
    "Layer(W=normal(4, 3), V=normal(4)), normal(5, 4)",
)
_IMAGINARY = [
    "np.linalg.norm(self.V)", "np.abs(self.V).sum()", "np.hypot(self.V, 1.0).sum()",
    "np.var(self.V)", "(self.V**2).real.sum()", "np.std(self.V)",
]  # fmt: skip
_SUM = layer(
    "self.x = x\nn = <1> * <0>\nreturn (x * self.g).sum(1) + n",
    "self.dg = (self.x * dy[:, None]).sum(0)\nreturn dy[:, None] * self.g * np.ones_like(self.x)",
    "Layer(g=normal(4)), <2> * normal(5, 4)",
)
LOST = [
    *rows(_BRANCH, _IMAGINARY, ["1e-4", "1e-6", "1e-8"]),
    *rows(_SUM, ["np.linalg.norm(x)", "np.var(x)", "np.abs(x).sum()"], ["0.1"], ["1.0", "1e-3"]),
]

# --- Small variables, small entries, vanishing gradients ---------------------------------------

_TABLE = layer(
    "self.x = x\nreturn (self.E[x] ** 1) @ self.s",
    "self.ds = self.E[self.x].T @ dy\nself.dE = np.zeros_like(self.E)\n"
    "np.add.at(self.dE, self.x, dy[:, None] * self.s)\nself.d<0> *= <1>\nreturn None",
    "Layer(E=normal(6, 3), s=normal(3)), np.array([0, 1, 1, 4])",
)
_ENTRY = layer(
    "self.x = x\nreturn x * self.g",
    "self.dg = (dy * self.x).sum(0)\nself.dg[1] *= 2\nreturn dy * self.g",
    "Layer(g=normal(4)), normal(5, 4) * np.array([1, <0>, 1, 1]), method='<1>'",
)
_SMALL = layer(
    "self.x = x\nreturn x @ self.W + self.b",
    "self.dW = self.x.T @ dy\nself.db = 0 * dy.sum(0)\nreturn dy @ self.W.T",
    "Layer(W=normal(4, 3), b=<0> * normal(3)), <1> * normal(5, 4), method='<2>'",
)
_DEEP = layer(
    "self.ys = [x]\nfor _ in range(<0>):\n    x = 1 / (1 + np.exp(-(x @ self.W)))\n    self.ys.append(x)\nreturn x",
    "self.dW = np.zeros_like(self.W)\n"
    "for y, below in zip(self.ys[:0:-1], self.ys[-2::-1]):\n"
    "    dy = dy * y * (1 - y)\n    self.dW += below.T @ dy\n    dy = dy @ self.W.T\nreturn <1> * dy",
    "Layer(W=<2> * normal(3, 3)), normal(4, 3)",
)
_RNN = layer(
    "self.hs = [h0]\nfor t in range(len(x)):\n    self.hs.append(np.tanh(x[t] + self.hs[-1] @ self.U))\nself.x = x\nreturn self.hs[-1]",
    "dh, self.dU, dx = dy, np.zeros_like(self.U), np.zeros_like(self.x)\n"
    "for t in reversed(range(len(dx))):\n    dz = dh * (1 - self.hs[t + 1]**2)\n"
    "    self.dU += np.outer(self.hs[t], dz)\n    dx[t] = dz\n    dh = dz @ self.U.T\nreturn dx, <1> * dh",
    "Layer(U=<2> * normal(3, 3)), normal(<0>, 3), normal(3)",
    more=", h0",
)
SMALL = [
    *rows(_ENTRY, ["1e-8"], ["auto", "central"]),
    *rows(_ENTRY, ["1e-11"], ["auto"]),
    *rows(_SMALL, ["1e-7", "1.0"], ["1.0", "1e6"], ["auto", "central", "direction"]),
    *rows(_DEEP, [8, 16, 24], ["2", "0"], ["0.5"]),
    *rows(_RNN, [20, 40, 60], ["2", "0"], ["0.3"]),
]

# --- Numbers that live elsewhere ----------------------------------------------------------------

_NUMBER = """
class Layer:
    def __init__(self):
        self.W = normal(4, 3)
        <0>
    def forward(self, x):
        self.x = x
        return (x @ self.W) * <1>
    def backward(self, dy):
        self.dW = self.x.T @ dy * <1>
        <2>
        return dy @ self.W.T * <1>
report = check_gradients(Layer(), normal(5, 4))
"""
_PLACES = [
    ("self.p, self.dp = {'a': 0.7}, {}", "self.p['a']", "self.dp['a'] = 0.0"),
    ("self.params = {'a': 0.7}; self.grads = {}", "self.params['a']", "self.grads['a'] = 0.0"),
    ("self.params, self.grads = [0.7], [0.0]", "self.params[0]", "self.grads[0] = 0.0"),
    ("self.a = 2", "self.a", "self.da = 0.0"),
    ("self.a = np.float32(0.7)", "self.a", "self.da = 0.0"),
    ("self.a = np.float64(0.7)", "self.a", "self.da = 0.0"),
    ("self.a = np.array(0.7)", "self.a", "self.da = np.array(0.0)"),
    ("self.a = [0.7, 0.2]", "sum(self.a)", "self.da = [0.0, 0.0]"),
    ("self.a = [[0.7], [0.2]]", "sum(self.a[0])", "self.da = [[0.0], [0.0]]"),
    ("self.a = {'x': [0.7]}", "self.a['x'][0]", "self.da = {'x': [0.0]}"),
    ("self.a = np.float16(0.7)", "self.a", "self.da = 0.0"),
]
NUMBERS = [t for one in _PLACES for t in rows(_NUMBER, *([v] for v in one))]
UNPAIRED = [t for a, b, _ in _PLACES for t in rows(_NUMBER, [a], [b], ["pass"])]
UNPAIRED += rows(_NUMBER, ["self.a = 0.7 + 0j", "self.a = np.array([0.7 + 0j])"],
                 ["np.real(self.a)"], ["pass"])  # fmt: skip
UNPAIRED += rows(_NUMBER, ["self.a = np.array([(0.7,)], dtype=[('v', 'f8')])"],
                 ["self.a['v'][0]"], ["pass"])  # fmt: skip

_INTEGERS = [
    layer("self.x = x\nreturn x @ self.W", "self.dW = <1> * self.x.T @ dy\nreturn dy @ self.W.T",
          "Layer(W=<0>), normal(5, 4)"),
    "def forward(x, W):\n    return x @ W, (x, W)\ndef backward(dy, cache):\n    x, W = cache\n"
    "    return dy @ W.T, <1> * x.T @ dy\nreport = check_gradients((forward, backward), normal(5, 4), <0>)",
    "report = S('''\ny = x @ W\nloss = (y * u).sum()\ndW = <1> * x.T @ u\ndx = u @ W.T\n''', x=normal(5, 4),"
    " W=<0>, u=normal(5, 3), np=np)",
]  # fmt: skip
_WHOLE = ["np.arange(12).reshape(4, 3)", "np.ones((4, 3), int)", "np.eye(4, 3, dtype=np.int8)"]
INTEGERS = [t for form in _INTEGERS for t in rows(form, _WHOLE, ["2"])]

_ROOM = """
exec(compile('''<1>''', '<0>.py', 'exec'), space := {"__name__": "<0>", "np": np})
report = check_gradients(space["Layer"](W=normal(4, 3)), normal(5, 4))
"""
_PLAIN = layer(
    "self.x = x\nreturn x @ self.W", "self.dW = 2 * self.x.T @ dy\nreturn dy @ self.W.T", ""
)
_PLAIN = _PLAIN.rpartition("\nreport")[0]
ROOMS = [
    *rows(
        _ROOM,
        ["code", "token", "calendar", "this", "chunk", "select", "numbers", "types", "queue"],
        [_PLAIN],
    )
]

# --- Names that exempt --------------------------------------------------------------------------

_FORGOTTEN = layer(
    "self.x = x\nreturn x @ self.<0> + self.b",
    "self.db = dy.sum(0)\nreturn dy @ self.<0>.T",
    "Layer(<0>=normal(4, 3), b=normal(3)), normal(5, 4)",
)
_NAMES = [
    "W_mean",
    "W_logvar",
    "pos_emb",
    "mask_token",
    "label_embedding",
    "W_target",
    "W_state",
    "W_reconstruct",
    "initial_state",
    "W_prob",
    "steps",
    "europe",
    "W_noise",
    "freq_weight",
    "proj_std",
    "W_mask",
    "position_table",
    "W_pos",
    "V",
    "A",
    "head",
]
_NONE = """
def forward(x, <0>):
    return x @ <0>, (x, <0>)
def backward(dy, cache):
    x, <0> = cache
    return dy @ <0>.T, None
report = check_gradients((forward, backward), normal(5, 4), normal(4, 3))
"""
_CLOSED = """
def make(W, <0>):
    def forward(x):
        return x @ W + <0>, x
    def backward(dy, x):
        return dy @ W.T, x.T @ dy
    return forward, backward
report = check_gradients(make(normal(4, 3), normal(3)), normal(5, 4))
"""
NAMED = [
    *rows(_FORGOTTEN, _NAMES),
    *rows(
        _NONE,
        [
            "w0",
            "W_pos",
            "emb_table",
            "init_w",
            "proj_table",
            "mask_emb",
            "W_const",
            "target_proj",
            "Wfreq",
        ],
    ),
]
CUSTOM = [
    *rows(_FORGOTTEN, ["mask", "running_mean", "targets", "eps", "pe"]),
    *rows(_CLOSED, ["V", "A", "head", "b", "c", "shift", "bias"]),
    *rows(_NONE, ["mask", "one_hot", "eps", "noise"]),
]

_LABELS = """
def forward(x, <0>):
    return x * <0> ** 2, (x, <0>)
def backward(dy, cache):
    x, <0> = cache
    return dy * <0> ** 2, <1> * dy * x * <0>
report = check_gradients((forward, backward), normal(5, 4), normal(5, 4))
"""
LABELS = [
    *rows(_LABELS, ["t", "ts", "target", "targets", "label", "y_true", "one_hot"], ["3", "-2"])
]

# --- Scripts ------------------------------------------------------------------------------------

_ZEROS = """
report = S('''
h = np.maximum(x @ W1 + b1, 0)
y = h @ W2
loss = ((y - t)**2).sum()
dy = 2 * (y - t)
dW2 = h.T @ dy
dh = dy @ W2.T
dz = dh * (x @ W1 + b1 > 0)
dW1 = <0>
db1 = <1>
''', x=normal(5, 4), t=normal(5, 2), W1=<2>, b1=np.zeros(6), W2=normal(6, 2), np=np)
"""
_CLIPPED = """
report = S('''
y = x @ W + b
loss = ((y - t)**2).sum()
dy = 2 * (y - t)
dW = <0> * x.T @ dy
db = dy.sum(0)
<1>
''', x=normal(5, 4), t=normal(5, 2), W=normal(4, 2), b=normal(2), m=np.ones((4, 2)), np=np)
"""
_STEPS = [
    "n = np.sqrt((dW**2).sum() + (db**2).sum())\nif n > 1: dW, db = dW / n * n, db / n * n",
    "n = np.sqrt((dW**2).sum() + (db**2).sum())\ndb = db * min(1.0, 1e9 / n)",
    "s = 1.0 if abs(dW).max() > 0 else 2.0\ndb = s * db",
    "m = m + dW**2\nW += -0.1 * dW / np.sqrt(m)\nb -= 0.1 * db",
    "W -= 0.1 * dW\nb -= 0.1 * db",
    "W = W - 0.1 * dW\nb = b - 0.1 * db",
    "for p, g in ((W, dW), (b, db)): p -= 0.1 * g",
    "v = 0.9 * 0 - 0.1 * dW\nW += v",
]
SCRIPTS = [
    *rows(_ZEROS, ["3 * x.T @ (dz + 1)", "x.T @ dh"], ["db1 if 0 else dz.sum(0)"],
          ["np.zeros((4, 6))", "0 * normal(4, 6)"]),
    *rows(_CLIPPED, ["6", "-1", "1.5"], _STEPS),
]  # fmt: skip
_LISTS = """
report = S('''
h = np.tanh(x @ <0>)
y = h @ W
loss = ((y - t)**2).sum()
dy = 2 * (y - t)
dW = h.T @ dy
''', x=normal(5, 4), t=normal(5, 2), W=normal(3, 2), net=<1>, np=np)
"""
LISTS = [
    *rows(_LISTS, ["net[0]"], ["[normal(4, 3)]", "(normal(4, 3),)"]),
    *rows(_LISTS, ["net['a']['w']"], ["{'a': {'w': normal(4, 3)}}"]),
    *rows(_LISTS, ["net['w']"], ["{'w': normal(4, 3)}"]),
    *rows(_LISTS, ["net.w"], ["types.SimpleNamespace(w=normal(4, 3))"]),
    *rows(_LISTS, ["net"], ["normal(4, 3)", "np.arange(12).reshape(4, 3)"]),
    *rows(_LISTS, ["net[0][1]"], ["[[0, normal(4, 3)]]"]),
]

# --- Means, and an upstream gradient that is ignored -------------------------------------------

_MEAN = """
def forward(x, W, b):
    return x @ W + b, (x, W)
def backward(dy, cache):
    x, W = cache
    return dy @ W.T, x.T @ dy / <0>, dy.sum(0) / <0>
report = check_gradients((forward, backward), normal(<1>), normal(4, 3), normal(3))
"""
_QUERIES = """
def forward(q, k, v):
    e = np.exp(q @ k.T)
    p = e / e.sum(1, keepdims=True)
    return p @ v, (q, k, v, p)
def backward(dy, cache):
    q, k, v, p = cache
    dp = dy @ v.T
    ds = p * (dp - (dp * p).sum(1, keepdims=True))
    return ds @ k, ds.T @ q / <0>, p.T @ dy / <0>
report = check_gradients((forward, backward), normal(5, 4), normal(6, 4), normal(6, 3))
"""
_OVER_T = """
def forward(x, W, U):
    hs = [np.zeros(len(U))]
    for t in range(len(x)):
        hs.append(np.tanh(x[t] @ W + hs[-1] @ U))
    return np.array(hs[1:]), (x, W, U, hs)
def backward(dy, cache):
    x, W, U, hs = cache
    dx, dW, dU, dh = np.zeros_like(x), np.zeros_like(W), np.zeros_like(U), 0
    for t in reversed(range(len(x))):
        dz = (dy[t] + dh) * (1 - hs[t + 1]**2)
        dx[t], dW, dU, dh = dz @ W.T, dW + np.outer(x[t], dz), dU + np.outer(hs[t], dz), dz @ U.T
    return dx, dW / <0>, dU / <0>
report = check_gradients((forward, backward), normal(<1>, 4), normal(4, 3), normal(3, 3))
"""
MEANS = [
    *rows(_MEAN, ["x.shape[1]", "x.shape[-1]"], ["5, 4", "6, 4", "2, 4"]),
    *rows(_QUERIES, ["len(q)", "q.shape[1]"]),
    *rows(_OVER_T, ["len(x)"], [5, 7]),
]

_LOSS = """
class Loss<1>:
    def forward(self, x, t):
        e = np.exp(x - x.max(1, keepdims=True))
        self.y, self.t = e / e.sum(1, keepdims=True), t
        return <0>-np.log(self.y[np.arange(len(t)), t]).mean()
    def backward(self, <2>):
        dx = self.y.copy()
        dx[np.arange(len(self.t)), self.t] -= 1
        return <0>dx / len(self.t)
report = check_gradients(Loss(), normal(5, 4), np.array([0, 1, 1, 3, 2]))
"""
_LOSS_PAIR = """
def forward(<0>x, t):
    <3>
    return ((x - t)**2).<1>(), (x, t)
def backward(<0><2>, cache):
    <4>
    x, t = cache
    return 2 * (x - t) <5>, None
report = check_gradients((forward, backward), normal(5, 4), normal(5, 4))
"""
DOUT = [
    *rows(_LOSS, ["", "2 * "], [""], ["dout", "gy", "grad_output", "g"]),
    *rows(_LOSS_PAIR, [""], ["sum"], ["dout", "upstream"], ["pass"], ["pass"], [""]),
    *rows(_LOSS_PAIR, [""], ["mean"], ["dloss", "gy"], ["pass"], ["pass"], ["/ x.size"]),
]
DOUT_SAID = [*rows(_LOSS, [""], [""], ["dout=1", "dout=1.0", "dy=1", "gy=1", "g=1", "grad=1.0",
                                       "upstream=1", "dL=1"])]  # fmt: skip

# --- Numbers that hide a mistake ----------------------------------------------------------------

_EYE = layer(
    "self.x = x\nreturn x @ self.W",
    "self.dW = self.x.T @ dy\nreturn dy @ <1>",
    "Layer(W=<0>), normal(5, 4)",
)
_SQUARES = [
    "np.eye(4)", "np.ones((4, 4))", "np.eye(4)[[1, 0, 3, 2]]", "np.diag([1.0, 2, 3, 4])",
    "(lambda a: a + a.T)(normal(4, 4))", "np.zeros((4, 4))", "2 * np.eye(4)", "-np.eye(4)",
]  # fmt: skip
_GAMMA = layer(
    "self.x = x\nreturn self.g * x",
    "self.dg = (dy * self.x).sum()\nreturn dy <1>",
    "Layer(g=<0>), normal(5, 4)",
)
HIDDEN = [
    *rows(_EYE, _SQUARES, ["self.W"]),
    *rows(_GAMMA, ["1.0", "np.array(1.0)", "np.ones(())", "np.array([1.0])"], ["", "* self.g**2"]),
]
_IDS = layer(
    "self.ids = x\nreturn self.E[x]",
    "self.dE = np.zeros_like(self.E)\n<1>\nreturn None",
    "Layer(E=normal(9, 3)), np.array(<0>)",
)
_ALONE = layer(
    "self.x = x\nreturn x @ self.W + self.b",
    "self.dW = self.x.T @ dy\nself.db = dy<1>\nreturn dy @ self.W.T",
    "Layer(W=normal(4, 3), b=normal(3)), normal(<0>)",
)
_ONE_STEP = layer(
    "self.x = x\nreturn x @ self.W + self.b",
    "self.dW = np.einsum('ntd,nth->dh', self.x, dy)\nself.db = dy<0>\nreturn dy @ self.W.T",
    "Layer(W=normal(4, 3), b=normal(3)), normal(3, 1, 4)",
)
_MASK = layer(
    "self.m = mask\nreturn np.where(mask, x, 0.0)", "return dy",
    "Layer(), normal(4, 3), np.ones((4, 3), bool)", more=", mask",
)  # fmt: skip
HIDDEN_OR_SAID = [
    *rows(_IDS, ["[0, 3, 5]", "[[1, 2], [4, 8]]", "[7, 1]"],
          ["self.dE[self.ids] = dy", "self.dE[self.ids] += dy"]),
    *rows(_ALONE, ["1, 4"], ["[0]", ".mean(0)", ".max(0)"]),
    *rows(_ONE_STEP, [".sum(0)[0]", ".sum(0).mean(0)", "[:, 0].sum(0)"]),
    _MASK,
]  # fmt: skip

# --- float32 ------------------------------------------------------------------------------------

_SINGLE = layer(
    "self.x = x\nreturn (x @ self.W + self.b).astype('<0>')",
    "self.dW = self.x.T @ dy\nself.db = <1> * dy.sum(0)\nself.dW[0] *= <2>\nreturn dy @ self.W.T",
    "Layer(W=normal(4, 3), b=normal(3)), normal(5, 4) * np.array([<3>, 1, 1, 1])",
)
SINGLE = [*rows(_SINGLE, ["f4"], ["1.01", "2", "1.003"], ["1"], ["1"]),
          *rows(_SINGLE, ["f4"], ["1"], ["2", "1.01", "-1"], ["1"]),
          *rows(_SINGLE, ["f2"], ["2", "-1"], ["1"], ["1"])]  # fmt: skip

# --- Scripts whose weights stand in lists, dicts and objects --------------------------------------

_PAIRS = """
report = S('''
<0>
h = np.tanh(x @ <1>)
y = h @ <2>
loss = ((y - t)**2).sum()
dy = 2 * (y - t)
q = h.T @ dy
p = <4> * x.T @ (dy @ <2>.T * (1 - h**2))
<3>
''', x=normal(5, 4), t=normal(5, 2), A=normal(4, 6), B=normal(6, 2), np=np, types=types)
"""
_FORMS = [
    ("Ws = [A, B]", "Ws[0]", "Ws[1]", "dWs = [p, q]"),
    ("params = [A, B]", "params[0]", "params[1]", "grads = [p, q]"),
    ("params = {'a': {'W': A}, 'b': {'W': B}}", "params['a']['W']", "params['b']['W']", "grads = {'a': {'W': p}, 'b': {'W': q}}"),
    ("params = {'a': {'W': A}, 'b': {'W': B}}", "params['a']['W']", "params['b']['W']", "grads = {'a': {'dW': p}, 'b': {'dW': q}}"),
    ("theta = {'W': A, 'V': B}", "theta['W']", "theta['V']", "grad_theta = {'W': p, 'V': q}"),
    ("net = types.SimpleNamespace(W=A, V=B)", "net.W", "net.V", "net.dW, net.dV = p, q"),
    ("W, V = A, B", "W", "V", "gW, gV = p, q"),
    ("W, V = A, B", "W", "V", "delta_W, delta_V = p, q"),
]  # fmt: skip
PAIRED = {factor: [t for form in _FORMS for t in rows(_PAIRS, *([f] for f in form), [factor])]
          for factor in ("2", "1")}  # fmt: skip
_EPSILON = layer("self.x = x\nreturn <0>", "return dy * (<1>)", "Layer(), 0.1 + rng.random((4, 3))")
EPSILON = [*rows(_EPSILON, ["np.log(x + 1e-10)", "np.log(x + 1e-7)", "np.log(x + 1e-6)"], ["1 / self.x"]),
           *rows(_EPSILON, ["1 / (x + 1e-9)", "1 / (x + 1e-8)"], ["-1 / self.x**2"]),
           *rows(_EPSILON, ["np.sqrt(x + 1e-7)"], ["0.5 / np.sqrt(self.x)"])]  # fmt: skip
_BESIDE = layer(
    "self.x = x\nreturn np.tanh(x) @ self.W + <0>",
    "self.dW = np.tanh(self.x).T @ dy\nreturn dy @ self.W.T * (1 - np.tanh(self.x)**2)",
    "Layer(W=<1> * normal(4, 3)), <2> * normal(5, 4), method='central'",
)

WRONG = {
    "paired": PAIRED["2"],
    "fills": FILLS, "lost": LOST, "small": SMALL, "numbers": NUMBERS, "integers": INTEGERS, "rooms": ROOMS,
    "names": NAMED, "labels": LABELS, "scripts": SCRIPTS, "means": MEANS, "dout": DOUT, "hidden": HIDDEN,
    "single": SINGLE,
}  # fmt: skip
SAID = {
    "unpaired": UNPAIRED, "custom": CUSTOM, "lists": LISTS, "dout said": DOUT_SAID,
    "hidden or said": HIDDEN_OR_SAID, "epsilon said": EPSILON,
}  # fmt: skip

# --- Right ones ---------------------------------------------------------------------------------

_RELU = layer(
    "self.m = x > 0\nreturn np.maximum(x, 0).astype('<0>')", "return dy * self.m",
    "Layer(), np.round(normal(5, 4))",
)  # fmt: skip
_SUMS = layer(
    "self.x = x\nreturn (x.astype('<0>') @ self.W.astype('<0>'))",
    "self.dW = self.x.T @ dy\nreturn dy @ self.W.T",
    "Layer(W=normal(<1>, 3)), normal(5, <1>)",
)
_POINT = layer(
    "self.x = x\nreturn <0>", "return dy * <1>", "Layer(), <2> * (1 + rng.random((4, 3)))"
)
_SOFTMAX = layer(
    "e = np.exp(x - x.max(1, keepdims=True))\nself.y = e / e.sum(1, keepdims=True)\nreturn self.y",
    "return self.y * (dy - (dy * self.y).sum(1, keepdims=True))",
    "Layer(), <0> * normal(5, 4)",
)
_KEYS = layer(
    "k = x @ self.W + self.b\ne = np.exp(x @ k.T)\nself.x, self.k, self.p = x, k, e / e.sum(1, keepdims=True)\nreturn self.p",
    "ds = self.p * (dy - (dy * self.p).sum(1, keepdims=True))\ndk = ds.T @ self.x\nself.dW, self.db = self.x.T @ dk, dk.sum(0)\n"
    "return ds @ self.k + dk @ self.W.T",
    "Layer(W=normal(4, 4), b=<0> * normal(4)), <1> * normal(5, 4)",
)
_VIEW = """
class Layer:
    def __init__(self):
        self.theta = normal(15)
        self.W, self.b = self.theta[:12].reshape(4, 3), self.theta[12:]
        self.dtheta = np.zeros(15)
    def forward(self, x):
        self.x = x
        return x @ self.theta[:12].reshape(4, 3) + self.theta[12:]
    def backward(self, dy):
        self.dtheta = np.concatenate([(self.x.T @ dy).ravel(), dy.sum(0)])
        return dy @ self.theta[:12].reshape(4, 3).T
report = check_gradients(Layer(), normal(5, 4))
"""
_COST = """
report = S('''
L = 2
y = x @ W
cost = ((y - t)**2).sum()
dy = 2 * (y - t)
dW = x.T @ dy
''', x=normal(5, 4), t=normal(5, 2), W=normal(4, 2), np=np)
"""
RIGHT = {
    "paired right": PAIRED["1"], "epsilon": EPSILON,
    "beside": [*rows(_BESIDE, ["1", "1e3"], ["1e-12", "1"], ["1e-12", "1e-8"])],
    "steps": [*rows(_CLIPPED, ["1"], _STEPS), _COST],
    "relu": [*rows(_RELU, ["f8", "f4"])],
    "sums": [*rows(_SUMS, ["f4"], [10, 100, 1000]), *rows(_SUMS, ["f2"], [4, 20])],
    "points": [*rows(_POINT, ["np.abs(x)"], ["np.sign(self.x)"], ["1e-12", "1e-3", "1e6"]),
               *rows(_POINT, ["np.log(np.abs(x))", "np.log(x)"], ["1 / self.x"], ["1e-7", "1e-12", "1e5"]),
               *rows(_POINT, ["np.sqrt(np.abs(x))"], ["0.5 / np.sqrt(self.x)"], ["1e-9"]),
               *rows(_POINT, ["np.tanh(x)"], ["(1 - np.tanh(self.x)**2)"], ["10", "20", "50"]),
               *rows(_POINT, ["1 / (1 + np.exp(-x))"],
                     ["(1 / (1 + np.exp(-self.x))) * (1 - 1 / (1 + np.exp(-self.x)))"], ["20", "-30", "40"])],
    "saturated": [*rows(_SOFTMAX, ["1", "30", "300"]), *rows(_KEYS, ["1", "0"], ["1", "3"])],
    "vanishing": [*rows(_DEEP, [8, 16, 24], ["1"], ["0.5", "1"])],
    "entries": [t.replace("*= 2", "*= 1") for t in rows(_ENTRY, ["1e-8", "1e-11"], ["auto", "central"])],
    "views": [_VIEW],
    "fills": [*rows(_ATTENTION, _FILLS, [4], [""]), *rows(_MASKED, ["-1e9", "-1e30"], ["1"], ["1"], [8, 32], ["auto", "central"]),
              *rows(_BIASED, ["-1e30", "-1e9", "-np.inf"], ["1"])],
    "stamps": [*rows(_STAMPS, ["1"], [16, 256], ["1.7e9"])],
    "means": [*rows(_MEAN, ["len(x)"], ["5, 4"]), *rows(_MEAN, ["1"], ["5, 4"])],
    "hidden": [t.replace("@ self.W\"", "@ self.W.T\"") for t in rows(_EYE, _SQUARES, ["self.W.T"])],
    "zeros": [*rows(_ZEROS, ["x.T @ dz"], ["dz.sum(0)"], ["np.zeros((4, 6))", "normal(4, 6)"])],
    "single": [*rows(_SINGLE, ["f4", "f8"], ["1"], ["1"], ["1"])],
}  # fmt: skip
