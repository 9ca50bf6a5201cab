"""Two mistakes in one backward: both are named, one each for the gradients that it spoils."""

import numpy as np
import pytest

from deepnlp.gradcheck import check_gradients
from tests.repaired.gates import GLU, Peephole, SelfAttention
from tests.repaired.norms import BatchNorm, LayerNorm2
from tests.repaired.others import MLP, Bilinear
from tests.repaired.windows import Conv1d

MISSING = "term of a sum or product missing"
SLOPE = "derivative of the activation missing or of another function"


class MLPSlopeAndZero(MLP):
    """The rectifier's derivative is forgotten, and db2 is never computed."""

    def backward(self, dy):
        self.db2, self.dW2 = np.zeros_like(self.b2), self.h.T @ dy
        dz = dy @ self.W2.T
        self.db1, self.dW1 = dz.sum(0), self.x.T @ dz
        return dz @ self.W1.T + dy


class MLPSkipAndSign(MLP):
    def backward(self, dy):
        self.db2, self.dW2 = dy.sum(0), -self.h.T @ dy
        dz = dy @ self.W2.T * (self.z > 0)
        self.db1, self.dW1 = dz.sum(0), self.x.T @ dz
        return dz @ self.W1.T


class MLPSlopeAndMean(MLP):
    """db1 is wrong in two ways."""

    def backward(self, dy):
        self.db2, self.dW2 = dy.sum(0), self.h.T @ dy
        dz = dy @ self.W2.T
        self.db1, self.dW1 = dz.mean(0), self.x.T @ dz
        return dz @ self.W1.T + dy


class MLPBiasAndSkip(MLP):
    def backward(self, dy):
        self.db2, self.dW2 = dy.mean(0), self.h.T @ dy
        dz = dy @ self.W2.T * (self.z > 0)
        self.db1, self.dW1 = dz.sum(0), self.x.T @ dz
        return dz @ self.W1.T


class GLUGateAndTranspose(GLU):
    def backward(self, dy):
        da = dy
        dz = dy * self.a * self.g * (1 - self.g)
        self.dW, self.dV = self.x.T @ da, -self.x.T @ dz
        return da @ self.W.T + dz @ self.V.T


class GLUSlopeAndPath(GLU):
    def backward(self, dy):
        da, dz = dy * self.g, dy * self.a
        self.dW, self.dV = self.x.T @ da, self.x.T @ dz
        return da @ self.W.T


class GLUHalfAndSign(GLU):
    def backward(self, dy):
        da = dy * self.g
        dz = dy * self.a * self.g * (1 - self.g)
        self.dW, self.dV = 0.5 * (self.x.T @ da), -self.x.T @ dz
        return da @ self.W.T + dz @ self.V.T


class NormMeanAndSign(BatchNorm):
    def backward(self, dy):
        self.dbeta = dy.sum(axis=0)
        self.dgamma = -np.sum(self.xn * dy, axis=0)
        dxn = self.gamma * dy
        dxc = dxn / self.std
        dstd = -np.sum((dxn * self.xc) / (self.std * self.std), axis=0)
        return dxc + (2.0 / len(dy)) * self.xc * 0.5 * dstd / self.std


class NormValueAndFactor(BatchNorm):
    def backward(self, dy):
        dx = super().backward(dy)
        self.dgamma = np.sum(self.xc * dy, axis=0)
        self.dbeta = 2 * dy.sum(axis=0)
        return dx


class LayerGainAndMean(LayerNorm2):
    def backward(self, dy):
        dx = super().backward(dy / self.g)
        self.dg = (dy * self.xhat).sum(0)
        self.db = dy.mean(0)
        return dx


class AttentionScaleAndKeys(SelfAttention):
    """The scale is forgotten, and the gradient of the keys is taken from the keys."""

    def scale(self):
        return 1.0

    def keys(self, ds):
        return ds.transpose(0, 2, 1) @ self.k


