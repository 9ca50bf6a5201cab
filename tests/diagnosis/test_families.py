"""Families of mistakes, three of each, written before the rules that name them."""

from pathlib import Path

import numpy as np
import pytest

from deepnlp.gradcheck import check_gradients

VALUE, TERM = "another value in its place", "term of a sum or product missing"
AXIS, SHIFTED, ZERO = (
    "summed or broadcast over the wrong axis",
    "time off by one",
    "zero or missing",
)


def normal(*shape):
    return np.random.default_rng(5).normal(size=shape)


# --- Axes that were split, and summed -------------------------------------------------------------


class StretchForward:
    """Each step of a signal is held for k steps."""

    def forward(self, signal):
        self.k = 3
        return np.repeat(signal, self.k, axis=1)

    def backward(self, dlong):
        n, steps, width = dlong.shape
        return dlong.reshape(n, self.k, steps // self.k, width).sum(axis=1)  # blocks


def enlarge(picture):
    h, w = picture.shape

    def back(g):
        return g.reshape(2, h, 2, w).sum(axis=(0, 2))  # blocks

    return np.kron(picture, np.ones((2, 2))), back


def shared_bias_forward(x, b):
    return x + np.repeat(b, 2), x


def shared_bias_backward(dout, x):
    folded = dout.sum(axis=0)
    db = folded.reshape(2, -1).sum(axis=0)  # blocks
    return dout, db


# --- Places without their stride ------------------------------------------------------------------


def strided_forward(x, w, stride=2):
    count = (x.shape[1] - len(w)) // stride + 1
    y = np.zeros((len(x), count))
    for k in range(count):
        y[:, k] = x[:, k * stride : k * stride + len(w)] @ w
    return y, (x, w, stride)


def strided_backward(dy, cache):
    x, w, _ = cache
    dx, dw = np.zeros_like(x), np.zeros_like(w)
    for k in range(dy.shape[1]):
        begin = k  # places
        dx[:, begin : begin + len(w)] += np.outer(dy[:, k], w)
        dw += x[:, begin : begin + len(w)].T @ dy[:, k]
    return dx, dw


class Dilated:
    def __init__(self, taps):
        self.taps, self.gap = taps, 3

    def forward(self, x):
        self.x, n = x, x.shape[0] - self.gap * (len(self.taps) - 1)
        return sum(tap * x[j * self.gap : j * self.gap + n] for j, tap in enumerate(self.taps))

    def backward(self, dy):
        self.dtaps, dx = np.zeros_like(self.taps), np.zeros_like(self.x)
        for j in range(len(self.taps)):
            self.dtaps[j] = (dy * self.x[j * self.gap : j * self.gap + len(dy)]).sum()
            dx[j : j + len(dy)] += self.taps[j] * dy  # places
        return dx


def pooled(image):
    size, step = 2, 2
    rows, cols = image.shape[0] // step, image.shape[1] // step
    out = np.zeros((rows, cols))
    for r in range(rows):
        for q in range(cols):
            out[r, q] = image[r * step : r * step + size, q * step : q * step + size].mean()

    def back(g):
        gimage = np.zeros_like(image)
        for r in range(rows):
            for q in range(cols):
                gimage[r : r + size, q : q + size] += g[r, q] / size**2  # places
        return gimage

    return out, back


# --- Statements in a loop that belong behind it, and the reverse ----------------------------------


def running_sum_forward(x):
    out, total = np.zeros_like(x), np.zeros(x.shape[1])
    for t in range(len(x)):
        total = total + x[t]
        out[t] = total**2
    return out, x


def running_sum_backward(dout, x):
    totals = np.cumsum(x, axis=0)
    dx, carry = np.zeros_like(x), np.zeros(x.shape[1])
    for t in reversed(range(len(x))):
        carry = carry + 2 * totals[t] * dout[t]
        dx[t] = carry
        return dx  # indented


class Bag:
    def __init__(self, W):
        self.W = W

    def forward(self, a, b, c):
        self.parts = [a, b, c]
        return np.tanh(a @ self.W + b @ self.W + c @ self.W)

    def backward(self, dy):
        dz = dy * (1 - np.tanh(sum(p @ self.W for p in self.parts)) ** 2)
        self.dW = np.zeros_like(self.W)
        for part in self.parts:
            step = part.T @ dz
        self.dW += step  # indented
        return dz @ self.W.T, dz @ self.W.T, dz @ self.W.T


def powers(x):
    y = sum(x**k for k in range(1, 5))

    def back(g):
        slope, power = np.zeros_like(x), np.ones_like(x)
        for k in range(1, 5):
            slope = slope + k * power
        power = power * x  # indented
        return g * slope

    return y, back


# --- One number for all entries -------------------------------------------------------------------


class Shift:
    def __init__(self, b):
        self.b = b

    def forward(self, x):
        return x * 1.5 + self.b

    def backward(self, dy):
        self.db = np.ones_like(self.b) * dy.sum()  # spread
        return 1.5 * dy


def scale_forward(x, s):
    return x * s, (x, s)


def scale_backward(dout, cache):
    x, s = cache
    ds = np.zeros_like(s)
    ds += np.sum(dout * x)  # spread
    return dout * s, ds


def columns_forward(x, b):
    return np.sin(x + b), (x, b)


def columns_backward(dout, cache):
    x, b = cache
    dx = dout * np.cos(x + b)
    return dx, np.full_like(b, dx.sum())  # spread


# --- A border that is cut off on one side ---------------------------------------------------------


def padded_forward(x, w):
    p = len(w) // 2
    xp = np.pad(x, p)
    return sum(w[k] * xp[k : k + len(x)] for k in range(len(w))), (x, w, p)


def padded_backward(dy, cache):
    x, w, p = cache
    dxp = np.zeros(len(x) + 2 * p)
    for k in range(len(w)):
        dxp[k : k + len(x)] += w[k] * dy
    xp = np.pad(x, p)
    dw = np.array([xp[k : k + len(x)] @ dy for k in range(len(w))])
    return dxp[: -2 * p], dw  # border


class Frame:
    def forward(self, x):
        self.border = 2
        self.wide = np.pad(x, self.border)
        return self.wide**3

    def backward(self, dy):
        dwide = 3 * self.wide**2 * dy
        return dwide[2 * self.border :, 2 * self.border :]  # border


def blurred(x):
    wide = np.pad(x, 1)
    y = wide[:-2, 1:-1] + wide[2:, 1:-1] + wide[1:-1, :-2] * wide[1:-1, 2:]

    def back(g):
        dwide = np.zeros_like(wide)
        dwide[:-2, 1:-1] += g
        dwide[2:, 1:-1] += g
        dwide[1:-1, :-2] += g * wide[1:-1, 2:]
        dwide[1:-1, 2:] += g * wide[1:-1, :-2]
        return dwide[:-2, :-2]  # border

    return y, back


# --- Counts ---------------------------------------------------------------------------------------


class InstanceNorm:
    def __init__(self, g):
        self.g = g

    def forward(self, x):
        centred = x - x.mean(axis=(2, 3), keepdims=True)
        self.r = 1 / np.sqrt((centred**2).mean(axis=(2, 3), keepdims=True) + 1e-5)
        self.n = centred * self.r
        return self.g[:, None, None] * self.n

    def backward(self, dy):
        H, W = dy.shape[2:]  # noqa: RUF059
        count = H  # count
        self.dg = (dy * self.n).sum(axis=(0, 2, 3))
        dn = dy * self.g[:, None, None]
        mean, slope = dn.sum((2, 3), keepdims=True), (dn * self.n).sum((2, 3), keepdims=True)
        return self.r * (dn - mean / count - self.n * slope / count)


def unbiased(x):
    n, centred = len(x), x - x.mean()
    return (centred**2).sum() / (n - 1), lambda g: 2 * g * centred / n  # count


# --- Copies in one line ---------------------------------------------------------------------------


class Frames:
    """Overlapping frames of a signal, each in a row."""

    def forward(self, x):
        self.long, self.hop, self.x = 4, 3, x
        count = (len(x) - self.long) // self.hop + 1
        starts = [k * self.hop for k in range(count)]
        return np.stack([x[k : k + self.long] ** 2 for k in starts])

    def backward(self, dy):
        dx, hop, long = np.zeros_like(self.x), self.hop, self.long  # noqa: F841
        for k in range(len(dy)):
            here = slice(k * long, k * long + long)  # copies
            dx[here] += 2 * self.x[here] * dy[k][: len(self.x[here])]
        return dx


# --- Targets that are probabilities ---------------------------------------------------------------


def soft_cross_entropy(logits, target):
    e = np.exp(logits - logits.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    loss = -(target * np.log(p)).sum() / len(logits)
    return loss, lambda g: g * (target - p) / len(logits)  # probabilities


# --- Gradients in a literal -----------------------------------------------------------------------


def least_squares(params, x, y):
    residual = x @ params["W"] + params["b"] - y
    loss = 0.5 * (residual**2).sum() / len(x)
    d = residual / len(x)
    grads = {"W": x.T @ d, "b": d.sum(axis=1)[: d.shape[1]]}  # literal
    return loss, grads


CASES = {
    "a count of a mean": (
        InstanceNorm(normal(3)),
        (normal(2, 3, 4, 5),),
        ("constant factor", VALUE, TERM),
        "count",
    ),
    "a variance without bias": (unbiased, (normal(7),), ("constant factor", VALUE), "count"),
    "hop and length": (Frames(), (normal(13),), (VALUE, SHIFTED), "copies"),
    "soft targets": (
        soft_cross_entropy,
        (normal(4, 3), np.array([[0.2, 0.3, 0.5], [0.6, 0.4, 0], [0, 1, 0], [0.1, 0.1, 0.8]])),
        ("sign",),
        "probabilities",
    ),
    "a literal of gradients": (
        least_squares,
        ({"W": normal(3, 5), "b": normal(5)}, normal(6, 3), normal(6, 5)),
        (AXIS, VALUE, TERM),
        "literal",
    ),
    "blocks of steps": (StretchForward(), (normal(2, 4, 3),), (AXIS, VALUE), "blocks"),
    "blocks of a picture": (enlarge, (normal(3, 4),), (AXIS, VALUE), "blocks"),
    "blocks of a bias": (
        (shared_bias_forward, shared_bias_backward),
        (normal(4, 6), normal(3)),
        (AXIS, VALUE),
        "blocks",
    ),
    "stride": (
        (strided_forward, strided_backward),
        (normal(3, 9), normal(3)),
        (VALUE, SHIFTED, TERM),
        "places",
    ),
    "dilation": (Dilated(normal(3)), (normal(11),), (VALUE, SHIFTED, TERM), "places"),
    "step of two loops": (pooled, (normal(6, 8),), (VALUE, SHIFTED, TERM), "places"),
    "return in a loop": (
        (running_sum_forward, running_sum_backward),
        (normal(5, 3),),
        (TERM, SHIFTED, ZERO, VALUE),
        "indented",
    ),
    "sum behind a loop": (
        Bag(normal(4, 3)),
        (normal(5, 4), normal(5, 4) + 1, normal(5, 4) * 2),
        (TERM, "assigned instead of accumulated"),
        "indented",
    ),
    "power behind a loop": (powers, (normal(4, 3),), (TERM, VALUE, SHIFTED), "indented"),
    "one number for a bias": (Shift(normal(3)), (normal(5, 3),), (AXIS,), "spread"),
    "one number for a scale": (
        (scale_forward, scale_backward),
        (normal(5, 3), normal(3)),
        (AXIS,),
        "spread",
    ),
    "one number for columns": (
        (columns_forward, columns_backward),
        (normal(3, 5), normal(3, 1)),
        (AXIS,),
        "spread",
    ),
    "border of a signal": (
        (padded_forward, padded_backward),
        (normal(7), normal(3)),
        (SHIFTED, VALUE),
        "border",
    ),
    "border of a picture": (Frame(), (normal(4, 5),), (SHIFTED, VALUE), "border"),
    "border of a blur": (blurred, (normal(5, 4),), (SHIFTED, VALUE), "border"),
}


@pytest.mark.parametrize("name", CASES)
def test_the_mistake_is_named_with_its_line(name):
    code, inputs, accepted, mark = CASES[name]
    report = check_gradients(code, *inputs)
    causes = [row.causes[0] for row in report.rows if not row.ok and row.causes]
    assert causes
    assert {cause.name for cause in causes} <= set(accepted), str(report)
    text = Path(__file__).read_text("utf-8").splitlines()
    lines = {n for n, line in enumerate(text, 1) if line.endswith(f"# {mark}")}
    said = " ".join(cause.evidence for cause in causes)
    assert any(f"line {n}" in said for n in lines), str(report)
