"""Right layers in odd styles, as many as wanted: python -m tests.broken.cases.right_many.

A layer is a core (its lines of forward and backward), a style in which the lines are written, and
an oddity: float32 buffers, unusual names, outputs that backward does not take, data without a
gradient, counters, random masks. Number and layer belong together for ever. Each is right by our
own central differences (``--sanity``); a checker may accuse or refuse none.
"""

import argparse
import contextlib
import io
import json
import re
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.broken.forms import DOUT, Part, errors, file_of, handed, limited, outcome_of_right

COUNT = 1000


@dataclass(frozen=True)
class Core:
    """Lines of forward (x to y) and backward (dy to dx and dNAME), and what lies between."""

    name: str
    x: str
    params: dict
    forward: tuple
    saved: tuple
    backward: tuple
    ids: bool = False
    loss: bool = False


def core(name, x, params, forward, saved, backward, **more):
    """A core from its texts."""
    lines = tuple(forward.strip().splitlines()), tuple(backward.strip().splitlines())
    return Core(name, x, params, lines[0], tuple(saved.split()), lines[1], **more)


CORES = (
    core("affine", "n, d", {"W": "d, h", "b": "h"}, "y = x @ W + b", "x W",
         "dx = dy @ W.T\ndW = x.T @ dy\ndb = dy.sum(axis=0)"),
    core("tanh layer", "n, d", {"W": "d, h", "b": "h"}, "z = x @ W + b\ny = np.tanh(z)", "x W y",
         "dz = dy * (1 - y**2)\ndx = dz @ W.T\ndW = x.T @ dz\ndb = dz.sum(0)"),
    core("relu", "n, d", {}, "mask = x > 0\ny = x * mask", "mask", "dx = dy * mask"),
    core("sigmoid", "n, d", {}, "y = 1 / (1 + np.exp(-x))", "y", "dx = dy * y * (1 - y)"),
    core("softmax", "n, d", {}, "e = np.exp(x - x.max(1, keepdims=True))\ny = e / e.sum(1, keepdims=True)",
         "y", "dx = y * (dy - (dy * y).sum(1, keepdims=True))"),
    core("silu", "n, d", {}, "s = 1 / (1 + np.exp(-x))\ny = x * s", "x s", "dx = dy * (s + x * s * (1 - s))"),
    core("gelu", "n, d", {}, "t = np.tanh(0.7978845608 * (x + 0.044715 * x**3))\ny = 0.5 * x * (1 + t)", "x t",
         "dt = (1 - t**2) * 0.7978845608 * (1 + 0.134145 * x**2)\ndx = dy * 0.5 * (1 + t + x * dt)"),
    core("layer norm", "n, d", {"g": "d", "b": "d"},
         "s = 1 / np.sqrt(x.var(1, keepdims=True) + 1e-5)\nu = (x - x.mean(1, keepdims=True)) * s\ny = u * g + b",
         "u s g",
         "dg = (dy * u).sum(0)\ndb = dy.sum(0)\ndu = dy * g\n"
         "dx = s * (du - du.mean(1, keepdims=True) - u * (du * u).mean(1, keepdims=True))"),
    core("rms norm", "n, d", {"g": "d"}, "r = (np.mean(x**2, 1, keepdims=True) + 1e-6) ** -0.5\ny = x * r * g",
         "x r g", "dg = (dy * x * r).sum(0)\nq = dy * g\ndx = r * q - x * r**3 * (q * x).mean(1, keepdims=True)"),
    core("batch norm", "n, d", {"g": "d", "b": "d"},
         "mu = x.mean(0)\nvar = x.var(0)\nu = (x - mu) / np.sqrt(var + 1e-5)\ny = g * u + b", "u var g",
         "dg = (dy * u).sum(0)\ndb = dy.sum(0)\ndu = dy * g\n"
         "dx = (du - du.mean(0) - u * (du * u).mean(0)) / np.sqrt(var + 1e-5)"),
    core("convolution", "n, c, t", {"K": "f, c, 3"},
         "m = x.shape[2] - 2\ny = sum(np.einsum('nct,fc->nft', x[:, :, k : k + m], K[:, :, k]) for k in range(3))",
         "x K",
         "m = dy.shape[2]\ndx = np.zeros(x.shape)\ndK = np.zeros(K.shape)\nfor k in range(3):\n"
         "    dx[:, :, k : k + m] += np.einsum('nft,fc->nct', dy, K[:, :, k])\n"
         "    dK[:, :, k] = np.einsum('nft,nct->fc', dy, x[:, :, k : k + m])"),
    core("attention", "n, t, d", {"W": "d, d"},
         "q = x @ W\ns = q @ x.transpose(0, 2, 1) / np.sqrt(x.shape[2])\n"
         "e = np.exp(s - s.max(2, keepdims=True))\np = e / e.sum(2, keepdims=True)\ny = p @ x", "x W q p",
         "dp = dy @ x.transpose(0, 2, 1)\nds = p * (dp - (dp * p).sum(2, keepdims=True)) / np.sqrt(x.shape[2])\n"
         "dq = ds @ x\ndW = np.einsum('nti,ntj->ij', x, dq)\n"
         "dx = p.transpose(0, 2, 1) @ dy + ds.transpose(0, 2, 1) @ q + dq @ W.T"),
    core("embedding", "ids", {"E": "6, d"}, "y = E[x]", "x E",
         "dE = np.zeros(E.shape)\nnp.add.at(dE, x, dy)\ndx = None", ids=True),
    core("max over time", "n, t, d", {}, "best = x.argmax(1)\ny = x.max(1)\nshape = x.shape", "best shape",
         "dx = np.zeros(shape)\nnp.put_along_axis(dx, best[:, None], dy[:, None], 1)"),
    core("mean over time", "n, t, d", {}, "shape = x.shape\ny = x.mean(1)", "shape",
         "dx = np.repeat(dy[:, None], shape[1], 1) / shape[1]"),
    core("recurrent", "n, t, d", {"W": "d, h", "U": "h, h", "b": "h"},
         "h = np.zeros((x.shape[0], len(b)))\nhs = [h]\nfor t in range(x.shape[1]):\n"
         "    h = np.tanh(x[:, t] @ W + h @ U + b)\n    hs.append(h)\ny = np.stack(hs[1:], 1)", "x W U hs",
         "dx = np.zeros(x.shape)\ndW = np.zeros(W.shape)\ndU = np.zeros(U.shape)\ndb = np.zeros(len(U))\ndh = 0.0\n"
         "for t in reversed(range(dy.shape[1])):\n    dz = (dy[:, t] + dh) * (1 - hs[t + 1] ** 2)\n"
         "    dW += x[:, t].T @ dz\n    dU += hs[t].T @ dz\n    db += dz.sum(0)\n    dx[:, t] = dz @ W.T\n"
         "    dh = dz @ U.T"),
    core("swiglu", "n, d", {"W": "d, h", "V": "d, h"},
         "a = x @ W\ns = 1 / (1 + np.exp(-a))\nu = x @ V\ny = a * s * u", "x W V a s u",
         "da = dy * u * (s + a * s * (1 - s))\ndu = dy * a * s\ndW = x.T @ da\ndV = x.T @ du\ndx = da @ W.T + du @ V.T"),
    core("residual", "n, d", {"W": "d, d"}, "z = x @ W\nm = z > 0\ny = x + z * m", "x W m",
         "dz = dy * m\ndW = x.T @ dz\ndx = dy + dz @ W.T"),
    core("squared error", "n, d", {"W": "d, h"}, "r = x @ W - 0.5\ny = (r**2).sum() / len(x)", "x W r",
         "dr = dy * 2 * r / len(x)\ndW = x.T @ dr\ndx = dr @ W.T", loss=True),
    core("negative logarithm", "n, d", {}, "e = np.exp(x - x.max(1, keepdims=True))\np = e / e.sum(1, keepdims=True)\n"
         "y = -np.log(p[:, 0]).mean()", "p", "dx = p.copy()\ndx[:, 0] -= 1\ndx = dy * dx / len(p)", loss=True),
)  # fmt: skip

