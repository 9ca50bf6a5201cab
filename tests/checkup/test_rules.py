"""Update rules: right ones in several spellings, and each slip by its name."""

import numpy as np
import pytest

from deepnlp import optimizers
from deepnlp.checkup import check_optimizer
from deepnlp.checkup.rules import RULES as TEXTBOOK
from deepnlp.parameter import Parameter

BOOK = """
class Adam:
    def __init__(self, lr=0.001, beta1=0.9, beta2=0.999):
        self.lr, self.beta1, self.beta2, self.iter, self.m, self.v = lr, beta1, beta2, 0, {}, {}

    def update(self, params, grads):
        self.iter += 1
        c1, c2 = 1 - self.beta1**self.iter, 1 - self.beta2**self.iter
        for key in params:
            g = grads[key]
            m, v = self.m.get(key, 0.0), self.v.get(key, 0.0)
            m = self.beta1 * m + (1 - self.beta1) * g
            v = self.beta2 * v + (1 - self.beta2) * g**2
            self.m[key], self.v[key] = m, v
            params[key] -= self.lr * (m / c1) / (np.sqrt(v / c2) + 1e-8)
"""
COURSE = """
def sgd_momentum(w, dw, config=None):
    config = config or {}
    config.setdefault("learning_rate", 1e-2)
    v = config.get("velocity", np.zeros_like(w))
    v = 0.9 * v - config["learning_rate"] * dw
    config["velocity"] = v
    return w + v, config
"""
PLAIN = """
def rmsprop(w, g, cache, lr=0.01, decay_rate=0.9, eps=1e-8):
    cache["s"] = decay_rate * cache.get("s", 0.0) + (1 - decay_rate) * g * g
    w -= lr * g / (np.sqrt(cache["s"]) + eps)
"""
RULES = {"Adam": BOOK, "sgd_momentum": COURSE, "rmsprop": PLAIN}
SLIPS = [
    ("Adam", "g = grads[key]", "g, c1, c2 = grads[key], 1, 1", "bias correction is missing"),
    ("Adam", "self.iter += 1", "self.iter = 1", "t is not counted"),
    ("Adam", "g**2", "abs(g)", "the square is missing"),
    ("Adam", "np.sqrt(v / c2)", "(v / c2)", "the root is missing"),
    ("Adam", "np.sqrt(v / c2) + 1e-8", "np.sqrt(v / c2 + 1e-8)", "eps inside the root"),
    ("Adam", "-= self.lr", "+= self.lr", "the rule goes uphill"),
    ("Adam", "self.m[key], self.v[key] = m, v", "self.m['W'], self.v['W'] = m, v", None),
    ("sgd_momentum", 'config["velocity"] = v', "pass", "momentum is made anew"),
    ("sgd_momentum", "w + v", "w - v", "the rule goes uphill"),
    ("rmsprop", "(1 - decay_rate) * g * g", "g * g", "the factor 1 - rho is missing"),
    ("rmsprop", "w -= ", "w = w - ", "the rule changes no weight"),
    ("rmsprop", "cache.get(\"s\", 0.0)", "0.0", "squares are not added up"),
]  # fmt: skip


def made(name, text):
    space = {"np": np}
    exec(text, space)
    return space[name]


@pytest.mark.parametrize("name", RULES)
def test_right_spellings(name):
    assert check_optimizer(made(name, RULES[name])).ok


@pytest.mark.parametrize(
    "name", ["SGD", "Momentum", "Nesterov", "AdaGrad", "RMSprop", "Adam", "AdamW"]
)
def test_those_of_the_package(name):
    rule = getattr(optimizers, name)([Parameter(np.zeros(2))], lr=0.1, weight_decay=0.01)
    assert check_optimizer(rule).rows[0].note == f"{name.lower()}, as in the textbook"


@pytest.mark.parametrize(("name", "old", "new", "slip"), SLIPS)
def test_a_slip_is_named(name, old, new, slip):
    assert old in RULES[name]
    known = {"eps": 1e-8, "lr": 0.001} if name == "Adam" else {}
    report = check_optimizer(made(name, RULES[name].replace(old, new)), decay=0.0, **known)
    assert not report.ok
    assert slip in (None, report.diagnosis), report


def test_what_is_no_rule():
    with pytest.raises(ValueError, match="like should be one of"):
        check_optimizer(made("rmsprop", PLAIN), like="adma")
    with pytest.raises(TypeError, match=r"no update\(params, grads\)"):
        check_optimizer(3)
    assert check_optimizer(made("Adam", BOOK), like="sgd").diagnosis == "it is another rule"
    assert {*TEXTBOOK} == {"sgd", "momentum", "nesterov", "adagrad", "rmsprop", "adam", "adamw"}
