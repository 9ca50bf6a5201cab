"""Right layers in plain NumPy, in 27 families: none may be accused, none may crash.

A family is a forward and a backward in the open (``tests/broken/cases/right``); a style is the form
in which somebody would bring them; an inputs' kind is what makes checks stumble: rounded numbers,
zeros, small ones. Run all with

    python -m tests.gradcheck.right_layers 2000
"""

import sys
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from deepnlp.gradcheck import check_gradients
from tests.broken.collection import load, read

FAMILIES = {family.name: family for family in read("right").families}


class Pair(NamedTuple):
    """Forward, with a cache; backward, to a list of gradients of the inputs and a dict of them."""

    forward: Callable[..., Any]
    backward: Callable[..., Any]


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


def pair_of(name: str) -> Pair:
    """The functions of a family."""
    return Pair(*load(FAMILIES[name].layer))


def run(number: int, functions: Callable[[str], Pair] = pair_of) -> tuple[str, Any]:
    """Check one layer; what it was, and the report or the error."""
    rng = np.random.default_rng(number)
    name = list(FAMILIES)[number % len(FAMILIES)]
    style = STYLES[rng.integers(len(STYLES))]
    kind = list(INPUTS)[rng.integers(len(INPUTS))]
    one = functions(name)
    (weights,), specs = FAMILIES[name].build(rng)
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
