import numpy as np


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


class BidirectionalSum:
    """One RNN from left to right, one from right to left; their states are added."""

    def __init__(self, Wf, Uf, Wb, Ub):
        self.Wf, self.Uf, self.Wb, self.Ub = Wf, Uf, Wb, Ub

    def forward(self, xs):
        N, T, _ = xs.shape
        self.xs = xs
        start = np.zeros((N, self.Uf.shape[0]))
        self.left, self.right = [start], [start]
        for t in range(T):
            self.left.append(np.tanh(xs[:, t] @ self.Wf + self.left[-1] @ self.Uf))
        for t in reversed(range(T)):
            self.right.insert(0, np.tanh(xs[:, t] @ self.Wb + self.right[0] @ self.Ub))
        return np.stack([self.left[t + 1] + self.right[t] for t in range(T)], axis=1)

    def backward(self, dhs):
        T = dhs.shape[1]
        self.dWf, self.dUf = np.zeros_like(self.Wf), np.zeros_like(self.Uf)
        self.dWb, self.dUb = np.zeros_like(self.Wb), np.zeros_like(self.Ub)
        dxs = np.zeros_like(self.xs)
        carry = 0
        for t in reversed(range(T)):
            da = (dhs[:, t] + carry) * (1 - self.left[t + 1] ** 2)
            self.dWf += self.xs[:, t].T @ da
            self.dUf += self.left[t].T @ da
            dxs[:, t] += da @ self.Wf.T
            carry = da @ self.Uf.T
        back = 0
        for t in range(T):
            da = (dhs[:, t] + back) * (1 - self.right[t] ** 2)
            self.dWb += self.xs[:, t].T @ da
            self.dUb += self.right[t + 1].T @ da
            dxs[:, t] += da @ self.Wb.T
            back = da @ self.Ub.T
        return dxs


def ssm_forward(u, A, B, C, D):
    """A diagonal linear recurrence: h = A * h + u B, y = h C + D * u."""
    h = np.zeros((u.shape[0], A.size))
    hs, ys = [h], []
    for t in range(u.shape[1]):
        h = A * h + u[:, t] @ B
        hs.append(h)
        ys.append(h @ C + D * u[:, t])
    return np.stack(ys, axis=1), (u, A, B, C, D, hs)


def ssm_backward(dy, cache):
    u, A, B, C, D, hs = cache
    dA, dB, dC = np.zeros_like(A), np.zeros_like(B), np.zeros_like(C)
    dD = (dy * u).sum(axis=(0, 1))
    du = dy * D
    g = np.zeros_like(hs[0])
    for t in range(u.shape[1])[::-1]:
        g = g + dy[:, t] @ C.T
        dC += hs[t + 1].T @ dy[:, t]
        dA += (g * hs[t]).sum(axis=0)
        dB += u[:, t].T @ g
        du[:, t] += g @ B.T
        g = g * A
    return du, dA, dB, dC, dD


class LeakyRNN:
    """h = (1 - a) * h + a * tanh(x W + h U) with a = sigmoid(leak) for every unit."""

    def __init__(self, W, U, leak):
        self.W, self.U, self.leak = W, U, leak

    def forward(self, x):
        self.x = x
        self.a = sigmoid(self.leak)
        self.h = [np.zeros((x.shape[0], self.U.shape[0]))]
        self.n = []
        for t in range(x.shape[1]):
            n = np.tanh(x[:, t] @ self.W + self.h[t] @ self.U)
            self.n.append(n)
            self.h.append((1 - self.a) * self.h[t] + self.a * n)
        return np.stack(self.h[1:], axis=1)

    def backward(self, dy):
        a = self.a
        self.grad_W = np.zeros_like(self.W)
        self.grad_U = np.zeros_like(self.U)
        da = np.zeros_like(a)
        dx = np.zeros_like(self.x)
        dh = np.zeros_like(self.h[0])
        for t in range(dy.shape[1] - 1, -1, -1):
            dh = dh + dy[:, t]
            da += (dh * (self.n[t] - self.h[t])).sum(axis=0)
            dn = dh * a * (1 - self.n[t] ** 2)
            self.grad_W += self.x[:, t].T @ dn
            self.grad_U += self.h[t].T @ dn
            dx[:, t] = dn @ self.W.T
            dh = dh * (1 - a) + dn @ self.U.T
        self.grad_leak = da * a * (1 - a)
        return dx


class JordanNetwork:
    """The output is fed back, not the state: s = tanh(x W + y V), y = sigmoid(s Wy)."""

    def __init__(self, W, V, Wy):
        self.W, self.V, self.Wy = W, V, Wy

    def forward(self, xs):
        N, T, _ = xs.shape
        y = np.zeros((N, self.Wy.shape[1]))
        self.log = []
        for t in range(T):
            s = np.tanh(xs[:, t] @ self.W + y @ self.V)
            y_new = sigmoid(s @ self.Wy)
            self.log.append((xs[:, t], y, s, y_new))
            y = y_new
        return np.stack([entry[3] for entry in self.log], axis=1)

    def backward(self, dys):
        self.dW, self.dV, self.dWy = (np.zeros_like(w) for w in (self.W, self.V, self.Wy))
        dxs = []
        dy_back = np.zeros_like(dys[:, 0])
        for t in reversed(range(dys.shape[1])):
            x, y_prev, s, y = self.log[t]
            dy = dys[:, t] + dy_back
            dlogit = dy * y * (1 - y)
            self.dWy += s.T @ dlogit
            ds = dlogit @ self.Wy.T
            dpre = ds * (1 - s**2)
            self.dW += x.T @ dpre
            self.dV += y_prev.T @ dpre
            dxs.insert(0, dpre @ self.W.T)
            dy_back = dpre @ self.V.T
        return np.stack(dxs, axis=1)


class MovingAverage:
    """y_0 = x_0, then y_t = beta * y_(t-1) + (1 - beta) * x_t, a beta for every channel."""

    def __init__(self, beta):
        self.beta = beta

    def forward(self, x):
        self.x = x
        y = [x[:, 0]]
        for t in range(1, x.shape[1]):
            y.append(self.beta * y[-1] + (1 - self.beta) * x[:, t])
        self.y = np.stack(y, axis=1)
        return self.y

    def backward(self, dy):
        dx = np.zeros_like(dy)
        self.dbeta = np.zeros_like(self.beta)
        flow = np.zeros_like(dy[:, 0])
        for t in range(dy.shape[1] - 1, 0, -1):
            flow = flow + dy[:, t]
            self.dbeta += (flow * (self.y[:, t - 1] - self.x[:, t])).sum(axis=0)
            dx[:, t] = flow * (1 - self.beta)
            flow = flow * self.beta
        dx[:, 0] = flow + dy[:, 0]
        return dx
