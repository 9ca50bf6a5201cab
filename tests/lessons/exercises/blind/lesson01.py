"""Answers to the exercises of lesson 1, written without a look at the checks. Plain data."""

# ruff: noqa: E501

SETUP = """import numpy as np
right = np.array([0, 2])
W_small = np.array([[2.0, 0.0, 1.0, -1.0], [-1.0, 1.0, 0.5, 0.0]])
"""

CASES = [
    (
        "1.1",
        "the bias is forgotten",
        "wrong",
        """def affine(x, W, b):
    return x @ W
""",
        2,
    ),
    (
        "1.1",
        "the bias is added to each column instead of to each row",
        "wrong",
        """def affine(x, W, b):
    y = x @ W
    return y + b[:, None]
""",
        3,
    ),
    (
        "1.1",
        "the loop over the inputs stops one too early",
        "wrong",
        """def affine(x, W, b):
    N, D = x.shape
    y = np.zeros((N, W.shape[1]))
    for n in range(N):
        for d in range(D - 1):
            y[n] += x[n, d] * W[d]
        y[n] += b
    return y
""",
        5,
    ),
    (
        "1.1",
        "einsum",
        "right",
        """def affine(x, W, b):
    return np.einsum("nd,dm->nm", x, W) + b
""",
        None,
    ),
    (
        "1.1",
        "a list comprehension over rows and columns",
        "right",
        """def affine(x, W, b):
    return np.array([[sum(p * q for p, q in zip(row, col)) + c for col, c in zip(W.T, b)] for row in x])
""",
        None,
    ),
    (
        "1.2",
        "the first bias is not sent through the second matrix",
        "wrong",
        """def merge(W1, b1, W2, b2):
    W = W1 @ W2
    b = b1 + b2
    return W, b
""",
        3,
    ),
    (
        "1.2",
        "the second bias is forgotten",
        "wrong",
        """def merge(W1, b1, W2, b2):
    return W1 @ W2, b1 @ W2
""",
        2,
    ),
    (
        "1.2",
        "the second bias is multiplied by the second matrix as well",
        "wrong",
        """def merge(W1, b1, W2, b2):
    W = W1.dot(W2)
    b = (b1 + b2) @ W2
    return W, b
""",
        3,
    ),
    (
        "1.2",
        "read off from what the two maps do with zero and with unit vectors",
        "right",
        """def merge(W1, b1, W2, b2):
    two = lambda x: (x @ W1 + b1) @ W2 + b2
    b = two(np.zeros(len(W1)))
    return two(np.eye(len(W1))) - b, b
""",
        None,
    ),
    (
        "1.3",
        "the largest score of the whole array is subtracted, so that a row far below it is 0/0",
        "wrong",
        """def softmax(s):
    e = np.exp(s - s.max())
    return e / e.sum(axis=1, keepdims=True)
""",
        2,
    ),
    (
        "1.3",
        "scores are cut off at 700 instead of shifted",
        "wrong",
        """def softmax(s):
    e = np.exp(np.minimum(s, 700))
    return e / e.sum(axis=-1, keepdims=True)
""",
        2,
    ),
    (
        "1.3",
        "normalised over the rows, axis 0",
        "wrong",
        """def softmax(s):
    s = s - np.max(s, axis=1, keepdims=True)
    e = np.exp(s)
    return e / e.sum(axis=0, keepdims=True)
""",
        4,
    ),
    (
        "1.3",
        "the scores of the caller are changed in place",
        "wrong",
        """def softmax(s):
    s -= s.max(axis=1, keepdims=True)
    e = np.exp(s)
    return e / e.sum(axis=1, keepdims=True)
""",
        2,
    ),
    (
        "1.3",
        "through the logarithm of the sum",
        "right",
        """def softmax(s):
    return np.exp(s - np.logaddexp.reduce(s, axis=-1, keepdims=True))
""",
        None,
    ),
    (
        "1.4",
        "the logarithm of the mean instead of the mean of the logarithms",
        "wrong",
        """def cross_entropy(p, t):
    return -np.log(p[np.arange(len(t)), t].mean())
""",
        2,
    ),
    (
        "1.4",
        "the sum over the rows, not the mean",
        "wrong",
        """def cross_entropy(p, t):
    N = len(p)
    return -np.log(p[np.arange(N), t]).sum()
""",
        3,
    ),
    (
        "1.4",
        "the mean also runs over the classes",
        "wrong",
        """def cross_entropy(p, t):
    onehot = np.eye(p.shape[1])[t]
    return -np.mean(onehot * np.log(p))
""",
        3,
    ),
    (
        "1.4",
        "all columns are picked for every row",
        "wrong",
        """def cross_entropy(p, t):
    right = p[:, t]
    return -np.log(right).mean()
""",
        2,
    ),
    (
        "1.4",
        "a generator over the rows",
        "right",
        """def cross_entropy(p, t):
    from math import log

    return sum(-log(row[k]) for row, k in zip(p, t)) / len(t)
""",
        None,
    ),
    (
        "1.5",
        "the gradient of the bias is a mean over the samples",
        "wrong",
        """class MyAffine:
    def __init__(self, W, b):
        self.W, self.b = W, b
        self.dW, self.db = None, None

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b

    def backward(self, dy):
        self.dW = self.x.T @ dy
        self.db = dy.mean(axis=0)
        return dy @ self.W.T
""",
        12,
    ),
    (
        "1.5",
        "forward keeps the output instead of the input",
        "wrong",
        """class MyAffine:
    def __init__(self, W, b):
        self.W, self.b = W, b
        self.dW, self.db = None, None

    def forward(self, x):
        x = x @ self.W + self.b
        self.x = x
        return x

    def backward(self, dy):
        self.dW = self.x.T @ dy
        self.db = dy.sum(axis=0)
        return dy @ self.W.T
""",
        8,
    ),
    (
        "1.5",
        "W is not transposed on the way back",
        "wrong",
        """class MyAffine:
    def __init__(self, W, b):
        self.W, self.b = W, b
        self.dW, self.db = None, None

    def forward(self, x):
        self.x = x
        return np.dot(x, self.W) + self.b

    def backward(self, dy):
        self.dW = np.dot(self.x.T, dy)
        self.db = np.sum(dy, axis=0)
        return np.dot(dy, self.W)
""",
        13,
    ),
    (
        "1.5",
        "the step of training is done inside backward, before dx is computed",
        "wrong",
        """class MyAffine:
    def __init__(self, W, b):
        self.W, self.b = W, b
        self.dW, self.db = None, None

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b

    def backward(self, dy):
        self.dW = self.x.T @ dy
        self.db = dy.sum(axis=0)
        self.W = self.W - 0.1 * self.dW
        return dy @ self.W.T
""",
        13,
    ),
    (
        "1.5",
        "the gradients are local variables and never set on the layer",
        "wrong",
        """class MyAffine:
    def __init__(self, W, b):
        self.W, self.b = W, b
        self.dW, self.db = None, None

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b

    def backward(self, dy):
        dW = self.x.T @ dy
        db = dy.sum(axis=0)
        return dy @ self.W.T
""",
        11,
    ),
    (
        "1.5",
        "a sum of outer products, sample by sample",
        "right",
        """class MyAffine:
    def __init__(self, W, b):
        self.W, self.b = W, b
        self.dW, self.db = None, None

    def forward(self, samples):
        self.seen = list(samples)
        return np.stack([s @ self.W + self.b for s in self.seen])

    def backward(self, dy):
        self.dW = sum(np.outer(s, d) for s, d in zip(self.seen, dy))
        self.db = sum(dy)
        return np.stack([self.W @ d for d in dy])
""",
        None,
    ),
    (
        "1.6",
        "the slope of tanh in the place of the sigmoid's",
        "wrong",
        """class MySigmoid:
    def forward(self, x):
        self.y = 1 / (1 + np.exp(-x))
        return self.y

    def backward(self, dy):
        return dy * (1 - self.y**2)
""",
        7,
    ),
    (
        "1.6",
        "the gradient that arrives is not used",
        "wrong",
        """class MySigmoid:
    def forward(self, x):
        self.y = 1 / (1 + np.exp(-x))
        return self.y

    def backward(self, dy):
        return self.y * (1 - self.y)
""",
        7,
    ),
    (
        "1.6",
        "the exponent has the wrong sign",
        "wrong",
        """class MySigmoid:
    def forward(self, x):
        self.y = 1 / (1 + np.exp(x))
        return self.y

    def backward(self, dy):
        return dy * self.y * (1 - self.y)
""",
        3,
    ),
    (
        "1.6",
        "the gradient of the caller is changed in place",
        "wrong",
        """class MySigmoid:
    def forward(self, x):
        self.y = 1 / (1 + np.exp(-x))
        return self.y

    def backward(self, dy):
        dy *= self.y * (1 - self.y)
        return dy
""",
        7,
    ),
    (
        "1.6",
        "by way of tanh, keeping the slope",
        "right",
        """class MySigmoid:
    def forward(self, x):
        u = np.tanh(x / 2)
        self.slope = (1 - u**2) / 4
        return (u + 1) / 2

    def backward(self, dy):
        return dy * self.slope
""",
        None,
    ),
    (
        "1.7",
        "divided by the number of classes instead of the number of rows",
        "wrong",
        """class MySoftmaxWithLoss:
    def forward(self, s, t):
        e = np.exp(s - s.max(axis=1, keepdims=True))
        self.p, self.t = e / e.sum(axis=1, keepdims=True), t
        return -np.mean(np.log(self.p[np.arange(len(t)), t]))

    def backward(self, dloss=1):
        onehot = np.eye(self.p.shape[1])[self.t]
        return dloss * (self.p - onehot) / self.p.shape[1]
""",
        9,
    ),
    (
        "1.7",
        "truth minus guess, the sign is turned",
        "wrong",
        """class MySoftmaxWithLoss:
    def forward(self, s, t):
        e = np.exp(s - s.max(axis=1, keepdims=True))
        self.p, self.t = e / e.sum(axis=1, keepdims=True), t
        return -np.mean(np.log(self.p[np.arange(len(t)), t]))

    def backward(self, dloss=1):
        onehot = np.eye(self.p.shape[1])[self.t]
        return dloss * (onehot - self.p) / len(self.p)
""",
        9,
    ),
    (
        "1.7",
        "dloss is ignored",
        "wrong",
        """class MySoftmaxWithLoss:
    def forward(self, s, t):
        e = np.exp(s - s.max(axis=1, keepdims=True))
        self.p, self.t = e / e.sum(axis=1, keepdims=True), t
        return -np.mean(np.log(self.p[np.arange(len(t)), t]))

    def backward(self, dloss=1):
        d = self.p.copy()
        d[np.arange(len(self.t)), self.t] -= 1
        return d / len(self.t)
""",
        10,
    ),
    (
        "1.7",
        "the gradient goes through the softmax once more",
        "wrong",
        """class MySoftmaxWithLoss:
    def forward(self, s, t):
        e = np.exp(s - s.max(axis=1, keepdims=True))
        self.p, self.t = e / e.sum(axis=1, keepdims=True), t
        return -np.mean(np.log(self.p[np.arange(len(t)), t]))

    def backward(self, dloss=1):
        onehot = np.eye(self.p.shape[1])[self.t]
        dp = dloss * (self.p - onehot) / len(self.p)
        return self.p * (dp - (dp * self.p).sum(axis=1, keepdims=True))
""",
        10,
    ),
    (
        "1.7",
        "forward returns a price for each row instead of a number",
        "wrong",
        """class MySoftmaxWithLoss:
    def forward(self, s, t):
        e = np.exp(s - s.max(axis=1, keepdims=True))
        self.p, self.t = e / e.sum(axis=1, keepdims=True), t
        return -np.log(self.p[np.arange(len(t)), t])

    def backward(self, dloss=1):
        onehot = np.eye(self.p.shape[1])[self.t]
        return dloss * (self.p - onehot) / len(self.p)
""",
        5,
    ),
    (
        "1.7",
        "first the logarithm, then the softmax with its Jacobian, row by row",
        "right",
        """class MySoftmaxWithLoss:
    def forward(self, s, t):
        self.rows = [np.exp(r - r.max()) / np.exp(r - r.max()).sum() for r in s]
        self.t = t
        return float(np.mean([-np.log(r[k]) for r, k in zip(self.rows, t)]))

    def backward(self, dloss=1):
        out = []
        for p, k in zip(self.rows, self.t):
            dp = np.zeros(len(p))
            dp[k] = -1 / p[k] / len(self.rows) * dloss
            J = np.diag(p) - np.outer(p, p)
            out.append(J @ dp)
        return np.array(out)
""",
        None,
    ),
    (
        "1.8",
        "the way through the sigmoid is forgotten",
        "wrong",
        """class MySwish:
    def forward(self, x):
        self.s = 1 / (1 + np.exp(-x))
        return x * self.s

    def backward(self, dy):
        return dy * self.s
""",
        7,
    ),
    (
        "1.8",
        "the two ways are subtracted",
        "wrong",
        """class MySwish:
    def forward(self, x):
        self.x, self.s = x, 1 / (1 + np.exp(-x))
        return x * self.s

    def backward(self, dy):
        direct = dy * self.s
        through = dy * self.x * self.s * (1 - self.s)
        return direct - through
""",
        9,
    ),
    (
        "1.8",
        "the slope of the sigmoid is not multiplied by the other factor x",
        "wrong",
        """class MySwish:
    def forward(self, x):
        self.s = 1 / (1 + np.exp(-x))
        return x * self.s

    def backward(self, dy):
        s = self.s
        return dy * (s + s * (1 - s))
""",
        8,
    ),
    (
        "1.8",
        "the slope is taken at the output of the layer",
        "wrong",
        """class MySwish:
    def forward(self, x):
        self.s = 1 / (1 + np.exp(-x))
        self.y = x * self.s
        return self.y

    def backward(self, dy):
        return dy * self.y * (1 - self.y)
""",
        8,
    ),
    (
        "1.8",
        "the short form y + s (1 - y)",
        "right",
        """class MySwish:
    def forward(self, x):
        self.s = np.reciprocal(1 + np.exp(-x))
        self.y = x * self.s
        return self.y

    def backward(self, dy):
        return dy * (self.y + self.s * (1 - self.y))
""",
        None,
    ),
    (
        "1.9",
        "divided by h instead of 2 h",
        "wrong",
        """def slope(f, x, h):
    return (f(x + h) - f(x - h)) / h
""",
        2,
    ),
    (
        "1.9",
        "the brackets around the denominator are missing, so that it is multiplied by h",
        "wrong",
        """def slope(f, x, h):
    return (f(x + h) - f(x - h)) / 2 * h
""",
        2,
    ),
    (
        "1.9",
        "the one-sided difference",
        "wrong",
        """def slope(f, x, h):
    return (f(x + h) - f(x)) / h
""",
        2,
    ),
    (
        "1.9",
        "the given step is overwritten",
        "wrong",
        """def slope(f, x, h):
    h = 1e-6
    return (f(x + h) - f(x - h)) / (2 * h)
""",
        2,
    ),
    (
        "1.9",
        "the difference is turned round",
        "wrong",
        """def slope(f, x, h):
    left, right = f(x + h), f(x - h)
    return (right - left) / (2 * h)
""",
        2,
    ),
    (
        "1.9",
        "the mean of the two one-sided differences",
        "right",
        """def slope(f, x, h):
    y = f(x)
    return np.mean([(f(x + k) - y) / k for k in (h, -h)])
""",
        None,
    ),
    (
        "1.10",
        "takes random weights for those that see nothing",
        "wrong",
        """answer = "random"
""",
        1,
    ),
    (
        "1.10",
        "takes a single output for the weights that see nothing",
        "wrong",
        """answer = "one output"
""",
        1,
    ),
    (
        "1.11",
        "the gradients are forgotten after backward, before the step",
        "wrong",
        """def train_step(model, loss, x, t, lr):
    L = loss.forward(model.forward(x), t)
    model.backward(loss.backward())
    model.zero_grad()
    for p in model.parameters():
        p.value -= lr * p.grad
    return L
""",
        4,
    ),
    (
        "1.11",
        "the gradients of earlier steps are not forgotten",
        "wrong",
        """def train_step(model, loss, x, t, lr):
    L = loss.forward(model.forward(x), t)
    model.backward(loss.backward())
    for p in model.parameters():
        p.value -= lr * p.grad
    return L
""",
        None,
    ),
    (
        "1.11",
        "only a local variable is changed, not the parameter",
        "wrong",
        """def train_step(model, loss, x, t, lr):
    L = loss.forward(model.forward(x), t)
    model.zero_grad()
    model.backward(loss.backward())
    for p in model.parameters():
        w = p.value
        w = w - lr * p.grad
    return L
""",
        7,
    ),
    (
        "1.11",
        "the loss is returned as it is after the step",
        "wrong",
        """def train_step(model, loss, x, t, lr):
    loss.forward(model.forward(x), t)
    model.zero_grad()
    model.backward(loss.backward())
    for p in model.parameters():
        p.value -= lr * p.grad
    return loss.forward(model.forward(x), t)
""",
        7,
    ),
    (
        "1.11",
        "the step goes uphill",
        "wrong",
        """def train_step(model, loss, x, t, lr):
    L = loss.forward(model.forward(x), t)
    model.zero_grad()
    model.backward(loss.backward())
    for p in model.parameters():
        p.value += lr * p.grad
    return L
""",
        6,
    ),
    (
        "1.11",
        "a new array for each value, and the forgetting first",
        "right",
        """def train_step(model, loss, x, t, lr):
    model.zero_grad()
    scores = model.forward(x)
    L = loss.forward(scores, t)
    ds = loss.backward()
    model.backward(ds)
    for one in list(model.parameters())[::-1]:
        one.value = one.value - np.multiply(one.grad, lr)
    return L
""",
        None,
    ),
    (
        "1.1",
        "the result of the example is written down",
        "wrong",
        """def affine(x, W, b):
    return np.array([[-0.5, 3, 1.5, -1], [1.5, -1, -1.5, 0], [4, 0.5, 1.25, -2]])
""",
        2,
    ),
    (
        "1.1",
        "the weights of the lesson's example instead of those that were given",
        "wrong",
        """def affine(x, W, b):
    return x @ W_small + b
""",
        2,
    ),
    (
        "1.4",
        "the classes of the lesson's example instead of those that were given",
        "wrong",
        """def cross_entropy(p, t):
    prices = -np.log(p[np.arange(2), right])
    return prices.mean()
""",
        2,
    ),
    (
        "1.6",
        "backward hands on the gradient unchanged",
        "wrong",
        """class MySigmoid:
    def forward(self, x):
        return 1 / (1 + np.exp(-x))

    def backward(self, dy):
        return dy
""",
        6,
    ),
    (
        "1.9",
        "the exact derivative of the lesson's example, whatever f is",
        "wrong",
        """def slope(f, x, h):
    return np.cos(x) * np.exp(np.sin(x))
""",
        2,
    ),
    (
        "1.2",
        "both maps written with a row of ones, multiplied once, in float32",
        "right",
        """def merge(W1, b1, W2, b2):
    first = np.block([[W1, np.zeros((len(W1), 1))], [np.reshape(b1, (1, -1)), np.ones((1, 1))]])
    both = first.astype("float32") @ np.vstack([W2, b2]).astype("float32")
    return both[:-1], both[-1]
""",
        None,
    ),
]
