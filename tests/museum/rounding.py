"""Right layers that compute in float32."""

import numpy as np

from tests.museum import exhibit


@exhibit(
    "float32 round-off and not a bug",
    "How many digits has a float32?",
    "nothing to repair",
    lambda kind, rng, s: (kind(rng.normal(size=(s.D, s.H))), (rng.normal(size=(s.N, s.D)),)),
)
class SingleAffine:
    def __init__(self, W):
        self.W = W.astype("float32")

    def forward(self, x):
        self.x = x.astype("float32")
        return self.x @ self.W.astype("float32")

    def backward(self, dy):
        dy = dy.astype("float32")
        self.dW = self.x.T @ dy
        return dy @ self.W.astype("float32").T


@exhibit(
    "float32 round-off and not a bug",
    "How many digits has a float32?",
    "nothing to repair",
    lambda kind, rng, s: (kind(), (rng.normal(size=(s.N, s.T, s.D)),)),
)
class SingleTanh:
    def forward(self, x):
        self.y = np.tanh(x.astype(np.float32))
        return self.y

    def backward(self, dy):
        return (dy * (1 - self.y**2)).astype(np.float32)
