import numpy as np


class MyAffine:
    def __init__(self, W, b):
        self.W, self.b = W, b

    def forward(self, x):
        kept = []
        while True:
            kept.append(np.ones(10**7))


def affine_forward(x, w, b):
    return np.ones((100_000, 100_000)), (x, w)


def affine_backward(dout, cache):
    return [0] * 10**10


check("1.5", MyAffine)
