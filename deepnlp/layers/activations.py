"""Element-wise functions as layers, and the softmax."""

from __future__ import annotations

from deepnlp.backend import Array, functions, xp
from deepnlp.layer import Layer


class Sigmoid(Layer):
    r"""Logistic function of every entry.

    .. math:: y = \frac{1}{1 + e^{-x}}, \qquad \frac{dy}{dx} = y (1 - y)

    ``forward(x)`` takes an array of any shape and gives one of the same shape; it saves y.

    Raises
    ------
    TypeError, ValueError
        If the input is an array of another backend, or the gradient has another shape.

    Examples
    --------
    >>> Sigmoid().forward(xp.asarray([0.0]))
    array([0.5])
    """

    axes = "..."

    def forward(self, x: Array) -> Array:
        """y = sigmoid(x)."""
        y = functions.sigmoid(x)
        self.save_for_backward(y)
        return y

    def backward(self, dy: Array) -> Array:
        """dx = dy * y (1 - y)."""
        (y,) = self.saved()
        return dy * functions.sigmoid_grad(y)


class Tanh(Layer):
    r"""Hyperbolic tangent of every entry.

    .. math:: y = \tanh(x), \qquad \frac{dy}{dx} = 1 - y^2

    ``forward(x)`` takes an array of any shape and gives one of the same shape; it saves y.

    Raises
    ------
    TypeError, ValueError
        If the input is an array of another backend, or the gradient has another shape.

    Examples
    --------
    >>> Tanh().forward(xp.asarray([0.0]))
    array([0.])
    """

    axes = "..."

    def forward(self, x: Array) -> Array:
        """y = tanh(x)."""
        y = xp.tanh(x)
        self.save_for_backward(y)
        return y

    def backward(self, dy: Array) -> Array:
        """dx = dy * (1 - y^2)."""
        (y,) = self.saved()
        return dy * functions.tanh_grad(y)


class ReLU(Layer):
    r"""Rectifier of every entry.

    .. math:: y = \max(x, 0), \qquad \frac{dy}{dx} = [x > 0]

    ``forward(x)`` takes an array of any shape and gives one of the same shape; it saves y.

    Raises
    ------
    TypeError, ValueError
        If the input is an array of another backend, or the gradient has another shape.

    Examples
    --------
    >>> ReLU().forward(xp.asarray([-1.0, 2.0]))
    array([0., 2.])
    """

    axes = "..."

    def forward(self, x: Array) -> Array:
        """y = max(x, 0)."""
        y = functions.relu(x)
        self.save_for_backward(y)
        return y

    def backward(self, dy: Array) -> Array:
        """dx = dy where x > 0, else 0."""
        (y,) = self.saved()
        return dy * functions.relu_grad(y)


class Softmax(Layer):
    r"""Probabilities from scores, over the last axis.

    .. math::
        y_k = \frac{e^{x_k}}{\sum_j e^{x_j}}, \qquad
        \frac{\partial y_j}{\partial x_k} = y_j ([j = k] - y_k)

    ``forward(x)`` takes (..., V) and gives (..., V); it saves y. For training, use
    :class:`~deepnlp.layers.SoftmaxWithLoss`, whose gradient is simpler.

    Raises
    ------
    TypeError, ValueError
        If the input is an array of another backend, or has no axis.

    Examples
    --------
    >>> Softmax().forward(xp.asarray([[0.0, 0.0]]))
    array([[0.5, 0.5]])
    """

    axes = "... V"

    def forward(self, x: Array) -> Array:
        """y = softmax(x)."""
        y = functions.softmax(x)
        self.save_for_backward(y)
        return y

    def backward(self, dy: Array) -> Array:
        """dx_k = sum_j dy_j y_j ([j = k] - y_k) = y_k (dy_k - sum_j dy_j y_j)."""
        (y,) = self.saved()
        return functions.softmax_grad(dy, y)
