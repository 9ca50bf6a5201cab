"""Answers to the exercises of lesson 10, written without a look at the checks. Plain data."""

SETUP = '''import numpy as np
T = 7
'''

CASES = [
    (
        '10.1',
        'the scale is forgotten',
        'wrong',
        '''def head(q, k, v):
    T, d = q.shape
    e = q @ k.T
    e = np.where(np.tri(T, dtype=bool), e, -np.inf)
    a = np.exp(e - e.max(axis=1, keepdims=True))
    return a / a.sum(axis=1, keepdims=True) @ v
''',
        3,
    ),
    (
        '10.1',
        'divided by d instead of its root',
        'wrong',
        '''def head(q, k, v):
    T, d = q.shape
    e = q @ k.T / d
    e = np.where(np.tri(T, dtype=bool), e, -np.inf)
    a = np.exp(e - e.max(axis=1, keepdims=True))
    return a / a.sum(axis=1, keepdims=True) @ v
''',
        3,
    ),
    (
        '10.1',
        'the mask hides the past and shows the future',
        'wrong',
        '''def head(q, k, v):
    T, d = q.shape
    e = q @ k.T / np.sqrt(d)
    e = np.where(np.tri(T, dtype=bool).T, e, -np.inf)
    a = np.exp(e - e.max(axis=1, keepdims=True))
    return a / a.sum(axis=1, keepdims=True) @ v
''',
        4,
    ),
    (
        '10.1',
        'hidden scores are 0 instead of minus infinity',
        'wrong',
        '''def head(q, k, v):
    T, d = q.shape
    e = q @ k.T / np.sqrt(d)
    e = np.tril(e)
    a = np.exp(e - e.max(axis=1, keepdims=True))
    return a / a.sum(axis=1, keepdims=True) @ v
''',
        4,
    ),
    (
        '10.1',
        'a position may not look at itself, except the first',
        'wrong',
        '''def head(q, k, v):
    T, d = q.shape
    e = q @ k.T / np.sqrt(d)
    mask = np.tri(T, k=-1, dtype=bool)
    mask[0, 0] = True
    e = np.where(mask, e, -np.inf)
    a = np.exp(e - e.max(axis=1, keepdims=True))
    return a / a.sum(axis=1, keepdims=True) @ v
''',
        4,
    ),
    (
        '10.1',
        'large scores overflow',
        'wrong',
        '''def head(q, k, v):
    T, d = q.shape
    e = q @ k.T / np.sqrt(d)
    e = np.where(np.tri(T, dtype=bool), e, -np.inf)
    a = np.exp(e)
    return a / a.sum(axis=1, keepdims=True) @ v
''',
        5,
    ),
    (
        '10.1',
        'the mask comes after the softmax, and the weights no longer sum to 1',
        'wrong',
        '''def head(q, k, v):
    T, d = q.shape
    e = q @ k.T / np.sqrt(d)
    a = np.exp(e - e.max(axis=1, keepdims=True))
    a = a / a.sum(axis=1, keepdims=True)
    return np.tril(a) @ v
''',
        6,
    ),
    (
        '10.1',
        'the number of positions is taken for d',
        'wrong',
        '''def head(q, k, v):
    T = d = len(q)
    e = q @ k.T / np.sqrt(d)
    e = np.where(np.tri(T, dtype=bool), e, -np.inf)
    a = np.exp(e - e.max(axis=1, keepdims=True))
    return a / a.sum(axis=1, keepdims=True) @ v
''',
        3,
    ),
    (
        '10.1',
        'position by position, on what has been read so far',
        'right',
        '''def head(q, k, v):
    out = []
    for t in range(len(q)):
        e = [float(np.dot(q[t], one)) * len(q[t]) ** -0.5 for one in k[: t + 1]]
        w = [np.exp(s - max(e)) for s in e]
        out.append(sum(p * one for p, one in zip(w, v)) / sum(w))
    return np.array(out)
''',
        None,
    ),
    (
        '10.2',
        'a reshape alone, which mixes positions',
        'wrong',
        '''def split(x, heads):
    N, T, D = x.shape
    return x.reshape(N, heads, T, D // heads)
''',
        3,
    ),
    (
        '10.2',
        'each head gets every h-th number',
        'wrong',
        '''def split(x, heads):
    N, T, D = x.shape
    return x.reshape(N, T, D // heads, heads).transpose(0, 3, 1, 2)
''',
        3,
    ),
    (
        '10.2',
        'the axis of the heads stands behind that of the positions',
        'wrong',
        '''def split(x, heads):
    N, T, D = x.shape
    return x.reshape(N, T, heads, D // heads)
''',
        3,
    ),
    (
        '10.2',
        'the axis of the heads stands in front',
        'wrong',
        '''def split(x, heads):
    return np.stack(np.split(x, heads, axis=2))
''',
        2,
    ),
    (
        '10.2',
        'heads is taken for the size of a head',
        'wrong',
        '''def split(x, heads):
    N, T, D = x.shape
    return x.reshape(N, T, -1, heads).swapaxes(1, 2)
''',
        3,
    ),
    (
        '10.2',
        'slices put side by side on a new axis',
        'right',
        '''def split(x, heads):
    d = x.shape[-1] // heads
    return np.stack([x[..., k * d : (k + 1) * d] for k in range(heads)], axis=1)
''',
        None,
    ),
    (
        '10.3',
        'the scale is forgotten on the way back',
        'wrong',
        '''class MyHeads:
    def forward(self, q, k, v):
        T, d = q.shape[-2:]
        self.scale = 1 / np.sqrt(d)
        e = q @ k.swapaxes(-1, -2) * self.scale
        e = np.where(np.tri(T, dtype=bool), e, -np.inf)
        a = np.exp(e - e.max(axis=-1, keepdims=True))
        a = a / a.sum(axis=-1, keepdims=True)
        self.q, self.k, self.v, self.a = q, k, v, a
        return a @ v

    def backward(self, do):
        a = self.a
        da = do @ self.v.swapaxes(-1, -2)
        dv = a.swapaxes(-1, -2) @ do
        de = a * (da - (a * da).sum(axis=-1, keepdims=True))
        dq = de @ self.k
        dk = de.swapaxes(-1, -2) @ self.q
        return dq, dk, dv
''',
        17,
    ),
    (
        '10.3',
        'the scale is forgotten in the gradient of the keys alone',
        'wrong',
        '''class MyHeads:
    def forward(self, q, k, v):
        T, d = q.shape[-2:]
        self.scale = 1 / np.sqrt(d)
        e = q @ k.swapaxes(-1, -2) * self.scale
        e = np.where(np.tri(T, dtype=bool), e, -np.inf)
        a = np.exp(e - e.max(axis=-1, keepdims=True))
        a = a / a.sum(axis=-1, keepdims=True)
        self.q, self.k, self.v, self.a = q, k, v, a
        return a @ v

    def backward(self, do):
        a = self.a
        da = do @ self.v.swapaxes(-1, -2)
        dv = a.swapaxes(-1, -2) @ do
        de = a * (da - (a * da).sum(axis=-1, keepdims=True))
        dq = de @ self.k * self.scale
        dk = de.swapaxes(-1, -2) @ self.q
        return dq, dk, dv
''',
        18,
    ),
    (
        '10.3',
        'the scores are not transposed in the gradient of the keys',
        'wrong',
        '''class MyHeads:
    def forward(self, q, k, v):
        T, d = q.shape[-2:]
        self.scale = 1 / np.sqrt(d)
        e = q @ k.swapaxes(-1, -2) * self.scale
        e = np.where(np.tri(T, dtype=bool), e, -np.inf)
        a = np.exp(e - e.max(axis=-1, keepdims=True))
        a = a / a.sum(axis=-1, keepdims=True)
        self.q, self.k, self.v, self.a = q, k, v, a
        return a @ v

    def backward(self, do):
        a = self.a
        da = do @ self.v.swapaxes(-1, -2)
        dv = a.swapaxes(-1, -2) @ do
        de = a * (da - (a * da).sum(axis=-1, keepdims=True))
        dq = de @ self.k * self.scale
        dk = de @ self.q * self.scale
        return dq, dk, dv
''',
        18,
    ),
    (
        '10.3',
        'the weights are not transposed in the gradient of the values',
        'wrong',
        '''class MyHeads:
    def forward(self, q, k, v):
        T, d = q.shape[-2:]
        self.scale = 1 / np.sqrt(d)
        e = q @ k.swapaxes(-1, -2) * self.scale
        e = np.where(np.tri(T, dtype=bool), e, -np.inf)
        a = np.exp(e - e.max(axis=-1, keepdims=True))
        a = a / a.sum(axis=-1, keepdims=True)
        self.q, self.k, self.v, self.a = q, k, v, a
        return a @ v

    def backward(self, do):
        a = self.a
        da = do @ self.v.swapaxes(-1, -2)
        dv = a @ do
        de = a * (da - (a * da).sum(axis=-1, keepdims=True))
        dq = de @ self.k * self.scale
        dk = de.swapaxes(-1, -2) @ self.q * self.scale
        return dq, dk, dv
''',
        15,
    ),
    (
        '10.3',
        'the weighted mean of da is not taken off in the softmax',
        'wrong',
        '''class MyHeads:
    def forward(self, q, k, v):
        T, d = q.shape[-2:]
        self.scale = 1 / np.sqrt(d)
        e = q @ k.swapaxes(-1, -2) * self.scale
        e = np.where(np.tri(T, dtype=bool), e, -np.inf)
        a = np.exp(e - e.max(axis=-1, keepdims=True))
        a = a / a.sum(axis=-1, keepdims=True)
        self.q, self.k, self.v, self.a = q, k, v, a
        return a @ v

    def backward(self, do):
        a = self.a
        da = do @ self.v.swapaxes(-1, -2)
        dv = a.swapaxes(-1, -2) @ do
        de = a * da
        dq = de @ self.k * self.scale
        dk = de.swapaxes(-1, -2) @ self.q * self.scale
        return dq, dk, dv
''',
        16,
    ),
    (
        '10.3',
        'queries and keys are exchanged in their gradients',
        'wrong',
        '''class MyHeads:
    def forward(self, q, k, v):
        T, d = q.shape[-2:]
        self.scale = 1 / np.sqrt(d)
        e = q @ k.swapaxes(-1, -2) * self.scale
        e = np.where(np.tri(T, dtype=bool), e, -np.inf)
        a = np.exp(e - e.max(axis=-1, keepdims=True))
        a = a / a.sum(axis=-1, keepdims=True)
        self.q, self.k, self.v, self.a = q, k, v, a
        return a @ v

    def backward(self, do):
        a = self.a
        da = do @ self.v.swapaxes(-1, -2)
        dv = a.swapaxes(-1, -2) @ do
        de = a * (da - (a * da).sum(axis=-1, keepdims=True))
        dq = de @ self.q * self.scale
        dk = de.swapaxes(-1, -2) @ self.k * self.scale
        return dq, dk, dv
''',
        17,
    ),
    (
        '10.3',
        'the causal mask is forgotten',
        'wrong',
        '''class MyHeads:
    def forward(self, q, k, v):
        T, d = q.shape[-2:]
        self.scale = 1 / np.sqrt(d)
        e = q @ k.swapaxes(-1, -2) * self.scale
        a = np.exp(e - e.max(axis=-1, keepdims=True))
        a = a / a.sum(axis=-1, keepdims=True)
        self.q, self.k, self.v, self.a = q, k, v, a
        return a @ v

    def backward(self, do):
        a = self.a
        da = do @ self.v.swapaxes(-1, -2)
        dv = a.swapaxes(-1, -2) @ do
        de = a * (da - (a * da).sum(axis=-1, keepdims=True))
        dq = de @ self.k * self.scale
        dk = de.swapaxes(-1, -2) @ self.q * self.scale
        return dq, dk, dv
''',
        None,
    ),
    (
        '10.3',
        'the scale of the whole model, the root of h d',
        'wrong',
        '''class MyHeads:
    def forward(self, q, k, v):
        T, d = q.shape[-2:]
        self.scale = 1 / np.sqrt(q.shape[1] * d)
        e = q @ k.swapaxes(-1, -2) * self.scale
        e = np.where(np.tri(T, dtype=bool), e, -np.inf)
        a = np.exp(e - e.max(axis=-1, keepdims=True))
        a = a / a.sum(axis=-1, keepdims=True)
        self.q, self.k, self.v, self.a = q, k, v, a
        return a @ v

    def backward(self, do):
        a = self.a
        da = do @ self.v.swapaxes(-1, -2)
        dv = a.swapaxes(-1, -2) @ do
        de = a * (da - (a * da).sum(axis=-1, keepdims=True))
        dq = de @ self.k * self.scale
        dk = de.swapaxes(-1, -2) @ self.q * self.scale
        return dq, dk, dv
''',
        4,
    ),
    (
        '10.3',
        'one head after the other, one position after the other',
        'right',
        '''class MyHeads:
    def forward(self, q, k, v):
        self.q, self.k, self.v, self.w = q, k, v, {}
        o = np.zeros(v.shape)
        for n, h, t in np.ndindex(q.shape[:3]):
            e = k[n, h, : t + 1] @ q[n, h, t] / q.shape[3] ** 0.5
            w = np.exp(e - e.max())
            self.w[n, h, t] = w = w / w.sum()
            o[n, h, t] = w @ v[n, h, : t + 1]
        return o

    def backward(self, do):
        dq, dk, dv = (np.zeros(one.shape) for one in (self.q, self.k, self.v))
        for (n, h, t), w in self.w.items():
            d, root = do[n, h, t], self.q.shape[3] ** 0.5
            dw = self.v[n, h, : t + 1] @ d
            de = w * (dw - w @ dw) / root
            dv[n, h, : t + 1] += np.outer(w, d)
            dk[n, h, : t + 1] += np.outer(de, self.q[n, h, t])
            dq[n, h, t] = de @ self.k[n, h, : t + 1]
        return dq, dk, dv
''',
        None,
    ),
    (
        '10.4',
        'thinks that attention knows the order',
        'wrong',
        '''my_choice = "another one"
''',
        1,
    ),
    (
        '10.4',
        'thinks that the output belongs to the place',
        'wrong',
        '''my_choice = "that of man"
''',
        1,
    ),
    (
        '10.5',
        'the gradient is turned forward once more',
        'wrong',
        '''class MyRotation:
    def __init__(self, angles):
        self.cos, self.sin = np.cos(angles), np.sin(angles)

    def forward(self, x):
        u, w = np.split(x, 2, axis=-1)
        return np.concatenate([u * self.cos - w * self.sin, u * self.sin + w * self.cos], axis=-1)

    def backward(self, dy):
        return self.forward(dy)
''',
        10,
    ),
    (
        '10.5',
        'neighbouring numbers are taken for the pairs',
        'wrong',
        '''class MyRotation:
    def __init__(self, angles):
        self.cos, self.sin = np.cos(angles), np.sin(angles)

    def turn(self, x, sin):
        u, w = x[..., ::2], x[..., 1::2]
        y = np.empty_like(x)
        y[..., ::2] = u * self.cos - w * sin
        y[..., 1::2] = u * sin + w * self.cos
        return y

    def forward(self, x):
        return self.turn(x, self.sin)

    def backward(self, dy):
        return self.turn(dy, -self.sin)
''',
        6,
    ),
    (
        '10.5',
        'turned the other way, forward and backward',
        'wrong',
        '''class MyRotation:
    def __init__(self, angles):
        self.cos, self.sin = np.cos(angles), -np.sin(angles)

    def forward(self, x):
        u, w = np.split(x, 2, axis=-1)
        return np.concatenate([u * self.cos - w * self.sin, u * self.sin + w * self.cos], axis=-1)

    def backward(self, dy):
        u, w = np.split(dy, 2, axis=-1)
        return np.concatenate([u * self.cos + w * self.sin, w * self.cos - u * self.sin], axis=-1)
''',
        3,
    ),
    (
        '10.5',
        'the second half is made of the first half that was turned already',
        'wrong',
        '''class MyRotation:
    def __init__(self, angles):
        self.cos, self.sin = np.cos(angles), np.sin(angles)

    def forward(self, x):
        u, w = np.split(x, 2, axis=-1)
        u = u * self.cos - w * self.sin
        w = u * self.sin + w * self.cos
        return np.concatenate([u, w], axis=-1)

    def backward(self, dy):
        u, w = np.split(dy, 2, axis=-1)
        return np.concatenate([u * self.cos + w * self.sin, w * self.cos - u * self.sin], axis=-1)
''',
        8,
    ),
    (
        '10.5',
        'the input itself is changed',
        'wrong',
        '''class MyRotation:
    def __init__(self, angles):
        self.cos, self.sin = np.cos(angles), np.sin(angles)

    def forward(self, x):
        m = x.shape[-1] // 2
        u, w = x[..., :m].copy(), x[..., m:].copy()
        x[..., :m] = u * self.cos - w * self.sin
        x[..., m:] = u * self.sin + w * self.cos
        return x

    def backward(self, dy):
        u, w = np.split(dy, 2, axis=-1)
        return np.concatenate([u * self.cos + w * self.sin, w * self.cos - u * self.sin], axis=-1)
''',
        8,
    ),
    (
        '10.5',
        'complex numbers',
        'right',
        '''class MyRotation:
    def __init__(self, angles):
        self.factor = np.exp(1j * np.asarray(angles))

    def times(self, x, factor):
        m = x.shape[-1] // 2
        z = (x[..., :m] + 1j * x[..., m:]) * factor
        return np.concatenate([z.real, z.imag], axis=-1)

    def forward(self, x):
        return self.times(x, self.factor)

    def backward(self, dy):
        return self.times(dy, self.factor.conj())
''',
        None,
    ),
    (
        '10.5',
        'a matrix for each position, transposed on the way back',
        'right',
        '''class MyRotation:
    def __init__(self, angles):
        self.R = np.array(
            [np.block([[np.diag(np.cos(a)), np.diag(np.sin(a))], [-np.diag(np.sin(a)), np.diag(np.cos(a))]])
             for a in angles]
        )

    def forward(self, x):
        return np.einsum("...ti,tij->...tj", x, self.R)

    def backward(self, dy):
        return np.einsum("...tj,tij->...ti", dy, self.R)
''',
        None,
    ),
    (
        '10.6',
        'the way by the mean is forgotten',
        'wrong',
        '''class MyLayerNorm:
    def __init__(self, g, b):
        self.g, self.b = g, b
        self.dg, self.db = None, None

    def forward(self, x):
        d = x - x.mean(axis=-1, keepdims=True)
        self.sigma = np.sqrt((d**2).mean(axis=-1, keepdims=True) + 1e-5)
        self.hat = d / self.sigma
        return self.g * self.hat + self.b

    def backward(self, dy):
        self.dg = (dy * self.hat).sum(axis=(0, 1))
        self.db = dy.sum(axis=(0, 1))
        dhat = dy * self.g
        m = dhat.mean(axis=-1, keepdims=True)
        s = (dhat * self.hat).mean(axis=-1, keepdims=True)
        return (dhat - self.hat * s) / self.sigma
''',
        18,
    ),
    (
        '10.6',
        'the way by the standard deviation is forgotten',
        'wrong',
        '''class MyLayerNorm:
    def __init__(self, g, b):
        self.g, self.b = g, b
        self.dg, self.db = None, None

    def forward(self, x):
        d = x - x.mean(axis=-1, keepdims=True)
        self.sigma = np.sqrt((d**2).mean(axis=-1, keepdims=True) + 1e-5)
        self.hat = d / self.sigma
        return self.g * self.hat + self.b

    def backward(self, dy):
        self.dg = (dy * self.hat).sum(axis=(0, 1))
        self.db = dy.sum(axis=(0, 1))
        dhat = dy * self.g
        m = dhat.mean(axis=-1, keepdims=True)
        s = (dhat * self.hat).mean(axis=-1, keepdims=True)
        return (dhat - m) / self.sigma
''',
        18,
    ),
    (
        '10.6',
        'the scale g is forgotten on the way back',
        'wrong',
        '''class MyLayerNorm:
    def __init__(self, g, b):
        self.g, self.b = g, b
        self.dg, self.db = None, None

    def forward(self, x):
        d = x - x.mean(axis=-1, keepdims=True)
        self.sigma = np.sqrt((d**2).mean(axis=-1, keepdims=True) + 1e-5)
        self.hat = d / self.sigma
        return self.g * self.hat + self.b

    def backward(self, dy):
        self.dg = (dy * self.hat).sum(axis=(0, 1))
        self.db = dy.sum(axis=(0, 1))
        dhat = dy
        m = dhat.mean(axis=-1, keepdims=True)
        s = (dhat * self.hat).mean(axis=-1, keepdims=True)
        return (dhat - m - self.hat * s) / self.sigma
''',
        15,
    ),
    (
        '10.6',
        'D - 1 in place of D in the variance',
        'wrong',
        '''class MyLayerNorm:
    def __init__(self, g, b):
        self.g, self.b = g, b
        self.dg, self.db = None, None

    def forward(self, x):
        d = x - x.mean(axis=-1, keepdims=True)
        self.sigma = np.sqrt(x.var(axis=-1, ddof=1, keepdims=True) + 1e-5)
        self.hat = d / self.sigma
        return self.g * self.hat + self.b

    def backward(self, dy):
        self.dg = (dy * self.hat).sum(axis=(0, 1))
        self.db = dy.sum(axis=(0, 1))
        dhat = dy * self.g
        m = dhat.mean(axis=-1, keepdims=True)
        s = (dhat * self.hat).mean(axis=-1, keepdims=True)
        return (dhat - m - self.hat * s) / self.sigma
''',
        8,
    ),
    (
        '10.6',
        'normalised over the positions instead of the numbers of a position',
        'wrong',
        '''class MyLayerNorm:
    def __init__(self, g, b):
        self.g, self.b = g, b
        self.dg, self.db = None, None

    def forward(self, x):
        d = x - x.mean(axis=1, keepdims=True)
        self.sigma = np.sqrt((d**2).mean(axis=1, keepdims=True) + 1e-5)
        self.hat = d / self.sigma
        return self.g * self.hat + self.b

    def backward(self, dy):
        self.dg = (dy * self.hat).sum(axis=(0, 1))
        self.db = dy.sum(axis=(0, 1))
        dhat = dy * self.g
        m = dhat.mean(axis=1, keepdims=True)
        s = (dhat * self.hat).mean(axis=1, keepdims=True)
        return (dhat - m - self.hat * s) / self.sigma
''',
        7,
    ),
    (
        '10.6',
        'the small number under the root is forgotten, equal numbers give nan',
        'wrong',
        '''class MyLayerNorm:
    def __init__(self, g, b):
        self.g, self.b = g, b
        self.dg, self.db = None, None

    def forward(self, x):
        d = x - x.mean(axis=-1, keepdims=True)
        self.sigma = x.std(axis=-1, keepdims=True)
        self.hat = d / self.sigma
        return self.g * self.hat + self.b

    def backward(self, dy):
        self.dg = (dy * self.hat).sum(axis=(0, 1))
        self.db = dy.sum(axis=(0, 1))
        dhat = dy * self.g
        m = dhat.mean(axis=-1, keepdims=True)
        s = (dhat * self.hat).mean(axis=-1, keepdims=True)
        return (dhat - m - self.hat * s) / self.sigma
''',
        8,
    ),
    (
        '10.6',
        'the gradients of g and b are summed over the texts only',
        'wrong',
        '''class MyLayerNorm:
    def __init__(self, g, b):
        self.g, self.b = g, b
        self.dg, self.db = None, None

    def forward(self, x):
        d = x - x.mean(axis=-1, keepdims=True)
        self.sigma = np.sqrt((d**2).mean(axis=-1, keepdims=True) + 1e-5)
        self.hat = d / self.sigma
        return self.g * self.hat + self.b

    def backward(self, dy):
        self.dg = (dy * self.hat).sum(axis=0)
        self.db = dy.sum(axis=0)
        dhat = dy * self.g
        m = dhat.mean(axis=-1, keepdims=True)
        s = (dhat * self.hat).mean(axis=-1, keepdims=True)
        return (dhat - m - self.hat * s) / self.sigma
''',
        13,
    ),
    (
        '10.6',
        'the gradient of g is made of the output, after scale and shift',
        'wrong',
        '''class MyLayerNorm:
    def __init__(self, g, b):
        self.g, self.b = g, b
        self.dg, self.db = None, None

    def forward(self, x):
        d = x - x.mean(axis=-1, keepdims=True)
        self.sigma = np.sqrt((d**2).mean(axis=-1, keepdims=True) + 1e-5)
        self.hat = d / self.sigma
        self.y = self.g * self.hat + self.b
        return self.y

    def backward(self, dy):
        self.dg = (dy * self.y).sum(axis=(0, 1))
        self.db = dy.sum(axis=(0, 1))
        dhat = dy * self.g
        m = dhat.mean(axis=-1, keepdims=True)
        s = (dhat * self.hat).mean(axis=-1, keepdims=True)
        return (dhat - m - self.hat * s) / self.sigma
''',
        14,
    ),
    (
        '10.6',
        'with the Jacobian of each position',
        'right',
        '''class MyLayerNorm:
    def __init__(self, g, b):
        self.g, self.b = g, b
        self.dg, self.db = None, None

    def forward(self, x):
        self.rstd = 1 / np.sqrt(x.var(axis=-1) + 1e-5)
        self.hat = (x - x.mean(axis=-1)[..., None]) * self.rstd[..., None]
        return np.multiply(self.hat, self.g) + self.b

    def backward(self, dy):
        D = dy.shape[-1]
        self.dg, self.db = np.einsum("ntd,ntd->d", dy, self.hat), np.einsum("ntd->d", dy)
        J = np.eye(D) - np.ones((D, D)) / D - self.hat[..., None] * self.hat[..., None, :] / D
        return np.einsum("ntj,ntij,nt->nti", dy * self.g, J, self.rstd)
''',
        None,
    ),
    (
        '10.7',
        'the second road begins at x instead of h',
        'wrong',
        '''class MyBlock:
    def __init__(self, norm1, attention, norm2, feed_forward):
        self.norm1, self.attention = norm1, attention
        self.norm2, self.feed_forward = norm2, feed_forward

    def forward(self, x):
        h = x + self.attention.forward(self.norm1.forward(x))
        return x + self.feed_forward.forward(self.norm2.forward(h))

    def backward(self, dy):
        dh = dy + self.norm2.backward(self.feed_forward.backward(dy))
        return dh + self.norm1.backward(self.attention.backward(dh))
''',
        8,
    ),
    (
        '10.7',
        'on the way back the road past the attention is forgotten',
        'wrong',
        '''class MyBlock:
    def __init__(self, norm1, attention, norm2, feed_forward):
        self.norm1, self.attention = norm1, attention
        self.norm2, self.feed_forward = norm2, feed_forward

    def forward(self, x):
        h = x + self.attention.forward(self.norm1.forward(x))
        return h + self.feed_forward.forward(self.norm2.forward(h))

    def backward(self, dy):
        dh = dy + self.norm2.backward(self.feed_forward.backward(dy))
        return self.norm1.backward(self.attention.backward(dh))
''',
        12,
    ),
    (
        '10.7',
        'on the way back the attention gets dy instead of dh',
        'wrong',
        '''class MyBlock:
    def __init__(self, norm1, attention, norm2, feed_forward):
        self.norm1, self.attention = norm1, attention
        self.norm2, self.feed_forward = norm2, feed_forward

    def forward(self, x):
        h = x + self.attention.forward(self.norm1.forward(x))
        return h + self.feed_forward.forward(self.norm2.forward(h))

    def backward(self, dy):
        dh = dy + self.norm2.backward(self.feed_forward.backward(dy))
        return dh + self.norm1.backward(self.attention.backward(dy))
''',
        12,
    ),
    (
        '10.7',
        'on the way back the norm comes before its part',
        'wrong',
        '''class MyBlock:
    def __init__(self, norm1, attention, norm2, feed_forward):
        self.norm1, self.attention = norm1, attention
        self.norm2, self.feed_forward = norm2, feed_forward

    def forward(self, x):
        h = x + self.attention.forward(self.norm1.forward(x))
        return h + self.feed_forward.forward(self.norm2.forward(h))

    def backward(self, dy):
        dh = dy + self.feed_forward.backward(self.norm2.backward(dy))
        return dh + self.norm1.backward(self.attention.backward(dh))
''',
        11,
    ),
    (
        '10.7',
        'the second norm is left out',
        'wrong',
        '''class MyBlock:
    def __init__(self, norm1, attention, norm2, feed_forward):
        self.norm1, self.attention = norm1, attention
        self.norm2, self.feed_forward = norm2, feed_forward

    def forward(self, x):
        h = x + self.attention.forward(self.norm1.forward(x))
        return h + self.feed_forward.forward(h)

    def backward(self, dy):
        dh = dy + self.feed_forward.backward(dy)
        return dh + self.norm1.backward(self.attention.backward(dh))
''',
        8,
    ),
    (
        '10.7',
        'what passes by is the normed input',
        'wrong',
        '''class MyBlock:
    def __init__(self, norm1, attention, norm2, feed_forward):
        self.norm1, self.attention = norm1, attention
        self.norm2, self.feed_forward = norm2, feed_forward

    def forward(self, x):
        n = self.norm1.forward(x)
        h = n + self.attention.forward(n)
        return h + self.feed_forward.forward(self.norm2.forward(h))

    def backward(self, dy):
        dh = dy + self.norm2.backward(self.feed_forward.backward(dy))
        return self.norm1.backward(dh + self.attention.backward(dh))
''',
        8,
    ),
    (
        '10.7',
        'both parts by one loop, the second first on the way back',
        'right',
        '''class MyBlock:
    def __init__(self, norm1, attention, norm2, feed_forward):
        self.parts = [(norm1, attention), (norm2, feed_forward)]

    def forward(self, x):
        for norm, part in self.parts:
            x = np.add(part.forward(norm.forward(x)), x)
        return x

    def backward(self, dy):
        for norm, part in self.parts[::-1]:
            dy = np.add(norm.backward(part.backward(dy)), dy)
        return dy
''',
        None,
    ),
    (
        '10.8',
        'overlooks that a norm stands on the road itself',
        'wrong',
        '''my_road = "norm last"
''',
        1,
    ),
    (
        '10.8',
        'thinks that a residual connection is enough',
        'wrong',
        '''my_road = "both"
''',
        1,
    ),
    (
        '10.8',
        'overlooks the term x that passes by',
        'wrong',
        '''my_road = "neither"
''',
        1,
    ),
    (
        '10.2',
        "the number of words of the lesson's example instead of that of x",
        'wrong',
        '''def split(x, heads):
    return x.reshape(len(x), T, heads, -1).swapaxes(1, 2)
''',
        2,
    ),
    (
        '10.7',
        'backward is that of the roads alone',
        'wrong',
        '''class MyBlock:
    def __init__(self, norm1, attention, norm2, feed_forward):
        self.norm1, self.attention = norm1, attention
        self.norm2, self.feed_forward = norm2, feed_forward

    def forward(self, x):
        h = x + self.attention.forward(self.norm1.forward(x))
        return h + self.feed_forward.forward(self.norm2.forward(h))

    def backward(self, dy):
        return dy
''',
        11,
    ),
    (
        '10.1',
        'the softmax runs over the positions that ask',
        'wrong',
        '''def head(q, k, v):
    T, d = q.shape
    e = q @ k.T / np.sqrt(d)
    e = np.where(np.tri(T, dtype=bool), e, -np.inf)
    a = np.exp(e - e.max(axis=0))
    a = a / a.sum(axis=0)
    return a @ v
''',
        6,
    ),
    (
        '10.2',
        'the last two axes are exchanged',
        'wrong',
        '''def split(x, heads):
    N, T, D = x.shape
    return x.reshape(N, T, heads, D // heads).transpose(0, 2, 3, 1)
''',
        3,
    ),
    (
        '10.5',
        'sine and cosine exchanged',
        'wrong',
        '''class MyRotation:
    def __init__(self, angles):
        self.c, self.s = np.sin(angles), np.cos(angles)

    def forward(self, x):
        a, b = np.split(x, 2, axis=-1)
        return np.concatenate([a * self.c - b * self.s, a * self.s + b * self.c], axis=-1)

    def backward(self, dy):
        a, b = np.split(dy, 2, axis=-1)
        return np.concatenate([a * self.c + b * self.s, b * self.c - a * self.s], axis=-1)
''',
        3,
    ),
    (
        '10.6',
        'divided by the variance, not by its root',
        'wrong',
        '''class MyLayerNorm:
    def __init__(self, g, b):
        self.g, self.b = g, b
        self.dg, self.db = None, None

    def forward(self, x):
        self.centred = x - x.mean(axis=-1, keepdims=True)
        self.var = (self.centred**2).mean(axis=-1, keepdims=True) + 1e-5
        self.hat = self.centred / self.var
        return self.g * self.hat + self.b

    def backward(self, dy):
        self.dg = (dy * self.hat).sum(axis=(0, 1))
        self.db = dy.sum(axis=(0, 1))
        d = dy * self.g
        m = d.mean(axis=-1, keepdims=True)
        return (d - m - self.hat * (d * self.hat).mean(axis=-1, keepdims=True)) / self.var
''',
        9,
    ),
    (
        '10.7',
        'on the way back the road past the feed-forward network is forgotten',
        'wrong',
        '''class MyBlock:
    def __init__(self, norm1, attention, norm2, feed_forward):
        self.norm1, self.attention = norm1, attention
        self.norm2, self.feed_forward = norm2, feed_forward

    def forward(self, x):
        h = x + self.attention.forward(self.norm1.forward(x))
        return h + self.feed_forward.forward(self.norm2.forward(h))

    def backward(self, dy):
        dh = self.norm2.backward(self.feed_forward.backward(dy))
        return dh + self.norm1.backward(self.attention.backward(dh))
''',
        11,
    ),
]
