import numpy as np


def log_softmax(x):
    x = x - x.max(axis=-1, keepdims=True)
    return x - np.log(np.exp(x).sum(axis=-1, keepdims=True))


class MarginRanking:
    """Mean of max(0, margin - y (a - b)), y = 1 or -1."""

    def __init__(self, margin):
        self.margin = margin

    def forward(self, a, b, y):
        self.y = y
        self.loss = np.maximum(0, self.margin - y * (a - b))
        return self.loss.mean()

    def backward(self, dout=1.0):
        active = self.loss > 0
        da = -dout * self.y * active / self.y.size
        db = dout * self.y * active / self.y.size
        return da, db


class PoissonLoss:
    """Mean of exp(x) - k x for counts k, x = log of the rate."""

    def forward(self, x, k):
        self.k, self.rate = k, np.exp(x)
        return np.mean(self.rate - k * x)

    def backward(self, dout=1.0):
        return dout * (self.rate - self.k) / self.k.size


def gaussian_nll_forward(mu, log_var, labels):
    """Mean of 0.5 (log_var + (labels - mu)^2 / exp(log_var))."""
    var = np.exp(log_var)
    diff = labels - mu
    loss = 0.5 * np.mean(log_var + diff**2 / var)
    return loss, (var, diff)


def gaussian_nll_backward(dout, cache):
    var, diff = cache
    n = diff.size
    dmu = -dout * diff / var / n
    dlog_var = dout * 0.5 * (1 - diff**2 / var) / n
    return dmu, dlog_var


class QuantileLoss:
    """Pinball loss: q e where e = t - x is positive, (q - 1) e elsewhere; mean over the batch."""

    def __init__(self, q):
        self.q = q

    def forward(self, x, t):
        self.e = t - x
        each = np.where(self.e > 0, self.q * self.e, (self.q - 1) * self.e)
        return each.sum() / len(x)

    def backward(self, dout=1):
        slope = np.where(self.e > 0, self.q, self.q - 1)
        return -dout * slope / len(slope)


class CosineEmbeddingLoss:
    """1 - cos for pairs that belong together (1), max(0, cos) for the others (0)."""

    def forward(self, a, b, same):
        self.a, self.b, self.same = a, b, same
        self.na = np.sqrt((a**2).sum(axis=1))
        self.nb = np.sqrt((b**2).sum(axis=1))
        self.cos = (a * b).sum(axis=1) / (self.na * self.nb)
        return np.where(same == 1, 1 - self.cos, np.maximum(self.cos, 0)).mean()

    def backward(self, dout=1):
        dcos = np.where(self.same == 1, -1.0, (self.cos > 0) * 1.0)
        dcos = (dout * dcos / len(self.cos))[:, None]  # mean over the pairs
        na, nb, cos = self.na[:, None], self.nb[:, None], self.cos[:, None]
        da = dcos * (self.b / (na * nb) - cos * self.a / na**2)
        db = dcos * (self.a / (na * nb) - cos * self.b / nb**2)
        return da, db


class DiceLoss:
    """1 - 2 sum(p t) / (sum(p) + sum(t)), p = sigmoid(x), for every picture; mean over them."""

    def forward(self, x, labels):
        self.t = labels
        self.p = 1 / (1 + np.exp(-x))
        self.inter = (self.p * labels).sum(axis=1, keepdims=True)
        self.union = self.p.sum(axis=1, keepdims=True) + labels.sum(axis=1, keepdims=True)
        return np.mean(1 - 2 * self.inter / self.union)

    def backward(self, dout=1.0):
        N = len(self.p)
        dinter = -2 / self.union
        dunion = 2 * self.inter / self.union**2
        dp = dinter * self.t + dunion
        dx = dout * dp * self.p * (1 - self.p) / N
        return dx


class TverskyLoss:
    """1 - TP / (TP + a FP + b FN) over all pixels, on probabilities p."""

    def __init__(self, a, b):
        self.a, self.b = a, b

    def forward(self, p, labels):
        self.labels = labels
        self.tp = np.sum(p * labels)
        fp = np.sum(p * (1 - labels))
        fn = np.sum((1 - p) * labels)
        self.den = self.tp + self.a * fp + self.b * fn
        return 1 - self.tp / self.den

    def backward(self, dout=1.0):
        y = self.labels
        dden = y + self.a * (1 - y) - self.b * y
        dp = -(y * self.den - self.tp * dden) / self.den**2
        return dout * dp


