"""Solutions of lesson 1; the builder folds each below its exercise."""

import numpy as np

from deepnlp.lessons.exercises import check


# %%
# Solution 1.1
def affine_solution(x, W, b):
    return x @ W + b


check("1.1", affine_solution)


# %%
# Solution 1.2
def merge_solution(W1, b1, W2, b2):
    return W1 @ W2, b1 @ W2 + b2  # multiply the bracket out


check("1.2", merge_solution)


# %%
# Solution 1.3
def softmax_solution(s):
    e = np.exp(s - s.max(axis=1, keepdims=True))  # at most exp(0) = 1
    return e / e.sum(axis=1, keepdims=True)


check("1.3", softmax_solution)


# %%
# Solution 1.4
def cross_entropy_solution(p, t):
    return -np.log(p[np.arange(len(t)), t]).mean()


check("1.4", cross_entropy_solution)


# %%
# Solution 1.5
class MyAffineSolution:
    def __init__(self, W, b):
        self.W, self.b = W, b
        self.dW, self.db = None, None

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b

    def backward(self, dy):
        self.dW = self.x.T @ dy
        self.db = dy.sum(axis=0)  # b went to every row
        return dy @ self.W.T


check("1.5", MyAffineSolution)


# %%
# Solution 1.6
class MySigmoidSolution:
    def forward(self, x):
        self.y = 1 / (1 + np.exp(-x))
        return self.y

    def backward(self, dy):
        return dy * self.y * (1 - self.y)  # the output, not the input


check("1.6", MySigmoidSolution)


# %%
# Solution 1.7
class MySoftmaxWithLossSolution:
    def forward(self, s, t):
        e = np.exp(s - s.max(axis=1, keepdims=True))
        self.p, self.t = e / e.sum(axis=1, keepdims=True), t
        return -np.log(self.p[np.arange(len(t)), t]).mean()

    def backward(self, dloss=1):
        ds = self.p.copy()  # a copy: backward should not change what forward kept
        ds[np.arange(len(self.t)), self.t] -= 1
        return dloss * ds / len(self.t)  # the loss is a mean


check("1.7", MySoftmaxWithLossSolution)


# %%
# Solution 1.8
class MySwishSolution:
    def forward(self, x):
        self.x, self.gate = x, 1 / (1 + np.exp(-x))
        return self.x * self.gate

    def backward(self, dy):
        as_factor = dy * self.gate
        through_gate = dy * self.x * self.gate * (1 - self.gate)
        return as_factor + through_gate


check("1.8", MySwishSolution)


# %%
# Solution 1.9
def slope_solution(f, x, h):
    return (f(x + h) - f(x - h)) / (2 * h)


check("1.9", slope_solution)


# %%
# Solution 1.10
def largest_gradient(weights, s, h=1e-30):
    """Of the weighted sum of softmax(s), by complex steps."""
    gradient = np.zeros(s.shape)
    for index in np.ndindex(s.shape):
        moved = s.astype(complex)
        moved[index] += 1j * h
        e = np.exp(moved)
        gradient[index] = (weights * e / e.sum(axis=1, keepdims=True)).sum().imag / h
    return np.abs(gradient).max()


draw = np.random.default_rng(0).standard_normal
for name, weights in {
    "ones": np.ones((2, 3)),
    "random": draw((2, 3)),
    "one output": np.eye(2, 3),
}.items():
    print(f"{name:>10}: largest gradient {largest_gradient(weights, draw((2, 3))):.1e}")
prediction = "ones"
check("1.10", prediction)


# %%
# Solution 1.11
def train_step_solution(model, loss, x, t, lr):
    value = loss.forward(model.forward(x), t)
    model.zero_grad()
    model.backward(loss.backward())
    for parameter in model.parameters():
        parameter.value -= lr * parameter.grad
    return value


check("1.11", train_step_solution)
