import numpy as np


class MyAffine:
    def __init__(self, W, b):
        self.W, self.b = W, b

    def forward(self, x):
        self.x = x
        return x @ self.W + self.b

    def backward(self, dy):
        self.dW = self.x.T @ dy
        self.db = -dy.sum(axis=0)
        return dy @ self.W.T


def affine_forward(x, w, b):
    return x.reshape(len(x), -1) @ w + b, (x, w, b)


def affine_backward(dout, cache):
    x, w, b = cache
    dx = (dout @ w.T).reshape(x.shape)
    return dx, x.reshape(len(x), -1).T @ dout, -np.sum(dout, axis=0)


check("1.5", MyAffine)
