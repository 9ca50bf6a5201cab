import numpy as np


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


class PeepholeLSTM:
    """The gates also see the cell: f and i the old one, o the new one."""

    def __init__(self, Wx, Wh, pf, pi, po):
        self.Wx, self.Wh = Wx, Wh
        self.pf, self.pi, self.po = pf, pi, po

    def forward(self, xs):
        H = self.Wh.shape[0]
        h = np.zeros((xs.shape[0], H))
        c = np.zeros((xs.shape[0], H))
        self.tape, hs = [], []
        for t in range(xs.shape[1]):
            af, ai, ag, ao = np.split(xs[:, t] @ self.Wx + h @ self.Wh, 4, axis=1)
            f = sigmoid(af + c * self.pf)
            i = sigmoid(ai + c * self.pi)
            g = np.tanh(ag)
            c_new = f * c + i * g
            o = sigmoid(ao + c_new * self.po)
            q = np.tanh(c_new)
            self.tape.append((xs[:, t], h, c, f, i, g, o, c_new, q))
            h, c = o * q, c_new
            hs.append(h)
        return np.stack(hs, axis=1)

    def backward(self, dhs):
        self.dWx, self.dWh = np.zeros_like(self.Wx), np.zeros_like(self.Wh)
        self.dpf, self.dpi, self.dpo = (np.zeros_like(p) for p in (self.pf, self.pi, self.po))
        dh = np.zeros_like(dhs[:, 0])
        dc = np.zeros_like(dh)
        dxs = np.zeros((dhs.shape[0], dhs.shape[1], self.Wx.shape[0]))
        for t in range(dhs.shape[1])[::-1]:
            x, h, c, f, i, g, o, c_new, q = self.tape[t]
            dh = dh + dhs[:, t]
            zo = dh * q * o * (1 - o)
            dc = dc + dh * o * (1 - q**2)
            dc = dc + zo * self.po
            zf = dc * c * f * (1 - f)
            zi = dc * g * i * (1 - i)
            zg = dc * i * (1 - g**2)
            self.dpf += (zf * c).sum(axis=0)
            self.dpi += (zi * c).sum(axis=0)
            self.dpo += (zo * c_new).sum(axis=0)
            dc = dc * f
            dc = dc + zf * self.pf + zi * self.pi
            z = np.concatenate([zf, zi, zg, zo], axis=1)
            self.dWx += x.T @ z
            self.dWh += h.T @ z
            dxs[:, t] = z @ self.Wx.T
            dh = z @ self.Wh.T
        return dxs


class MinimalGatedUnit:
    """One gate f for both: n = tanh(x W + (f h) U), h = (1 - f) h + f n."""

    def __init__(self, Wf, Uf, W, U):
        self.params = [Wf, Uf, W, U]
        self.grads = [np.zeros_like(p) for p in self.params]

    def forward(self, xs):
        Wf, Uf, W, U = self.params
        h = np.zeros((xs.shape[0], U.shape[0]))
        self.log = []
        for t in range(xs.shape[1]):
            f = sigmoid(xs[:, t].dot(Wf) + h.dot(Uf))
            n = np.tanh(xs[:, t].dot(W) + (f * h).dot(U))
            h_new = (1 - f) * h + f * n
            self.log.append((xs[:, t], h, f, n, h_new))
            h = h_new
        return np.stack([entry[-1] for entry in self.log], axis=1)

    def backward(self, dhs):
        Wf, Uf, W, U = self.params
        gWf, gUf, gW, gU = (np.zeros_like(p) for p in self.params)
        dxs = np.empty((dhs.shape[0], dhs.shape[1], W.shape[0]))
        carry = np.zeros((dhs.shape[0], U.shape[0]))
        for t in reversed(range(dhs.shape[1])):
            x, h, f, n, _ = self.log[t]
            dh = dhs[:, t] + carry
            dn = dh * f * (1 - n * n)
            back = dn.dot(U.T)
            df = dh * (n - h)
            df = df + back * h
            zf = df * f * (1 - f)
            gW += x.T.dot(dn)
            gU += (f * h).T.dot(dn)
            gWf += x.T.dot(zf)
            gUf += h.T.dot(zf)
            dxs[:, t] = dn.dot(W.T) + zf.dot(Wf.T)
            carry = dh * (1 - f)
            carry = carry + back * f
            carry = carry + zf.dot(Uf.T)
        for grad, value in zip(self.grads, (gWf, gUf, gW, gU)):
            grad[...] = value
        return dxs


