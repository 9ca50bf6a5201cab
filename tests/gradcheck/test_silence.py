"""Nothing is left out unsaid, and what is right by agreement is not accused."""

import numpy as np
import pytest

from deepnlp.gradcheck import check_gradients

RNG = np.random.default_rng(4)


def normal(*shape):
    return RNG.normal(size=shape)


def check_of(report, name):
    (check,) = [check for check in report.checks if check.name == name]
    return check


def wrong(report):
    return [row.name for row in report.rows if not row.ok]


@pytest.fixture
def undiagnosed(monkeypatch):
    """The verdict alone."""
    monkeypatch.setattr("deepnlp.gradcheck.explaining._diagnose", lambda *_: None)


# --- What was checked, and what was not -----------------------------------------------------------


class Affine:
    def __init__(self):
        self.W, self.b = normal(4, 3), normal(3)

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b

    def backward(self, dout):
        self.dW, self.db = self.x.T @ dout, dout.sum(axis=0)
        return dout @ self.W.T


def test_the_report_says_what_was_checked_and_how_often_the_code_ran():
    report = check_gradients(Affine(), normal(5, 4))
    assert report.sources == {"x": "returned", "W": "dW", "b": "db"}
    assert "gradients of x (returned), W (dW), b (db); ran forward" in str(report)
    assert report.runs["backward"] <= 10
    assert report.or_raise() is report


def test_a_wrong_gradient_raises_with_its_cause():
    class Doubled(Affine):
        def backward(self, dout):
            return 2 * super().backward(dout)

    with pytest.raises(AssertionError, match=r"Doubled: wrong: x\. constant factor: .* is 2 = "):
        check_gradients(Doubled(), normal(5, 4)).or_raise()


def test_prints_are_dropped_where_it_should_be_quiet(capsys):
    class Prints(Affine):
        def forward(self, x):
            print("forward")
            return super().forward(x)

    check_gradients(Prints(), normal(5, 4), quiet=True)
    assert capsys.readouterr().out == ""
    check_gradients(Prints(), normal(5, 4))
    assert "forward" in capsys.readouterr().out


def test_gradients_are_found_where_the_caller_says():
    class Strange(Affine):
        def backward(self, dout):
            self.slope, self.db = self.x.T @ dout, dout.sum(axis=0)
            return dout @ self.W.T

    x = normal(5, 4)
    assert not check_gradients(Strange(), x).ok
    for table in ({"W": "slope"}, {"layer.W": "layer.slope"}, {"W": "self.slope"}):
        report = check_gradients(Strange(), x, gradients=table)
        assert report.ok, report
        assert report.sources["W"] == "given"
    with pytest.raises(ValueError, match=r"gradients names 'slop'; there are .*slope"):
        check_gradients(Strange(), x, gradients={"W": "slop"})


def softmax_loss(W, X, y, reg):
    p = np.exp(X @ W)
    p /= p.sum(axis=1, keepdims=True)
    n = np.arange(len(X))
    loss = -np.log(p[n, y]).mean() + reg * (W**2).sum()
    p[n, y] -= 1
    return loss, X.T @ p / len(X) + 2 * reg * W


def test_data_without_a_gradient_is_listed_and_asked_about_once():
    inputs = normal(4, 3), normal(5, 4), np.array([0, 1, 2, 1, 0]), 0.1
    report = check_gradients(softmax_loss, *inputs)
    assert report.ok, report
    assert "X (without a gradient" in check_of(report, "not checked").note
    report = check_gradients(softmax_loss, *inputs, constants=["X"])
    assert check_of(report, "not checked").note.startswith("X (a constant), y (integers)")


class Recurrent:
    """An initial state, a mask and a table that backward takes no notice of."""

    def __init__(self):
        self.W = normal(3, 3)

    def forward(self, x, h0, mask, cos_table):
        self.given = x, h0, mask
        self.h = np.tanh(x @ self.W + h0)
        return self.h * mask + cos_table

    def backward(self, dh):
        x, _, mask = self.given
        da = dh * mask * (1 - self.h**2)
        self.dW = x.T @ da
        return da @ self.W.T


def test_states_masks_and_tables_without_a_gradient_are_listed():
    report = check_gradients(Recurrent(), *(normal(4, 3) for _ in range(4)))
    assert report.ok, report
    note = check_of(report, "not checked").note
    assert all(f"{name} (without a gradient" in note for name in ("h0", "mask", "cos_table"))


# --- Caches, lists, weights with equal entries ----------------------------------------------------