NAMES = (
    {}, {}, {"x": "context"}, {"x": "data"}, {"x": "inp"}, {"x": "features"}, {"x": "θ_in"}, {"x": "a_prev"},
    {"W": "kern", "b": "offset"}, {"W": "Θ", "b": "β", "g": "γ"}, {"W": "W1", "b": "b1", "U": "W2"},
    {"W": "mat", "V": "mat2", "U": "rec", "b": "shift", "g": "scale", "K": "filters", "E": "vectors"},
)  # fmt: skip

STYLES = ("attributes", "dict", "lists", "pair", "pair of dicts", "context", "closure", "boxes", "slots",
          "returned dict", "cache dict", "flat backward", "stack")  # fmt: skip
ODDITIES = ("none", "none", "float32 buffer", "float32 copy", "extra output", "tuple output", "data argument",
            "counter", "running mean", "random mask", "fortran order", "printing", "accumulates")  # fmt: skip

BOX = """
class Parameter:
    def __init__(self, value):
        self.{value} = value
        self.grad = np.zeros_like(value)


"""


def indent(lines, by):
    return "".join(f"{' ' * by}{line}\n" for line in lines)


def pick(rng, things):
    """One of several."""
    return things[int(rng.integers(len(things)))]


def render(number):
    """The part of this number."""
    rng = np.random.default_rng([77, number])
    chosen = CORES[number % len(CORES)]
    style, oddity, new = pick(rng, STYLES), pick(rng, ODDITIES), pick(rng, NAMES)
    if oddity == "data argument" and style not in ("pair", "cache dict", "attributes", "dict"):
        oddity = "none"
    if chosen.loss and oddity in ("extra output", "tuple output", "random mask", "fortran order"):
        oddity = "none"
    if chosen.ids and oddity in ("float32 buffer", "running mean", "fortran order"):
        oddity = "none"
    if style == "stack" and oddity == "running mean":
        oddity = "none"

    forward, saved = list(chosen.forward), list(chosen.saved)
    backward = list(chosen.backward)
    ys = "y"
    if oddity == "float32 buffer":
        forward = [
            "buffer = np.empty(x.shape, dtype='f')",
            "buffer[...] = x",
            "x = buffer",
            *forward,
        ]
    elif oddity == "float32 copy":
        forward += ["low = np.float32(y)"]
    elif oddity == "extra output":
        forward += ["pred = y > 0"]
        ys = "y, pred"
    elif oddity == "fortran order":
        forward = ["x = np.asfortranarray(x)", *forward]
    elif oddity == "random mask":
        forward += ["keep = np.random.default_rng(5).random(y.shape) < 0.7", "out = y * keep / 0.7"]
        ys = "out"
        saved += ["keep"]
        backward = ["dy = dy * keep / 0.7", *backward]
    elif oddity == "printing":
        forward += ["print('forward', np.shape(y))"]
    elif oddity == "data argument":
        forward += ["out = y * factor"]
        ys = "out"
        saved += ["factor"]
        backward = ["dy = dy * factor", *backward]

    def renamed(text):
        for old, fresh in new.items():
            text = _rename(text, old, fresh)
        return text

    parts = STYLE[style](chosen, forward, saved, backward, oddity, ys)
    module, call_forward, call_backward, table, hand = parts
    draw = ["n, d, h, t, c, f = (int(k) for k in rng.permutation([3, 4, 5, 6, 7, 8]))"]
    draw += ["x = np.array([[0, 2, 2], [5, 1, 2]])" if chosen.ids else f"x = normal({chosen.x})"]
    draw += [f"{name} = normal({shape}) * 0.7 + 0.2" for name, shape in chosen.params.items()]
    draw += ["factor = 1.7"] if oddity == "data argument" else []
    table = {k: v for k, v in table.items() if not (k == "x" and chosen.ids)}
    return Part(
        form="right",
        name=f"{number} {chosen.name}, {style}, {oddity}",
        draw=renamed("\n".join(draw)),
        forward=renamed(call_forward),
        backward=renamed(call_backward),
        gradients={renamed(k): renamed(v) for k, v in table.items()},
        hand=renamed(hand),
        module=renamed("import numpy as np\n\n\n" + module),
        course="odd styles",
    )


