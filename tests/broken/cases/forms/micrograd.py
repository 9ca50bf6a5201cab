"""A scalar engine: numbers that know where they came from, with .backward() and .grad."""

import math


class Value:
    def __init__(self, data, _children=(), _op=""):
        self.data = data
        self.grad = 0
        self._backward = lambda: None
        self._prev = set(_children)
        self._op = _op

    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data + other.data, (self, other), "+")

        def _backward():
            self.grad += out.grad
            other.grad += out.grad

        out._backward = _backward
        return out

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data * other.data, (self, other), "*")

        def _backward():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad

        out._backward = _backward
        return out

    def __pow__(self, other):
        out = Value(self.data**other, (self,), f"**{other}")

        def _backward():
            self.grad += (other * self.data ** (other - 1)) * out.grad

        out._backward = _backward
        return out

    def exp(self):
        out = Value(math.exp(self.data), (self,), "exp")

        def _backward():
            self.grad += out.data * out.grad

        out._backward = _backward
        return out

    def log(self):
        out = Value(math.log(self.data), (self,), "log")

        def _backward():
            self.grad += (1 / self.data) * out.grad

        out._backward = _backward
        return out

    def tanh(self):
        t = math.tanh(self.data)
        out = Value(t, (self,), "tanh")

        def _backward():
            self.grad += (1 - t**2) * out.grad

        out._backward = _backward
        return out

    def relu(self):
        out = Value(0 if self.data < 0 else self.data, (self,), "ReLU")

        def _backward():
            self.grad += (out.data > 0) * out.grad

        out._backward = _backward
        return out

    def sigmoid(self):
        s = 1 / (1 + math.exp(-self.data))
        out = Value(s, (self,), "sigmoid")

        def _backward():
            self.grad += s * (1 - s) * out.grad

        out._backward = _backward
        return out

    def backward(self):
        topo, visited = [], set()

        def build_topo(v):
            if v not in visited:
                visited.add(v)
                for child in v._prev:
                    build_topo(child)
                topo.append(v)

        build_topo(self)
        self.grad = 1
        for v in reversed(topo):
            v._backward()

    def __neg__(self):
        return self * -1

    def __radd__(self, other):
        return self + other

    def __sub__(self, other):
        return self + (-other)

    def __rmul__(self, other):
        return self * other

    def __truediv__(self, other):
        return self * other**-1


def neuron(w, x, b):
    """tanh(w . x + b)."""
    return sum((wi * xi for wi, xi in zip(w, x)), b).tanh()


def softmax(values):
    top = max(v.data for v in values)
    exps = [(v + -top).exp() for v in values]
    total = sum(exps[1:], exps[0])
    return [e / total for e in exps]


def attention(q, k1, k2, k3):
    """The squared read-out of three keys that are also values."""
    keys = [k1, k2, k3]
    scores = [sum((a * b for a, b in zip(q, k)), Value(0.0)) for k in keys]
    p = softmax(scores)
    read = [sum((pi * k[d] for pi, k in zip(p, keys)), Value(0.0)) for d in range(len(q))]
    return sum((r * r for r in read), Value(0.0))


def layer_norm(x, g):
    """The sum of the cubes of g times the normed x."""
    n = len(x)
    mean = sum(x[1:], x[0]) * (1 / n)
    var = sum(((v - mean) ** 2 for v in x), Value(0.0)) * (1 / n)
    inv = (var + 1e-5) ** -0.5
    return sum((((v - mean) * inv * gi) ** 3 for v, gi in zip(x, g)), Value(0.0))


def convolution(x, w):
    """The sum of relu of all windows."""
    places = range(len(x) - len(w) + 1)
    outs = [sum((x[i + j] * w[j] for j in range(len(w))), Value(0.0)).relu() for i in places]
    return sum(outs[1:], outs[0])


def swiglu(x, a, b):
    """Sum of silu(x a) (x b), entry by entry."""
    terms = []
    for xi, ai, bi in zip(x, a, b):
        z = xi * ai
        terms.append(z * z.sigmoid() * (xi * bi))
    return sum(terms[1:], terms[0])


def cross_entropy(logits):
    """Of the second class."""
    return -softmax(logits)[1].log()
