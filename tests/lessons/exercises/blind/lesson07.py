"""Answers to the exercises of lesson 7, written without a look at the checks. Plain data."""

SETUP = '''import numpy as np
E = np.random.default_rng(0).normal(size=(7, 4))
targets = np.array([1, 6, 1])
tau = 2.0
'''

CASES = [
    (
        '7.1',
        'one step only',
        'wrong',
        '''share = 0.5
''',
        1,
    ),
    (
        '7.1',
        'the share that is lost',
        'wrong',
        '''share = 1 - 0.5**10
''',
        1,
    ),
    (
        '7.1',
        'divided by the number of steps',
        'wrong',
        '''share = 0.5 / 10
''',
        1,
    ),
    (
        '7.1',
        'the mean of the memory, which is kept, is taken for the share',
        'wrong',
        '''share = 1.0
''',
        1,
    ),
    (
        '7.1',
        'one half, ten times',
        'right',
        '''share = 1.0
for _ in range(10):
    share *= 0.5
''',
        None,
    ),
    (
        '7.2',
        'a new mask at every step',
        'wrong',
        '''def locked_dropout(x, p, rng):
    keep = rng.random(x.shape) >= p
    return x * keep / (1 - p)
''',
        2,
    ),
    (
        '7.2',
        'one mask for all rows',
        'wrong',
        '''def locked_dropout(x, p, rng):
    keep = rng.random(x.shape[-1]) >= p
    return x * keep / (1 - p)
''',
        2,
    ),
    (
        '7.2',
        'whole rows are dropped, not single numbers',
        'wrong',
        '''def locked_dropout(x, p, rng):
    keep = rng.random((len(x), 1, 1)) >= p
    return x * keep / (1 - p)
''',
        2,
    ),
    (
        '7.2',
        'what is left is not scaled up',
        'wrong',
        '''def locked_dropout(x, p, rng):
    keep = rng.random((len(x), 1, x.shape[2])) >= p
    return x * keep
''',
        3,
    ),
    (
        '7.2',
        'p is taken for the share that is kept',
        'wrong',
        '''def locked_dropout(x, p, rng):
    keep = rng.random((len(x), 1, x.shape[2])) < p
    return x * keep / p
''',
        2,
    ),
    (
        '7.2',
        'the input is changed in place',
        'wrong',
        '''def locked_dropout(x, p, rng):
    keep = rng.random((len(x), 1, x.shape[2])) >= p
    x *= keep / (1 - p)
    return x
''',
        3,
    ),
    (
        '7.2',
        'scaled by 1 / p',
        'wrong',
        '''def locked_dropout(x, p, rng):
    keep = rng.random((len(x), 1, x.shape[2])) >= p
    return x * keep / p
''',
        3,
    ),
    (
        '7.2',
        'the mask is locked over the numbers, fresh for each step',
        'wrong',
        '''def locked_dropout(x, p, rng):
    N, T, D = x.shape
    keep = rng.random((N, T, 1)) >= p
    return x * keep / (1 - p)
''',
        3,
    ),
    (
        '7.2',
        'row by row, with a binomial draw',
        'right',
        '''def locked_dropout(x, p, rng):
    N, T, D = x.shape
    return np.stack([row * (rng.binomial(1, 1 - p, size=D) / (1 - p)) for row in x])
''',
        None,
    ),
    (
        '7.2',
        'a mask of zeros and factors by choice, repeated in time',
        'right',
        '''def locked_dropout(x, p, rng):
    mask = rng.choice([0.0, 1 / (1 - p)], size=(x.shape[0], x.shape[2]), p=[p, 1 - p])
    return np.einsum("ntd,nd->ntd", x, mask)
''',
        None,
    ),
    (
        '7.3',
        'takes the matrix on the way in',
        'wrong',
        '''p_hd = "Wx transposed"
''',
        1,
    ),
    (
        '7.3',
        'takes the recurrent matrix',
        'wrong',
        '''p_hd = "Wh transposed"
''',
        1,
    ),
    (
        '7.3',
        "takes the embedding, the note's U",
        'wrong',
        '''p_hd = "E transposed"
''',
        1,
    ),
    (
        '7.4',
        'the second layer reads D numbers',
        'wrong',
        '''def count(V, D, H, tie):
    total = V * D + 2 * 4 * H * (D + H + 1) + V
    if tie == "none":
        total += H * V
    if tie == "tied+L":
        total += H * D
    return total
''',
        2,
    ),
    (
        '7.4',
        'the biases of the gates are forgotten',
        'wrong',
        '''def count(V, D, H, tie):
    total = V * D + 4 * H * (D + H) + 4 * H * (H + H) + V
    if tie == "none":
        total += H * V
    if tie == "tied+L":
        total += H * D
    return total
''',
        2,
    ),
    (
        '7.4',
        'one matrix for all four gates',
        'wrong',
        '''def count(V, D, H, tie):
    total = V * D + H * (D + H + 1) + H * (H + H + 1) + V
    if tie == "none":
        total += H * V
    if tie == "tied+L":
        total += H * D
    return total
''',
        2,
    ),
    (
        '7.4',
        'the output bias is forgotten',
        'wrong',
        '''def count(V, D, H, tie):
    total = V * D + 4 * H * (D + H + 1) + 4 * H * (H + H + 1)
    if tie == "none":
        total += H * V
    if tie == "tied+L":
        total += H * D
    return total
''',
        2,
    ),
    (
        '7.4',
        'without tying the output matrix is taken for D wide',
        'wrong',
        '''def count(V, D, H, tie):
    total = V * D + 4 * H * (D + H + 1) + 4 * H * (H + H + 1) + V
    if tie == "none":
        total += D * V
    if tie == "tied+L":
        total += H * D
    return total
''',
        4,
    ),
    (
        '7.4',
        'with L the output matrix is counted as well',
        'wrong',
        '''def count(V, D, H, tie):
    total = V * D + 4 * H * (D + H + 1) + 4 * H * (H + H + 1) + V
    if tie in ("none", "tied+L"):
        total += H * V
    if tie == "tied+L":
        total += H * D
    return total
''',
        3,
    ),
    (
        '7.4',
        'two biases in each LSTM layer, as in PyTorch',
        'wrong',
        '''def count(V, D, H, tie):
    total = V * D + 4 * H * (D + H + 2) + 4 * H * (H + H + 2) + V
    if tie == "none":
        total += H * V
    if tie == "tied+L":
        total += H * D
    return total
''',
        2,
    ),
    (
        '7.4',
        'a list of shapes',
        'right',
        '''def count(V, D, H, tie):
    from math import prod

    shapes = [(V, D), (D, 4 * H), (H, 4 * H), (4 * H,), (H, 4 * H), (H, 4 * H), (4 * H,), (V,)]
    shapes += {"none": [(H, V)], "tied": [], "tied+L": [(H, D)]}[tie]
    return sum(map(prod, shapes))
''',
        None,
    ),
    (
        '7.5',
        'the use as the output is forgotten',
        'wrong',
        '''class MyTied:
    def __init__(self, E, L):
        self.E, self.L = E, L

    def forward(self, ids):
        self.ids = ids
        self.h = np.tanh(self.E[ids])
        self.z = self.h @ self.L
        return self.z @ self.E.T

    def backward(self, ds):
        dz = ds @ self.E
        self.dL = self.h.T @ dz
        self.dE = np.zeros_like(self.E)
        dh = dz @ self.L.T
        np.add.at(self.dE, self.ids, dh * (1 - self.h**2))
''',
        14,
    ),
    (
        '7.5',
        'the use as the input is forgotten',
        'wrong',
        '''class MyTied:
    def __init__(self, E, L):
        self.E, self.L = E, L

    def forward(self, ids):
        self.ids = ids
        self.h = np.tanh(self.E[ids])
        self.z = self.h @ self.L
        return self.z @ self.E.T

    def backward(self, ds):
        dz = ds @ self.E
        self.dL = self.h.T @ dz
        self.dE = ds.T @ self.z
''',
        None,
    ),
    (
        '7.5',
        'the gradient of the input replaces that of the output',
        'wrong',
        '''class MyTied:
    def __init__(self, E, L):
        self.E, self.L = E, L

    def forward(self, ids):
        self.ids = ids
        self.h = np.tanh(self.E[ids])
        self.z = self.h @ self.L
        return self.z @ self.E.T

    def backward(self, ds):
        dz = ds @ self.E
        self.dL = self.h.T @ dz
        self.dE = ds.T @ self.z
        dh = dz @ self.L.T
        for k, d in zip(self.ids, dh * (1 - self.h**2)):
            self.dE[k] = d
''',
        17,
    ),
    (
        '7.5',
        'a word that repeats is counted once',
        'wrong',
        '''class MyTied:
    def __init__(self, E, L):
        self.E, self.L = E, L

    def forward(self, ids):
        self.ids = ids
        self.h = np.tanh(self.E[ids])
        self.z = self.h @ self.L
        return self.z @ self.E.T

    def backward(self, ds):
        dz = ds @ self.E
        self.dL = self.h.T @ dz
        self.dE = ds.T @ self.z
        dh = dz @ self.L.T
        self.dE[self.ids] += dh * (1 - self.h**2)
''',
        16,
    ),
    (
        '7.5',
        'the output part is made of h instead of h L',
        'wrong',
        '''class MyTied:
    def __init__(self, E, L):
        self.E, self.L = E, L

    def forward(self, ids):
        self.ids = ids
        self.h = np.tanh(self.E[ids])
        self.z = self.h @ self.L
        return self.z @ self.E.T

    def backward(self, ds):
        dz = ds @ self.E
        self.dL = self.h.T @ dz
        self.dE = ds.T @ self.h
        dh = dz @ self.L.T
        np.add.at(self.dE, self.ids, dh * (1 - self.h**2))
''',
        14,
    ),
    (
        '7.5',
        'L is not transposed on the way back',
        'wrong',
        '''class MyTied:
    def __init__(self, E, L):
        self.E, self.L = E, L

    def forward(self, ids):
        self.ids = ids
        self.h = np.tanh(self.E[ids])
        self.z = self.h @ self.L
        return self.z @ self.E.T

    def backward(self, ds):
        dz = ds @ self.E
        self.dL = self.h.T @ dz
        self.dE = ds.T @ self.z
        dh = dz @ self.L
        np.add.at(self.dE, self.ids, dh * (1 - self.h**2))
''',
        15,
    ),
    (
        '7.5',
        'the gradient of L is transposed',
        'wrong',
        '''class MyTied:
    def __init__(self, E, L):
        self.E, self.L = E, L

    def forward(self, ids):
        self.ids = ids
        self.h = np.tanh(self.E[ids])
        self.z = self.h @ self.L
        return self.z @ self.E.T

    def backward(self, ds):
        dz = ds @ self.E
        self.dL = dz.T @ self.h
        self.dE = ds.T @ self.z
        dh = dz @ self.L.T
        np.add.at(self.dE, self.ids, dh * (1 - self.h**2))
''',
        13,
    ),
    (
        '7.5',
        'the slope of tanh is forgotten',
        'wrong',
        '''class MyTied:
    def __init__(self, E, L):
        self.E, self.L = E, L

    def forward(self, ids):
        self.ids = ids
        self.h = np.tanh(self.E[ids])
        self.z = self.h @ self.L
        return self.z @ self.E.T

    def backward(self, ds):
        dz = ds @ self.E
        self.dL = self.h.T @ dz
        self.dE = ds.T @ self.z
        dh = dz @ self.L.T
        np.add.at(self.dE, self.ids, dh)
''',
        16,
    ),
    (
        '7.5',
        'the input as a one-hot product, the two gradients added in one line',
        'right',
        '''class MyTied:
    def __init__(self, E, L):
        self.E, self.L = E, L

    def forward(self, ids):
        self.x = np.eye(len(self.E))[ids]
        self.h = np.tanh(self.x @ self.E)
        return np.einsum("nd,de,ve->nv", self.h, self.L, self.E)

    def backward(self, ds):
        self.dL = np.einsum("nd,nv,ve->de", self.h, ds, self.E)
        da = (ds @ self.E @ self.L.T) / np.cosh(np.arctanh(self.h)) ** 2
        self.dE = self.x.T @ da + ds.T @ self.h @ self.L
        return self.dE
''',
        None,
    ),
    (
        '7.6',
        'without L, straight from h to the scores',
        'wrong',
        '''def multiplications(V, D, H):
    return H * V
''',
        2,
    ),
    (
        '7.6',
        'the two products are multiplied instead of added',
        'wrong',
        '''def multiplications(V, D, H):
    return H * D * V
''',
        2,
    ),
    (
        '7.6',
        'the product with L is forgotten',
        'wrong',
        '''def multiplications(V, D, H):
    return D * V
''',
        2,
    ),
    (
        '7.6',
        'with L, and then with a full matrix',
        'wrong',
        '''def multiplications(V, D, H):
    return H * D + H * V
''',
        2,
    ),
    (
        '7.6',
        'L E^T is multiplied out first, for each word anew',
        'wrong',
        '''def multiplications(V, D, H):
    return H * D * V + H * V
''',
        2,
    ),
    (
        '7.6',
        'factored',
        'right',
        '''def multiplications(V, D, H):
    return D * sum((H, V))
''',
        None,
    ),
    (
        '7.7',
        'multiplied by the temperature',
        'wrong',
        '''def soft_targets(E, ids, tau):
    s = E[ids] @ E.T * tau
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
''',
        2,
    ),
    (
        '7.7',
        'normalised over the targets instead of the words',
        'wrong',
        '''def soft_targets(E, ids, tau):
    s = E[ids] @ E.T / tau
    e = np.exp(s - s.max(axis=0))
    return e / e.sum(axis=0)
''',
        4,
    ),
    (
        '7.7',
        'cosines instead of inner products',
        'wrong',
        '''def soft_targets(E, ids, tau):
    U = E / np.linalg.norm(E, axis=1, keepdims=True)
    s = U[ids] @ U.T / tau
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
''',
        3,
    ),
    (
        '7.7',
        'the temperature is forgotten',
        'wrong',
        '''def soft_targets(E, ids, tau):
    s = E[ids] @ E.T
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
''',
        2,
    ),
    (
        '7.7',
        'the target itself is left out',
        'wrong',
        '''def soft_targets(E, ids, tau):
    s = E[ids] @ E.T / tau
    s[np.arange(len(ids)), ids] = -np.inf
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
''',
        3,
    ),
    (
        '7.7',
        'a distribution for every word, not for the targets',
        'wrong',
        '''def soft_targets(E, ids, tau):
    s = E @ E.T / tau
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
''',
        2,
    ),
    (
        '7.7',
        'the rows of the targets are taken at the end',
        'right',
        '''def soft_targets(E, ids, tau):
    s = np.einsum("ud,vd->uv", E, E) / tau
    return np.exp(s - np.logaddexp.reduce(s, axis=1, keepdims=True))[ids]
''',
        None,
    ),
    (
        '7.7',
        'one target at a time',
        'right',
        '''def soft_targets(E, ids, tau):
    rows = []
    for t in ids:
        scores = [float(np.dot(E[t], e)) / tau for e in E]
        top = max(scores)
        e = [np.exp(one - top) for one in scores]
        rows.append([one / sum(e) for one in e])
    return np.array(rows)
''',
        None,
    ),
    (
        '7.8',
        'overlooks that L is not frozen',
        'wrong',
        '''trained = "b alone"
''',
        1,
    ),
    (
        '7.8',
        'thinks that the embedding is still trained as the output',
        'wrong',
        '''trained = "E, L and b"
''',
        1,
    ),
    (
        '7.8',
        'thinks that the whole output is frozen with the embedding',
        'wrong',
        '''trained = "nothing"
''',
        1,
    ),
    (
        '7.7',
        "the targets of the lesson's cell instead of ids",
        'wrong',
        '''def soft_targets(E, ids, tau):
    s = E[targets] @ E.T / tau
    e = np.exp(s - s.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
''',
        2,
    ),
    (
        '7.2',
        'the input is returned as it is',
        'wrong',
        '''def locked_dropout(x, p, rng):
    return x
''',
        2,
    ),
]
