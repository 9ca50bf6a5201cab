"""Classes of 11-785: forward keeps what it needs, backward(delta, ...) fills dLdW; (N, C, W) arrays."""

import numpy as np


class Linear:
    def __init__(self, W, b):
        self.W, self.b = W, b  # W is out x in, b is out x 1

    def forward(self, A):
        self.A = A
        self.N = A.shape[0]
        self.Ones = np.ones((self.N, 1))
        return self.A @ self.W.T + self.Ones @ self.b.T

    def backward(self, dLdZ):
        dLdA = dLdZ @ self.W
        self.dLdW = dLdZ.T @ self.A
        self.dLdb = dLdZ.T @ self.Ones
        return dLdA


class GELU:
    def forward(self, Z):
        self.Z = Z
        self.T = np.tanh(np.sqrt(2 / np.pi) * (Z + 0.044715 * Z**3))
        return 0.5 * Z * (1 + self.T)

    def backward(self, dLdA):
        slope = np.sqrt(2 / np.pi) * (1 + 3 * 0.044715 * self.Z**2)
        dAdZ = 0.5 * (1 + self.T) + 0.5 * self.Z * (1 - self.T**2) * slope
        return dLdA * dAdZ


class BatchNorm1d:
    def __init__(self, BW, Bb):
        self.BW, self.Bb = BW, Bb  # 1 x features

    def forward(self, Z):
        self.Z = Z
        self.N = Z.shape[0]
        self.M = np.mean(Z, axis=0, keepdims=True)
        self.V = np.var(Z, axis=0, keepdims=True)
        self.NZ = (Z - self.M) / np.sqrt(self.V + 1e-8)
        return self.BW * self.NZ + self.Bb

    def backward(self, dLdBZ):
        self.dLdBW = np.sum(dLdBZ * self.NZ, axis=0, keepdims=True)
        self.dLdBb = np.sum(dLdBZ, axis=0, keepdims=True)
        dLdNZ = dLdBZ * self.BW
        s = self.V + 1e-8
        dLdV = -0.5 * np.sum(dLdNZ * (self.Z - self.M) * s**-1.5, axis=0, keepdims=True)
        dLdM = -np.sum(dLdNZ * s**-0.5, axis=0, keepdims=True)
        dLdZ = dLdNZ * s**-0.5 + dLdV * (2 / self.N) * (self.Z - self.M) + dLdM / self.N
        return dLdZ


class Conv1d_stride1:
    def __init__(self, W, b):
        self.W, self.b = W, b

    def forward(self, A):
        self.A = A
        K = self.W.shape[2]
        self.out = A.shape[2] - K + 1
        Z = np.zeros((A.shape[0], self.W.shape[0], self.out))
        for i in range(self.out):
            Z[:, :, i] = np.tensordot(A[:, :, i : i + K], self.W, axes=([1, 2], [1, 2])) + self.b
        return Z

    def backward(self, dLdZ):
        K = self.W.shape[2]
        self.dLdb = np.sum(dLdZ, axis=(0, 2))
        self.dLdW = np.zeros_like(self.W)
        for i in range(K):
            part = self.A[:, :, i : i + self.out]
            self.dLdW[:, :, i] = np.tensordot(dLdZ, part, axes=([0, 2], [0, 2]))
        padded = np.pad(dLdZ, ((0, 0), (0, 0), (K - 1, K - 1)))
        flipped = np.flip(self.W, axis=2)
        dLdA = np.zeros_like(self.A)
        for i in range(self.A.shape[2]):
            dLdA[:, :, i] = np.tensordot(padded[:, :, i : i + K], flipped, axes=([1, 2], [0, 2]))
        return dLdA


class Downsample1d:
    def __init__(self, factor):
        self.factor = factor

    def forward(self, A):
        self.W_in = A.shape[2]
        return A[:, :, :: self.factor]

    def backward(self, dLdZ):
        dLdA = np.zeros((*dLdZ.shape[:2], self.W_in))
        dLdA[:, :, :: self.factor] = dLdZ
        return dLdA


