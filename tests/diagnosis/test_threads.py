"""Two checks at once, in two threads, in a process where a third one imports."""

import importlib
import sys
import threading
import types
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar

import numpy as np

from deepnlp.gradcheck import check_gradients

BOTH = threading.Barrier(2)
HERE = set()


def meet():
    """Wait until the other check is in its forward, too."""
    if threading.get_ident() not in HERE and len(HERE) < 2:
        HERE.add(threading.get_ident())
        BOTH.wait(timeout=60)


class Layer:
    def __init__(self, factor):
        self.W, self.factor = np.random.default_rng(0).normal(size=(3, 4)), factor
        self.kept = types.MappingProxyType({"scale": 2.0}), ContextVar("kept"), threading.local()

    def forward(self, x):
        meet()
        self.x, self.h = x, np.tanh(x @ self.W)
        out = np.zeros(self.h.shape)
        for n in range(len(x)):
            out[n] = self.h[n] * self.kept[0]["scale"]
        return out

    def backward(self, dy):
        da = self.factor * dy * (1 - self.h**2)
        self.dW = self.x.T @ da
        return da @ self.W.T


def test_two_checks_at_once_beside_imports():
    x, modules, ended = np.random.default_rng(1).normal(size=(2, 3)), [], threading.Event()

    def load():
        while not ended.wait(0.001):
            sys.modules.pop("colorsys", None)
            modules.append(importlib.import_module("colorsys"))

    importing = threading.Thread(target=load)
    importing.start()
    with ThreadPoolExecutor(2) as pool:
        reports = list(pool.map(lambda f: check_gradients(Layer(f), x), (2.0, -2.0)))
    ended.set()
    importing.join()
    assert len(HERE) == 2
    assert modules
    assert [report.ok for report in reports] == [True, False]
    assert reports[1].causes[0].name == "sign"
