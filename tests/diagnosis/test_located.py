"""Where a backward goes wrong, and what a repair has to hold for."""

import ast
import threading
import time

import numpy as np

from deepnlp.diagnosis.rewriting import locating
from deepnlp.diagnosis.rewriting.repairing import Search
from deepnlp.gradcheck import check_gradients
from tests.diagnosis.test_changes import problem_of


def rng():
    return np.random.default_rng(3)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class BatchNorm:
    """y = gamma (x - mean) / std + beta, whose backward goes step by step."""

    def __init__(self, gamma, beta):
        self.gamma, self.beta = gamma, beta

    def forward(self, x):
        mean = x.mean(axis=0)
        xc = x - mean
        var = (xc**2).mean(axis=0)
        std = np.sqrt(var + 1e-5)
        xn = xc / std
        self.kept = xc, std, xn
        return self.gamma * xn + self.beta

    def backward(self, dy):
        xc, std, xn = self.kept
        self.dbeta = dy.sum(axis=0)
        self.dgamma = (dy * xn).sum(axis=0)
        dxn = dy * self.gamma
        dxc = dxn / std
        dstd = self.of_std(dxn, xc, std)
        dvar = 0.5 * dstd / std
        dxc += 2 * xc * dvar / len(dy)
        dmean = -dxc.sum(axis=0)
        return dxc + dmean / len(dy)

    def of_std(self, dxn, xc, std):
        return -(dxn * xc).sum(axis=0) / std**2


class Strange(BatchNorm):
    """A mistake that no small change undoes."""

    def backward(self, dy):
        xc, std, xn = self.kept
        self.dbeta = dy.sum(axis=0)
        self.dgamma = (dy * xn).sum(axis=0)
        dxn = dy * self.gamma
        dstd = (0.7 * dxn * xn**2 + dxn[::-1] * xn).sum(axis=0) / std
        dvar = 0.5 * dstd / std
        dxc = dxn / std + 2 * xc * dvar / len(dy)
        dmean = -dxc.sum(axis=0)
        return dxc + dmean / len(dy)


def line_of(text):
    """The number of the first line of this file that holds a text."""
    with open(__file__) as file:  # noqa: PTH123
        return min(k for k, line in enumerate(file, 1) if text in line and "line_of" not in line)


def test_the_first_wrong_value_is_named_where_no_repair_is_known():
    layer = Strange(rng().normal(size=4), rng().normal(size=4))
    told = str(check_gradients(layer, rng().normal(size=(5, 4))).rows[0].causes[0].evidence)
    line = line_of("dstd = (0.7")
    assert f"`dstd` in line {line} of test_located.py is the first value known to be wrong" in told


def test_what_is_right_is_no_suspect():
    problem = problem_of(
        Strange(rng().normal(size=4), rng().normal(size=4)),
        np.ones((5, 4)) + rng().normal(size=(5, 4)),
    )
    located = locating.located_in(problem)
    verdicts = {note.name: note.verdict for note in located.notes}
    assert verdicts["dxn"] is True
    assert verdicts["dstd"] is False
    first, *others = [note.name for note in located.suspects("x")]
    assert first == "dstd"
    assert set(others) == {"dxn", "std", "xn"}  # what it is computed from, and nothing before


class SameSlipInEveryGate:
    def __init__(self, W):
        self.W = W

    def forward(self, x, c):
        H = c.shape[1]
        a = x @ self.W
        i, f = sigmoid(a[:, :H]), sigmoid(a[:, H:])
        self.kept = x, c, i, f
        return i * f * c

    def backward(self, dy):
        x, c, i, f = self.kept
        di, df = dy * f * c, dy * i * c
        dai = di * i
        daf = df * f
        da = np.hstack([dai, daf])
        self.dW = x.T @ da
        return da @ self.W.T, dy * i * f


def test_a_slip_copied_into_every_gate_is_one_repair():
    problem = problem_of(
        SameSlipInEveryGate(rng().normal(size=(3, 8))),
        rng().normal(size=(5, 3)),
        rng().normal(size=(5, 4)),
    )
    search = Search(problem, 300_000)
    whole = [one for one in search.run() if one.names == {"x", "W"}]
    assert whole
    texts = [one.change.statement.node.lineno for one in (whole[0], *whole[0].others)]
    assert sorted(texts) == [line_of("dai = di * i"), line_of("daf = df * f")]


class RightByChance:
    """H = 5 = N here: the mean over the wrong axis has the same divisor."""

    def __init__(self, W, b):
        self.W, self.b = W, b

    def forward(self, x):
        self.x = x
        return (x @ self.W + self.b).sum() / len(x)

    def backward(self, dy=1):
        m = self.b.shape[0] * 2
        dz = np.full((len(self.x), len(self.b)), dy / m)
        self.dW, self.db = self.x.T @ dz, dz.sum(axis=0)
        return dz @ self.W.T


def test_a_repair_holds_for_other_shapes():
    layer = RightByChance(rng().normal(size=(3, 5)), rng().normal(size=5))
    problem = problem_of(layer, rng().normal(size=(5, 3)))
    repaired = [repair.change.puts for repair in Search(problem, 300_000).run()]
    texts = [ast.unparse(new) for puts in repaired for _, new in puts]
    assert texts
    assert not any("self.b" in text and "self.x" not in text for text in texts)
    assert "self.b.shape[0]" not in texts


def softmax_loss(W, X, y):
    s = X @ W
    s = s - s.max(axis=1, keepdims=True)
    p = np.exp(s)
    p = p / p.sum(axis=1, keepdims=True)
    N = len(y)
    loss = -np.log(p[np.arange(N), y]).mean()
    ds = p.copy()
    ds[np.arange(N), y] -= 1
    return loss, X.T @ ds, ds @ W.T / N


def test_the_line_of_a_function_that_gives_loss_and_gradients_is_quoted():
    r = rng()
    y = np.array([0, 1, 3, 3, 1])
    report = check_gradients(softmax_loss, r.normal(size=(3, 4)), r.normal(size=(5, 3)), y)
    line = line_of("return loss, X.T @ ds")
    assert f"in line {line}, `return loss, X.T @ ds, ds @ W.T / N` should be" in str(report)


def test_the_verdict_needs_no_clock(monkeypatch):
    def stopped():
        return 0.0

    layer = SameSlipInEveryGate(rng().normal(size=(3, 8)))
    inputs = rng().normal(size=(5, 3)), rng().normal(size=(5, 4))
    expected = str(check_gradients(layer, *inputs))
    for name in ("time", "process_time", "perf_counter", "monotonic"):
        monkeypatch.setattr(time, name, stopped)
    assert str(check_gradients(layer, *inputs)) == expected


class BiasOfTheMean:
    def __init__(self, W, b):
        self.W, self.b = W, b

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b

    def backward(self, dy):
        self.dW = self.x.T @ dy
        self.db = dy.mean(axis=0)
        return dy @ self.W.T


def test_checks_in_threads_say_what_one_says():
    layer, x = (
        BiasOfTheMean(rng().normal(size=(3, 4)), rng().normal(size=4)),
        rng().normal(size=(5, 3)),
    )
    expected, given = str(check_gradients(layer, x)), []
    threads = [
        threading.Thread(target=lambda: given.append(str(check_gradients(layer, x))))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert "should be" in expected
    assert given == [expected] * 8
