"""Right layers in plain NumPy, in 27 families: none may be accused, none may crash.

A family is a forward and a backward in the open; a style is the form in which somebody would bring
them; an inputs' kind is what makes checks stumble: rounded numbers, zeros, small ones. Run all with

    python -m tests.gradcheck.right_layers 2000
"""

import sys
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from deepnlp.gradcheck import check_gradients

FAMILIES: dict[str, "Family"] = {}


class Family(NamedTuple):
    """Sizes to weights and inputs; forward with a cache; backward to lists of both gradients."""

    make: Callable[..., Any]
    forward: Callable[..., Any]
    backward: Callable[..., Any]


def family(make):
    """Take a class with ``forward`` and ``backward`` as a family."""

    def add(kind):
        FAMILIES[kind.__name__] = Family(make, kind.forward, kind.backward)
        return kind

    return add


def sizes(rng):
    return (int(n) for n in rng.integers((1, 1, 1, 1), (5, 5, 6, 6)))


def dense(rng):
    N, _, D, H = sizes(rng)
    return {"W": rng.normal(size=(D, H)), "b": rng.normal(size=H)}, [(N, D)]


def rows(rng):
    N, _, D, _ = sizes(rng)
    return {}, [(N, D + 1)]


def scaled_rows(rng):
    N, _, D, _ = sizes(rng)
    return {"gamma": rng.normal(size=D + 2), "beta": rng.normal(size=D + 2)}, [(N + 1, D + 2)]


def classes(rng):
    N, _, D, _ = sizes(rng)
    return {}, [(N, D + 1), rng.integers(0, D + 1, size=N)]


def numbers(rng):
    N, _, D, _ = sizes(rng)
    return {}, [(N, D), ("t", (N, D))]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


# --- Dense and elementwise ----------------------------------------------------------------------


@family(dense)
class Affine:
    @staticmethod
    def forward(p, x):
        return x @ p["W"] + p["b"], x

    @staticmethod
    def backward(p, dy, x):
        return [dy @ p["W"].T], {"W": x.T @ dy, "b": dy.sum(axis=0)}


@family(rows)
class ReLU:
    @staticmethod
    def forward(p, x):
        return np.maximum(x, 0), x > 0

    @staticmethod
    def backward(p, dy, mask):
        return [dy * mask], {}


@family(lambda rng: ({"a": rng.normal(size=())}, rows(rng)[1]))
class PReLU:
    @staticmethod
    def forward(p, x):
        return np.where(x > 0, x, p["a"] * x), x

    @staticmethod
    def backward(p, dy, x):
        return [np.where(x > 0, dy, p["a"] * dy)], {"a": np.array((dy * x * (x <= 0)).sum())}


@family(rows)
class Swish:
    @staticmethod
    def forward(p, x):
        s = sigmoid(x)
        return x * s, (x, s)

    @staticmethod
    def backward(p, dy, cache):
        x, s = cache
        return [dy * (s + x * s * (1 - s))], {}


@family(rows)
class Softmax:
    @staticmethod
    def forward(p, x):
        e = np.exp(x - x.max(axis=-1, keepdims=True))
        y = e / e.sum(axis=-1, keepdims=True)
        return y, y

    @staticmethod
    def backward(p, dy, y):
        return [y * (dy - (dy * y).sum(axis=-1, keepdims=True))], {}


@family(dense)
class AffineReLUAffine:
    @staticmethod
    def forward(p, x):
        a = x @ p["W"] + p["b"]
        h = np.maximum(a, 0)
        return h @ p["W"].T, (x, a, h)

    @staticmethod
    def backward(p, dy, cache):
        x, a, h = cache
        da = (dy @ p["W"]) * (a > 0)
        return [da @ p["W"].T], {"W": x.T @ da + dy.T @ h, "b": da.sum(axis=0)}


@family(dense)
class Residual:
    @staticmethod
    def forward(p, x):
        h = np.tanh(x @ p["W"] + p["b"])
        return x + h @ p["W"].T, (x, h)

    @staticmethod
    def backward(p, dy, cache):
        x, h = cache
        da = (dy @ p["W"]) * (1 - h**2)
        return [dy + da @ p["W"].T], {"W": x.T @ da + dy.T @ h, "b": da.sum(axis=0)}


