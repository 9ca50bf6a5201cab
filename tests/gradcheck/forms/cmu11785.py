"""Layers that keep dLdW, and cells whose backward takes states: as in 11-785."""

# ruff: noqa

import numpy as np


class Linear:
    def __init__(self, W, b):
        self.W, self.b = W, b
        self.dLdW, self.dLdb = np.zeros_like(W), np.zeros_like(b)

    def forward(self, A):
        self.A, self.N = A, A.shape[0]
        self.Ones = np.ones((self.N, 1))
        return A @ self.W.T + self.Ones @ self.b.T

    def backward(self, dLdZ):
        dLdA = dLdZ @ self.W
        self.dLdW = dLdZ.T @ self.A
        self.dLdb = dLdZ.T @ self.Ones
        return dLdA


class GELU:
    def forward(self, Z):
        self.Z = Z
        self.A = 0.5 * Z * (1 + np.tanh(np.sqrt(2 / np.pi) * (Z + 0.044715 * Z**3)))
        return self.A

    def backward(self, dLdA):
        Z, c = self.Z, np.sqrt(2 / np.pi)
        t = np.tanh(c * (Z + 0.044715 * Z**3))
        return dLdA * (0.5 * (1 + t) + 0.5 * Z * (1 - t**2) * c * (1 + 3 * 0.044715 * Z**2))


class Softmax:
    def forward(self, Z):
        e = np.exp(Z - Z.max(axis=1, keepdims=True))
        self.A = e / e.sum(axis=1, keepdims=True)
        return self.A

    def backward(self, dLdA):
        N, C = dLdA.shape
        dLdZ = np.zeros((N, C))
        for i in range(N):
            a = self.A[i]
            J = np.diag(a) - np.outer(a, a)
            dLdZ[i] = dLdA[i] @ J
        return dLdZ


class MSELoss:
    def forward(self, A, Y):
        self.A, self.Y = A, Y
        self.N, self.C = A.shape
        return ((A - Y) ** 2).sum() / (self.N * self.C)

    def backward(self):
        return 2 * (self.A - self.Y) / (self.N * self.C)


class BatchNorm1d:
    def __init__(self, num_features, alpha=0.9):
        self.alpha, self.eps = alpha, 1e-8
        self.BW, self.Bb = np.ones((1, num_features)), np.zeros((1, num_features))
        self.dLdBW, self.dLdBb = np.zeros((1, num_features)), np.zeros((1, num_features))
        self.running_M, self.running_V = np.zeros((1, num_features)), np.ones((1, num_features))

    def forward(self, Z, eval=False):
        if eval:
            NZ = (Z - self.running_M) / np.sqrt(self.running_V + self.eps)
            return self.BW * NZ + self.Bb
        self.Z, self.N = Z, Z.shape[0]
        self.M, self.V = Z.mean(axis=0, keepdims=True), Z.var(axis=0, keepdims=True)
        self.NZ = (Z - self.M) / np.sqrt(self.V + self.eps)
        self.running_M = self.alpha * self.running_M + (1 - self.alpha) * self.M
        self.running_V = self.alpha * self.running_V + (1 - self.alpha) * self.V
        return self.BW * self.NZ + self.Bb

    def backward(self, dLdBZ):
        self.dLdBW = np.sum(dLdBZ * self.NZ, axis=0, keepdims=True)
        self.dLdBb = np.sum(dLdBZ, axis=0, keepdims=True)
        dLdNZ = dLdBZ * self.BW
        s = self.V + self.eps
        dLdV = -0.5 * np.sum(dLdNZ * (self.Z - self.M) * s**-1.5, axis=0, keepdims=True)
        dLdM = -np.sum(dLdNZ, axis=0, keepdims=True) / np.sqrt(s)
        return dLdNZ / np.sqrt(s) + dLdV * 2 * (self.Z - self.M) / self.N + dLdM / self.N