def _rename(text, old, fresh):
    """Renames a variable and its gradient; not the axis names in an einsum, nor attributes of others."""
    if old == "x":
        text = re.sub(r"(?<![\w.'])x(?![\w'])", fresh, text)
        return re.sub(r"(?<![\w.'])dx(?![\w'])", f"d{fresh}", text)
    return re.sub(rf"(?<![\w'])(d?){old}(?![\w'(])", rf"\g<1>{fresh}", text)


def _extra(oddity):
    return ", factor" if oddity == "data argument" else ""


def _bookkeeping(oddity, own="self."):
    lines = {
        "counter": [f"{own}calls = getattr(self, 'calls', 0) + 1"],
        "running mean": [
            f"{own}running_mean = 0.9 * getattr(self, 'running_mean', 0.0) + 0.1 * x.mean()"
        ],
    }
    return lines.get(oddity, [])


def _class(
    chosen, forward, saved, backward, oddity, ys, init, read, write, header="", bases="", slots=()
):
    """A class; read and write are lines that take a weight and leave its gradient."""
    params = list(chosen.params)
    slot = [f'__slots__ = "{" ".join(slots)}".split()'] if slots else []
    body = header + f"class Layer{bases}:\n" + indent(slot, 4)
    body += f"    def __init__(self{''.join(', ' + p for p in params)}):\n" + indent(
        init or ["pass"], 8
    )
    body += f"\n    def forward(self, x{_extra(oddity)}):\n"
    lines = [*_bookkeeping(oddity), *read, *forward, f"self.cache = ({', '.join(saved)},)"]
    lines += [f"return ({ys},)" if oddity == "tuple output" else f"return {ys}"]
    body += indent(lines, 8)
    body += "\n    def backward(self, dy):\n"
    body += indent([f"({', '.join(saved)},) = self.cache", *backward, *write, "return dx"], 8)
    names = ", ".join(params)
    run = f"layer = M.Layer({names})\nout = layer.forward(x{_extra(oddity)})"
    return body, run, f"M.Layer({names})"


