"""Answers to the exercises of lesson 6, written without a look at the checks. Plain data."""

SETUP = '''import numpy as np
from deepnlp.backend.functions import sigmoid
'''

CASES = [
    (
        '6.1',
        'judged by the largest singular value, which is above 4 in A',
        'wrong',
        '''matrices_6_1 = {"A": "grows", "B": "grows", "C": "vanishes"}
''',
        1,
    ),
    (
        '6.1',
        'judged by the diagonal, which is 0 in B',
        'wrong',
        '''matrices_6_1 = {"A": "vanishes", "B": "vanishes", "C": "vanishes"}
''',
        1,
    ),
    (
        '6.1',
        'judged by the length of all entries together, which is above 1 in each',
        'wrong',
        '''matrices_6_1 = {"A": "grows", "B": "grows", "C": "grows"}
''',
        1,
    ),
    (
        '6.1',
        'computed from the eigenvalues',
        'right',
        '''_made = {
    "A": np.array([[0.5, 4], [0, 0.5]]),
    "B": np.array([[0, 1.1], [-1.1, 0]]),
    "C": 0.9 * np.array([[0.6, 0.8], [-0.8, 0.6]]),
}
matrices_6_1 = {
    name: "grows" if max(abs(np.linalg.eigvals(one))) > 1 else "vanishes" for name, one in _made.items()
}
''',
        None,
    ),
    (
        '6.2',
        'divided by the number of steps',
        'wrong',
        '''factor = 1.8 / 20
''',
        1,
    ),
    (
        '6.2',
        'the growth is divided evenly over the steps, as if it added up',
        'wrong',
        '''factor = 1 + 0.8 / 20
''',
        1,
    ),
    (
        '6.2',
        'the logarithm of the factor',
        'wrong',
        '''factor = np.log(1.8) / 20
''',
        1,
    ),
    (
        '6.2',
        'the power instead of the root',
        'wrong',
        '''factor = 1.8**20
''',
        1,
    ),
    (
        '6.2',
        'by logarithms',
        'right',
        '''factor = np.exp(np.log(1.8) / 20)
''',
        None,
    ),
    (
        '6.3',
        'short gradients are made longer',
        'wrong',
        '''def clip(grads, max_norm):
    norm = np.sqrt(sum(np.sum(g**2) for g in grads))
    return [g * max_norm / norm for g in grads], norm
''',
        3,
    ),
    (
        '6.3',
        'the norms of the arrays are added, not their squares',
        'wrong',
        '''def clip(grads, max_norm):
    norm = sum(np.linalg.norm(g) for g in grads)
    return [g * min(1, max_norm / norm) for g in grads], norm
''',
        2,
    ),
    (
        '6.3',
        'each entry is cut off at the threshold',
        'wrong',
        '''def clip(grads, max_norm):
    norm = np.sqrt(sum(np.sum(g**2) for g in grads))
    return [np.clip(g, -max_norm, max_norm) for g in grads], norm
''',
        3,
    ),
    (
        '6.3',
        'the norm after clipping is returned',
        'wrong',
        '''def clip(grads, max_norm):
    norm = np.sqrt(sum(np.sum(g**2) for g in grads))
    clipped = [g * min(1, max_norm / norm) for g in grads]
    return clipped, np.sqrt(sum(np.sum(g**2) for g in clipped))
''',
        4,
    ),
    (
        '6.3',
        'compared with the square of the norm, the root is forgotten',
        'wrong',
        '''def clip(grads, max_norm):
    norm = sum(np.sum(g**2) for g in grads)
    return [g * min(1, max_norm / norm) for g in grads], norm
''',
        2,
    ),
    (
        '6.3',
        'one long vector, clipped and cut up again',
        'right',
        '''def clip(grads, max_norm):
    long = np.concatenate([np.ravel(g) for g in grads])
    norm = np.linalg.norm(long)
    if norm > max_norm:
        long = long / norm * max_norm
    places = np.cumsum([g.size for g in grads])[:-1]
    return [part.reshape(g.shape) for part, g in zip(np.split(long, places), grads)], float(norm)
''',
        None,
    ),
    (
        '6.4',
        'the blocks are read in the order i, f, o, g',
        'wrong',
        '''class MyLSTM:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b
        self.dWx, self.dWh, self.db = np.zeros_like(Wx), np.zeros_like(Wh), np.zeros_like(b)

    def forward(self, x):
        N, T, D = x.shape
        H = len(self.b) // 4
        h, c = np.zeros((N, H)), np.zeros((N, H))
        self.kept, hs = [], []
        for t in range(T):
            a = x[:, t] @ self.Wx + h @ self.Wh + self.b
            i, f, o, g = np.split(a, 4, axis=1)
            i, f, o = (1 / (1 + np.exp(-one)) for one in (i, f, o))
            g = np.tanh(g)
            h_prev, c_prev = h, c
            c = f * c_prev + i * g
            u = np.tanh(c)
            h = o * u
            self.kept.append((x[:, t], h_prev, c_prev, i, f, g, o, u))
            hs.append(h)
        return np.stack(hs, axis=1)

    def backward(self, dhs):
        N, T, H = dhs.shape
        self.dWx, self.dWh, self.db = np.zeros_like(self.Wx), np.zeros_like(self.Wh), np.zeros_like(self.b)
        dx = np.zeros((N, T, len(self.Wx)))
        dh_next, dc_next = np.zeros((N, H)), np.zeros((N, H))
        for t in reversed(range(T)):
            x, h_prev, c_prev, i, f, g, o, u = self.kept[t]
            dh = dhs[:, t] + dh_next
            dc = dc_next + dh * o * (1 - u**2)
            di, df, dg, do = dc * g, dc * c_prev, dc * i, dh * u
            da = np.hstack([di * i * (1 - i), df * f * (1 - f), do * o * (1 - o), dg * (1 - g**2)])
            self.dWx += x.T @ da
            self.dWh += h_prev.T @ da
            self.db += da.sum(axis=0)
            dx[:, t] = da @ self.Wx.T
            dh_next = da @ self.Wh.T
            dc_next = dc * f
        return dx
''',
        13,
    ),
    (
        '6.4',
        'the gradient of the memory is not carried to the step before',
        'wrong',
        '''class MyLSTM:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b
        self.dWx, self.dWh, self.db = np.zeros_like(Wx), np.zeros_like(Wh), np.zeros_like(b)

    def forward(self, x):
        N, T, D = x.shape
        H = len(self.b) // 4
        h, c = np.zeros((N, H)), np.zeros((N, H))
        self.kept, hs = [], []
        for t in range(T):
            a = x[:, t] @ self.Wx + h @ self.Wh + self.b
            i, f, g, o = np.split(a, 4, axis=1)
            i, f, o = (1 / (1 + np.exp(-one)) for one in (i, f, o))
            g = np.tanh(g)
            h_prev, c_prev = h, c
            c = f * c_prev + i * g
            u = np.tanh(c)
            h = o * u
            self.kept.append((x[:, t], h_prev, c_prev, i, f, g, o, u))
            hs.append(h)
        return np.stack(hs, axis=1)

    def backward(self, dhs):
        N, T, H = dhs.shape
        self.dWx, self.dWh, self.db = np.zeros_like(self.Wx), np.zeros_like(self.Wh), np.zeros_like(self.b)
        dx = np.zeros((N, T, len(self.Wx)))
        dh_next, dc_next = np.zeros((N, H)), np.zeros((N, H))
        for t in reversed(range(T)):
            x, h_prev, c_prev, i, f, g, o, u = self.kept[t]
            dh = dhs[:, t] + dh_next
            dc = dc_next + dh * o * (1 - u**2)
            di, df, dg, do = dc * g, dc * c_prev, dc * i, dh * u
            da = np.hstack([di * i * (1 - i), df * f * (1 - f), dg * (1 - g**2), do * o * (1 - o)])
            self.dWx += x.T @ da
            self.dWh += h_prev.T @ da
            self.db += da.sum(axis=0)
            dx[:, t] = da @ self.Wx.T
            dh_next = da @ self.Wh.T
            dc_next = np.zeros((N, H))
        return dx
''',
        40,
    ),
    (
        '6.4',
        'the gradient of the memory goes back without the forget gate',
        'wrong',
        '''class MyLSTM:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b
        self.dWx, self.dWh, self.db = np.zeros_like(Wx), np.zeros_like(Wh), np.zeros_like(b)

    def forward(self, x):
        N, T, D = x.shape
        H = len(self.b) // 4
        h, c = np.zeros((N, H)), np.zeros((N, H))
        self.kept, hs = [], []
        for t in range(T):
            a = x[:, t] @ self.Wx + h @ self.Wh + self.b
            i, f, g, o = np.split(a, 4, axis=1)
            i, f, o = (1 / (1 + np.exp(-one)) for one in (i, f, o))
            g = np.tanh(g)
            h_prev, c_prev = h, c
            c = f * c_prev + i * g
            u = np.tanh(c)
            h = o * u
            self.kept.append((x[:, t], h_prev, c_prev, i, f, g, o, u))
            hs.append(h)
        return np.stack(hs, axis=1)

    def backward(self, dhs):
        N, T, H = dhs.shape
        self.dWx, self.dWh, self.db = np.zeros_like(self.Wx), np.zeros_like(self.Wh), np.zeros_like(self.b)
        dx = np.zeros((N, T, len(self.Wx)))
        dh_next, dc_next = np.zeros((N, H)), np.zeros((N, H))
        for t in reversed(range(T)):
            x, h_prev, c_prev, i, f, g, o, u = self.kept[t]
            dh = dhs[:, t] + dh_next
            dc = dc_next + dh * o * (1 - u**2)
            di, df, dg, do = dc * g, dc * c_prev, dc * i, dh * u
            da = np.hstack([di * i * (1 - i), df * f * (1 - f), dg * (1 - g**2), do * o * (1 - o)])
            self.dWx += x.T @ da
            self.dWh += h_prev.T @ da
            self.db += da.sum(axis=0)
            dx[:, t] = da @ self.Wx.T
            dh_next = da @ self.Wh.T
            dc_next = dc
        return dx
''',
        40,
    ),
    (
        '6.4',
        'the gradient of the state is not carried to the step before',
        'wrong',
        '''class MyLSTM:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b
        self.dWx, self.dWh, self.db = np.zeros_like(Wx), np.zeros_like(Wh), np.zeros_like(b)

    def forward(self, x):
        N, T, D = x.shape
        H = len(self.b) // 4
        h, c = np.zeros((N, H)), np.zeros((N, H))
        self.kept, hs = [], []
        for t in range(T):
            a = x[:, t] @ self.Wx + h @ self.Wh + self.b
            i, f, g, o = np.split(a, 4, axis=1)
            i, f, o = (1 / (1 + np.exp(-one)) for one in (i, f, o))
            g = np.tanh(g)
            h_prev, c_prev = h, c
            c = f * c_prev + i * g
            u = np.tanh(c)
            h = o * u
            self.kept.append((x[:, t], h_prev, c_prev, i, f, g, o, u))
            hs.append(h)
        return np.stack(hs, axis=1)

    def backward(self, dhs):
        N, T, H = dhs.shape
        self.dWx, self.dWh, self.db = np.zeros_like(self.Wx), np.zeros_like(self.Wh), np.zeros_like(self.b)
        dx = np.zeros((N, T, len(self.Wx)))
        dh_next, dc_next = np.zeros((N, H)), np.zeros((N, H))
        for t in reversed(range(T)):
            x, h_prev, c_prev, i, f, g, o, u = self.kept[t]
            dh = dhs[:, t]
            dc = dc_next + dh * o * (1 - u**2)
            di, df, dg, do = dc * g, dc * c_prev, dc * i, dh * u
            da = np.hstack([di * i * (1 - i), df * f * (1 - f), dg * (1 - g**2), do * o * (1 - o)])
            self.dWx += x.T @ da
            self.dWh += h_prev.T @ da
            self.db += da.sum(axis=0)
            dx[:, t] = da @ self.Wx.T
            dh_next = da @ self.Wh.T
            dc_next = dc * f
        return dx
''',
        31,
    ),
    (
        '6.4',
        'the forget gate gets the new memory for a factor, not the old one',
        'wrong',
        '''class MyLSTM:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b
        self.dWx, self.dWh, self.db = np.zeros_like(Wx), np.zeros_like(Wh), np.zeros_like(b)

    def forward(self, x):
        N, T, D = x.shape
        H = len(self.b) // 4
        h, c = np.zeros((N, H)), np.zeros((N, H))
        self.kept, hs = [], []
        for t in range(T):
            a = x[:, t] @ self.Wx + h @ self.Wh + self.b
            i, f, g, o = np.split(a, 4, axis=1)
            i, f, o = (1 / (1 + np.exp(-one)) for one in (i, f, o))
            g = np.tanh(g)
            h_prev, c_prev = h, c
            c = f * c_prev + i * g
            u = np.tanh(c)
            h = o * u
            self.kept.append((x[:, t], h_prev, c_prev, i, f, g, o, u))
            hs.append(h)
        return np.stack(hs, axis=1)

    def backward(self, dhs):
        N, T, H = dhs.shape
        self.dWx, self.dWh, self.db = np.zeros_like(self.Wx), np.zeros_like(self.Wh), np.zeros_like(self.b)
        dx = np.zeros((N, T, len(self.Wx)))
        dh_next, dc_next = np.zeros((N, H)), np.zeros((N, H))
        for t in reversed(range(T)):
            x, h_prev, c_prev, i, f, g, o, u = self.kept[t]
            dh = dhs[:, t] + dh_next
            dc = dc_next + dh * o * (1 - u**2)
            c = f * c_prev + i * g
            di, df, dg, do = dc * g, dc * c, dc * i, dh * u
            da = np.hstack([di * i * (1 - i), df * f * (1 - f), dg * (1 - g**2), do * o * (1 - o)])
            self.dWx += x.T @ da
            self.dWh += h_prev.T @ da
            self.db += da.sum(axis=0)
            dx[:, t] = da @ self.Wx.T
            dh_next = da @ self.Wh.T
            dc_next = dc * f
        return dx
''',
        34,
    ),
    (
        '6.4',
        'the tanh of the memory is left out on the way back',
        'wrong',
        '''class MyLSTM:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b
        self.dWx, self.dWh, self.db = np.zeros_like(Wx), np.zeros_like(Wh), np.zeros_like(b)

    def forward(self, x):
        N, T, D = x.shape
        H = len(self.b) // 4
        h, c = np.zeros((N, H)), np.zeros((N, H))
        self.kept, hs = [], []
        for t in range(T):
            a = x[:, t] @ self.Wx + h @ self.Wh + self.b
            i, f, g, o = np.split(a, 4, axis=1)
            i, f, o = (1 / (1 + np.exp(-one)) for one in (i, f, o))
            g = np.tanh(g)
            h_prev, c_prev = h, c
            c = f * c_prev + i * g
            u = np.tanh(c)
            h = o * u
            self.kept.append((x[:, t], h_prev, c_prev, i, f, g, o, u))
            hs.append(h)
        return np.stack(hs, axis=1)

    def backward(self, dhs):
        N, T, H = dhs.shape
        self.dWx, self.dWh, self.db = np.zeros_like(self.Wx), np.zeros_like(self.Wh), np.zeros_like(self.b)
        dx = np.zeros((N, T, len(self.Wx)))
        dh_next, dc_next = np.zeros((N, H)), np.zeros((N, H))
        for t in reversed(range(T)):
            x, h_prev, c_prev, i, f, g, o, u = self.kept[t]
            dh = dhs[:, t] + dh_next
            dc = dc_next + dh * o
            di, df, dg, do = dc * g, dc * c_prev, dc * i, dh * u
            da = np.hstack([di * i * (1 - i), df * f * (1 - f), dg * (1 - g**2), do * o * (1 - o)])
            self.dWx += x.T @ da
            self.dWh += h_prev.T @ da
            self.db += da.sum(axis=0)
            dx[:, t] = da @ self.Wx.T
            dh_next = da @ self.Wh.T
            dc_next = dc * f
        return dx
''',
        32,
    ),
    (
        '6.4',
        'the memory is told without its tanh, forward and backward',
        'wrong',
        '''class MyLSTM:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b
        self.dWx, self.dWh, self.db = np.zeros_like(Wx), np.zeros_like(Wh), np.zeros_like(b)

    def forward(self, x):
        N, T, D = x.shape
        H = len(self.b) // 4
        h, c = np.zeros((N, H)), np.zeros((N, H))
        self.kept, hs = [], []
        for t in range(T):
            a = x[:, t] @ self.Wx + h @ self.Wh + self.b
            i, f, g, o = np.split(a, 4, axis=1)
            i, f, o = (1 / (1 + np.exp(-one)) for one in (i, f, o))
            g = np.tanh(g)
            h_prev, c_prev = h, c
            c = f * c_prev + i * g
            u = c
            h = o * u
            self.kept.append((x[:, t], h_prev, c_prev, i, f, g, o, u))
            hs.append(h)
        return np.stack(hs, axis=1)

    def backward(self, dhs):
        N, T, H = dhs.shape
        self.dWx, self.dWh, self.db = np.zeros_like(self.Wx), np.zeros_like(self.Wh), np.zeros_like(self.b)
        dx = np.zeros((N, T, len(self.Wx)))
        dh_next, dc_next = np.zeros((N, H)), np.zeros((N, H))
        for t in reversed(range(T)):
            x, h_prev, c_prev, i, f, g, o, u = self.kept[t]
            dh = dhs[:, t] + dh_next
            dc = dc_next + dh * o
            di, df, dg, do = dc * g, dc * c_prev, dc * i, dh * u
            da = np.hstack([di * i * (1 - i), df * f * (1 - f), dg * (1 - g**2), do * o * (1 - o)])
            self.dWx += x.T @ da
            self.dWh += h_prev.T @ da
            self.db += da.sum(axis=0)
            dx[:, t] = da @ self.Wx.T
            dh_next = da @ self.Wh.T
            dc_next = dc * f
        return dx
''',
        18,
    ),
    (
        '6.4',
        'the new memory goes through a sigmoid',
        'wrong',
        '''class MyLSTM:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b
        self.dWx, self.dWh, self.db = np.zeros_like(Wx), np.zeros_like(Wh), np.zeros_like(b)

    def forward(self, x):
        N, T, D = x.shape
        H = len(self.b) // 4
        h, c = np.zeros((N, H)), np.zeros((N, H))
        self.kept, hs = [], []
        for t in range(T):
            a = x[:, t] @ self.Wx + h @ self.Wh + self.b
            i, f, g, o = np.split(a, 4, axis=1)
            i, f, o = (1 / (1 + np.exp(-one)) for one in (i, f, o))
            g = 1 / (1 + np.exp(-g))
            h_prev, c_prev = h, c
            c = f * c_prev + i * g
            u = np.tanh(c)
            h = o * u
            self.kept.append((x[:, t], h_prev, c_prev, i, f, g, o, u))
            hs.append(h)
        return np.stack(hs, axis=1)

    def backward(self, dhs):
        N, T, H = dhs.shape
        self.dWx, self.dWh, self.db = np.zeros_like(self.Wx), np.zeros_like(self.Wh), np.zeros_like(self.b)
        dx = np.zeros((N, T, len(self.Wx)))
        dh_next, dc_next = np.zeros((N, H)), np.zeros((N, H))
        for t in reversed(range(T)):
            x, h_prev, c_prev, i, f, g, o, u = self.kept[t]
            dh = dhs[:, t] + dh_next
            dc = dc_next + dh * o * (1 - u**2)
            di, df, dg, do = dc * g, dc * c_prev, dc * i, dh * u
            da = np.hstack([di * i * (1 - i), df * f * (1 - f), dg * g * (1 - g), do * o * (1 - o)])
            self.dWx += x.T @ da
            self.dWh += h_prev.T @ da
            self.db += da.sum(axis=0)
            dx[:, t] = da @ self.Wx.T
            dh_next = da @ self.Wh.T
            dc_next = dc * f
        return dx
''',
        15,
    ),
    (
        '6.4',
        'one is added to the bias of the forget gate',
        'wrong',
        '''class MyLSTM:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b
        self.dWx, self.dWh, self.db = np.zeros_like(Wx), np.zeros_like(Wh), np.zeros_like(b)

    def forward(self, x):
        N, T, D = x.shape
        H = len(self.b) // 4
        h, c = np.zeros((N, H)), np.zeros((N, H))
        self.kept, hs = [], []
        for t in range(T):
            a = x[:, t] @ self.Wx + h @ self.Wh + self.b
            i, f, g, o = np.split(a, 4, axis=1)
            i, f, o = (1 / (1 + np.exp(-one)) for one in (i, f + 1, o))
            g = np.tanh(g)
            h_prev, c_prev = h, c
            c = f * c_prev + i * g
            u = np.tanh(c)
            h = o * u
            self.kept.append((x[:, t], h_prev, c_prev, i, f, g, o, u))
            hs.append(h)
        return np.stack(hs, axis=1)

    def backward(self, dhs):
        N, T, H = dhs.shape
        self.dWx, self.dWh, self.db = np.zeros_like(self.Wx), np.zeros_like(self.Wh), np.zeros_like(self.b)
        dx = np.zeros((N, T, len(self.Wx)))
        dh_next, dc_next = np.zeros((N, H)), np.zeros((N, H))
        for t in reversed(range(T)):
            x, h_prev, c_prev, i, f, g, o, u = self.kept[t]
            dh = dhs[:, t] + dh_next
            dc = dc_next + dh * o * (1 - u**2)
            di, df, dg, do = dc * g, dc * c_prev, dc * i, dh * u
            da = np.hstack([di * i * (1 - i), df * f * (1 - f), dg * (1 - g**2), do * o * (1 - o)])
            self.dWx += x.T @ da
            self.dWh += h_prev.T @ da
            self.db += da.sum(axis=0)
            dx[:, t] = da @ self.Wx.T
            dh_next = da @ self.Wh.T
            dc_next = dc * f
        return dx
''',
        14,
    ),
    (
        '6.4',
        'gates as rows of one array, gradients collected and multiplied once',
        'right',
        '''class MyLSTM:
    def __init__(self, Wx, Wh, b):
        self.Wx, self.Wh, self.b = Wx, Wh, b
        self.dWx, self.dWh, self.db = np.zeros_like(Wx), np.zeros_like(Wh), np.zeros_like(b)

    def forward(self, x):
        self.x, H = x, self.Wh.shape[0]
        states, memories, gates = [np.zeros((len(x), H))], [np.zeros((len(x), H))], []
        for part in np.moveaxis(x, 1, 0):
            a = (part @ self.Wx + states[-1] @ self.Wh + self.b).reshape(len(x), 4, H)
            y = (1 + np.tanh(a / 2)) / 2
            y[:, 2] = np.tanh(a[:, 2])
            gates.append(y)
            memories.append(y[:, 1] * memories[-1] + y[:, 0] * y[:, 2])
            states.append(y[:, 3] * np.tanh(memories[-1]))
        self.states, self.memories, self.gates = states, memories, gates
        return np.moveaxis(np.array(states[1:]), 0, 1)

    def backward(self, dhs):
        T, das = dhs.shape[1], []
        dh = dc = 0
        for t in range(T - 1, -1, -1):
            y, u = self.gates[t], np.tanh(self.memories[t + 1])
            dh = dh + dhs[:, t]
            dc = dc + dh * y[:, 3] * (1 - u * u)
            dy = np.stack([dc * y[:, 2], dc * self.memories[t], dc * y[:, 0], dh * u], axis=1)
            slope = y * (1 - y)
            slope[:, 2] = 1 - y[:, 2] ** 2
            das.insert(0, (dy * slope).reshape(len(dh), -1))
            dh, dc = das[0] @ self.Wh.T, dc * y[:, 1]
        das = np.stack(das, axis=1)
        self.dWx = np.einsum("ntd,nta->da", self.x, das)
        self.dWh = np.einsum("tnh,nta->ha", np.array(self.states[:-1]), das)
        self.db = das.sum(axis=(0, 1))
        return das @ self.Wx.T
''',
        None,
    ),
    (
        '6.5',
        'the forget gate is half shut, the memory stays near 2',
        'wrong',
        '''biases = [10, 0, 10, -10]
''',
        1,
    ),
    (
        '6.5',
        'the forget gate is not open far enough, c stays near 73',
        'wrong',
        '''biases = [10, 5, 10, -10]
''',
        1,
    ),
    (
        '6.5',
        'the output gate is not shut far enough, h reaches 0.018',
        'wrong',
        '''biases = [10, 10, 10, -4]
''',
        1,
    ),
    (
        '6.5',
        'given in the order i, f, o, g',
        'wrong',
        '''biases = [10, 10, -10, 10]
''',
        1,
    ),
    (
        '6.5',
        'the new memory is negative, c falls to -100',
        'wrong',
        '''biases = [10, 10, -10, -10]
''',
        1,
    ),
    (
        '6.5',
        'the values of the gates are given, not their biases',
        'wrong',
        '''biases = [1, 1, 1, 0]
''',
        1,
    ),
    (
        '6.5',
        'a new memory of less than 1, gates shut and open very far',
        'right',
        '''biases = np.array([30.0, 30.0, 2.0, -30.0])
''',
        None,
    ),
    (
        '6.6',
        'the gate itself, not its bias',
        'wrong',
        '''def forget_bias(n):
    return 0.5 ** (1 / n)
''',
        2,
    ),
    (
        '6.6',
        'the logit of what is left after n steps for f = 1/2',
        'wrong',
        '''def forget_bias(n):
    f = 0.5**n
    return np.log(f / (1 - f))
''',
        2,
    ),
    (
        '6.6',
        'the loss of one half is divided evenly over the steps',
        'wrong',
        '''def forget_bias(n):
    f = 1 - 0.5 / n
    return np.log(f / (1 - f))
''',
        2,
    ),
    (
        '6.6',
        'an approximation that holds for large n only',
        'wrong',
        '''def forget_bias(n):
    return np.log(n / np.log(2))
''',
        2,
    ),
    (
        '6.6',
        'the logit turned round',
        'wrong',
        '''def forget_bias(n):
    f = 2 ** (-1 / n)
    return np.log((1 - f) / f)
''',
        3,
    ),
    (
        '6.6',
        'in closed form',
        'right',
        '''def forget_bias(n):
    return -np.log(np.expm1(np.log(2) / n))
''',
        None,
    ),
    (
        '6.6',
        'by halving an interval',
        'right',
        '''def forget_bias(n):
    low, high = -50.0, 50.0
    for _ in range(100):
        middle = (low + high) / 2
        if (1 / (1 + np.exp(-middle))) ** n < 0.5:
            low = middle
        else:
            high = middle
    return middle
''',
        None,
    ),
    (
        '6.7',
        'the gates are multiplied from the first step on',
        'wrong',
        '''def along_c(f, dc):
    return dc * np.cumprod(f, axis=0)
''',
        2,
    ),
    (
        '6.7',
        'the last entry is the gradient of the last memory itself, one step too few',
        'wrong',
        '''def along_c(f, dc):
    out = [dc]
    for t in range(len(f) - 1, 0, -1):
        out.append(out[-1] * f[t])
    return np.array(out[::-1])
''',
        3,
    ),
    (
        '6.7',
        'the result begins with the last step',
        'wrong',
        '''def along_c(f, dc):
    return dc * np.cumprod(f[::-1], axis=0)
''',
        2,
    ),
    (
        '6.7',
        "the gradient goes through the slope of the gate's sigmoid",
        'wrong',
        '''def along_c(f, dc):
    out = np.zeros_like(f)
    for t in range(len(f) - 1, -1, -1):
        dc = dc * f[t] * (1 - f[t])
        out[t] = dc
    return out
''',
        4,
    ),
    (
        '6.7',
        'each step has its own gate alone',
        'wrong',
        '''def along_c(f, dc):
    return dc[None] * f
''',
        2,
    ),
    (
        '6.7',
        'running product from the end, turned round twice',
        'right',
        '''def along_c(f, dc):
    return np.flip(np.multiply.accumulate(np.flip(f, 0), axis=0), 0) * dc
''',
        None,
    ),
    (
        '6.7',
        'recursion',
        'right',
        '''def along_c(f, dc):
    if len(f) == 0:
        return np.empty((0, *dc.shape))
    here = dc * f[-1]
    return np.concatenate([along_c(f[:-1], here), here[None]])
''',
        None,
    ),
    (
        '6.8',
        'z = 1 takes the new state instead of keeping the old one',
        'wrong',
        '''def gru_step(x, h_prev, Wx, Wh, b):
    H = h_prev.shape[1]
    s = lambda a: 1 / (1 + np.exp(-a))
    r = s(x @ Wx[:, :H] + h_prev @ Wh[:, :H] + b[:H])
    z = s(x @ Wx[:, H : 2 * H] + h_prev @ Wh[:, H : 2 * H] + b[H : 2 * H])
    n = np.tanh(x @ Wx[:, 2 * H :] + (r * h_prev) @ Wh[:, 2 * H :] + b[2 * H :])
    return z * n + (1 - z) * h_prev
''',
        7,
    ),
    (
        '6.8',
        'the reset comes after the product',
        'wrong',
        '''def gru_step(x, h_prev, Wx, Wh, b):
    H = h_prev.shape[1]
    s = lambda a: 1 / (1 + np.exp(-a))
    r = s(x @ Wx[:, :H] + h_prev @ Wh[:, :H] + b[:H])
    z = s(x @ Wx[:, H : 2 * H] + h_prev @ Wh[:, H : 2 * H] + b[H : 2 * H])
    n = np.tanh(x @ Wx[:, 2 * H :] + r * (h_prev @ Wh[:, 2 * H :]) + b[2 * H :])
    return (1 - z) * n + z * h_prev
''',
        6,
    ),
    (
        '6.8',
        'the blocks are read in the order z, r, n',
        'wrong',
        '''def gru_step(x, h_prev, Wx, Wh, b):
    Wxz, Wxr, Wxn = np.split(Wx, 3, axis=1)
    Whz, Whr, Whn = np.split(Wh, 3, axis=1)
    bz, br, bn = np.split(b, 3)
    z = sigmoid(x @ Wxz + h_prev @ Whz + bz)
    r = sigmoid(x @ Wxr + h_prev @ Whr + br)
    n = np.tanh(x @ Wxn + (r * h_prev) @ Whn + bn)
    return (1 - z) * n + z * h_prev
''',
        2,
    ),
    (
        '6.8',
        'the reset gate is computed and not used',
        'wrong',
        '''def gru_step(x, h_prev, Wx, Wh, b):
    H = h_prev.shape[1]
    s = lambda a: 1 / (1 + np.exp(-a))
    r = s(x @ Wx[:, :H] + h_prev @ Wh[:, :H] + b[:H])
    z = s(x @ Wx[:, H : 2 * H] + h_prev @ Wh[:, H : 2 * H] + b[H : 2 * H])
    n = np.tanh(x @ Wx[:, 2 * H :] + h_prev @ Wh[:, 2 * H :] + b[2 * H :])
    return (1 - z) * n + z * h_prev
''',
        6,
    ),
    (
        '6.8',
        'the old state that is kept is the reset one',
        'wrong',
        '''def gru_step(x, h_prev, Wx, Wh, b):
    H = h_prev.shape[1]
    s = lambda a: 1 / (1 + np.exp(-a))
    r = s(x @ Wx[:, :H] + h_prev @ Wh[:, :H] + b[:H])
    z = s(x @ Wx[:, H : 2 * H] + h_prev @ Wh[:, H : 2 * H] + b[H : 2 * H])
    n = np.tanh(x @ Wx[:, 2 * H :] + (r * h_prev) @ Wh[:, 2 * H :] + b[2 * H :])
    return (1 - z) * n + z * (r * h_prev)
''',
        7,
    ),
    (
        '6.8',
        'from n on the way to the old state',
        'right',
        '''def gru_step(x, h_prev, Wx, Wh, b):
    half = h_prev.shape[-1] * 2
    r, z = np.hsplit(0.5 + 0.5 * np.tanh((x.dot(Wx) + h_prev.dot(Wh) + b)[:, :half] / 2), 2)
    n = np.tanh(np.hstack([x, r * h_prev]) @ np.vstack([Wx, Wh])[:, half:] + b[half:])
    return n + z * (h_prev - n)
''',
        None,
    ),
    (
        '6.7',
        'nothing is written yet',
        'wrong',
        '''def along_c(f, dc):
    return None
''',
        2,
    ),
    (
        '6.3',
        'only the norm is returned',
        'wrong',
        '''def clip(grads, max_norm):
    return np.sqrt(sum(np.sum(g * g) for g in grads))
''',
        2,
    ),
    (
        '6.6',
        "the bias of the lesson's LSTM for every distance",
        'wrong',
        '''def forget_bias(n):
    return 1.0
''',
        2,
    ),
    (
        '6.2',
        'nineteen steps between twenty',
        'wrong',
        '''factor = 1.8 ** (1 / 19)
''',
        1,
    ),
    (
        '6.3',
        'the mean of the squares in place of their sum',
        'wrong',
        '''def clip(grads, max_norm):
    every = np.concatenate([g.ravel() for g in grads])
    norm = np.sqrt(np.mean(every**2))
    scale = min(1.0, max_norm / (norm + 1e-12))
    return [g * scale for g in grads], norm
''',
        3,
    ),
    (
        '6.6',
        'the logarithm of the gate for its logit',
        'wrong',
        '''def forget_bias(n):
    f = 0.5 ** (1 / n)
    return np.log(f)
''',
        3,
    ),
    (
        '6.7',
        'the gates are added up, not multiplied',
        'wrong',
        '''def along_c(f, dc):
    return np.stack([dc * f[t:].sum(axis=0) for t in range(len(f))])
''',
        2,
    ),
    (
        '6.8',
        'the new state goes through a sigmoid',
        'wrong',
        '''def gru_step(x, h_prev, Wx, Wh, b):
    H = h_prev.shape[1]
    a = x @ Wx[:, : 2 * H] + h_prev @ Wh[:, : 2 * H] + b[: 2 * H]
    r, z = sigmoid(a[:, :H]), sigmoid(a[:, H:])
    n = sigmoid(x @ Wx[:, 2 * H :] + (r * h_prev) @ Wh[:, 2 * H :] + b[2 * H :])
    return (1 - z) * n + z * h_prev
''',
        5,
    ),
]