class RNNCell:
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh), backward gets the states again."""

    def __init__(self, W_ih, W_hh, b_ih, b_hh):
        self.W_ih, self.W_hh, self.b_ih, self.b_hh = W_ih, W_hh, b_ih, b_hh
        self.zero_grad()

    def zero_grad(self):
        self.dW_ih, self.dW_hh = np.zeros_like(self.W_ih), np.zeros_like(self.W_hh)
        self.db_ih, self.db_hh = np.zeros_like(self.b_ih), np.zeros_like(self.b_hh)

    def forward(self, x, h_prev_t):
        return np.tanh(x @ self.W_ih.T + self.b_ih + h_prev_t @ self.W_hh.T + self.b_hh)

    def backward(self, delta, h_t, h_prev_l, h_prev_t):
        batch_size = delta.shape[0]
        dz = delta * (1 - h_t**2)
        self.dW_ih += dz.T @ h_prev_l / batch_size
        self.dW_hh += dz.T @ h_prev_t / batch_size
        self.db_ih += np.mean(dz, axis=0)
        self.db_hh += np.mean(dz, axis=0)
        dx = dz @ self.W_ih
        dh_prev_t = dz @ self.W_hh
        return dx, dh_prev_t


class GRUCell:
    """One sample: vectors x (d,) and h (h,), matrices with rows of units."""

    def __init__(self, Wrx, Wzx, Wnx, Wrh, Wzh, Wnh, bnh):
        self.Wrx, self.Wzx, self.Wnx = Wrx, Wzx, Wnx
        self.Wrh, self.Wzh, self.Wnh, self.bnh = Wrh, Wzh, Wnh, bnh

    def forward(self, x, h_prev_t):
        self.x, self.hidden = x, h_prev_t
        self.r = 1 / (1 + np.exp(-(self.Wrx @ x + self.Wrh @ h_prev_t)))
        self.z = 1 / (1 + np.exp(-(self.Wzx @ x + self.Wzh @ h_prev_t)))
        self.inner = self.Wnh @ h_prev_t + self.bnh
        self.n = np.tanh(self.Wnx @ x + self.r * self.inner)
        return (1 - self.z) * self.n + self.z * h_prev_t

    def backward(self, delta):
        dz = delta * (self.hidden - self.n) * self.z * (1 - self.z)
        dn = delta * (1 - self.z) * (1 - self.n**2)
        dinner = dn * self.r
        dr = dn * self.inner * self.r * (1 - self.r)
        self.dWnx, self.dWnh = np.outer(dn, self.x), np.outer(dinner, self.hidden)
        self.dbnh = dinner
        self.dWrx, self.dWrh = np.outer(dr, self.x), np.outer(dr, self.hidden)
        self.dWzx, self.dWzh = np.outer(dz, self.x), np.outer(dz, self.hidden)
        dx = dn @ self.Wnx + dr @ self.Wrx + dz @ self.Wzx
        dh = delta * self.z + dinner @ self.Wnh + dr @ self.Wrh + dz @ self.Wzh
        return dx, dh


class Attention:
    """Self-attention of X (B, T, D) with a causal mask."""

    def __init__(self, weights_keys, weights_queries, weights_values):
        self.W_k, self.W_q, self.W_v = weights_keys, weights_queries, weights_values

    def forward(self, X):
        self.X = X
        self.Q, self.K, self.V = X @ self.W_q, X @ self.W_k, X @ self.W_v
        A_w = self.Q @ self.K.transpose(0, 2, 1)
        T = X.shape[1]
        A_w = (A_w + np.triu(np.full((T, T), -1e9), 1)) / np.sqrt(self.K.shape[2])
        e = np.exp(A_w - A_w.max(axis=2, keepdims=True))
        self.A_sig = e / e.sum(axis=2, keepdims=True)
        return self.A_sig @ self.V

    def backward(self, dLdXnew):
        dLdA_sig = dLdXnew @ self.V.transpose(0, 2, 1)
        dLdV = self.A_sig.transpose(0, 2, 1) @ dLdXnew
        inner = np.sum(dLdA_sig * self.A_sig, axis=2, keepdims=True)
        dLdA_w = self.A_sig * (dLdA_sig - inner) / np.sqrt(self.K.shape[2])
        dLdK = dLdA_w.transpose(0, 2, 1) @ self.Q
        dLdQ = dLdA_w @ self.K
        self.dLdWq = np.sum(self.X.transpose(0, 2, 1) @ dLdQ, axis=0)
        self.dLdWk = np.sum(self.X.transpose(0, 2, 1) @ dLdK, axis=0)
        self.dLdWv = np.sum(self.X.transpose(0, 2, 1) @ dLdV, axis=0)
        return dLdV @ self.W_v.T + dLdK @ self.W_k.T + dLdQ @ self.W_q.T