def gated(rng):
    N, _, D, H = sizes(rng)
    return {"W": rng.normal(size=(D, 2 * H)), "b": rng.normal(size=2 * H)}, [(N, D)]


@family(gated)
class GatedLinear:
    @staticmethod
    def forward(p, x):
        a, g = np.split(x @ p["W"] + p["b"], 2, axis=1)
        s = sigmoid(g)
        return a * s, (x, a, s)

    @staticmethod
    def backward(p, dy, cache):
        x, a, s = cache
        d = np.hstack([dy * s, dy * a * s * (1 - s)])
        return [d @ p["W"].T], {"W": x.T @ d, "b": d.sum(axis=0)}


# --- Normalisation ------------------------------------------------------------------------------


@family(scaled_rows)
class LayerNorm:
    @staticmethod
    def forward(p, x):
        std = np.sqrt(x.var(axis=1, keepdims=True) + 1e-10)
        x_hat = (x - x.mean(axis=1, keepdims=True)) / std
        return p["gamma"] * x_hat + p["beta"], (x_hat, std)

    @staticmethod
    def backward(p, dy, cache):
        x_hat, std = cache
        d = dy * p["gamma"]
        dx = d - d.mean(axis=1, keepdims=True) - x_hat * (d * x_hat).mean(axis=1, keepdims=True)
        return [dx / std], {"gamma": (dy * x_hat).sum(axis=0), "beta": dy.sum(axis=0)}


@family(scaled_rows)
class BatchNorm:
    @staticmethod
    def forward(p, x):
        std = np.sqrt(x.var(axis=0) + 1e-10)
        x_hat = (x - x.mean(axis=0)) / std
        return p["gamma"] * x_hat + p["beta"], (x_hat, std)

    @staticmethod
    def backward(p, dy, cache):
        x_hat, std = cache
        d = dy * p["gamma"]
        dx = (d - d.mean(axis=0) - x_hat * (d * x_hat).mean(axis=0)) / std
        return [dx], {"gamma": (dy * x_hat).sum(axis=0), "beta": dy.sum(axis=0)}


@family(rows)
class L2Norm:
    @staticmethod
    def forward(p, x):
        norm = np.sqrt((x**2).sum(axis=1, keepdims=True) + 1e-12)
        return x / norm, (x / norm, norm)

    @staticmethod
    def backward(p, dy, cache):
        y, norm = cache
        return [(dy - y * (dy * y).sum(axis=1, keepdims=True)) / norm], {}


@family(lambda rng: ({"g": rng.normal(size=4)}, [(3, 4)]))
class RMSNorm:
    @staticmethod
    def forward(p, x):
        r = np.sqrt((x**2).mean(axis=1, keepdims=True) + 1e-10)
        return p["g"] * x / r, (x / r, r)

    @staticmethod
    def backward(p, dy, cache):
        u, r = cache
        d = dy * p["g"]
        return [(d - u * (d * u).mean(axis=1, keepdims=True)) / r], {"g": (dy * u).sum(axis=0)}


# --- Losses -------------------------------------------------------------------------------------


@family(classes)
class CrossEntropy:
    @staticmethod
    def forward(p, x, t):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        y = e / e.sum(axis=1, keepdims=True)
        return -np.log(y[np.arange(len(t)), t]).mean(), (y, t)

    @staticmethod
    def backward(p, dout, cache):
        y, t = cache
        d = y.copy()
        d[np.arange(len(t)), t] -= 1
        return [dout * d / len(t)], {}


@family(numbers)
class MeanSquare:
    @staticmethod
    def forward(p, x, t):
        return ((x - t) ** 2).mean(), x - t

    @staticmethod
    def backward(p, dout, difference):
        return [dout * 2 * difference / difference.size], {}


@family(numbers)
class Huber:
    @staticmethod
    def forward(p, x, t):
        d = x - t
        return np.where(np.abs(d) < 1, d**2 / 2, np.abs(d) - 0.5).sum(), d

    @staticmethod
    def backward(p, dout, d):
        return [dout * np.clip(d, -1, 1)], {}


