"""Pure functions of arrays, each with the derivative that a backward pass needs.

All of them are analytic where they can be and keep the number type, so that the complex-step
check can run through them: a maximum is taken over the real part, and no constant names a type.
"""

from deepnlp.backend import Array, xp

MANY = 1 << 16  # rows that are added up in float32


def column_sums(x: Array) -> Array:
    """sum_n x_n of a matrix (n, D); those of float16, and of very many rows, in float64.

    >>> column_sums(xp.ones((4096, 1), dtype="float16")).item()     # float16 has no 2049
    4096.0
    """
    wide = x.dtype == "float16" or (x.dtype == "float32" and len(x) > MANY)
    return xp.sum(x, axis=0, dtype="float64").astype(x.dtype) if wide else xp.sum(x, axis=0)


def sigmoid(x: Array) -> Array:
    """Return the logistic function 1 / (1 + exp(-x)), by way of tanh, which never overflows.

    >>> sigmoid(xp.asarray([0.0, 1e4]))
    array([0.5, 1. ])
    """
    return 0.5 * xp.tanh(0.5 * x) + 0.5


def sigmoid_grad(y: Array) -> Array:
    """Return the derivative of the sigmoid, from its output y: y (1 - y), of the same shape."""
    return y * (1 - y)


def tanh_grad(y: Array) -> Array:
    """Return the derivative of tanh, from its output y: 1 - y^2, which is 1 at x = 0."""
    return 1 - y * y


def relu(x: Array) -> Array:
    """Rectifier: x where x > 0, else 0.

    >>> relu(xp.asarray([-1.0, 2.0]))
    array([0., 2.])
    """
    return xp.maximum(x, 0)


def relu_grad(y: Array) -> Array:
    """Return the derivative of the rectifier from its output y: true where y > 0, else false."""
    return y.real > 0


def softmax(x: Array) -> Array:
    """Return probabilities from scores (..., V), over the last axis.

    The largest score is subtracted first: it cancels, and nothing overflows.

    >>> softmax(xp.asarray([[1000.0, 1000.0]]))
    array([[0.5, 0.5]])
    """
    if not x.shape[-1]:  # no scores: no largest one, and no probabilities
        return x
    e = xp.exp(x - x.real.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def masked_softmax(x: Array, hidden: Array | None) -> Array:
    """Compute the softmax over the entries of the last axis that are not hidden.

    Where all entries of a row are hidden, all are zero. ``hidden`` broadcasts to x (..., S).

    >>> masked_softmax(xp.zeros((2, 3)), xp.asarray([[False, False, True], [True, True, True]]))
    array([[0.5, 0.5, 0. ],
           [0. , 0. , 0. ]])
    """
    if hidden is None or not x.shape[-1]:
        return softmax(x)
    lowest = xp.finfo(x.real.dtype).min
    top = xp.where(hidden, lowest, x.real).max(axis=-1, keepdims=True)
    e = xp.exp(xp.where(hidden, -xp.inf, x - top))
    total = e.sum(axis=-1, keepdims=True)
    return e / xp.where(total == 0, 1, total)


def softmax_grad(dy: Array, y: Array) -> Array:
    """dx from dy and the output y of a softmax over the last axis, masked or not.

    dy_j / dx_k = y_j ([j = k] - y_k), so dx_k = y_k (dy_k - sum_j dy_j y_j).
    """
    return y * (dy - xp.sum(dy * y, axis=-1, keepdims=True))


def log_softmax(x: Array) -> Array:
    """Return logarithms of the probabilities from scores (..., V), over the last axis.

    >>> log_softmax(xp.asarray([[1000.0, 1000.0]])).round(3)
    array([[-0.693, -0.693]])
    """
    shifted = x - x.real.max(axis=-1, keepdims=True)
    return shifted - xp.log(xp.exp(shifted).sum(axis=-1, keepdims=True))


def softplus(x: Array) -> Array:
    """Smooth rectifier log(1 + exp(x)) = m + log(exp(-m) + exp(x - m)), with m = max(x, 0).

    >>> softplus(xp.asarray([-1e4, 1e4]))
    array([    0., 10000.])
    """
    m = relu(x.real)
    return m + xp.log(xp.exp(-m) + xp.exp(x - m))


def split_gates(a: Array, gates: int) -> list[Array]:
    """Return equal blocks of the last axis, as views: (..., gates * H) to a list of (..., H).

    Examples
    --------
    >>> [block.shape for block in split_gates(xp.zeros((5, 8)), 4)]
    [(5, 2), (5, 2), (5, 2), (5, 2)]
    """
    H = a.shape[-1] // gates
    return [a[..., k * H : (k + 1) * H] for k in range(gates)]
