"""The conventions of books and courses."""

import threading

import numpy as np
import pytest

from deepnlp.gradcheck import check_gradients

RNG = np.random.default_rng(9)


def names(report):
    assert report.ok, report
    return [row.name for row in report.rows]


def wrong(report):
    return [row.name for row in report.rows if not row.ok]


# --- Functions in pairs -------------------------------------------------------------------------


def affine_forward(x, w, b):
    out = x.reshape(x.shape[0], -1) @ w + b
    cache = (x, w, b)
    return out, cache


def affine_backward(dout, cache):
    x, w, _b = cache
    dx = (dout @ w.T).reshape(x.shape)
    dw = x.reshape(x.shape[0], -1).T @ dout
    db = dout.sum(axis=0)
    return dx, dw, db


def affine_backward_wrong(dout, cache):
    dx, dw, db = affine_backward(dout, cache)
    return dx, dw / len(dout), db


def relu_forward(x):
    return np.maximum(0, x), x


def relu_backward(dout, cache):
    return dout * (cache > 0)


def lstm_step_forward(x, prev_h, prev_c, Wx, Wh, b):
    H = prev_h.shape[1]
    a = x @ Wx + prev_h @ Wh + b
    i, f, o = (1 / (1 + np.exp(-a[:, k * H : (k + 1) * H])) for k in range(3))
    g = np.tanh(a[:, 3 * H :])
    next_c = f * prev_c + i * g
    next_h = o * np.tanh(next_c)
    return next_h, next_c, (x, prev_h, prev_c, Wx, Wh, i, f, o, g, next_c)


def lstm_step_backward(dnext_h, dnext_c, cache):
    x, prev_h, prev_c, Wx, Wh, i, f, o, g, next_c = cache
    tanh_c = np.tanh(next_c)
    dc = dnext_c + dnext_h * o * (1 - tanh_c**2)
    di, df, do, dg = dc * g, dc * prev_c, dnext_h * tanh_c, dc * i
    da = np.hstack([di * i * (1 - i), df * f * (1 - f), do * o * (1 - o), dg * (1 - g**2)])
    return da @ Wx.T, da @ Wh.T, dc * f, x.T @ da, prev_h.T @ da, da.sum(axis=0)


def word_embedding_forward(x, W):
    return W[x], (x, W)


def word_embedding_backward(dout, cache):
    x, W = cache
    dW = np.zeros_like(W)
    np.add.at(dW, x, dout)
    return dW


def dropout_forward(x, dropout_param):
    if "seed" in dropout_param:
        np.random.seed(dropout_param["seed"])
    p, mask, out = dropout_param["p"], None, x
    if dropout_param["mode"] == "train":
        mask = (np.random.rand(*x.shape) < p) / p
        out = x * mask
    return out, (dropout_param, mask)


def dropout_backward(dout, cache):
    dropout_param, mask = cache
    return dout * mask if dropout_param["mode"] == "train" else dout


def batchnorm_forward(x, gamma, beta, bn_param):
    momentum = bn_param.get("momentum", 0.9)
    mean, var = x.mean(axis=0), x.var(axis=0)
    x_hat = (x - mean) / np.sqrt(var + 1e-5)
    running = bn_param.get("running_mean", np.zeros(x.shape[1]))
    bn_param["running_mean"] = momentum * running + (1 - momentum) * mean
    return gamma * x_hat + beta, (x_hat, gamma, var)


def batchnorm_backward(dout, cache):
    x_hat, gamma, var = cache
    d = dout * gamma
    dx = (d - d.mean(axis=0) - x_hat * (d * x_hat).mean(axis=0)) / np.sqrt(var + 1e-5)
    return dx, (dout * x_hat).sum(axis=0), dout.sum(axis=0)


def test_functions_in_pairs():
    x, w, b = RNG.normal(size=(5, 2, 3)), RNG.normal(size=(6, 4)), RNG.normal(size=4)
    report = check_gradients((affine_forward, affine_backward), x, w, b)
    assert names(report) == ["x", "w", "b"]
    assert report.subject == "affine"
    assert report.method == "complex"
    report = check_gradients((affine_forward, affine_backward_wrong), x, w, b)
    assert wrong(report) == ["w"]
    assert report.causes[0].name == "constant factor"


def test_a_cache_that_is_an_array():
    assert names(check_gradients((relu_forward, relu_backward), RNG.normal(size=(3, 4)))) == ["x"]


def test_two_outputs_and_a_cache():
    N, D, H = 3, 4, 5
    arrays = [
        RNG.normal(size=size) for size in ((N, D), (N, H), (N, H), (D, 4 * H), (H, 4 * H), (4 * H,))
    ]
    report = check_gradients((lstm_step_forward, lstm_step_backward), *arrays)
    assert names(report) == ["x", "prev_h", "prev_c", "Wx", "Wh", "b"]