@family(classes)
class Hinge:
    @staticmethod
    def forward(p, x, t):
        margins = np.maximum(x - x[np.arange(len(t)), t][:, None] + 1, 0)
        margins[np.arange(len(t)), t] = 0
        return margins.sum() / len(t), (margins > 0, t)

    @staticmethod
    def backward(p, dout, cache):
        above, t = cache
        d = above.astype(float)
        d[np.arange(len(t)), t] -= above.sum(axis=1)
        return [dout * d / len(t)], {}


@family(lambda rng: ({}, [(4, 3), rng.integers(0, 2, size=(4, 3))]))
class BinaryCrossEntropy:
    @staticmethod
    def forward(p, x, t):
        return (np.log(1 + np.exp(x)) - t * x).mean(), (x, t)

    @staticmethod
    def backward(p, dout, cache):
        x, t = cache
        return [dout * (sigmoid(x) - t) / x.size], {}


# --- Look-ups, windows and pools ------------------------------------------------------------------


def table(rng):
    N, T, D, V = sizes(rng)
    return {"E": rng.normal(size=(V + 1, D))}, [rng.integers(0, V + 1, size=(N, T))]


@family(table)
class Embedding:
    @staticmethod
    def forward(p, ids):
        return p["E"][ids], ids

    @staticmethod
    def backward(p, dy, ids):
        dE = np.zeros_like(p["E"])
        np.add.at(dE, ids, dy)
        return [None], {"E": dE}


def pairs(rng):
    N, K, D, V = sizes(rng)
    return {"E": rng.normal(size=(V + 1, D))}, [(N, D), rng.integers(0, V + 1, size=(N, K + 1))]


@family(pairs)
class NegativeSampling:
    """The first id of each row is the right one, the others are noise."""

    @staticmethod
    def forward(p, x, ids):
        sign = np.where(np.arange(ids.shape[1]) == 0, 1, -1)
        s = sigmoid(sign * np.einsum("nd,nkd->nk", x, p["E"][ids]))
        return -np.log(s).sum() / len(x), (x, ids, sign, s)

    @staticmethod
    def backward(p, dout, cache):
        x, ids, sign, s = cache
        d = dout * sign * (s - 1) / len(x)
        dE = np.zeros_like(p["E"])
        np.add.at(dE, ids, d[..., None] * x[:, None])
        return [np.einsum("nk,nkd->nd", d, p["E"][ids]), None], {"E": dE}


def images(rng):
    N, C, K, _ = sizes(rng)
    W = rng.normal(size=(K, C, 2, 3))
    return {"W": W, "b": rng.normal(size=K)}, [(N, C, 4, 5)]


@family(images)
class Convolution:
    @staticmethod
    def forward(p, x):
        N, _, height, width = x.shape
        y = np.zeros((N, len(p["W"]), height - 1, width - 2), dtype=np.result_type(x, p["W"]))
        for i in range(height - 1):
            for j in range(width - 2):
                window = x[:, :, i : i + 2, j : j + 3]
                y[:, :, i, j] = np.einsum("ncij,kcij->nk", window, p["W"]) + p["b"]
        return y, x

    @staticmethod
    def backward(p, dy, x):
        dx, dW = np.zeros_like(x), np.zeros_like(p["W"])
        for i in range(dy.shape[2]):
            for j in range(dy.shape[3]):
                d = dy[:, :, i, j]
                dW += np.einsum("nk,ncij->kcij", d, x[:, :, i : i + 2, j : j + 3])
                dx[:, :, i : i + 2, j : j + 3] += np.einsum("nk,kcij->ncij", d, p["W"])
        return [dx], {"W": dW, "b": dy.sum(axis=(0, 2, 3))}


def windows(rng):
    N, C, _, _ = sizes(rng)
    return {}, [(N, C, 4, 6)]


