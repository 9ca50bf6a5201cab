"""Lessons 1 and 5: right answers in other styles than the solutions (loops, einsum, own names)."""

import math

import numpy as np

# --- Lesson 1 -----------------------------------------------------------------------------------


def affine_in_loops(points, weights, bias):
    y = np.zeros((len(points), len(bias)))
    for n in range(len(points)):
        for m in range(len(bias)):
            y[n, m] = sum(points[n, d] * weights[d, m] for d in range(len(weights))) + bias[m]
    return y


def merge_by_probing(W1, b1, W2, b2):
    def both(x):
        return (x @ W1 + b1) @ W2 + b2

    bias = both(np.zeros(len(W1)))
    return [np.array([both(row) - bias for row in np.eye(len(W1))]), bias]


def softmax_in_loops(scores):
    rows = []
    for row in scores:
        e = [math.exp(score - max(row)) for score in row]
        rows.append([one / sum(e) for one in e])
    return rows


def softmax_by_logsumexp(s):
    return np.exp(s - np.logaddexp.reduce(s, axis=-1, keepdims=True))


def softmax_in_place(s):
    s -= s.max(axis=-1)[:, None]
    np.exp(s, out=s)
    s /= s.sum(axis=-1)[:, None]
    return s


class AffineByEinsum:
    def __init__(self, W, b):
        self.W, self.b = W, b

    def forward(self, values):
        self.seen = values
        return np.einsum("nd,dm->nm", values, self.W) + self.b

    def backward(self, grad):
        self.dW = np.einsum("nd,nm->dm", self.seen, grad)
        self.db = np.einsum("nm->m", grad)
        return np.einsum("nm,dm->nd", grad, self.W)


class AffineInLoops:
    def __init__(self, W, b):
        self.W, self.b = W, b
        self.dW, self.db = np.zeros_like(W), np.zeros_like(b)

    def forward(self, x):
        self.x = x
        return np.array([row @ self.W + self.b for row in x])

    def backward(self, dy):
        self.dW, self.db = np.zeros_like(self.W), np.zeros_like(self.b)
        for row, arriving in zip(self.x, dy):
            self.dW += np.outer(row, arriving)
            self.db += arriving
        return np.array([self.W @ arriving for arriving in dy])


class SigmoidOfTheInput:
    def forward(self, z):
        self.z = z
        return np.exp(z) / (1 + np.exp(z))

    def backward(self, up):
        return up * np.exp(-self.z) / (1 + np.exp(-self.z)) ** 2


class SigmoidByTanh:
    def forward(self, x):
        self.half = np.tanh(x / 2)
        return (self.half + 1) / 2

    def backward(self, dy):
        return 0.25 * (1 - np.square(self.half)) * dy


class LossWithOneHot:
    def forward(self, scores, classes):
        self.onehot = np.eye(scores.shape[1])[classes]
        log_p = scores - np.logaddexp.reduce(scores, axis=1, keepdims=True)
        self.p = np.exp(log_p)
        return -np.sum(self.onehot * log_p) / len(scores)

    def backward(self, dL=1):
        return dL * (self.p - self.onehot) / len(self.p)


class LossInLoops:
    def forward(self, s, t):
        self.s, self.t = s, t
        total = 0.0
        for row, k in zip(s, t):
            total += math.log(sum(math.exp(one) for one in row)) - row[k]
        return total / len(s)

    def backward(self, dloss=1):
        ds = np.zeros(self.s.shape)
        for n, (row, k) in enumerate(zip(self.s, self.t)):
            total = sum(math.exp(one) for one in row)
            for j in range(len(row)):
                ds[n, j] = dloss * (math.exp(row[j]) / total - (j == k)) / len(self.s)
        return ds


class SwishInOneFormula:
    def forward(self, x):
        self.x = x
        return x / (1 + np.exp(-x))

    def backward(self, dy):
        g = 1 / (1 + np.exp(-self.x))
        return dy * (g + self.x * g - self.x * g * g)


class SwishOfItsOutput:
    def forward(self, a):
        self.gate = 1 / (1 + np.exp(-a))
        self.y = a * self.gate
        return self.y

    def backward(self, dy):
        da = self.gate.copy()
        da += self.y * (1.0 - self.gate)
        return np.multiply(da, dy)