def test_ids_and_options_have_no_gradient():
    ids, W = np.array([[0, 2, 2], [1, 0, 4]]), RNG.normal(size=(5, 3))
    report = check_gradients((word_embedding_forward, word_embedding_backward), ids, W)
    assert names(report) == ["W"]
    x = RNG.normal(size=(6, 4))
    for mode in ("train", "test"):
        for seed in ({}, {"seed": 3}):
            param = {"mode": mode, "p": 0.6, **seed}
            assert names(check_gradients((dropout_forward, dropout_backward), x, param)) == ["x"]
    gamma, beta, param = RNG.normal(size=4), RNG.normal(size=4), {"mode": "train"}
    report = check_gradients((batchnorm_forward, batchnorm_backward), x, gamma, beta, param)
    assert names(report) == ["x", "gamma", "beta"]
    assert param == {"mode": "train"}


def softmax_loss(x, y):
    p = np.exp(x - x.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    n = np.arange(len(x))
    loss = -np.log(p[n, y]).mean()
    dx = p.copy()
    dx[n, y] -= 1
    return loss, dx / len(x)


def softmax_loss_wrong(x, y):
    loss, dx = softmax_loss(x, y)
    return loss, dx * len(x)


def test_a_function_that_gives_the_loss_and_its_gradient():
    x, y = RNG.normal(size=(4, 5)), np.array([0, 3, 3, 1])
    assert names(check_gradients(softmax_loss, x, y)) == ["x"]
    report = check_gradients(softmax_loss_wrong, x, y)
    assert wrong(report) == ["x"]
    assert report.causes[0].name == "loss not averaged"


def sigmoid(Z):
    return 1 / (1 + np.exp(-Z))


def sigmoid_backward(dA, Z):
    s = sigmoid(Z)
    return dA * s * (1 - s)


def tanh_backward_by_output(dy, y):
    return dy * (1 - y**2)


def test_a_backward_that_takes_inputs_or_outputs_by_name():
    Z = RNG.normal(size=(3, 4))
    assert names(check_gradients((sigmoid, sigmoid_backward), Z)) == ["Z"]
    assert names(check_gradients((lambda x: np.tanh(x), tanh_backward_by_output), Z)) == ["x"]


# --- Classes with a context, and with a cache ---------------------------------------------------


class LinearFunction:
    """As torch.autograd.Function has it, in NumPy."""

    @staticmethod
    def forward(ctx, x, W, b=None):
        ctx.save_for_backward(x, W, b)
        return x @ W if b is None else x @ W + b

    @staticmethod
    def backward(ctx, grad_output):
        x, W, b = ctx.saved_tensors
        grad_b = None if b is None else grad_output.sum(axis=0)
        return grad_output @ W.T, x.T @ grad_output, grad_b


class ContextAttributes:
    @staticmethod
    def forward(ctx, x, power):
        ctx.x, ctx.power = x, power
        return x**power

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output * ctx.power * ctx.x ** (ctx.power - 1), None


class WrongFunction(LinearFunction):
    @staticmethod
    def backward(ctx, grad_output):
        x, W, _ = ctx.saved_tensors
        return grad_output @ W.T, -x.T @ grad_output, grad_output.sum(axis=0)


def test_classes_with_a_context():
    x, W, b = RNG.normal(size=(5, 4)), RNG.normal(size=(4, 3)), RNG.normal(size=3)
    assert names(check_gradients(LinearFunction, x, W, b)) == ["x", "W", "b"]
    assert names(check_gradients(LinearFunction(), x, W)) == ["x", "W"]
    assert names(check_gradients(ContextAttributes, x, 3)) == ["x"]
    report = check_gradients(WrongFunction, x, W, b)
    assert report.subject == "WrongFunction"
    assert wrong(report) == ["W"]
    assert report.causes[0].name == "sign"


class MeanOfContextWords:
    """Its first input is named context: the words around one, and not what is saved."""

    def __init__(self, E):
        self.E = E

    def forward(self, context, scale):
        self.context, self.scale = context, scale
        self.mean = self.E[context].mean(axis=1)
        return self.mean * scale

    def backward(self, dout):
        self.dE = np.zeros_like(self.E)
        each = (dout * self.scale)[:, None, :] / self.context.shape[1]
        np.add.at(self.dE, self.context, each)
        return None, dout * self.mean


def test_an_input_named_context():
    context = RNG.integers(0, 6, size=(5, 4))
    layer = MeanOfContextWords(RNG.normal(size=(6, 3)))
    assert names(check_gradients(layer, context, RNG.normal(size=(5, 3)))) == ["scale", "E"]


class GivesItsCache:
    def __init__(self, W, b):
        self.W, self.b = W, b

    def forward(self, x):
        return x @ self.W + self.b, x

    def backward(self, dout, cache):
        self.dW, self.db = cache.T @ dout, dout.sum(axis=0)
        return dout @ self.W.T


class CacheAndGradients(GivesItsCache):
    def backward(self, dout, cache):
        return dout @ self.W.T, cache.T @ dout, dout.sum(axis=0)


class CacheFirst(GivesItsCache):
    def backward(self, cache, dout):
        return super().backward(dout, cache)


@pytest.mark.parametrize("kind", [GivesItsCache, CacheAndGradients, CacheFirst])
def test_layers_whose_backward_takes_the_cache(kind):
    layer = kind(RNG.normal(size=(4, 3)), RNG.normal(size=3))
    assert names(check_gradients(layer, RNG.normal(size=(5, 4)))) == ["x", "W", "b"]


# --- The book's layers --------------------------------------------------------------------------


class BookAffine:
    def __init__(self, W, b):
        self.params = [W, b]
        self.grads = [np.zeros_like(W), np.zeros_like(b)]
        self.x = None

    def forward(self, x):
        W, b = self.params
        out = np.dot(x, W) + b
        self.x = x
        return out

    def backward(self, dout):
        W, _b = self.params
        dx = np.dot(dout, W.T)
        dW = np.dot(self.x.T, dout)
        db = np.sum(dout, axis=0)
        self.grads[0][...] = dW
        self.grads[1][...] = db
        return dx


class BookSigmoid:
    def __init__(self):
        self.params, self.grads = [], []
        self.out = None

    def forward(self, x):
        out = 1 / (1 + np.exp(-x))
        self.out = out
        return out

    def backward(self, dout):
        return dout * (1.0 - self.out) * self.out


class BookSoftmaxWithLoss:
    def __init__(self):
        self.params, self.grads = [], []
        self.y = self.t = None

    def forward(self, x, t):
        self.t = t
        x = x - x.max(axis=1, keepdims=True)
        self.y = np.exp(x) / np.exp(x).sum(axis=1, keepdims=True)
        if self.t.size == self.y.size:
            self.t = self.t.argmax(axis=1)
        batch = self.y.shape[0]
        return -np.sum(np.log(self.y[np.arange(batch), self.t] + 1e-300)) / batch

    def backward(self, dout=1):
        batch = self.t.shape[0]
        dx = self.y.copy()
        dx[np.arange(batch), self.t] -= 1
        dx *= dout
        return dx / batch


class BookTwoLayerNet:
    def __init__(self, W1, b1, W2, b2):
        self.layers = [BookAffine(W1, b1), BookSigmoid(), BookAffine(W2, b2)]
        self.loss_layer = BookSoftmaxWithLoss()
        self.params, self.grads = [], []
        for layer in self.layers:
            self.params += layer.params
            self.grads += layer.grads

    def forward(self, x, t):
        for layer in self.layers:
            x = layer.forward(x)
        return self.loss_layer.forward(x, t)

    def backward(self, dout=1):
        dout = self.loss_layer.backward(dout)
        for layer in reversed(self.layers):
            dout = layer.backward(dout)
        return dout


def test_the_books_layers():
    x, W, b = RNG.normal(size=(5, 4)), RNG.normal(size=(4, 3)), RNG.normal(size=3)
    report = check_gradients(BookAffine(W, b), x)
    assert len(names(report)) == 3
    assert names(check_gradients(BookSigmoid(), x)) == ["x"]
    t = np.array([0, 2, 1, 1, 3])
    assert names(check_gradients(BookSoftmaxWithLoss(), x, t)) == ["x"]
    assert names(check_gradients(BookSoftmaxWithLoss(), x, np.eye(4)[t])) == ["x"]
    net = BookTwoLayerNet(W, b, RNG.normal(size=(3, 2)), RNG.normal(size=2))
    report = check_gradients(net, x, np.array([0, 1, 1, 0, 1]))
    assert len(names(report)) == 5


# --- The forward against a reference ------------------------------------------------------------


def test_a_right_gradient_of_a_wrong_forward_is_told():
    W, b, x = RNG.normal(size=(4, 3)), RNG.normal(size=3), RNG.normal(size=(5, 4))

    class AddsTwice(BookAffine):
        def forward(self, x):
            return super().forward(x) + self.params[1]

        def backward(self, dout):
            dx = super().backward(dout)
            self.grads[1] *= 2
            return dx

    assert check_gradients(AddsTwice(W, b), x).ok
    report = check_gradients(AddsTwice(W, b), x, reference=lambda x: x @ W + b)
    assert wrong(report) == ["forward"]
    assert report.causes[0].name == "forward is wrong"
    assert "forward" in str(report)
    report = check_gradients(BookAffine(W, b), x, reference=lambda x: x @ W + b)
    assert report.ok
    assert "forward" in {check.name for check in report.checks}
    report = check_gradients(BookAffine(W, b), x, reference=BookAffine(W, b))
    assert report.ok
    report = check_gradients(BookAffine(W, b), x, reference=lambda x: (x @ W + b).T)
    assert "shape (5, 3)" in str(report)
    assert not report.ok


def test_an_object_that_cannot_be_copied_is_told_why():
    class Locked:
        def __init__(self):
            self.W, self.guard = np.ones(3), threading.Lock()

        def forward(self, x):
            return x * self.W

        def backward(self, dy):
            return dy * self.W

    expected = r"the attribute guard of this Locked cannot be copied \(cannot pickle '_thread.lock'"
    with pytest.raises(TypeError, match=expected):
        check_gradients(Locked(), np.ones((2, 3)))