@family(windows)
class MaxPool:
    @staticmethod
    def forward(p, x):
        N, C, height, width = x.shape
        w = x.reshape(N, C, height // 2, 2, width // 2, 2).transpose(0, 1, 2, 4, 3, 5)
        w = w.reshape(N, C, height // 2, width // 2, 4)
        return w.max(axis=-1), (w.argmax(axis=-1), x.shape)

    @staticmethod
    def backward(p, dy, cache):
        first, (N, C, height, width) = cache
        d = np.zeros((*dy.shape, 4))
        np.put_along_axis(d, first[..., None], dy[..., None], axis=-1)
        d = d.reshape(N, C, height // 2, width // 2, 2, 2).transpose(0, 1, 2, 4, 3, 5)
        return [d.reshape(N, C, height, width)], {}


@family(windows)
class AveragePool:
    @staticmethod
    def forward(p, x):
        N, C, height, width = x.shape
        return x.reshape(N, C, height // 2, 2, width // 2, 2).mean(axis=(3, 5)), x.shape

    @staticmethod
    def backward(p, dy, shape):
        return [(dy / 4).repeat(2, axis=2).repeat(2, axis=3).reshape(shape)], {}


# --- Sequences ------------------------------------------------------------------------------------


def sequence(gates):
    def make(rng):
        N, T, D, H = sizes(rng)
        Wx, Wh = rng.normal(size=(D, gates * H)), rng.normal(size=(H, gates * H)) / 2
        return {"Wx": Wx, "Wh": Wh, "b": rng.normal(size=gates * H)}, [(N, T, D)]

    return make


@family(sequence(1))
class RNN:
    @staticmethod
    def forward(p, xs):
        h = np.zeros((len(xs), len(p["Wh"])))
        hs = [h]
        for t in range(xs.shape[1]):
            h = np.tanh(xs[:, t] @ p["Wx"] + h @ p["Wh"] + p["b"])
            hs.append(h)
        return np.stack(hs[1:], axis=1), (xs, hs)

    @staticmethod
    def backward(p, dhs, cache):
        xs, hs = cache
        grads, dxs, dh = {k: np.zeros_like(v) for k, v in p.items()}, np.zeros_like(xs), 0
        for t in reversed(range(xs.shape[1])):
            da = (dhs[:, t] + dh) * (1 - hs[t + 1] ** 2)
            grads["Wx"] += xs[:, t].T @ da
            grads["Wh"] += hs[t].T @ da
            grads["b"] += da.sum(axis=0)
            dxs[:, t], dh = da @ p["Wx"].T, da @ p["Wh"].T
        return [dxs], grads


@family(sequence(4))
class LSTM:
    @staticmethod
    def forward(p, xs):
        N, T, _ = xs.shape
        H = len(p["Wh"])
        h = c = np.zeros((N, H))
        hs, steps = np.zeros((N, T, H), dtype=np.result_type(xs, *p.values())), []
        for t in range(T):
            a = xs[:, t] @ p["Wx"] + h @ p["Wh"] + p["b"]
            i, f, o = (sigmoid(a[:, k * H : (k + 1) * H]) for k in range(3))
            g, h_prev, c_prev = np.tanh(a[:, 3 * H :]), h, c
            c = f * c + i * g
            tanh_c = np.tanh(c)
            h = hs[:, t] = o * tanh_c
            steps.append((i, f, o, g, tanh_c, h_prev, c_prev))
        return hs, (xs, steps)

    @staticmethod
    def backward(p, dhs, cache):
        xs, steps = cache
        grads, dxs, dh, dc = {k: np.zeros_like(v) for k, v in p.items()}, np.zeros_like(xs), 0, 0
        for t in reversed(range(xs.shape[1])):
            i, f, o, g, tanh_c, h_prev, c_prev = steps[t]
            dh = dh + dhs[:, t]
            dc = dc + dh * o * (1 - tanh_c**2)
            da = np.hstack(
                [
                    dc * g * i * (1 - i), dc * c_prev * f * (1 - f), dh * tanh_c * o * (1 - o),
                    dc * i * (1 - g**2),
                ]
            )  # fmt: skip
            grads["Wx"] += xs[:, t].T @ da
            grads["Wh"] += h_prev.T @ da
            grads["b"] += da.sum(axis=0)
            dxs[:, t], dh, dc = da @ p["Wx"].T, da @ p["Wh"].T, dc * f
        return [dxs], grads


def cell(rng):
    N, _, D, H = sizes(rng)
    Wx, Wh = rng.normal(size=(D, 3 * H)), rng.normal(size=(H, 3 * H)) / 2
    return {"Wx": Wx, "Wh": Wh, "b": rng.normal(size=3 * H)}, [(N, D), (N, H)]


@family(cell)
class GRUCell:
    @staticmethod
    def forward(p, x, h_prev):
        H = h_prev.shape[1]
        a = x @ p["Wx"][:, : 2 * H] + h_prev @ p["Wh"][:, : 2 * H] + p["b"][: 2 * H]
        r, z = sigmoid(a[:, :H]), sigmoid(a[:, H:])
        n = np.tanh(x @ p["Wx"][:, 2 * H :] + (r * h_prev) @ p["Wh"][:, 2 * H :] + p["b"][2 * H :])
        return (1 - z) * n + z * h_prev, (x, h_prev, r, z, n)

    @staticmethod
    def backward(p, dh, cache):
        x, h_prev, r, z, n = cache
        H = h_prev.shape[1]
        dn = dh * (1 - z) * (1 - n**2)
        drh = dn @ p["Wh"][:, 2 * H :].T
        da = np.hstack([drh * h_prev * r * (1 - r), dh * (h_prev - n) * z * (1 - z)])
        dh_prev = dh * z + drh * r + da @ p["Wh"][:, : 2 * H].T
        d = np.hstack([da, dn])
        dWh = np.hstack([h_prev.T @ da, (r * h_prev).T @ dn])
        return [d @ p["Wx"].T, dh_prev], {"Wx": x.T @ d, "Wh": dWh, "b": d.sum(axis=0)}


def queries(rng):
    N, T, D, S = sizes(rng)
    return {}, [(N, T, D), (N, S, D), (N, S, D)]


@family(queries)
class Attention:
    @staticmethod
    def forward(p, q, k, v):
        s = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
        e = np.exp(s - s.max(axis=-1, keepdims=True))
        a = e / e.sum(axis=-1, keepdims=True)
        return a @ v, (q, k, v, a)

    @staticmethod
    def backward(p, dy, cache):
        q, k, v, a = cache
        da = dy @ v.transpose(0, 2, 1)
        ds = a * (da - (da * a).sum(axis=-1, keepdims=True)) / np.sqrt(q.shape[-1])
        return [ds @ k, ds.transpose(0, 2, 1) @ q, a.transpose(0, 2, 1) @ dy], {}


@family(dense)
class Dropout:
    @staticmethod
    def forward(p, x):
        mask = (np.random.rand(*x.shape) < 0.6) / 0.6
        return (x * mask) @ p["W"] + p["b"], (x, mask)

    @staticmethod
    def backward(p, dy, cache):
        x, mask = cache
        return [dy @ p["W"].T * mask], {"W": (x * mask).T @ dy, "b": dy.sum(axis=0)}


# --- Styles ---------------------------------------------------------------------------------------


def unpacked(found):
    return found[0] if len(found) == 1 else tuple(found)


class Base:
    def __init__(self, one, weights):
        self._one = one
        self.keep(weights)

    def forward(self, *inputs):
        y, self.cache = self._one.forward(self.weights(), *inputs)
        return y


class Attributes(Base):
    def keep(self, weights):
        self._names = list(weights)
        for name, value in weights.items():
            setattr(self, name, value)

    def weights(self):
        return {name: getattr(self, name) for name in self._names}

    def backward(self, dy):
        dxs, grads = self._one.backward(self.weights(), dy, self.cache)
        for name, grad in grads.items():
            setattr(self, f"d{name}", grad)
        return unpacked(dxs)


class Callable_(Attributes):
    def __call__(self, *inputs):
        return self.forward(*inputs)


class InATuple(Attributes):
    def forward(self, *inputs):
        return (super().forward(*inputs),)


class Updates(Attributes):
    def backward(self, dy):
        dxs = super().backward(dy)
        for name in self._names:
            setattr(self, name, getattr(self, name) - 0.1 * getattr(self, f"d{name}"))
        return dxs


class Lists(Base):
    def keep(self, weights):
        self._names = list(weights)
        self.params = list(weights.values())
        self.grads = [np.zeros_like(w) for w in self.params]

    def weights(self):
        return dict(zip(self._names, self.params, strict=True))

    def backward(self, dy):
        dxs, grads = self._one.backward(self.weights(), dy, self.cache)
        for old, name in zip(self.grads, self._names, strict=True):
            old[...] = grads[name]
        return unpacked(dxs)


class Dicts(Base):
    def keep(self, weights):
        self.params = dict(weights)

    def weights(self):
        return self.params

    def backward(self, dy):
        dxs, self.grads = self._one.backward(self.params, dy, self.cache)
        return unpacked(dxs)


class Returned(Attributes):
    def backward(self, dy):
        dxs, grads = self._one.backward(self.weights(), dy, self.cache)
        return tuple(dxs) + tuple(grads[name] for name in self._names)


class TakesCache(Attributes):
    def forward(self, *inputs):
        return self._one.forward(self.weights(), *inputs)

    def backward(self, dout, cache):
        dxs, grads = self._one.backward(self.weights(), dout, cache)
        for name, grad in grads.items():
            setattr(self, f"grad_{name}", grad)
        return unpacked(dxs)


def function_pair(one, weights):
    names = list(weights)

    def layer_forward(*arrays):
        own = dict(zip(names, arrays, strict=False))
        y, cache = one.forward(own, *arrays[len(names) :])
        return y, (own, cache)

    def layer_backward(dout, cache):
        own, kept = cache
        dxs, grads = one.backward(own, dout, kept)
        return tuple(grads[name] for name in names) + tuple(dxs)

    return layer_forward, layer_backward


STYLES = [Attributes, Callable_, InATuple, Updates, Lists, Dicts, Returned, TakesCache, None]

INPUTS = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "rounded": lambda rng, shape: np.round(rng.normal(size=shape), 1),
    "whole": lambda rng, shape: np.round(2 * rng.normal(size=shape)),
    "zeros among": lambda rng, shape: rng.normal(size=shape) * (rng.random(shape) < 0.6),
    "small": lambda rng, shape: 1e-4 * rng.normal(size=shape),
    "positive": lambda rng, shape: rng.random(shape),
}


def run(number: int) -> tuple[str, Any]:
    """Check one layer; what it was, and the report or the error."""
    rng = np.random.default_rng(number)
    name = list(FAMILIES)[number % len(FAMILIES)]
    style = STYLES[rng.integers(len(STYLES))]
    kind = list(INPUTS)[rng.integers(len(INPUTS))]
    one = FAMILIES[name]
    weights, specs = one.make(rng)
    inputs, named = [], {}
    for spec in specs:
        if isinstance(spec, np.ndarray):
            inputs.append(spec)
        elif isinstance(spec[0], str):
            named[spec[0]] = INPUTS[kind](rng, spec[1])
        else:
            inputs.append(INPUTS[kind](rng, spec))
    title = f"{number}: {name}, {style.__name__ if style else 'functions'}, {kind}"
    labels = list(named.values())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if style is None:
                arrays = [*weights.values(), *inputs, *labels]
                places = [f"input {len(weights) + len(inputs)}"] if labels else []
                report = check_gradients(function_pair(one, weights), *arrays, constants=places)
            else:
                places = [f"input {len(inputs)}"] if labels else []
                report = check_gradients(style(one, weights), *inputs, *labels, constants=places)
    except Exception as error:
        return title, error
    return title, report


def score(count: int, first: int = 0) -> tuple[list[str], list[str]]:
    """Titles of the layers that were accused, and of those at which it crashed."""
    accused, crashed = [], []
    for number in range(first, first + count):
        title, found = run(number)
        if isinstance(found, Exception):
            crashed.append(f"{title}: {type(found).__name__}: {found}")
        elif not found.ok:
            accused.append(f"{title}: {', '.join(r.name for r in found.rows if not r.ok)}")
    return accused, crashed


if __name__ == "__main__":
    total = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    accused, crashed = score(total)
    print(*accused, *crashed, sep="\n")
    print(
        f"{total} runs of right layers in {len(FAMILIES)} families: {len(accused)} accused, "
        f"{len(crashed)} crashed"
    )