def _finish(run, oddity):
    """Takes the output that has a gradient."""
    if oddity in ("extra output", "tuple output"):
        run += "\nout = out[0]"
    return run


def attributes(chosen, forward, saved, backward, oddity, ys, slots=()):
    init = [f"self.{p} = {p}" for p in chosen.params]
    read = [f"{p} = self.{p}" for p in chosen.params]
    write = [f"self.d{p} = d{p}" for p in chosen.params]
    if oddity == "accumulates" and not slots:
        init += [f"self.d{p} = np.zeros_like({p})" for p in chosen.params]
        write = [f"self.d{p} += d{p}" for p in chosen.params]
        read += [f"self.d{p}[...] = 0" for p in chosen.params]
    body, run, made = _class(
        chosen, forward, saved, backward, oddity, ys, init, read, write, slots=slots
    )
    table = {"x": "dx"} | {p: f"layer.d{p}" for p in chosen.params}
    hand = f"report = check_gradients({made}, x{_extra(oddity)})"
    return body, _finish(run, oddity), "dx = layer.backward(dout)", table, hand


def slots(chosen, forward, saved, backward, oddity, ys):
    names = [n for p in chosen.params for n in (p, f"d{p}")] + ["cache", "calls", "running_mean"]
    return attributes(chosen, forward, saved, backward, oddity, ys, slots=names)


def dicts(chosen, forward, saved, backward, oddity, ys):
    key = "d" if len(saved) % 2 else ""
    init = [
        f"self.params = {{{', '.join(f'{p!r}: {p}' for p in chosen.params)}}}",
        "self.grads = {}",
    ]
    read = [f"{p} = self.params[{p!r}]" for p in chosen.params]
    write = [f"self.grads['{key}{p}'] = d{p}" for p in chosen.params]
    body, run, made = _class(chosen, forward, saved, backward, oddity, ys, init, read, write)
    table = {"x": "dx"} | {p: f"layer.grads['{key}{p}']" for p in chosen.params}
    hand = f"report = check_gradients({made}, x{_extra(oddity)})"
    return body, _finish(run, oddity), "dx = layer.backward(dout)", table, hand


