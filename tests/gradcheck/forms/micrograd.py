"""An engine of numbers that go backward by themselves, as micrograd."""

# ruff: noqa

import math


class Value:
    def __init__(self, data, _children=(), _op=""):
        self.data = data
        self.grad = 0.0
        self._backward = lambda: None
        self._prev, self._op = set(_children), _op

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
        out = Value(self.data**other, (self,), "**")

        def _backward():
            self.grad += other * self.data ** (other - 1) * out.grad

        out._backward = _backward
        return out

    def tanh(self):
        t = math.tanh(self.data)
        out = Value(t, (self,), "tanh")

        def _backward():
            self.grad += (1 - t**2) * out.grad

        out._backward = _backward
        return out

    def exp(self):
        out = Value(math.exp(self.data), (self,), "exp")

        def _backward():
            self.grad += out.data * out.grad

        out._backward = _backward
        return out

    def relu(self):
        out = Value(0.0 if self.data < 0 else self.data, (self,), "ReLU")

        def _backward():
            self.grad += (out.data > 0) * out.grad

        out._backward = _backward
        return out

    def backward(self):
        topo, visited = [], set()

        def build(v):
            if v not in visited:
                visited.add(v)
                for child in v._prev:
                    build(child)
                topo.append(v)

        build(self)
        self.grad = 1.0
        for v in reversed(topo):
            v._backward()

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + (-other)

    def __truediv__(self, other):
        return self * other**-1

    __radd__, __rmul__ = __add__, __mul__


class Neuron:
    def __init__(self, w, b):
        self.w, self.b = [Value(one) for one in w], Value(b)

    def __call__(self, x):
        act = sum((wi * xi for wi, xi in zip(self.w, x)), self.b)
        return act.tanh()

    def parameters(self):
        return [*self.w, self.b]


class Layer:
    def __init__(self, weights):
        self.neurons = [Neuron(w, b) for w, b in weights]

    def __call__(self, x):
        return [n(x) for n in self.neurons]


def softmax_loss(logits):
    counts = [one.exp() for one in logits]
    return counts[1] / sum(counts[1:], counts[0])


def polynomial(a, b):
    return a * b + a**3 - b / a


def used_twice(a):
    b = a + a
    return b * a


def examples(rng):
    value = lambda: Value(float(rng.uniform(0.3, 2.0)))
    number = lambda: float(rng.normal())
    return {
        "add": (Value.__add__, value(), value()),
        "mul": (Value.__mul__, value(), value()),
        "pow": (lambda a: a**3, value()),
        "tanh": (Value.tanh, value()),
        "exp": (Value.exp, value()),
        "relu": (Value.relu, value()),
        "polynomial": (polynomial, value(), value()),
        "used twice": (used_twice, value()),
        "neuron": (Neuron([number(), number()], number()), [value(), value()]),
        "layer": (Layer([([number(), number()], number()), ([number(), number()], number())]),
                  [value(), value()]),
        "softmax": (softmax_loss, [value(), value(), value()]),
    }  # fmt: skip


MISTAKES = [
    ("add", "other.grad += out.grad", "other.grad += 2 * out.grad"),
    ("used twice", "            self.grad += out.grad", "            self.grad = out.grad"),
    ("mul", "self.grad += other.data * out.grad", "self.grad += self.data * out.grad"),
    ("mul", "other.grad += self.data * out.grad", "other.grad -= self.data * out.grad"),
    ("pow", "other * self.data ** (other - 1)", "self.data ** (other - 1)"),
    ("tanh", "(1 - t**2)", "(1 - t)"),
    ("exp", "out.data * out.grad", "self.data * out.grad"),
    ("relu", "(out.data > 0) * out.grad", "(out.data < 0) * out.grad"),
    ("polynomial", "self.grad += other * self.data", "self.grad = other * self.data"),
    ("polynomial", "for v in reversed(topo):", "for v in topo:"),
    ("neuron", "self.grad += other.data * out.grad", "self.grad += other.data"),
    ("layer", "other.grad += self.data * out.grad", "other.grad = self.data * out.grad"),
    ("softmax", "out.data * out.grad", "out.grad"),
]