def slope_as_a_mean(function, at, width):
    right = (function(at + width) - function(at)) / width
    left = (function(at) - function(at - width)) / width
    return (left + right) / 2


def slope_of_a_parabola(f, x, h):
    return np.polyfit([-h, 0, h], [f(x - h), f(x), f(x + h)], 2)[1]


def step_with_reset_at_the_end(model, loss, x, t, lr):
    value = loss.forward(model.forward(x), t)
    model.backward(loss.backward())
    for parameter in model.parameters():
        parameter.value[...] = parameter.value - lr * parameter.grad
    model.zero_grad()
    return float(value)


def step_in_other_words(network, criterion, points, labels, rate):
    network.zero_grad()
    scores = network.forward(points)
    cost = criterion.forward(scores, labels)
    network.backward(criterion.backward(1.0))
    for weight in network.parameters():
        np.subtract(weight.value, rate * weight.grad, out=weight.value)
    return cost


# --- Lesson 5 -----------------------------------------------------------------------------------


class StepByEinsum:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b

    def forward(self, x, h):
        self.both = x, h
        self.out = np.tanh(np.einsum("nd,dh->nh", x, self.Wx) + h.dot(self.Wh) + self.b)
        return self.out

    def backward(self, grad):
        x, h = self.both
        through = grad - grad * self.out * self.out
        self.dWx, self.dWh = np.einsum("nd,nh->dh", x, through), np.einsum("nk,nh->kh", h, through)
        self.db = through.sum(0)
        return [np.einsum("nh,dh->nd", through, self.Wx), through.dot(self.Wh.T)]  # a list


class StepInLoops:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b

    def forward(self, x, h_prev):
        self.x, self.h_prev = x, h_prev
        self.a = np.array([xn @ self.Wx + hn @ self.Wh + self.b for xn, hn in zip(x, h_prev)])
        return np.tanh(self.a)

    def backward(self, dh):
        self.dWx, self.dWh = np.zeros_like(self.Wx), np.zeros_like(self.Wh)
        self.db = np.zeros_like(self.b)
        dx, dh_prev = np.zeros_like(self.x), np.zeros_like(self.h_prev)
        for n in range(len(dh)):
            da = dh[n] / np.cosh(self.a[n]) ** 2
            self.dWx += np.outer(self.x[n], da)
            self.dWh += np.outer(self.h_prev[n], da)
            self.db += da
            dx[n], dh_prev[n] = self.Wx @ da, self.Wh @ da
        return dx, dh_prev


class TimeOfSteps:
    """A step's object for each step of time; ``window`` cuts the gradient."""

    def __init__(self, Wx, Wh, b, window=None):
        self.Wx, self.Wh, self.b, self.window = Wx, Wh, b, window

    def forward(self, x):
        self.steps, h, hs = [], np.zeros((len(x), len(self.b))), []
        for xt in np.swapaxes(x, 0, 1):
            self.steps.append(StepInLoops(self.Wx, self.Wh, self.b))
            h = self.steps[-1].forward(xt, h)
            hs.append(h)
        return np.array(hs).transpose(1, 0, 2)

    def backward(self, dhs):
        dx, carried = [], 0
        for t, step in reversed(list(enumerate(self.steps))):
            dxt, carried = step.backward(dhs[:, t] + carried)
            dx.insert(0, dxt)
            if self.window and t % self.window == 0:
                carried = 0
        for name in ("dWx", "dWh", "db"):
            setattr(self, name, sum(getattr(step, name) for step in self.steps))
        return np.stack(dx, 1)