class IndRNN:
    """Every unit sees only its own past: h_t = relu(x_t W + u h_(t-1) + b)."""

    def __init__(self, W, u, b):
        self.W, self.u, self.b = W, u, b

    def forward(self, xs):
        h = np.zeros((xs.shape[0], len(self.u)))
        self.xs, self.hs, self.on = xs, [h], []
        for t in range(xs.shape[1]):
            a = xs[:, t] @ self.W + self.u * h + self.b
            self.on.append(a > 0)
            h = np.where(a > 0, a, 0)
            self.hs.append(h)
        return np.stack(self.hs[1:], axis=1)

    def backward(self, dhs):
        self.dW = np.zeros_like(self.W)
        self.du = np.zeros_like(self.u)
        self.db = np.zeros_like(self.b)
        dxs = np.zeros_like(self.xs)
        back = np.zeros_like(dhs[:, 0])
        for t in reversed(range(dhs.shape[1])):
            da = (dhs[:, t] + back) * self.on[t]
            self.dW += self.xs[:, t].T @ da
            self.du += (self.hs[t] * da).sum(axis=0)
            self.db += da.sum(axis=0)
            dxs[:, t] = da @ self.W.T
            back = da * self.u
        return dxs


class SRU:
    """c_t = f c_(t-1) + (1 - f) v, h_t = r tanh(c_t) + (1 - r) x_t; gates from x only."""

    def __init__(self, W, Wf, Wr, bf, br):
        self.W, self.Wf, self.Wr, self.bf, self.br = W, Wf, Wr, bf, br

    def forward(self, xs):
        self.xs = xs
        self.v = xs @ self.W
        self.f = sigmoid(xs @ self.Wf + self.bf)
        self.r = sigmoid(xs @ self.Wr + self.br)
        c = np.zeros_like(xs[:, 0])
        cs = [c]
        for t in range(xs.shape[1]):
            c = self.f[:, t] * c + (1 - self.f[:, t]) * self.v[:, t]
            cs.append(c)
        self.cs = np.stack(cs, axis=1)
        self.m = np.tanh(self.cs[:, 1:])
        return self.r * self.m + (1 - self.r) * xs

    def backward(self, dhs):
        xs, f, r, v, m = self.xs, self.f, self.r, self.v, self.m
        dr = dhs * (m - xs) * r * (1 - r)
        dm = dhs * r * (1 - m**2)
        df, dv = np.zeros_like(f), np.zeros_like(v)
        dc = np.zeros_like(dhs[:, 0])
        for t in reversed(range(xs.shape[1])):
            dc = dc + dm[:, t]
            df[:, t] = dc * (self.cs[:, t] - v[:, t])
            dv[:, t] = dc * (1 - f[:, t])
            dc = dc * f[:, t]
        df = df * f * (1 - f)
        self.dW = np.einsum("nti,ntj->ij", xs, dv)
        self.dWf = np.einsum("nti,ntj->ij", xs, df)
        self.dWr = np.einsum("nti,ntj->ij", xs, dr)
        self.dbf = df.sum(axis=(0, 1))
        self.dbr = dr.sum(axis=(0, 1))
        dxs = dhs * (1 - r)
        dxs = dxs + dv @ self.W.T + df @ self.Wf.T + dr @ self.Wr.T
        return dxs


class QRNN:
    """Pooling c_t = f c_(t-1) + (1 - f) z; z and f see x_t and x_(t-1)."""

    def __init__(self, Wz, Vz, Wf, Vf):
        self.Wz, self.Vz, self.Wf, self.Vf = Wz, Vz, Wf, Vf

    def forward(self, xs):
        before = np.concatenate([np.zeros_like(xs[:, :1]), xs[:, :-1]], axis=1)
        z = np.tanh(xs @ self.Wz + before @ self.Vz)
        f = sigmoid(xs @ self.Wf + before @ self.Vf)
        c = np.zeros_like(z)
        last = np.zeros_like(z[:, 0])
        for t in range(xs.shape[1]):
            last = f[:, t] * last + (1 - f[:, t]) * z[:, t]
            c[:, t] = last
        self.kept = xs, before, z, f, c
        return c

    def backward(self, dcs):
        xs, before, z, f, c = self.kept
        T = xs.shape[1]
        dz, df = np.zeros_like(z), np.zeros_like(f)
        dc = 0
        for t in range(T - 1, -1, -1):
            dc = dc + dcs[:, t]
            c_prev = c[:, t - 1] if t > 0 else np.zeros_like(c[:, 0])
            dz[:, t] = dc * (1 - f[:, t])
            df[:, t] = dc * (c_prev - z[:, t])
            dc = dc * f[:, t]
        az = dz * (1 - z**2)
        af = df * f * (1 - f)
        self.dWz = np.tensordot(xs, az, axes=((0, 1), (0, 1)))
        self.dVz = np.tensordot(before, az, axes=((0, 1), (0, 1)))
        self.dWf = np.tensordot(xs, af, axes=((0, 1), (0, 1)))
        self.dVf = np.tensordot(before, af, axes=((0, 1), (0, 1)))
        dxs = az @ self.Wz.T + af @ self.Wf.T
        dbefore = az @ self.Vz.T + af @ self.Vf.T
        dxs[:, :-1] += dbefore[:, 1:]
        return dxs
