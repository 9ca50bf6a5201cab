"""Right in an odd style: loops, a closure for a class, a dict, a list for a tuple, plots."""

from collections import namedtuple
from functools import reduce

import matplotlib.pyplot as plt
import numpy
import seaborn as sns
from deepnlp.lessons.exercises import *

plt.style.use("ggplot")
sns.set_theme()
Saved = namedtuple("Saved", "x w")


def layer(W, b):
    class Closed:
        def forward(self, x):
            rows = [reduce(numpy.add, (W[i] * v for i, v in enumerate(row)), b) for row in x]
            self.given = x.copy()
            return numpy.array(rows)

        def backward(self, dy):
            self.dW, self.db = numpy.einsum("nd,nm->dm", self.given, dy), numpy.ones(len(dy)) @ dy
            return numpy.stack([numpy.dot(W, row) for row in dy])

    return Closed()


MyAffine = layer
check("1.5", MyAffine)
# my plots
plt.plot([1, 2])


def affine_forward(x, w, b):
    def undo(dout):
        yield (dout @ w.T).reshape(x.shape)
        yield (dout.T @ x.reshape(x.shape[0], -1)).T
        yield numpy.add.reduce(dout)

    return numpy.tensordot(x, w, axes=(1, 0)) + b[None], undo


def affine_backward(dout, cache):
    return list(cache(dout))
