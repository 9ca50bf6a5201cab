"""Answers to the exercises of lesson 5, written without a look at the checks. Plain data."""

SETUP = '''import math

import numpy as np
Wx = np.array([[0.5, -0.3], [0.8, 0.2]])
Wh = np.array([[0.1, 0.4], [-0.2, 0.3]])
b = np.array([0.0, 0.1])
'''

CASES = [
    (
        '5.1',
        'the sign is missing, a perplexity below 1',
        'wrong',
        '''def my_perplexity(log_p):
    return np.exp(np.mean(log_p))
''',
        2,
    ),
    (
        '5.1',
        'the base is 2 though the logarithms are natural',
        'wrong',
        '''def my_perplexity(log_p):
    return 2 ** -np.mean(log_p)
''',
        2,
    ),
    (
        '5.1',
        'the mean of 1 / p, an arithmetic mean in place of the geometric one',
        'wrong',
        '''def my_perplexity(log_p):
    return np.mean(1 / np.exp(log_p))
''',
        2,
    ),
    (
        '5.1',
        'the sum of the surprisals instead of their mean',
        'wrong',
        '''def my_perplexity(log_p):
    return math.exp(-sum(log_p))
''',
        2,
    ),
    (
        '5.1',
        'the product of all probabilities, which is 0 for a long text',
        'wrong',
        '''def my_perplexity(log_p):
    whole = np.prod(np.exp(log_p))
    return whole ** (-1 / len(log_p))
''',
        2,
    ),
    (
        '5.1',
        'the mean surprisal itself, in nats',
        'wrong',
        '''def my_perplexity(log_p):
    return -np.mean(log_p)
''',
        2,
    ),
    (
        '5.1',
        'the product of n-th roots',
        'right',
        '''def my_perplexity(log_p):
    result = 1.0
    for one in log_p:
        result *= math.exp(-one / len(log_p))
    return result
''',
        None,
    ),
    (
        '5.2',
        'the mean of 4 and 16',
        'wrong',
        '''answer = 10
''',
        1,
    ),
    (
        '5.2',
        'the mean surprisal in bits',
        'wrong',
        '''answer = 3
''',
        1,
    ),
    (
        '5.2',
        'one over the mean probability',
        'wrong',
        '''answer = 1 / (0.5 / 4 + 0.5 / 16)
''',
        1,
    ),
    (
        '5.2',
        'e to the mean surprisal in bits',
        'wrong',
        '''answer = math.exp(3)
''',
        1,
    ),
    (
        '5.2',
        'computed, with a rounding error',
        'right',
        '''answer = math.exp(-(math.log(1 / 4) + math.log(1 / 16)) / 2)
''',
        None,
    ),
    (
        '5.2',
        'two to the mean number of bits',
        'right',
        '''answer = 2.0 ** 3
''',
        None,
    ),
    (
        '5.3',
        "the slope of the sigmoid in the place of tanh's",
        'wrong',
        '''class MyRNN:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b

    def forward(self, x, h_prev):
        self.x, self.h_prev = x, h_prev
        self.h = np.tanh(x @ self.Wx + h_prev @ self.Wh + self.b)
        return self.h

    def backward(self, dh):
        da = dh * self.h * (1 - self.h)
        self.dWx, self.dWh, self.db = self.x.T @ da, self.h_prev.T @ da, da.sum(axis=0)
        return da @ self.Wx.T, da @ self.Wh.T
''',
        11,
    ),
    (
        '5.3',
        'dWh is made of the new state instead of the old one',
        'wrong',
        '''class MyRNN:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b

    def forward(self, x, h_prev):
        self.x, self.h_prev = x, h_prev
        self.h = np.tanh(x @ self.Wx + h_prev @ self.Wh + self.b)
        return self.h

    def backward(self, dh):
        da = dh * (1 - self.h**2)
        self.dWx = self.x.T @ da
        self.dWh = self.h.T @ da
        self.db = da.sum(axis=0)
        return da @ self.Wx.T, da @ self.Wh.T
''',
        13,
    ),
    (
        '5.3',
        'Wh is not transposed on the way back',
        'wrong',
        '''class MyRNN:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b

    def forward(self, x, h_prev):
        self.x, self.h_prev = x, h_prev
        self.h = np.tanh(x @ self.Wx + h_prev @ self.Wh + self.b)
        return self.h

    def backward(self, dh):
        da = dh * (1 - self.h**2)
        self.dWx, self.dWh, self.db = self.x.T @ da, self.h_prev.T @ da, da.sum(axis=0)
        dx = da @ self.Wx.T
        dh_prev = da @ self.Wh
        return dx, dh_prev
''',
        14,
    ),
    (
        '5.3',
        'dx and dh_prev are returned in the wrong order',
        'wrong',
        '''class MyRNN:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b

    def forward(self, x, h_prev):
        self.x, self.h_prev = x, h_prev
        self.h = np.tanh(x @ self.Wx + h_prev @ self.Wh + self.b)
        return self.h

    def backward(self, dh):
        da = dh * (1 - self.h**2)
        self.dWx, self.dWh, self.db = self.x.T @ da, self.h_prev.T @ da, da.sum(axis=0)
        return da @ self.Wh.T, da @ self.Wx.T
''',
        13,
    ),
    (
        '5.3',
        'the state is multiplied by the transpose of Wh, as with column vectors',
        'wrong',
        '''class MyRNN:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b

    def forward(self, x, h_prev):
        self.x, self.h_prev = x, h_prev
        self.h = np.tanh(x @ self.Wx + h_prev @ self.Wh.T + self.b)
        return self.h

    def backward(self, dh):
        da = dh * (1 - self.h**2)
        self.dWx, self.dWh, self.db = self.x.T @ da, da.T @ self.h_prev, da.sum(axis=0)
        return da @ self.Wx.T, da @ self.Wh
''',
        7,
    ),
    (
        '5.3',
        'einsum, with the slope 1 / cosh squared',
        'right',
        '''class MyRNN:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b

    def forward(self, x, h_prev):
        self.seen = x, h_prev
        self.a = np.einsum("nd,dh->nh", x, self.Wx) + np.einsum("ng,gh->nh", h_prev, self.Wh) + self.b
        return np.tanh(self.a)

    def backward(self, dh):
        da = dh / np.cosh(self.a) ** 2
        x, h_prev = self.seen
        self.dWx = np.einsum("nd,nh->dh", x, da)
        self.dWh = np.einsum("ng,nh->gh", h_prev, da)
        self.db = np.einsum("nh->h", da)
        return np.einsum("nh,dh->nd", da, self.Wx), np.einsum("nh,gh->ng", da, self.Wh)
''',
        None,
    ),
    (
        '5.4',
        'no gradient goes from a step to the one before',
        'wrong',
        '''class MyTimeRNN:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b

    def forward(self, x):
        N, T, D = x.shape
        self.x = x
        self.hs = np.zeros((N, T + 1, len(self.b)))
        for t in range(T):
            self.hs[:, t + 1] = np.tanh(x[:, t] @ self.Wx + self.hs[:, t] @ self.Wh + self.b)
        return self.hs[:, 1:]

    def backward(self, dhs):
        da = dhs * (1 - self.hs[:, 1:] ** 2)
        self.dWx = np.einsum("ntd,nth->dh", self.x, da)
        self.dWh = np.einsum("ntg,nth->gh", self.hs[:, :-1], da)
        self.db = da.sum(axis=(0, 1))
        return da @ self.Wx.T
''',
        14,
    ),
    (
        '5.4',
        'the loop back runs from the first step to the last',
        'wrong',
        '''class MyTimeRNN:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b

    def forward(self, x):
        N, T, D = x.shape
        self.x = x
        self.hs = np.zeros((N, T + 1, len(self.b)))
        for t in range(T):
            self.hs[:, t + 1] = np.tanh(x[:, t] @ self.Wx + self.hs[:, t] @ self.Wh + self.b)
        return self.hs[:, 1:]

    def backward(self, dhs):
        self.dWx, self.dWh, self.db = 0, 0, 0
        dx, carry = np.zeros_like(self.x), 0
        for t in range(dhs.shape[1]):
            da = (dhs[:, t] + carry) * (1 - self.hs[:, t + 1] ** 2)
            self.dWx = self.dWx + self.x[:, t].T @ da
            self.dWh = self.dWh + self.hs[:, t].T @ da
            self.db = self.db + da.sum(axis=0)
            dx[:, t] = da @ self.Wx.T
            carry = da @ self.Wh.T
        return dx
''',
        16,
    ),
    (
        '5.4',
        'the gradient of Wh is that of the first step alone',
        'wrong',
        '''class MyTimeRNN:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b

    def forward(self, x):
        N, T, D = x.shape
        self.x = x
        self.hs = np.zeros((N, T + 1, len(self.b)))
        for t in range(T):
            self.hs[:, t + 1] = np.tanh(x[:, t] @ self.Wx + self.hs[:, t] @ self.Wh + self.b)
        return self.hs[:, 1:]

    def backward(self, dhs):
        self.dWx, self.db = np.zeros_like(self.Wx), np.zeros_like(self.b)
        dx, carry = np.zeros_like(self.x), 0
        for t in range(dhs.shape[1])[::-1]:
            da = (dhs[:, t] + carry) * (1 - self.hs[:, t + 1] ** 2)
            self.dWx += self.x[:, t].T @ da
            self.dWh = self.hs[:, t].T @ da
            self.db += da.sum(axis=0)
            dx[:, t] = da @ self.Wx.T
            carry = da @ self.Wh.T
        return dx
''',
        19,
    ),
    (
        '5.4',
        'the second call starts from the state in which the first ended',
        'wrong',
        '''class MyTimeRNN:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b
        self.h = None

    def forward(self, x):
        N, T, D = x.shape
        h = np.zeros((N, len(self.b))) if self.h is None else self.h
        self.x, self.hs = x, [h]
        for t in range(T):
            h = np.tanh(x[:, t] @ self.Wx + h @ self.Wh + self.b)
            self.hs.append(h)
        self.h = h
        return np.stack(self.hs[1:], axis=1)

    def backward(self, dhs):
        self.dWx, self.dWh, self.db = np.zeros_like(self.Wx), np.zeros_like(self.Wh), np.zeros_like(self.b)
        dx, carry = np.zeros_like(self.x), 0
        for t in reversed(range(dhs.shape[1])):
            da = (dhs[:, t] + carry) * (1 - self.hs[t + 1] ** 2)
            self.dWx += self.x[:, t].T @ da
            self.dWh += self.hs[t].T @ da
            self.db += da.sum(axis=0)
            dx[:, t], carry = da @ self.Wx.T, da @ self.Wh.T
        return dx
''',
        8,
    ),
    (
        '5.4',
        'what is carried back is the gradient of the input, with Wx',
        'wrong',
        '''class MyTimeRNN:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b

    def forward(self, x):
        N, T, D = x.shape
        self.x = x
        self.hs = np.zeros((N, T + 1, len(self.b)))
        for t in range(T):
            self.hs[:, t + 1] = np.tanh(x[:, t] @ self.Wx + self.hs[:, t] @ self.Wh + self.b)
        return self.hs[:, 1:]

    def backward(self, dhs):
        self.dWx, self.dWh, self.db = np.zeros_like(self.Wx), np.zeros_like(self.Wh), np.zeros_like(self.b)
        dx, da = np.zeros_like(self.x), np.zeros_like(dhs[:, 0])
        for t in range(dhs.shape[1])[::-1]:
            carry = da @ self.Wh
            da = (dhs[:, t] + carry) * (1 - self.hs[:, t + 1] ** 2)
            self.dWx += self.x[:, t].T @ da
            self.dWh += self.hs[:, t].T @ da
            self.db += da.sum(axis=0)
            dx[:, t] = da @ self.Wx.T
        return dx
''',
        17,
    ),
    (
        '5.4',
        'all da first, the weights afterwards in one product',
        'right',
        '''class MyTimeRNN:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b

    def forward(self, x):
        def step(hs, rest):
            if not len(rest):
                return hs
            return step([*hs, np.tanh(rest[0] + hs[-1] @ self.Wh)], rest[1:])

        self.x = x
        a = np.swapaxes(x @ self.Wx + self.b, 0, 1)
        self.hs = np.array(step([np.zeros_like(a[0])], a))  # (T + 1, N, H)
        return self.hs[1:].swapaxes(0, 1)

    def backward(self, dhs):
        slopes = 1 - self.hs[1:] ** 2
        das = np.zeros((len(slopes) + 1, *slopes.shape[1:]))
        for t in range(len(slopes) - 1, -1, -1):
            das[t] = (dhs[:, t] + das[t + 1] @ self.Wh.T) * slopes[t]
        das = das[:-1]
        self.dWh = np.tensordot(self.hs[:-1], das, axes=([0, 1], [0, 1]))
        self.dWx = np.tensordot(self.x.swapaxes(0, 1), das, axes=([0, 1], [0, 1]))
        self.db = das.sum(axis=0).sum(axis=0)
        return (das @ self.Wx.T).swapaxes(0, 1)
''',
        None,
    ),
    (
        '5.5',
        'overlooks that the gradient stops at the windows',
        'wrong',
        '''answer = "both"
''',
        1,
    ),
    (
        '5.5',
        'takes the states for cut and the gradients for carried',
        'wrong',
        '''answer = "gradients"
''',
        1,
    ),
    (
        '5.5',
        'overlooks that the state is carried',
        'wrong',
        '''answer = "neither"
''',
        1,
    ),
    (
        '5.6',
        'neighbouring windows of the text are stacked into a batch',
        'wrong',
        '''def my_windows(ids, N, T):
    found = []
    for k in range(0, len(ids) - N * T, N * T):
        found.append((ids[k : k + N * T].reshape(N, T), ids[k + 1 : k + 1 + N * T].reshape(N, T)))
    return found
''',
        3,
    ),
    (
        '5.6',
        'every N-th token belongs to a row',
        'wrong',
        '''def my_windows(ids, N, T):
    n = (len(ids) - 1) // N
    a, b = ids[: n * N].reshape(n, N).T, ids[1 : n * N + 1].reshape(n, N).T
    return [(a[:, k : k + T], b[:, k : k + T]) for k in range(0, n, T)]
''',
        3,
    ),
    (
        '5.6',
        'the narrower pair at the end is left out',
        'wrong',
        '''def my_windows(ids, N, T):
    n = (len(ids) - 1) // N
    a, b = ids[: n * N].reshape(N, n), ids[1 : n * N + 1].reshape(N, n)
    return [(a[:, k : k + T], b[:, k : k + T]) for k in range(0, n - T + 1, T)]
''',
        4,
    ),
    (
        '5.6',
        'the targets are the inputs themselves',
        'wrong',
        '''def my_windows(ids, N, T):
    n = (len(ids) - 1) // N
    rows = ids[: n * N].reshape(N, n)
    return [(rows[:, k : k + T], rows[:, k : k + T]) for k in range(0, n, T)]
''',
        4,
    ),
    (
        '5.6',
        'the target is the token before the input',
        'wrong',
        '''def my_windows(ids, N, T):
    n = (len(ids) - 1) // N
    a, b = ids[1 : n * N + 1].reshape(N, n), ids[: n * N].reshape(N, n)
    return [(a[:, k : k + T], b[:, k : k + T]) for k in range(0, n, T)]
''',
        3,
    ),
    (
        '5.6',
        'the windows overlap, moving by one token',
        'wrong',
        '''def my_windows(ids, N, T):
    n = (len(ids) - 1) // N
    a, b = ids[: n * N].reshape(N, n), ids[1 : n * N + 1].reshape(N, n)
    return [(a[:, k : k + T], b[:, k : k + T]) for k in range(n - T + 1)]
''',
        4,
    ),
    (
        '5.6',
        'rows by their starting places, with np.split',
        'right',
        '''def my_windows(ids, N, T):
    ids = np.asarray(ids)
    n = (len(ids) - 1) // N
    place = np.add.outer(n * np.arange(N), np.arange(n))
    return [(ids[some], ids[some + 1]) for some in np.split(place, range(T, n, T), axis=1)]
''',
        None,
    ),
    (
        '5.7',
        'the first step of a window gives nothing to the gradient of Wh',
        'wrong',
        '''class MyTruncatedRNN:
    def __init__(self, Wx, Wh, b, window):
        self.Wx, self.Wh, self.b, self.window = Wx, Wh, b, window

    def forward(self, x):
        N, T, D = x.shape
        self.x = x
        self.hs = np.zeros((N, T + 1, len(self.b)))
        for t in range(T):
            self.hs[:, t + 1] = np.tanh(x[:, t] @ self.Wx + self.hs[:, t] @ self.Wh + self.b)
        return self.hs[:, 1:]

    def backward(self, dhs):
        self.dWx, self.dWh, self.db = np.zeros_like(self.Wx), np.zeros_like(self.Wh), np.zeros_like(self.b)
        dx, carry = np.zeros_like(self.x), 0
        for t in range(dhs.shape[1])[::-1]:
            da = (dhs[:, t] + carry) * (1 - self.hs[:, t + 1] ** 2)
            self.dWx += self.x[:, t].T @ da
            self.db += da.sum(axis=0)
            dx[:, t] = da @ self.Wx.T
            carry = 0
            if t % self.window != 0:
                self.dWh += self.hs[:, t].T @ da
                carry = da @ self.Wh.T
        return dx
''',
        22,
    ),
    (
        '5.7',
        'the state is set to zero at the start of each window',
        'wrong',
        '''class MyTruncatedRNN:
    def __init__(self, Wx, Wh, b, window):
        self.Wx, self.Wh, self.b, self.window = Wx, Wh, b, window

    def forward(self, x):
        N, T, D = x.shape
        self.x, self.before, self.hs = x, [], []
        h = np.zeros((N, len(self.b)))
        for t in range(T):
            if t % self.window == 0:
                h = np.zeros((N, len(self.b)))
            self.before.append(h)
            h = np.tanh(x[:, t] @ self.Wx + h @ self.Wh + self.b)
            self.hs.append(h)
        return np.stack(self.hs, axis=1)

    def backward(self, dhs):
        self.dWx, self.dWh, self.db = np.zeros_like(self.Wx), np.zeros_like(self.Wh), np.zeros_like(self.b)
        dx, carry = np.zeros_like(self.x), 0
        for t in range(dhs.shape[1])[::-1]:
            da = (dhs[:, t] + carry) * (1 - self.hs[t] ** 2)
            self.dWx += self.x[:, t].T @ da
            self.dWh += self.before[t].T @ da
            self.db += da.sum(axis=0)
            dx[:, t] = da @ self.Wx.T
            carry = da @ self.Wh.T if t % self.window else 0
        return dx
''',
        11,
    ),
    (
        '5.7',
        'the gradient into the first step of a window is dropped instead of the one that leaves it',
        'wrong',
        '''class MyTruncatedRNN:
    def __init__(self, Wx, Wh, b, window):
        self.Wx, self.Wh, self.b, self.window = Wx, Wh, b, window

    def forward(self, x):
        N, T, D = x.shape
        self.x = x
        self.hs = np.zeros((N, T + 1, len(self.b)))
        for t in range(T):
            self.hs[:, t + 1] = np.tanh(x[:, t] @ self.Wx + self.hs[:, t] @ self.Wh + self.b)
        return self.hs[:, 1:]

    def backward(self, dhs):
        self.dWx, self.dWh, self.db = np.zeros_like(self.Wx), np.zeros_like(self.Wh), np.zeros_like(self.b)
        dx, carry = np.zeros_like(self.x), 0
        for t in range(dhs.shape[1])[::-1]:
            if t % self.window == 0:
                carry = 0
            da = (dhs[:, t] + carry) * (1 - self.hs[:, t + 1] ** 2)
            self.dWx += self.x[:, t].T @ da
            self.dWh += self.hs[:, t].T @ da
            self.db += da.sum(axis=0)
            dx[:, t] = da @ self.Wx.T
            carry = da @ self.Wh.T
        return dx
''',
        17,
    ),
    (
        '5.7',
        'the window is not used, the gradient runs through',
        'wrong',
        '''class MyTruncatedRNN:
    def __init__(self, Wx, Wh, b, window):
        self.Wx, self.Wh, self.b, self.window = Wx, Wh, b, window

    def forward(self, x):
        N, T, D = x.shape
        self.x = x
        self.hs = np.zeros((N, T + 1, len(self.b)))
        for t in range(T):
            self.hs[:, t + 1] = np.tanh(x[:, t] @ self.Wx + self.hs[:, t] @ self.Wh + self.b)
        return self.hs[:, 1:]

    def backward(self, dhs):
        self.dWx, self.dWh, self.db = np.zeros_like(self.Wx), np.zeros_like(self.Wh), np.zeros_like(self.b)
        dx, carry = np.zeros_like(self.x), 0
        for t in range(dhs.shape[1])[::-1]:
            da = (dhs[:, t] + carry) * (1 - self.hs[:, t + 1] ** 2)
            self.dWx += self.x[:, t].T @ da
            self.dWh += self.hs[:, t].T @ da
            self.db += da.sum(axis=0)
            dx[:, t] = da @ self.Wx.T
            carry = da @ self.Wh.T
        return dx
''',
        22,
    ),
    (
        '5.7',
        'window is taken for the number of windows',
        'wrong',
        '''class MyTruncatedRNN:
    def __init__(self, Wx, Wh, b, window):
        self.Wx, self.Wh, self.b, self.window = Wx, Wh, b, window

    def forward(self, x):
        N, T, D = x.shape
        self.x = x
        self.hs = np.zeros((N, T + 1, len(self.b)))
        for t in range(T):
            self.hs[:, t + 1] = np.tanh(x[:, t] @ self.Wx + self.hs[:, t] @ self.Wh + self.b)
        return self.hs[:, 1:]

    def backward(self, dhs):
        self.dWx, self.dWh, self.db = np.zeros_like(self.Wx), np.zeros_like(self.Wh), np.zeros_like(self.b)
        dx, carry = np.zeros_like(self.x), 0
        width = max(1, dhs.shape[1] // self.window)
        for t in range(dhs.shape[1])[::-1]:
            da = (dhs[:, t] + carry) * (1 - self.hs[:, t + 1] ** 2)
            self.dWx += self.x[:, t].T @ da
            self.dWh += self.hs[:, t].T @ da
            self.db += da.sum(axis=0)
            dx[:, t] = da @ self.Wx.T
            carry = da @ self.Wh.T if t % width else 0
        return dx
''',
        16,
    ),
    (
        '5.7',
        'window by window, the last window first',
        'right',
        '''class MyTruncatedRNN:
    def __init__(self, Wx, Wh, b, window):
        self.Wx, self.Wh, self.b, self.window = Wx, Wh, b, window

    def forward(self, x):
        self.x, self.hs = x, {-1: np.zeros((len(x), len(self.b)))}
        for t in range(x.shape[1]):
            self.hs[t] = np.tanh(x[:, t] @ self.Wx + self.hs[t - 1] @ self.Wh + self.b)
        return np.stack([self.hs[t] for t in range(x.shape[1])], axis=1)

    def backward(self, dhs):
        T, w = dhs.shape[1], self.window
        parts, das = [range(k, min(k + w, T)) for k in range(0, T, w)], {}
        for part in reversed(parts):
            later = np.zeros_like(dhs[:, 0])
            for t in reversed(part):
                das[t] = (dhs[:, t] + later @ self.Wh.T) * (1 - self.hs[t] ** 2)
                later = das[t]
        self.dWx = sum(self.x[:, t].T @ das[t] for t in das)
        self.dWh = sum(self.hs[t - 1].T @ das[t] for t in das)
        self.db = sum(das[t].sum(axis=0) for t in das)
        return np.stack([das[t] @ self.Wx.T for t in range(T)], axis=1)
''',
        None,
    ),
    (
        '5.8',
        'multiplied by the temperature',
        'wrong',
        '''def my_temperature(logits, tau):
    s = logits * tau
    p = np.exp(s - s.max())
    return p / p.sum()
''',
        2,
    ),
    (
        '5.8',
        'large scores overflow',
        'wrong',
        '''def my_temperature(logits, tau):
    p = np.exp(logits / tau)
    return p / p.sum()
''',
        2,
    ),
    (
        '5.8',
        'the probabilities are divided, not the scores, and nothing changes',
        'wrong',
        '''def my_temperature(logits, tau):
    p = np.exp(logits - logits.max())
    p = p / tau
    return p / p.sum()
''',
        3,
    ),
    (
        '5.8',
        'the maximum of the undivided scores is subtracted, large scores overflow at a low temperature',
        'wrong',
        '''def my_temperature(logits, tau):
    p = np.exp(logits / tau - logits.max())
    return p / p.sum()
''',
        2,
    ),
    (
        '5.8',
        'the scores of the caller are divided in place',
        'wrong',
        '''def my_temperature(logits, tau):
    logits /= tau
    p = np.exp(logits - logits.max())
    return p / p.sum()
''',
        2,
    ),
    (
        '5.8',
        'the softmax to the power 1 / tau',
        'right',
        '''def my_temperature(logits, tau):
    p = np.exp(logits - np.logaddexp.reduce(logits)) ** (1 / tau)
    return p / p.sum()
''',
        None,
    ),
    (
        '5.9',
        'the state is not reset, the model goes on from what it read before',
        'wrong',
        '''def my_continuation(model, ids, length):
    new = []
    s = model.logits(np.array([ids]))[0, -1]
    while len(new) < length:
        new.append(int(np.argmax(s)))
        if len(new) < length:
            s = model.logits(np.array([[new[-1]]]))[0, -1]
    return new
''',
        None,
    ),
    (
        '5.9',
        'the whole text is read again at every step',
        'wrong',
        '''def my_continuation(model, ids, length):
    model.reset_state()
    text = list(ids)
    for _ in range(length):
        s = model.logits(np.array([text]))[0, -1]
        text.append(int(np.argmax(s)))
    return text[len(ids) :]
''',
        5,
    ),
    (
        '5.9',
        'the text that was given is returned as well',
        'wrong',
        '''def my_continuation(model, ids, length):
    model.reset_state()
    text = list(ids)
    s = model.logits(np.array([text]))[0, -1]
    for k in range(length):
        text.append(int(s.argmax()))
        if k < length - 1:
            s = model.logits(np.array([text[-1:]]))[0, -1]
    return text
''',
        9,
    ),
    (
        '5.9',
        'the scores after the first word of the text are used',
        'wrong',
        '''def my_continuation(model, ids, length):
    model.reset_state()
    new, feed = [], list(ids)
    for _ in range(length):
        s = model.logits(np.array([feed]))[0, 0]
        feed = [int(s.argmax())]
        new += feed
    return new
''',
        5,
    ),
    (
        '5.9',
        'the state is forgotten at every step',
        'wrong',
        '''def my_continuation(model, ids, length):
    new, feed = [], list(ids)
    for _ in range(length):
        model.reset_state()
        s = model.logits(np.array([feed]))[0, -1]
        feed = [int(s.argmax())]
        new += feed
    return new
''',
        4,
    ),
    (
        '5.9',
        'drawn at random instead of the likeliest',
        'wrong',
        '''def my_continuation(model, ids, length):
    model.reset_state()
    rng = np.random.default_rng(0)
    new, feed = [], list(ids)
    for _ in range(length):
        s = model.logits(np.array([feed]))[0, -1]
        p = np.exp(s - s.max())
        feed = [int(rng.choice(len(s), p=p / p.sum()))]
        new += feed
    return new
''',
        8,
    ),
    (
        '5.9',
        'the given words one at a time, and a generator',
        'right',
        '''def my_continuation(model, ids, length):
    def speak():
        model.reset_state()
        for one in ids:
            s = model.logits(np.array([[one]]))
        for left in range(length, 0, -1):
            best = max(range(s.shape[2]), key=lambda j: s[0, 0, j])
            yield best
            if left > 1:
                s = model.logits(np.array([[best]]))

    return list(speak())
''',
        None,
    ),
    (
        '5.3',
        "the weights of the lesson's example in forward, not those of the layer",
        'wrong',
        '''class MyRNN:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b

    def forward(self, x, h_prev):
        self.x, self.h_prev = x, h_prev
        self.h = np.tanh(x @ Wx + h_prev @ Wh + b)
        return self.h

    def backward(self, dh):
        da = dh * (1 - self.h**2)
        self.dWx, self.dWh, self.db = self.x.T @ da, self.h_prev.T @ da, da.sum(axis=0)
        return da @ self.Wx.T, da @ self.Wh.T
''',
        7,
    ),
    (
        '5.4',
        'backward sets the gradients and returns nothing',
        'wrong',
        '''class MyTimeRNN:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b

    def forward(self, x):
        N, T, D = x.shape
        self.x, h = x, np.zeros((N, len(self.b)))
        self.hs = [h]
        for t in range(T):
            h = np.tanh(x[:, t] @ self.Wx + h @ self.Wh + self.b)
            self.hs.append(h)
        return np.stack(self.hs[1:], axis=1)

    def backward(self, dhs):
        self.dWx, self.dWh, self.db = np.zeros_like(self.Wx), np.zeros_like(self.Wh), np.zeros_like(self.b)
        dx, carry = np.zeros_like(self.x), 0
        for t in reversed(range(dhs.shape[1])):
            da = (dhs[:, t] + carry) * (1 - self.hs[t + 1] ** 2)
            self.dWx += self.x[:, t].T @ da
            self.dWh += self.hs[t].T @ da
            self.db += da.sum(axis=0)
            dx[:, t], carry = da @ self.Wx.T, da @ self.Wh.T
        return None
''',
        23,
    ),
    (
        '5.1',
        'one over the mean of the probabilities',
        'wrong',
        '''def my_perplexity(log_p):
    return 1 / np.mean(np.exp(log_p))
''',
        2,
    ),
    (
        '5.3',
        'the slope is taken at tanh of the state, tanh twice',
        'wrong',
        '''class MyRNN:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b

    def forward(self, x, h_prev):
        self.x, self.h_prev = x, h_prev
        self.h = np.tanh(x @ self.Wx + h_prev @ self.Wh + self.b)
        return self.h

    def backward(self, dh):
        da = dh * (1 - np.tanh(self.h) ** 2)
        self.dWx = self.x.T @ da
        self.dWh = self.h_prev.T @ da
        self.db = da.sum(axis=0)
        return da @ self.Wx.T, da @ self.Wh.T
''',
        11,
    ),
    (
        '5.4',
        'the state before step 0 is the last one, index -1',
        'wrong',
        '''class MyTimeRNN:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b

    def forward(self, x):
        N, T, D = x.shape
        self.x, h = x, np.zeros((N, self.Wh.shape[0]))
        self.h = np.zeros((N, T, self.Wh.shape[0]))
        for t in range(T):
            h = np.tanh(x[:, t] @ self.Wx + h @ self.Wh + self.b)
            self.h[:, t] = h
        return self.h

    def backward(self, dhs):
        self.dWx, self.dWh = np.zeros_like(self.Wx), np.zeros_like(self.Wh)
        self.db, dx = np.zeros_like(self.b), np.zeros_like(self.x)
        dh_next = 0
        for t in reversed(range(dhs.shape[1])):
            dh = dhs[:, t] + dh_next
            da = dh * (1 - self.h[:, t] ** 2)
            self.dWx += self.x[:, t].T @ da
            self.dWh += self.h[:, t - 1].T @ da
            self.db += da.sum(axis=0)
            dx[:, t] = da @ self.Wx.T
            dh_next = da @ self.Wh.T
        return dx
''',
        22,
    ),
    (
        '5.6',
        'the targets are cut from the rows of the inputs, the last one of each row is lost',
        'wrong',
        '''def my_windows(ids, N, T):
    L = (len(ids) - 1) // N
    rows = np.asarray(ids[: N * L]).reshape(N, L)
    return [(rows[:, k : k + T], rows[:, k + 1 : k + T + 1]) for k in range(0, L, T)]
''',
        4,
    ),
    (
        '5.8',
        'to the power of the temperature, not of one over it',
        'wrong',
        '''def my_temperature(logits, tau):
    p = np.exp(logits - np.max(logits))
    p = (p / p.sum()) ** tau
    return p / p.sum()
''',
        3,
    ),
]