class SavesOnce(Affine):
    def __init__(self):
        super().__init__()
        self.x = None

    def forward(self, x):
        if self.x is None:
            self.x = x
        return x @ self.W + self.b


class ReadsTheFirst(Affine):
    def __init__(self):
        super().__init__()
        self.xs = []

    def forward(self, x):
        self.xs.append(x)
        self.x = self.xs[0]
        return x @ self.W + self.b


@pytest.mark.parametrize("kind", [SavesOnce, ReadsTheFirst])
def test_a_stale_cache_is_told(kind):
    report = check_gradients(kind(), normal(5, 4))
    assert wrong(report) == ["cache"]
    assert report.causes[0].name == "cache overwritten or mutated"


class Listed:
    def __init__(self):
        self.params = [normal(4, 3), normal(3)]
        self.grads = [np.zeros((4, 3)), np.zeros(3)]

    def forward(self, x):
        self.x = x
        return x @ self.params[0] + self.params[1]


def test_a_rebound_entry_beside_kept_ones_is_told():
    class Rebinds(Listed):
        def backward(self, dout):
            self.grads[0][...] = self.x.T @ dout
            self.grads[1] = dout.sum(axis=0)
            return dout @ self.params[0].T

    class RebindsAll(Listed):
        def backward(self, dout):
            self.grads[0], self.grads[1] = self.x.T @ dout, dout.sum(axis=0)
            return dout @ self.params[0].T

    report = check_gradients(Rebinds(), normal(5, 4))
    assert wrong(report) == ["grads"]
    assert "grads[1][...] = ..." in str(report)
    report = check_gradients(RebindsAll(), normal(5, 4))
    assert report.ok, report
    assert check_of(report, "grads").note.startswith("backward puts another array")


class LayerNorm:
    def __init__(self):
        self.gamma, self.beta = np.ones(4), np.zeros(4)

    def forward(self, x):
        self.std = np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
        self.x_hat = (x - x.mean(axis=1, keepdims=True)) / self.std
        return self.gamma * self.x_hat + self.beta

    def backward(self, dout):
        self.dgamma, self.dbeta = (dout * self.x_hat).sum(axis=0), dout.sum(axis=0)
        d = self.scaled(dout)
        mean = d.mean(axis=1, keepdims=True)
        return (d - mean - self.x_hat * (d * self.x_hat).mean(axis=1, keepdims=True)) / self.std

    def scaled(self, dout):
        return dout * self.gamma


def test_ones_and_zeros_hide_no_mistake():
    class Forgets(LayerNorm):
        def scaled(self, dout):
            return dout

    layer = LayerNorm()
    assert check_gradients(layer, normal(5, 4)).ok
    assert np.all(layer.gamma == 1)
    report = check_gradients(Forgets(), normal(5, 4))
    assert wrong(report) == ["x"]
    assert "gamma" in str(report.causes[0])


# --- Right by agreement ---------------------------------------------------------------------------


class Float32Inside:
    def __init__(self, dtype="f"):
        self.W, self.dtype = normal(4, 3), dtype

    def forward(self, x):
        self.h = np.empty(x.shape, dtype=self.dtype)
        self.h[...] = np.tanh(x)
        return self.h @ self.W

    def backward(self, dout):
        self.dW = self.h.T @ dout
        dh = np.empty(self.h.shape, dtype=self.dtype)
        dh[...] = dout @ self.W.T
        return dh * (1 - self.h**2)


def test_float32_inside_is_no_mistake_and_excuses_none():
    class Linear(Float32Inside):
        def forward(self, x):
            self.h = x
            return x @ self.W

        def backward(self, dout):
            super().backward(dout)
            dx = np.empty(self.h.shape, dtype="f")
            dx[...] = dout @ self.W.T
            return dx.astype(float) @ np.eye(4) * 1.0000001

    for kind in (Float32Inside, Linear):
        for _ in range(3):
            report = check_gradients(kind(), normal(5, 4))
            assert report.ok, report

    class Wrong(Float32Inside):
        def backward(self, dout):
            dx = super().backward(dout)
            self.dW *= 1.01
            return dx

    assert wrong(check_gradients(Wrong(), normal(5, 4))) == ["W"]


def linear_forward(A, W, b):
    return W @ A + b, (A, W, b)


def linear_backward(dZ, cache):
    A_prev, W, _ = cache
    m = A_prev.shape[1]
    return W.T @ dZ, dZ @ A_prev.T / m, dZ.sum(axis=1, keepdims=True) / m