class Conv1d_stride1:
    def __init__(self, W, b):
        self.W, self.b, self.K = W, b, W.shape[2]

    def forward(self, A):
        self.A = A
        self.T = A.shape[2] - self.K + 1
        Z = np.zeros((len(A), len(self.W), self.T))
        for t in range(self.T):
            Z[:, :, t] = np.tensordot(A[:, :, t : t + self.K], self.W, ((1, 2), (1, 2))) + self.b
        return Z

    def backward(self, dLdZ):
        self.dLdb = dLdZ.sum(axis=(0, 2))
        self.dLdW = np.zeros_like(self.W)
        for k in range(self.K):
            self.dLdW[:, :, k] = np.tensordot(dLdZ, self.A[:, :, k : k + self.T], ((0, 2), (0, 2)))
        pad = np.pad(dLdZ, ((0, 0), (0, 0), (self.K - 1, self.K - 1)))
        flipped = self.W[:, :, ::-1]
        dLdA = np.zeros_like(self.A)
        for t in range(self.A.shape[2]):
            dLdA[:, :, t] = np.tensordot(pad[:, :, t : t + self.K], flipped, ((1, 2), (0, 2)))
        return dLdA


class RNNCell:
    def __init__(self, input_size, hidden_size, rng):
        h, d = hidden_size, input_size
        self.W_ih, self.W_hh = rng.normal(size=(h, d)), rng.normal(size=(h, h))
        self.b_ih, self.b_hh = rng.normal(size=h), rng.normal(size=h)
        self.zero_grad()

    def zero_grad(self):
        self.dW_ih, self.dW_hh = np.zeros_like(self.W_ih), np.zeros_like(self.W_hh)
        self.db_ih, self.db_hh = np.zeros_like(self.b_ih), np.zeros_like(self.b_hh)

    def forward(self, x, h_prev_t):
        h_t = np.tanh(x @ self.W_ih.T + self.b_ih + h_prev_t @ self.W_hh.T + self.b_hh)
        return h_t

    def backward(self, delta, h_t, h_prev_l, h_prev_t):
        batch_size = delta.shape[0]
        dz = delta * (1 - h_t**2)
        self.dW_ih += (dz.T @ h_prev_l) / batch_size
        self.dW_hh += (dz.T @ h_prev_t) / batch_size
        self.db_ih += dz.mean(axis=0)
        self.db_hh += dz.mean(axis=0)
        dx = dz @ self.W_ih
        dh_prev_t = dz @ self.W_hh
        return dx, dh_prev_t


class GRUCell:
    def __init__(self, d, h, rng):
        for gate in "rzn":
            setattr(self, f"W{gate}x", rng.normal(size=(h, d)))
            setattr(self, f"W{gate}h", rng.normal(size=(h, h)))
            setattr(self, f"b{gate}", rng.normal(size=h))

    def forward(self, x, h_prev_t):
        self.x, self.hidden = x, h_prev_t
        s = lambda a: 1 / (1 + np.exp(-a))
        self.r = s(self.Wrx @ x + self.Wrh @ h_prev_t + self.br)
        self.z = s(self.Wzx @ x + self.Wzh @ h_prev_t + self.bz)
        self.n = np.tanh(self.Wnx @ x + self.bn + self.r * (self.Wnh @ h_prev_t))
        return (1 - self.z) * self.n + self.z * h_prev_t

    def backward(self, delta):
        dz = delta * (self.hidden - self.n)
        dn = delta * (1 - self.z)
        dan = dn * (1 - self.n**2)
        dr = dan * (self.Wnh @ self.hidden)
        dar, daz = dr * self.r * (1 - self.r), dz * self.z * (1 - self.z)
        self.dWnx, self.dWnh = np.outer(dan, self.x), np.outer(dan * self.r, self.hidden)
        self.dWrx, self.dWrh = np.outer(dar, self.x), np.outer(dar, self.hidden)
        self.dWzx, self.dWzh = np.outer(daz, self.x), np.outer(daz, self.hidden)
        self.dbr, self.dbz, self.dbn = dar, daz, dan
        dx = self.Wnx.T @ dan + self.Wrx.T @ dar + self.Wzx.T @ daz
        dh = delta * self.z + self.Wnh.T @ (dan * self.r) + self.Wrh.T @ dar + self.Wzh.T @ daz
        return dx, dh