def lists(chosen, forward, saved, backward, oddity, ys):
    names = ", ".join(chosen.params)
    init = [f"self.params = [{names}]", "self.grads = [np.zeros_like(p) for p in self.params]"]
    read = [f"{p} = self.params[{k}]" for k, p in enumerate(chosen.params)]
    write = [f"self.grads[{k}][...] = d{p}" for k, p in enumerate(chosen.params)]
    body, run, made = _class(chosen, forward, saved, backward, oddity, ys, init, read, write)
    table = {"x": "dx"} | {p: f"layer.grads[{k}]" for k, p in enumerate(chosen.params)}
    return (
        body,
        _finish(run, oddity),
        "dx = layer.backward(dout)",
        table,
        f"report = check_gradients({made}, x)",
    )


def boxes(chosen, forward, saved, backward, oddity, ys):
    value = "value" if len(saved) % 2 else "data"
    init = [f"self.{p} = Parameter({p})" for p in chosen.params]
    read = [f"{p} = self.{p}.{value}" for p in chosen.params]
    write = [f"self.{p}.grad += d{p}" for p in chosen.params]
    header = BOX.format(value=value).lstrip()
    body, run, made = _class(
        chosen, forward, saved, backward, oddity, ys, init, read, write, header
    )
    table = {"x": "dx"} | {p: f"layer.{p}.grad" for p in chosen.params}
    return (
        body,
        _finish(run, oddity),
        "dx = layer.backward(dout)",
        table,
        f"report = check_gradients({made}, x)",
    )


def returned_dict(chosen, forward, saved, backward, oddity, ys):
    init = [f"self.{p} = {p}" for p in chosen.params]
    read = [f"{p} = self.{p}" for p in chosen.params]
    write = [f"grads = {{{', '.join(f'{p!r}: d{p}' for p in chosen.params)}}}"]
    body, run, made = _class(chosen, forward, saved, backward, oddity, ys, init, read, write)
    body = body.replace("        return dx\n", "        return dx, grads\n")
    table = {"x": "dx"} | {p: f"grads['{p}']" for p in chosen.params}
    return (
        body,
        _finish(run, oddity),
        "dx, grads = layer.backward(dout)",
        table,
        f"report = check_gradients({made}, x)",
    )


def flat_backward(chosen, forward, saved, backward, oddity, ys):
    """Gradients are returned in a tuple, that of x last."""
    init = [f"self.{p} = {p}" for p in chosen.params]
    read = [f"{p} = self.{p}" for p in chosen.params]
    body, run, made = _class(chosen, forward, saved, backward, oddity, ys, init, read, [])
    names = ", ".join(["dx", *(f"d{p}" for p in chosen.params)])
    body = body.replace("        return dx\n", f"        return {names}\n")
    table = {"x": "dx"} | {p: f"d{p}" for p in chosen.params}
    left = names if chosen.params else "dx"
    return (
        body,
        _finish(run, oddity),
        f"{left} = layer.backward(dout)",
        table,
        f"report = check_gradients({made}, x)",
    )


def stack(chosen, forward, saved, backward, oddity, ys):
    """Two layers deep: a block in a list of a net."""
    body, run, _, table, _ = attributes(chosen, forward, saved, backward, oddity, ys)
    body += (
        "\n\nclass Net:\n    def __init__(self, *layers):\n        self.blocks = [list(layers)]\n\n"
        "    def forward(self, x):\n        for block in self.blocks:\n            for layer in block:\n"
        "                x = layer.forward(x)\n        return x\n\n"
        "    def backward(self, dy):\n        for block in reversed(self.blocks):\n"
        "            for layer in reversed(block):\n                dy = layer.backward(dy)\n        return dy\n"
    )
    names = ", ".join(chosen.params)
    run = run.replace("out = layer.forward(x)", "net = M.Net(layer)\nout = net.forward(x)")
    return (
        body,
        run,
        "dx = net.backward(dout)",
        table,
        f"report = check_gradients(M.Net(M.Layer({names})), x)",
    )