class WeightedCrossEntropy:
    """Cross-entropy with a weight for every class, divided by the sum of the weights."""

    def __init__(self, class_weights):
        self.class_weights = list(class_weights)

    def forward(self, x, t):
        self.t = t
        self.w = np.array(self.class_weights)[t]
        logp = log_softmax(x)
        self.p = np.exp(logp)
        picked = logp[np.arange(len(t)), t]
        return -(self.w * picked).sum() / self.w.sum()

    def backward(self, dout=1):
        dx = self.p.copy()
        dx[np.arange(len(self.t)), self.t] -= 1
        dx = dx * self.w[:, None]
        dx = dx / self.w.sum()
        return dout * dx


class TemperedEntropyLoss:
    """Cross-entropy of softmax(x / tau) minus beta times the entropy, mean over the batch."""

    def __init__(self, tau, beta):
        self.tau, self.beta = tau, beta

    def forward(self, x, targets):
        self.targets = targets
        self.logp = log_softmax(x / self.tau)
        self.p = np.exp(self.logp)
        self.entropy = -(self.p * self.logp).sum(axis=1)
        picked = self.logp[np.arange(len(targets)), targets]
        return np.mean(-picked - self.beta * self.entropy)

    def backward(self, dout=1.0):
        N = len(self.targets)
        dz = self.p.copy()
        dz[np.arange(N), self.targets] -= 1
        dz += self.beta * self.p * (self.logp + self.entropy[:, None])
        return dout * dz / N / self.tau


def zloss(x, labels):
    """Cross-entropy + 0.1 log(Z)^2 and its gradient."""
    N = x.shape[0]
    top = x.max(axis=1, keepdims=True)
    log_z = np.log(np.exp(x - top).sum(axis=1, keepdims=True)) + top
    logp = x - log_z
    loss = -logp[np.arange(N), labels].sum() / N + 0.1 * np.sum(log_z**2) / N
    p = np.exp(logp)
    dx = p.copy()
    dx[np.arange(N), labels] -= 1
    dx += 0.2 * log_z * p
    dx /= N
    return loss, dx


class CentreLoss:
    """Half the mean squared distance of every x to the learned centre of its class."""

    def __init__(self, centres):
        self.centres = centres

    def forward(self, x, labels):
        self.labels = labels
        self.diff = x - self.centres[labels]
        return 0.5 * (self.diff**2).sum() / len(x)

    def backward(self, dout=1):
        dx = dout * self.diff / len(self.diff)
        self.dcentres = np.zeros_like(self.centres)
        np.add.at(self.dcentres, self.labels, -dx)
        return dx


def svm_squared_loss(x, y):
    """Squared multiclass hinge loss and its gradient; y are the right classes."""
    N = x.shape[0]
    rows = np.arange(N)
    margins = np.maximum(0, x - x[rows, y][:, None] + 1.0)
    margins[rows, y] = 0
    loss = np.sum(margins**2) / N
    dx = 2 * margins
    dx[rows, y] -= dx.sum(axis=1)
    dx /= N
    return loss, dx


class SequenceMSE:
    """Squared error over the true steps only; divided by their number."""

    def forward(self, x, targets, mask):
        self.mask = mask[:, :, None]
        self.e = (x - targets) * self.mask
        return (self.e**2).sum() / mask.sum()

    def backward(self, dout=1):
        dx = 2 * dout * self.e / self.mask.sum()
        return dx


def smooth_l1_loss(x, targets):
    """Huber with threshold 1, mean over all entries, and its gradient."""
    d = x - targets
    small = np.abs(d) < 1
    loss = np.where(small, 0.5 * d**2, np.abs(d) - 0.5).mean()
    grad = np.where(small, d, np.sign(d)) / d.size
    return loss, grad


class Distillation:
    """tau^2 times the cross-entropy of a teacher's softmax(t / tau) and the student's."""

    def __init__(self, tau):
        self.tau = tau

    def forward(self, x, targets):
        self.q = np.exp(log_softmax(targets / self.tau))
        logp = log_softmax(x / self.tau)
        self.p = np.exp(logp)
        return -(self.tau**2) * (self.q * logp).sum() / len(x)

    def backward(self, dout=1):
        dz = self.tau**2 * (self.p - self.q) / len(self.p)
        return dout * dz / self.tau