class ScaledDotProductAttention:
    def forward(self, Q, K, V):
        self.Q, self.K, self.V = Q, K, V
        s = Q @ K.swapaxes(-1, -2) / np.sqrt(Q.shape[-1])
        e = np.exp(s - s.max(axis=-1, keepdims=True))
        self.A = e / e.sum(axis=-1, keepdims=True)
        return self.A @ V

    def backward(self, d_output):
        d_V = self.A.swapaxes(-1, -2) @ d_output
        dA = d_output @ self.V.swapaxes(-1, -2)
        dS = self.A * (dA - (dA * self.A).sum(axis=-1, keepdims=True))
        dS = dS / np.sqrt(self.Q.shape[-1])
        d_Q = dS @ self.K
        d_K = dS.swapaxes(-1, -2) @ self.Q
        return d_Q, d_K, d_V


def examples(rng):
    normal = lambda *shape: rng.normal(size=shape)
    return {
        "linear": (Linear(normal(3, 4), normal(3, 1)), normal(5, 4)),
        "gelu": (GELU(), normal(5, 4)),
        "softmax": (Softmax(), normal(5, 4)),
        "mse": (MSELoss(), normal(5, 4), normal(5, 4)),
        "batchnorm": (BatchNorm1d(4), normal(5, 4)),
        "conv": (Conv1d_stride1(normal(4, 3, 2), normal(4)), normal(2, 3, 5)),
        "rnn cell": (RNNCell(4, 3, rng), normal(5, 4), normal(5, 3)),
        "gru cell": (GRUCell(4, 3, rng), normal(4), normal(3)),
        "attention": (
            ScaledDotProductAttention(),
            normal(2, 5, 3),
            normal(2, 4, 3),
            normal(2, 4, 6),
        ),
    }


MISTAKES = [
    ("linear", "self.dLdW = dLdZ.T @ self.A", "self.dLdW = dLdZ.T @ self.A / self.N"),
    ("linear", "self.dLdb = dLdZ.T @ self.Ones", "self.db = dLdZ.T @ self.Ones"),
    ("gelu", "(1 + 3 * 0.044715 * Z**2)", "(1 + 0.044715 * Z**2)"),
    ("softmax", "np.diag(a) - np.outer(a, a)", "np.diag(a) + np.outer(a, a)"),
    ("mse", "2 * (self.A - self.Y)", "(self.A - self.Y)"),
    ("batchnorm", "dLdNZ = dLdBZ * self.BW", "dLdNZ = dLdBZ"),
    ("batchnorm", "-0.5 * np.sum", "0.5 * np.sum"),
    ("conv", "self.W[:, :, ::-1]", "self.W"),
    ("conv", "dLdZ.sum(axis=(0, 2))", "dLdZ.sum(axis=2).mean(axis=0)"),
    ("rnn cell", "self.db_hh += dz.mean(axis=0)", "self.db_hh += dz.sum(axis=0)"),
    ("rnn cell", "dh_prev_t = dz @ self.W_hh", "dh_prev_t = dz @ self.W_hh.T"),
    ("gru cell", "dz = delta * (self.hidden - self.n)", "dz = delta * (self.n - self.hidden)"),
    ("gru cell", "np.outer(dan * self.r, self.hidden)", "np.outer(dan, self.hidden)"),
    ("attention", "dS = dS / np.sqrt(self.Q.shape[-1])", "pass"),
    ("attention", "return d_Q, d_K, d_V", "return d_Q, None, d_V"),
]
