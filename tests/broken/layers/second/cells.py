import numpy as np


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


class LayerNormRNN:
    """h_t = tanh(gain * norm(x_t Wx + h_(t-1) Wh) + bias)."""

    def __init__(self, Wx, Wh, gain, bias):
        self.Wx, self.Wh, self.gain, self.bias = Wx, Wh, gain, bias

    def forward(self, xs):
        N, T, D = xs.shape
        h = np.zeros((N, self.Wh.shape[0]))
        self.steps = []
        out = []
        for t in range(T):
            a = xs[:, t] @ self.Wx + h @ self.Wh
            centred = a - a.mean(axis=1, keepdims=True)
            std = np.sqrt((centred**2).mean(axis=1, keepdims=True) + 1e-5)
            normed = centred / std
            h_prev = h
            h = np.tanh(self.gain * normed + self.bias)
            self.steps.append((xs[:, t], h_prev, normed, std, h))
            out.append(h)
        return np.stack(out, axis=1)

    def backward(self, dout):
        N, T, H = dout.shape
        self.dWx, self.dWh = np.zeros_like(self.Wx), np.zeros_like(self.Wh)
        self.dgain, self.dbias = np.zeros(H), np.zeros(H)
        dxs = np.zeros((N, T, self.Wx.shape[0]))
        dh_next = np.zeros((N, H))
        for t in range(T - 1, -1, -1):
            x, h_prev, normed, std, h = self.steps[t]
            dh = dout[:, t] + dh_next
            dz = dh * (1 - h * h)
            self.dgain += (dz * normed).sum(axis=0)
            self.dbias += dz.sum(axis=0)
            dnorm = dz * self.gain
            da = dnorm - dnorm.mean(axis=1, keepdims=True)
            da -= normed * (dnorm * normed).mean(axis=1, keepdims=True)
            da = da / std
            self.dWx += x.T @ da
            self.dWh += h_prev.T @ da
            dxs[:, t] = da @ self.Wx.T
            dh_next = da @ self.Wh.T
        return dxs


class CoupledLSTM:
    """One gate for both: c = f * c + (1 - f) * g."""

    def __init__(self, W, b):
        self.params = [W, b]
        self.grads = [np.zeros_like(W), np.zeros_like(b)]
        self.cache = None

    def forward(self, xs):
        W, b = self.params
        N, T, D = xs.shape
        H = W.shape[1] // 3
        h, c = np.zeros((N, H)), np.zeros((N, H))
        self.cache, hs = [], []
        for t in range(T):
            z = np.concatenate([xs[:, t], h], axis=1)
            a = z @ W + b
            f = sigmoid(a[:, :H])
            o = sigmoid(a[:, H : 2 * H])
            g = np.tanh(a[:, 2 * H :])
            c_prev = c
            c = f * c_prev + (1 - f) * g
            tc = np.tanh(c)
            h = o * tc
            self.cache.append((z, f, o, g, c_prev, tc))
            hs.append(h)
        return np.stack(hs, axis=1)

    def backward(self, dhs):
        W, b = self.params
        dW, db = np.zeros_like(W), np.zeros_like(b)
        N, T, H = dhs.shape
        D = W.shape[0] - H
        dxs = np.zeros((N, T, D))
        dh, dc = 0, 0
        for t in reversed(range(T)):
            z, f, o, g, c_prev, tc = self.cache[t]  # values of step t
            dh = dh + dhs[:, t]
            do = dh * tc
            dc = dc + dh * o * (1 - tc**2)
            df = dc * (c_prev - g)
            dg = dc * (1 - f)
            da = np.hstack([df * f * (1 - f), do * o * (1 - o), dg * (1 - g**2)])
            dW += z.T @ da
            db += da.sum(axis=0)
            dz = da @ W.T
            dxs[:, t] = dz[:, :D]
            dh = dz[:, D:]
            dc = dc * f
        self.grads[0][...] = dW
        self.grads[1][...] = db
        return dxs