def _pair(chosen, forward, backward, oddity, ys, cache, uncache):
    names = "".join(", " + p for p in chosen.params)
    body = f"def layer_forward(x{names}{_extra(oddity)}):\n"
    body += indent([*forward, f"return {ys}, {cache}"], 4)
    grads = ", ".join(["dx", *(f"d{p}" for p in chosen.params)])
    body += "\n\ndef layer_backward(dout, cache):\n"
    body += indent([uncache, "dy = dout", *backward, f"return {grads}"], 4)
    pred = ", pred" if oddity == "extra output" else ""
    run = f"out{pred}, cache = M.layer_forward(x{names}{_extra(oddity)})"
    table = {"x": "dx"} | {p: f"d{p}" for p in chosen.params}
    hand = (
        f"report = check_gradients((M.layer_forward, M.layer_backward), x{names}{_extra(oddity)})"
    )
    return body, run, f"{grads} = M.layer_backward(dout, cache)", table, hand


def pair(chosen, forward, saved, backward, oddity, ys):
    names = ", ".join(saved)
    return _pair(chosen, forward, backward, oddity, ys, f"({names},)", f"({names},) = cache")


def cache_dict(chosen, forward, saved, backward, oddity, ys):
    made = "{" + ", ".join(f'"kept_{k}": {s}' for k, s in enumerate(saved)) + "}"
    taken = (
        ", ".join(saved)
        + ", = ("
        + ", ".join(f'cache["kept_{k}"]' for k in range(len(saved)))
        + ",)"
    )
    return _pair(chosen, forward, backward, oddity, ys, made, taken)


def pair_of_dicts(chosen, forward, saved, backward, oddity, ys):
    names = list(chosen.params)
    body = "def cell_forward(x, parameters):\n"
    body += indent([*(f'{p} = parameters["{p}"]' for p in names), *forward], 4)
    body += indent([f"return {ys}, ({', '.join(saved)},)"], 4)
    body += "\n\ndef cell_backward(dout, cache):\n"
    grads = "{" + ", ".join(['"dx": dx', *(f'"d{p}": d{p}' for p in names)]) + "}"
    body += indent([f"({', '.join(saved)},) = cache", "dy = dout", *backward, f"return {grads}"], 4)
    pred = ", pred" if oddity == "extra output" else ""
    parameters = "{" + ", ".join(f'"{p}": {p}' for p in names) + "}"
    run = f"out{pred}, cache = M.cell_forward(x, {parameters})"
    table = {"x": 'gradients["dx"]'} | {p: f'gradients["d{p}"]' for p in names}
    hand = f"report = check_gradients((M.cell_forward, M.cell_backward), x, {parameters})"
    return body, run, "gradients = M.cell_backward(dout, cache)", table, hand


def context(chosen, forward, saved, backward, oddity, ys):
    names = "".join(", " + p for p in chosen.params)
    body = "class Layer:\n    @staticmethod\n" + f"    def forward(ctx, x{names}):\n"
    lines = [*forward, f"ctx.save_for_backward({', '.join(saved)})"]
    body += indent([*lines, f"return {ys}"], 8)
    grads = ", ".join(["dx", *(f"d{p}" for p in chosen.params)])
    body += "\n    @staticmethod\n    def backward(ctx, dy):\n"
    body += indent([f"({', '.join(saved)},) = ctx.saved_tensors", *backward, f"return {grads}"], 8)
    body += "\n\nclass Context:\n    def save_for_backward(self, *values):\n        self.saved_tensors = values\n"
    run = f"ctx = M.Context()\nout = M.Layer.forward(ctx, x{names})"
    if oddity == "extra output":
        run += "\nout = out[0]"
    table = {"x": "dx"} | {p: f"d{p}" for p in chosen.params}
    return (
        body,
        run,
        f"{grads} = M.Layer.backward(ctx, dout)",
        table,
        f"report = check_gradients(M.Layer, x{names})",
    )