@pytest.mark.usefixtures("undiagnosed")
def test_means_over_the_samples_are_an_agreement_if_all_weights_keep_it():
    arrays = normal(3, 5), normal(4, 3), normal(4, 1)
    report = check_gradients((linear_forward, linear_backward), *arrays)
    assert report.ok, report
    assert "means over the 5 columns" in check_of(report, "means").note

    def one_of_two(dZ, cache):
        dA, dW, db = linear_backward(dZ, cache)
        return dA, dW, 5 * db

    assert wrong(check_gradients((linear_forward, one_of_two), *arrays)) == ["W"]


def two_outputs(x, w):
    return x @ w, np.exp(x), (x, w)


def of_the_first(dout, cache):
    x, w = cache
    return dout @ w.T, x.T @ dout


def test_an_output_that_backward_does_not_take():
    report = check_gradients((two_outputs, of_the_first), normal(5, 4), normal(4, 3))
    assert report.ok, report


def test_a_weight_that_does_not_reach_the_outputs_is_listed():
    def forward(x, parameters):
        return x @ parameters["W"], (x, parameters)

    def backward(dout, cache):
        x, parameters = cache
        return {"dx": dout @ parameters["W"].T, "dW": x.T @ dout}

    parameters = {"W": normal(4, 3), "Wy": normal(3, 2)}
    report = check_gradients((forward, backward), normal(5, 4), parameters)
    assert report.ok, report
    assert check_of(report, "not checked").note == "Wy (does not reach these outputs)"


# --- Lines ----------------------------------------------------------------------------------------


def affine_forward(x, w, b):
    return x @ w + b, (x, w, b)


def affine_backward(dout, cache):
    x, w, _ = cache
    return dout @ w.T, x.T @ dout, dout.sum(axis=0)


CALLS = """
out, cache = affine_forward(x, w, b)
dx, dw, db = affine_backward(dout, cache)
"""


def test_lines_that_call_forward_and_backward():
    names = {"affine_forward": affine_forward, "affine_backward": affine_backward}
    arrays = {"x": normal(5, 4), "w": normal(4, 3), "b": normal(3)}
    report = check_gradients(CALLS, **names, **arrays)
    assert report.ok, report
    assert report.sources == {"x": "dx", "w": "dw", "b": "db"}
    report = check_gradients(CALLS + "dw = -dw\n", **names, **arrays)
    assert wrong(report) == ["w"]
    assert "<lines>:4: dw = -dw" in str(report.causes[0])


def test_lines_with_an_object_and_a_table():
    class Strange(Affine):
        def backward(self, dout):
            self.slope, self.db = self.x.T @ dout, dout.sum(axis=0)
            return dout @ self.W.T

    text, table = "out = net.forward(x)\ndx = net.backward(dout)\n", {"net.W": "net.slope"}
    net = Strange()
    before = net.W.copy()
    report = check_gradients(text, x=normal(5, 4), net=net, gradients=table)
    assert report.ok, report
    assert {row.name for row in report.rows} == {"x", "net.W", "net.b"}
    assert np.array_equal(net.W, before)


def test_lines_without_a_gradient_are_refused():
    with pytest.raises(ValueError, match=r"computes no gradient.*gradients=\{'W': 'dW'\}"):
        check_gradients("import numpy as np\nx = np.ones(3)\n")


def test_lines_that_draw_from_a_module_draw_the_same_each_time():
    text = (
        "import numpy as np\nW = np.random.randn(4, 3)\nh = np.tanh(x @ W)\n"
        "loss = (h * np.random.rand(5, 3)).sum()\n"
        "np.random.seed(1)\ndW = np.zeros((4, 3))\n"
    )
    before = np.random.get_state()[1].copy()
    first, second = (check_gradients(text, x=normal(5, 4)[:, :4]) for _ in range(2))
    assert wrong(first) == wrong(second) == ["W"]
    assert np.array_equal(np.random.get_state()[1], before)


class GatedByHalves:
    """Each sample has keys and values of its own, whose gradients are divided by the samples."""

    def forward(self, x, k, v):
        self.k, self.v = k, v
        return x + k * v

    def backward(self, dy):
        return dy, dy * self.v / len(dy), dy * self.k / len(dy)


def test_gradients_of_each_sample_are_no_means():
    x, k, v = np.random.default_rng(0).standard_normal((3, 4, 5))
    assert not check_gradients(GatedByHalves(), x, k, v).ok