class ProjectedLSTM:
    """The recurrent state is a projection of the output: r = (o * tanh(c)) P."""

    def __init__(self, Wx, Wr, b, P):
        self.params = {"Wx": Wx, "Wr": Wr, "b": b, "P": P}
        self.grads = {}

    def forward(self, xs):
        p = self.params
        N, T, _ = xs.shape
        c = np.zeros((N, p["P"].shape[0]))
        r = np.zeros((N, p["P"].shape[1]))
        self.history, rs = [], []
        for t in range(T):
            i, f, g, o = np.split(xs[:, t] @ p["Wx"] + r @ p["Wr"] + p["b"], 4, axis=1)
            i, f, g, o = sigmoid(i), sigmoid(f), np.tanh(g), sigmoid(o)
            c_old, r_old = c, r
            c = f * c_old + i * g
            m = o * np.tanh(c)
            r = m @ p["P"]
            self.history.append((xs[:, t], r_old, c_old, i, f, g, o, c, m))
            rs.append(r)
        return np.stack(rs, axis=1)

    def backward(self, drs):
        p = self.params
        grads = {k: np.zeros_like(v) for k, v in p.items()}
        N, T, _ = drs.shape
        dxs = np.zeros((N, T, p["Wx"].shape[0]))
        dr_next = np.zeros_like(drs[:, 0])
        dc_next = np.zeros((N, p["P"].shape[0]))
        for t in range(T - 1, -1, -1):
            x, r_old, c_old, i, f, g, o, c, m = self.history[t]
            dr = drs[:, t] + dr_next
            grads["P"] += m.T @ dr
            dm = dr @ p["P"].T
            do = dm * np.tanh(c)
            dc = dc_next + dm * o * (1 - np.tanh(c) ** 2)
            di = dc * g
            df = dc * c_old
            dg = dc * i
            da_i = di * i * (1 - i)
            da_f = df * f * (1 - f)
            da_g = dg * (1 - g**2)
            da_o = do * o * (1 - o)
            da = np.concatenate([da_i, da_f, da_g, da_o], axis=1)
            grads["Wx"] += x.T @ da
            grads["Wr"] += r_old.T @ da
            grads["b"] += da.sum(axis=0)
            dxs[:, t] = da @ p["Wx"].T
            dr_next = da @ p["Wr"].T
            dc_next = dc * f
        self.grads = grads
        return dxs


def gru_step_forward(x, prev_h, Wx, Wh, bx, bh):
    """A GRU whose reset gate acts after the product with Wh."""
    H = prev_h.shape[1]
    ax = x.dot(Wx) + bx
    ah = prev_h.dot(Wh) + bh
    r = sigmoid(ax[:, :H] + ah[:, :H])
    u = sigmoid(ax[:, H : 2 * H] + ah[:, H : 2 * H])
    an = ah[:, 2 * H :]
    n = np.tanh(ax[:, 2 * H :] + r * an)
    next_h = (1 - u) * n + u * prev_h
    cache = (x, prev_h, Wx, Wh, r, u, n, an)
    return next_h, cache


def gru_step_backward(dnext_h, cache):
    x, prev_h, Wx, Wh, r, u, n, an = cache
    # backprop through the new state
    du = dnext_h * (prev_h - n)
    dn = dnext_h * (1 - u)
    dprev_h = dnext_h * u
    dan = dn * (1 - n**2)
    dr = dan * an
    dar = dr * r * (1 - r)
    dau = du * u * (1 - u)
    # the reset gate stands between n and the product with Wh
    dax = np.hstack((dar, dau, dan))
    dah = np.hstack((dar, dau, dan * r))
    dx = dax.dot(Wx.T)
    dprev_h += dah.dot(Wh.T)
    dWx = x.T.dot(dax)
    dWh = prev_h.T.dot(dah)
    dbx = dax.sum(axis=0)
    dbh = dah.sum(axis=0)
    return dx, dprev_h, dWx, dWh, dbx, dbh


class ConvRNN:
    """h_t = tanh(conv(x_t, K) + conv(h_(t-1), R) + b), width 3, padded to the same length."""

    def __init__(self, K, R, b):
        self.K, self.R, self.b = K, R, b

    def conv(self, a, kernel):
        L = a.shape[1]
        padded = np.pad(a, ((0, 0), (1, 1), (0, 0)))
        return padded, sum(padded[:, k : k + L] @ kernel[k] for k in range(3))

    def forward(self, xs):
        N, T, L, C = xs.shape
        h = np.zeros((N, L, self.b.size))
        self.saved = []
        for t in range(T):
            xp, from_x = self.conv(xs[:, t], self.K)
            hp, from_h = self.conv(h, self.R)
            h = np.tanh(from_x + from_h + self.b)
            self.saved.append((xp, hp, h))
        return np.stack([s[2] for s in self.saved], axis=1)

    def backward(self, dhs):
        N, T, L, H = dhs.shape
        self.dK, self.dR, self.db = (np.zeros_like(w) for w in (self.K, self.R, self.b))
        dxs = np.zeros((N, T, L, self.K.shape[1]))
        dh = np.zeros((N, L, H))
        for t in range(T - 1, -1, -1):
            xp, hp, h = self.saved[t]
            dz = (dhs[:, t] + dh) * (1 - h**2)
            dxp, dhp = np.zeros_like(xp), np.zeros_like(hp)
            for k in range(3):
                self.dK[k] += np.einsum("nlc,nlh->ch", xp[:, k : k + L], dz)
                self.dR[k] += np.einsum("nlc,nlh->ch", hp[:, k : k + L], dz)
                dxp[:, k : k + L] += dz @ self.K[k].T
                dhp[:, k : k + L] += dz @ self.R[k].T
            self.db += dz.sum(axis=(0, 1))
            dxs[:, t] = dxp[:, 1:-1]
            dh = dhp[:, 1:-1]
        return dxs