def closure(chosen, forward, saved, backward, oddity, ys):
    names = "".join(", " + p for p in chosen.params)
    grads = ", ".join(["dx", *(f"d{p}" for p in chosen.params)])
    safe = [f"({', '.join(saved)},) = kept", "dy = dout"]
    body = f"def layer(x{names}):\n" + indent([*forward, f"kept = ({', '.join(saved)},)"], 4)
    body += "\n    def backward(dout):\n" + indent([*safe, *backward, f"return {grads}"], 8)
    body += f"\n    return {ys}, backward\n"
    pred = ", pred" if oddity == "extra output" else ""
    run = f"out{pred}, back = M.layer(x{names})"
    table = {"x": "dx"} | {p: f"d{p}" for p in chosen.params}
    return body, run, f"{grads} = back(dout)", table, f"report = check_gradients(M.layer, x{names})"


STYLE = {
    "attributes": attributes, "dict": dicts, "lists": lists, "pair": pair, "pair of dicts": pair_of_dicts,
    "context": context, "closure": closure, "boxes": boxes, "slots": slots, "returned dict": returned_dict,
    "cache dict": cache_dict, "flat backward": flat_backward, "stack": stack,
}  # fmt: skip


def fault(number):
    """What is wrong with a layer by our own numbers; nothing if it is right."""
    part = render(number)
    low = "float32 buffer" in part.name
    with contextlib.redirect_stdout(io.StringIO()):
        found = errors(part, part.module, step=1e-2 if low else 1e-5)
    if not found and "embedding" not in part.name:
        return f"{part.name}: nothing to check"
    bad = {name: error for name, error in found.items() if error > (2e-2 if low else 1e-5)}
    return f"{part.name}: {bad}" if bad else ""


def once_used(part, source, seed):
    """The report on a layer whose forward has run."""
    return handed(part, source, seed, part.forward)


def once_trained(part, source, seed):
    """The report on a layer that has taken a step."""
    table = part.gradients.items()
    steps = [
        f"try: {array}[...] -= 0.01 * ({gradient})\nexcept Exception: pass"
        for array, gradient in table
    ]
    return handed(part, source, seed, "\n".join([part.forward, DOUT, part.backward, *steps]))


def in_a_file(part, source, seed):
    """The report on a layer in a file with the cell that tries it, by the command line."""
    from deepnlp.cli.gradcheck import _check

    constants = re.findall(r'constants=\["(\w+)', part.hand)
    try:
        with limited(60):
            target = file_of(part, source, "if True:")
            return _check(target, [], [], None, {}, "auto", seed, constants)
    except (Exception, SystemExit) as error:
        return error


GIVES = {"": handed, "forward": once_used, "step": once_trained, "file": in_a_file}


def main():
    parser = argparse.ArgumentParser(
        prog="python -m tests.broken.cases.right_many", description=__doc__
    )
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--sanity", action="store_true", help="our own numeric check alone")
    parser.add_argument("--after", choices=GIVES, default="", help="what has been done before")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    numbers = range(0, options.count, options.every)
    if options.sanity:
        for number in numbers:
            try:
                found = fault(number)
            except Exception as error:
                found = f"{render(number).name}: {type(error).__name__}: {error}"
            if found:
                print(found)
        return
    counts, rows, start = Counter(), [], time.process_time()
    for number in numbers:
        part = render(number)
        name, why = outcome_of_right(part, 0, GIVES[options.after])
        counts[name] += 1
        if name != "passed":
            rows.append({"layer": part.name, "outcome": name, "said": why})
    print(
        f"{len(numbers)} right layers: {counts['accused']} accused, {counts['refused']} refused, "
        f"{time.process_time() - start:.0f} s"
    )
    reasons = Counter((row["outcome"], *row["layer"].split(", ")[1:]) for row in rows)
    for (name, style, oddity), number in reasons.most_common(40):
        print(f"  {number:4} {name}: {style}, {oddity}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
