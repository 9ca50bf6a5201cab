import numpy as np


def softmax(s):
    e = np.exp(s - s.max(axis=-1, keepdims=True).real)
    return e / e.sum(axis=-1, keepdims=True)


class SoftmaxWithLoss:
    def forward(self, x, t):
        self.t = t
        self.x = x
        self.y = softmax(x)
        return -np.mean(np.log(self.y[np.arange(len(t)), t]))

    def backward(self, dout=1):
        batch_size = self.t.shape[0]
        dx = self.y.copy()
        dx[np.arange(batch_size), self.t] -= 1
        dx *= dout
        dx = dx / batch_size
        return dx


class TimeSoftmaxWithLoss:
    """Mean over the targets that are not -1."""

    def forward(self, xs, ts):
        self.ts = ts
        self.ps = softmax(xs)
        self.mask = ts != -1
        picked = np.take_along_axis(self.ps, np.where(self.mask, ts, 0)[:, :, None], axis=2)[
            :, :, 0
        ]
        self.count = self.mask.sum()
        return -(np.log(picked) * self.mask).sum() / self.count

    def backward(self, dout=1):
        N, T, V = self.ps.shape
        onehot = np.eye(V)[np.where(self.mask, self.ts, 0)]
        dxs = self.ps - onehot
        dxs = dxs * dout / self.count
        dxs = dxs * self.mask[:, :, None]
        return dxs


class SigmoidWithLoss:
    def forward(self, s, t):
        self.s, self.t = s, t
        self.p = 1 / (1 + np.exp(-s))
        return -np.mean(t * np.log(self.p) + (1 - t) * np.log(1 - self.p))

    def backward(self, dout=1):
        return dout * (self.p - self.t) / self.t.size


class HingeLoss:
    """Sum over the wrong classes of max(0, s_j - s_t + margin), mean over N."""

    def __init__(self, margin=1.0):
        self.margin = margin

    def forward(self, scores, t):
        self.t = t
        self.rows = np.arange(len(t))
        right = scores[self.rows, t][:, None]
        gaps = scores - right + self.margin
        gaps[self.rows, t] = 0
        self.active = gaps > 0
        return (gaps * self.active).sum() / len(t)

    def backward(self, dout=1):
        dscores = self.active.astype(float)
        dscores[self.rows, self.t] = -self.active.sum(axis=1)
        dscores = dscores / len(self.t)
        return dout * dscores


class HuberLoss:
    def __init__(self, delta=0.7):
        self.delta = delta

    def forward(self, y, t):
        self.r = y - t
        size = np.where(self.r > 0, self.r, -self.r)
        self.small = size <= self.delta
        square = 0.5 * self.r**2
        line = self.delta * (size - 0.5 * self.delta)
        return np.where(self.small, square, line).mean()

    def backward(self, dout=1):
        sign = np.sign(self.r)
        dy = np.where(self.small, self.r, self.delta * sign)
        return dout * dy / self.r.size


class KLDivergence:
    """KL of the teacher's t from softmax(x / temperature), mean over N."""

    def __init__(self, temperature=2.5):
        self.temperature = temperature

    def forward(self, x, t):
        self.t = t
        self.p = softmax(x / self.temperature)
        return (t * (np.log(t) - np.log(self.p))).sum() / len(t)

    def backward(self, dout=1):
        ds = self.p - self.t
        ds = ds / self.temperature
        return dout * ds / len(self.t)


class LabelSmoothing:
    def __init__(self, eps=0.2):
        self.eps = eps

    def forward(self, x, t):
        N, V = x.shape
        self.p = softmax(x)
        self.q = np.full((N, V), self.eps / V)
        self.q[np.arange(N), t] += 1 - self.eps
        self.onehot = np.eye(V)[t]
        return -(self.q * np.log(self.p)).sum() / N

    def backward(self, dout=1):
        N = len(self.p)
        dx = (self.p - self.q) / N
        return dx * dout


class FocalLoss:
    """-(1 - p_t)^gamma log p_t, mean over N."""

    def __init__(self, gamma=2.0):
        self.gamma = gamma

    def forward(self, x, t):
        self.p = softmax(x)
        self.pt = self.p[np.arange(len(t)), t]
        self.t = t
        return np.mean(-((1 - self.pt) ** self.gamma) * np.log(self.pt))

    def backward(self, dout=1):
        N, V = self.p.shape
        pt, gamma = self.pt, self.gamma
        dpt = gamma * (1 - pt) ** (gamma - 1) * np.log(pt)
        dpt = dpt - (1 - pt) ** gamma / pt
        onehot = np.eye(V)[self.t]
        dx = (dpt * pt)[:, None] * (onehot - self.p)
        return dout * dx / N
