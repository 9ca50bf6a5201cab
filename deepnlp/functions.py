"""Pure functions of arrays, each with the derivative that a backward pass needs.

All of them are analytic where they can be and keep the number type, so that the complex-step
check can run through them: a maximum is taken over the real part, and no constant names a type.
"""

from __future__ import annotations

from deepnlp.backend import Array, xp


def sigmoid(x: Array) -> Array:
    r"""Logistic function, by way of tanh.

    .. math:: \sigma(x) = \frac{1}{1 + e^{-x}} = \tfrac12 \tanh(\tfrac{x}{2}) + \tfrac12

    The second form never overflows and needs no branch.

    Parameters
    ----------
    x : array

    Returns
    -------
    array of the same shape and dtype

    Examples
    --------
    >>> sigmoid(xp.asarray([0.0, 1e4]))
    array([0.5, 1. ])
    """
    return 0.5 * xp.tanh(0.5 * x) + 0.5


def sigmoid_grad(y: Array) -> Array:
    """Derivative of the sigmoid by its input, from its output: y (1 - y).

    Parameters
    ----------
    y : array
        ``sigmoid(x)``.

    Returns
    -------
    array of the same shape
    """
    return y * (1 - y)


def tanh_grad(y: Array) -> Array:
    """Derivative of tanh by its input, from its output: 1 - y^2.

    It is at most 1, and equal to 1 at x = 0.

    Parameters
    ----------
    y : array
        ``tanh(x)``.

    Returns
    -------
    array of the same shape
    """
    return 1 - y * y


def relu(x: Array) -> Array:
    """Rectifier: x where x > 0, else 0.

    Parameters
    ----------
    x : array

    Returns
    -------
    array of the same shape and dtype

    Examples
    --------
    >>> relu(xp.asarray([-1.0, 2.0]))
    array([0., 2.])
    """
    return xp.maximum(x, 0)


def relu_grad(y: Array) -> Array:
    """Derivative of the rectifier, from its output: 1 where y > 0, else 0.

    Parameters
    ----------
    y : array
        ``relu(x)``.

    Returns
    -------
    array of bool
    """
    return y.real > 0


def softmax(x: Array) -> Array:
    r"""Probabilities from scores, over the last axis.

    .. math:: p_k = \frac{e^{x_k}}{\sum_j e^{x_j}}

    The largest score is subtracted first: it cancels, and nothing overflows.

    Parameters
    ----------
    x : array (..., V)

    Returns
    -------
    array (..., V)
        Rows of positive numbers that add up to 1.

    Examples
    --------
    >>> softmax(xp.asarray([[1000.0, 1000.0]]))
    array([[0.5, 0.5]])
    """
    e = xp.exp(x - x.real.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def softplus(x: Array) -> Array:
    r"""Smooth rectifier, -log(1 - sigmoid(x)).

    .. math:: \log(1 + e^x) = m + \log(e^{-m} + e^{x - m}), \quad m = \max(x, 0)

    Parameters
    ----------
    x : array

    Returns
    -------
    array of the same shape and dtype

    Examples
    --------
    >>> softplus(xp.asarray([-1e4, 1e4]))
    array([    0., 10000.])
    """
    m = relu(x.real)
    return m + xp.log(xp.exp(-m) + xp.exp(x - m))


def split_gates(a: Array, gates: int) -> list[Array]:
    """Equal blocks of the last axis, as views: (..., gates * H) to a list of (..., H).

    Examples
    --------
    >>> [block.shape for block in split_gates(xp.zeros((5, 8)), 4)]
    [(5, 2), (5, 2), (5, 2), (5, 2)]
    """
    H = a.shape[-1] // gates
    return [a[..., k * H : (k + 1) * H] for k in range(gates)]
