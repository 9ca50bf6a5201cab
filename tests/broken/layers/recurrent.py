import numpy as np


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


class SimpleRNN:
    """h_t = tanh(x_t Wx + h_(t-1) Wh + b) from h_0 = 0."""

    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b

    def forward(self, xs):
        N, T, D = xs.shape
        h = np.zeros((N, len(self.Wh)))
        self.xs = xs
        self.hs = [h]
        for t in range(T):
            h = np.tanh(xs[:, t] @ self.Wx + h @ self.Wh + self.b)
            self.hs.append(h)
        return np.stack(self.hs[1:], axis=1)

    def backward(self, dhs):
        N, T, H = dhs.shape
        self.dWx = np.zeros_like(self.Wx)
        self.dWh = np.zeros_like(self.Wh)
        self.db = np.zeros_like(self.b)
        dxs = np.zeros_like(self.xs)
        dnext = np.zeros((N, H))
        for t in reversed(range(T)):
            h, hprev = self.hs[t + 1], self.hs[t]
            dh = dhs[:, t] + dnext
            da = dh * (1 - h**2)
            self.dWx += self.xs[:, t].T @ da
            self.dWh += hprev.T @ da
            self.db += da.sum(axis=0)
            dxs[:, t] = da @ self.Wx.T
            dnext = da @ self.Wh.T
        return dxs


class LSTM:
    """Gates f, i, g, o side by side, as in the book."""

    def __init__(self, Wx, Wh, b):
        self.params = [Wx, Wh, b]
        self.grads = [np.zeros_like(Wx), np.zeros_like(Wh), np.zeros_like(b)]

    def forward(self, xs):
        Wx, Wh, b = self.params
        N, T, D = xs.shape
        H = Wh.shape[0]
        h, c = np.zeros((N, H)), np.zeros((N, H))
        self.cache = []
        out = []
        for t in range(T):
            x = xs[:, t]
            A = np.dot(x, Wx) + np.dot(h, Wh) + b
            f = sigmoid(A[:, :H])
            i = sigmoid(A[:, H : 2 * H])
            g = np.tanh(A[:, 2 * H : 3 * H])
            o = sigmoid(A[:, 3 * H :])
            c_next = f * c + i * g
            h_next = o * np.tanh(c_next)
            self.cache.append((x, h, c, f, i, g, o, c_next))
            h, c = h_next, c_next
            out.append(h)
        return np.stack(out, axis=1)

    def backward(self, dhs):
        Wx, Wh, b = self.params
        dWx, dWh, db = np.zeros_like(Wx), np.zeros_like(Wh), np.zeros_like(b)
        N, T, H = dhs.shape
        dh = np.zeros((N, H))
        dc = np.zeros((N, H))
        dxs = []
        for t in reversed(range(T)):
            x, h_prev, c_prev, f, i, g, o, c_next = self.cache[t]
            tanh_c = np.tanh(c_next)
            dh_next = dhs[:, t] + dh
            ds = dc + (dh_next * o) * (1 - tanh_c**2)
            dc = ds * f
            do = dh_next * tanh_c
            df = ds * c_prev
            di = ds * g
            dg = ds * i
            di = di * i * (1 - i)
            df = df * f * (1 - f)
            do = do * o * (1 - o)
            dg = dg * (1 - g**2)
            dA = np.hstack((df, di, dg, do))
            dWh += np.dot(h_prev.T, dA)
            dWx += np.dot(x.T, dA)
            db += dA.sum(axis=0)
            dxs.insert(0, np.dot(dA, Wx.T))
            dh = np.dot(dA, Wh.T)
        self.grads[0][...] = dWx
        self.grads[1][...] = dWh
        self.grads[2][...] = db
        return np.stack(dxs, axis=1)


class GRU:
    """h = (1 - z) h_prev + z n, n = tanh(x W + (r h_prev) U + b)."""

    def __init__(self, Wz, Uz, Wr, Ur, W, U, b):
        self.Wz, self.Uz, self.Wr, self.Ur = Wz, Uz, Wr, Ur
        self.W, self.U, self.b = W, U, b

    def forward(self, xs):
        h = np.zeros((xs.shape[0], self.U.shape[0]))
        self.steps = []
        hs = []
        for t in range(xs.shape[1]):
            x = xs[:, t]
            z = sigmoid(x @ self.Wz + h @ self.Uz)
            r = sigmoid(x @ self.Wr + h @ self.Ur)
            n = np.tanh(x @ self.W + (r * h) @ self.U + self.b)
            self.steps.append((x, h, z, r, n))
            h = (1 - z) * h + z * n
            hs.append(h)
        return np.array(hs).transpose(1, 0, 2)

    def backward(self, dhs):
        for name in ("Wz", "Uz", "Wr", "Ur", "W", "U", "b"):
            setattr(self, "d" + name, np.zeros_like(getattr(self, name)))
        dh_next = 0
        dxs = []
        for t in range(len(self.steps) - 1, -1, -1):
            x, h_prev, z, r, n = self.steps[t]
            dh = dhs[:, t] + dh_next
            dn = dh * z * (1 - n**2)
            dz = dh * (n - h_prev) * z * (1 - z)
            drh = dn @ self.U.T
            dr = drh * h_prev * r * (1 - r)
            self.dW += x.T @ dn
            self.dU += (r * h_prev).T @ dn
            self.db += dn.sum(axis=0)
            self.dWz += x.T @ dz
            self.dUz += h_prev.T @ dz
            self.dWr += x.T @ dr
            self.dUr += h_prev.T @ dr
            dx = dn @ self.W.T
            dx = dx + dz @ self.Wz.T + dr @ self.Wr.T
            dxs.append(dx)
            dh_next = dh * (1 - z)
            dh_next = dh_next + drh * r
            dh_next = dh_next + dz @ self.Uz.T + dr @ self.Ur.T
        return np.stack(dxs[::-1], axis=1)