class AttentionValuesAndScale(SelfAttention):
    def scale(self):
        return 1.0

    def backward(self, dy):
        dx = super().backward(dy)
        self.dWv = -self.dWv
        return dx


class ConvAssignsAndMean(Conv1d):
    def backward(self, dy):
        super().backward(dy)
        K = len(self.W)
        dx = np.zeros_like(self.x)
        for t in range(dy.shape[1]):
            dx[:, t : t + K] = np.tensordot(dy[:, t], self.W, axes=([1], [2]))
        self.dW = -self.dW
        return dx


class BilinearTwo(Bilinear):
    def backward(self, g):
        dx, dy = super().backward(g)
        return -dx, 0.5 * dy


class PeepholeTwo(Peephole):
    """A path is left out, and the gradient of b has the wrong sign besides."""

    def output_peephole(self, do, p):
        return 0

    def backward(self, dhs):
        dxs = super().backward(dhs)
        self.grads[2] *= -1
        return dxs


PAIRS = {
    MLPSlopeAndZero: {"x": SLOPE, "W1": SLOPE, "b1": SLOPE, "b2": "zero or missing"},
    MLPSkipAndSign: {"x": MISSING, "W2": "sign"},
    MLPSlopeAndMean: {"x": SLOPE, "W1": SLOPE, "b1": "bias gradient not summed over N"},
    MLPBiasAndSkip: {"x": MISSING, "b2": "bias gradient not summed over N"},
    GLUGateAndTranspose: {"x": MISSING, "W": MISSING, "V": "sign"},
    GLUSlopeAndPath: {"V": SLOPE, "x": MISSING},
    GLUHalfAndSign: {"W": "constant factor", "V": "sign"},
    NormMeanAndSign: {"x": MISSING, "gamma": "sign"},
    NormValueAndFactor: {"gamma": "another value in its place", "beta": "constant factor"},
    LayerGainAndMean: {"x": MISSING, "b": "bias gradient not summed over N"},
    AttentionScaleAndKeys: {"Wq": "constant factor", "Wk": "another value in its place"},
    AttentionValuesAndScale: {"Wv": "sign", "Wq": "constant factor", "x": "constant factor"},
    ConvAssignsAndMean: {"x": "assigned instead of accumulated", "W": "sign"},
    BilinearTwo: {"x": "sign", "y": "constant factor"},
    PeepholeTwo: {"params[2]": "sign", "params[0]": MISSING, "xs": MISSING},
}


def built(kind):
    rng = np.random.default_rng(5)
    draw = rng.normal
    if issubclass(kind, MLP):
        return kind(draw(size=(3, 5)), draw(size=5), draw(size=(5, 3)), draw(size=3)), draw(
            size=(4, 3)
        )
    if issubclass(kind, GLU):
        return kind(draw(size=(3, 5)), draw(size=(3, 5))), draw(size=(4, 3))
    if issubclass(kind, BatchNorm | LayerNorm2):
        return kind(draw(size=5), draw(size=5)), draw(size=(4, 5))
    if issubclass(kind, SelfAttention):
        return kind(*(draw(size=(3, 5)) for _ in range(3))), draw(size=(2, 4, 3))
    if issubclass(kind, Conv1d):
        return kind(draw(size=(3, 2, 4)), draw(size=4)), draw(size=(2, 7, 2))
    if issubclass(kind, Bilinear):
        return kind(draw(size=(4, 3, 3))), draw(size=(2, 3)), draw(size=(2, 3))
    return kind(draw(size=(3, 16)), draw(size=(4, 16)) / 2, draw(size=16), draw(size=(3, 4))), draw(
        size=(2, 5, 3)
    )


@pytest.mark.parametrize("kind", PAIRS, ids=lambda kind: kind.__name__)
def test_both_mistakes_are_named(kind):
    report = check_gradients(*built(kind))
    found = {row.name: row.causes[0].name for row in report.rows if not row.ok}
    assert {name: found[name] for name in PAIRS[kind]} == PAIRS[kind], str(report)