class TimeInOneProduct:
    """All da first, then the gradients of the weights over all steps at once."""

    def __init__(self, Wx, Wh, b, window=10**9):
        self.Wx, self.Wh, self.b, self.window = Wx, Wh, b, window

    def forward(self, x):
        self.x, self.h = x, np.zeros((x.shape[0], x.shape[1] + 1, len(self.b)))
        for t in range(x.shape[1]):
            self.h[:, t + 1] = np.tanh(x[:, t] @ self.Wx + self.h[:, t] @ self.Wh + self.b)
        return self.h[:, 1:].copy()

    def backward(self, up):
        da = (1 - self.h[:, 1:] ** 2) * up
        for t in range(da.shape[1] - 2, -1, -1):
            if (t + 1) % self.window:
                da[:, t] += (1 - self.h[:, t + 1] ** 2) * (da[:, t + 1] @ self.Wh.T)
        self.dWx = np.einsum("ntd,nth->dh", self.x, da)
        self.dWh = np.einsum("ntk,nth->kh", self.h[:, :-1], da)
        self.db = da.sum((0, 1))
        return da @ self.Wx.T


def windows_by_index(stream, N, T):
    length, found = (len(stream) - 1) // N, []
    for k in range(0, length, T):
        places = np.arange(N)[:, None] * length + np.arange(k, min(k + T, length))
        found.append([stream[places], stream[places + 1]])
    return found


def windows_lazily(ids, N, T):
    length = (len(ids) - 1) // N
    for k in range(0, length, T):
        stop = min(length, k + T)
        rows = [ids[n * length + k : n * length + stop + 1] for n in range(N)]
        yield np.array([row[:-1] for row in rows]), np.array([row[1:] for row in rows])


def continue_by_steps(model, ids, length):
    state = None
    for id_ in ids:
        scores, state = model.step(np.array([id_]), state)
    found = []
    while len(found) < length:
        found.append(np.argmax(scores[0]))
        scores, state = model.step(np.array(found[-1:]), state)
    return np.array(found)


def continue_word_by_word(model, prompt, length):
    model.reset_state()
    said = list(prompt)
    for k in range(len(prompt) + length - 1):
        best = model.logits(np.array([[said[k]]])).argmax(axis=-1)
        if k >= len(prompt) - 1:
            said.append(best.item())
    return said[len(prompt) :]


RIGHT = {
    "1.1": [affine_in_loops, lambda x, W, b: np.einsum("nd,dm->nm", x, W) + b],
    "1.2": [
        merge_by_probing,
        lambda A, a, B, b: (np.einsum("ij,jk->ik", A, B), np.add(b, B.T @ a)),
    ],
    "1.3": [softmax_in_loops, softmax_by_logsumexp, softmax_in_place],
    "1.4": [
        lambda p, t: sum(-math.log(row[k]) for row, k in zip(p, t)) / len(t),
        lambda p, t: -np.sum(np.eye(p.shape[1])[t] * np.log(p)) / p.shape[0],
    ],
    "1.5": [AffineByEinsum, AffineInLoops],
    "1.6": [SigmoidOfTheInput, SigmoidByTanh],
    "1.7": [LossWithOneHot, LossInLoops],
    "1.8": [SwishInOneFormula, SwishOfItsOutput],
    "1.9": [slope_as_a_mean, slope_of_a_parabola],
    "1.10": ["Ones", " ones "],
    "1.11": [step_with_reset_at_the_end, step_in_other_words],
    "5.1": [
        lambda log_p: math.prod(math.exp(one) for one in log_p) ** (-1 / len(log_p)),
        lambda log_p: 2 ** (-np.mean(log_p) / np.log(2)),
    ],
    "5.2": [8.0, np.int64(8), 2 ** ((2 + 4) / 2)],
    "5.3": [StepByEinsum, StepInLoops],
    "5.4": [TimeOfSteps, TimeInOneProduct],
    "5.5": ["States", " states "],
    "5.6": [windows_by_index, windows_lazily],
    "5.7": [TimeOfSteps, TimeInOneProduct],
    "5.8": [
        lambda s, tau: np.exp(s / tau - np.logaddexp.reduce(s / tau)),
        lambda s, tau: [1 / sum(math.exp(min((b - a) / tau, 700)) for b in s) for a in s],
    ],
    "5.9": [continue_by_steps, continue_word_by_word],
}


def right_answers(lesson):
    """Pairs of an exercise's name and an answer."""
    return [(name, one) for name in RIGHT if name.startswith(f"{lesson}.") for one in RIGHT[name]]
