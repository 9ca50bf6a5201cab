"""Element-wise functions as layers, and the softmax."""

import math
from typing import Any

from deepnlp.backend import Array, erf, functions, xp
from deepnlp.kernels import back_of, kernel
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


@kernel
def gelu(x: Array) -> tuple[Array, Any]:
    """y = x Phi(x), with Phi(x) = (1 + erf(x / sqrt 2)) / 2, and what the backward needs."""
    Phi = 0.5 * (1 + erf(x * math.sqrt(0.5)))
    return x * Phi, (x, Phi)


@back_of(gelu)
def gelu_backward(dy: Array, saved: Any) -> Array:
    """dx = dy (Phi(x) + x phi(x)), where phi(x) = exp(-x^2 / 2) / sqrt(2 pi) is dPhi / dx."""
    x, Phi = saved
    dx: Array = dy * (Phi + x * xp.exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi)))
    return dx


@kernel
def gelu_tanh(x: Array) -> tuple[Array, Any]:
    """y = x (1 + t) / 2, with t = tanh(a (x + b x^3)), and what the backward needs."""
    t = xp.tanh(GELU_A * (x + GELU_B * x * x * x))
    return 0.5 * x * (1 + t), (x, t)


@back_of(gelu_tanh)
def gelu_tanh_backward(dy: Array, saved: Any) -> Array:
    """dx = dy ((1 + t) / 2 + x (1 - t^2) a (1 + 3 b x^2) / 2)."""
    x, t = saved
    du = GELU_A * (1 + 3 * GELU_B * x * x)  # u = a (x + b x^3), t = tanh(u)
    dx: Array = dy * (0.5 * (1 + t) + 0.5 * x * functions.tanh_grad(t) * du)
    return dx


GELU_A, GELU_B = math.sqrt(2 / math.pi), 0.044715


class GELU(Layer):
    r"""Gaussian error linear unit of every entry.

    .. math::
        y = x \, \Phi(x), \qquad
        \Phi(x) = \tfrac12 \bigl(1 + \mathrm{erf}(x / \sqrt 2)\bigr), \qquad
        \frac{dy}{dx} = \Phi(x) + x \frac{e^{-x^2 / 2}}{\sqrt{2 \pi}}

    with Phi(x) the probability that a normal number is below x; or, with ``form="tanh"``, the
    approximation by which GPT-2 was trained,

    .. math::
        y = \tfrac12 x (1 + t), \qquad t = \tanh\bigl(\sqrt{2 / \pi} (x + 0.044715 x^3)\bigr)

    Parameters
    ----------
    form : {"exact", "tanh"}

    Notes
    -----
    ``forward(x)`` takes an array of any shape, gives one of the same shape and saves x and Phi(x),
    or t. Hendrycks and Gimpel 2016, section 2.

    Raises
    ------
    ValueError
        If the form is neither, or the gradient has another shape than the output.

    Examples
    --------
    >>> GELU().forward(xp.asarray([-1.0, 0.0, 1.0])).round(4)
    array([-0.1587,  0.    ,  0.8413])
    """

    axes = "..."

    def __init__(self, form: str = "exact") -> None:
        if form not in GELU_FORMS:
            raise ValueError(f"GELU: form should be one of {', '.join(GELU_FORMS)}, got {form!r}")
        self.form = form

    def forward(self, x: Array) -> Array:
        """y = x Phi(x), or its approximation by a tanh."""
        y, saved = GELU_FORMS[self.form][0](x)
        self.save_for_backward(saved)
        return y

    def backward(self, dy: Array) -> Array:
        """dx = dy (Phi(x) + x phi(x)): both factors of y = x Phi(x) depend on x."""
        (saved,) = self.saved()
        dx: Array = GELU_FORMS[self.form][1](dy, saved)
        return dx


GELU_FORMS = {"exact": (gelu, gelu_backward), "tanh": (gelu_tanh, gelu_tanh_backward)}


class SiLU(Layer):
    r"""Sigmoid linear unit of every entry, also known as swish.

    .. math:: y = x \, \sigma(x), \qquad \frac{dy}{dx} = \sigma(x) (1 + x (1 - \sigma(x)))

    ``forward(x)`` takes an array of any shape, gives one of the same shape and saves x and
    sigmoid(x). Elfwing, Uchibe and Doya 2018, eq. 8 and 9.

    Raises
    ------
    TypeError, ValueError
        If the input is an array of another backend, or the gradient has another shape.

    Examples
    --------
    >>> SiLU().forward(xp.asarray([0.0, 1.0])).round(4)
    array([0.    , 0.7311])
    """

    axes = "..."

    def forward(self, x: Array) -> Array:
        """y = x sigmoid(x)."""
        s = functions.sigmoid(x)
        self.save_for_backward(x, s)
        return x * s

    def backward(self, dy: Array) -> Array:
        """dx = dy (s + x s (1 - s)), with s = sigmoid(x)."""
        x, s = self.saved()
        # y = x s, and s = sigmoid(x): x reaches y as the factor and by way of s
        dx: Array = dy * (s + x * functions.sigmoid_grad(s))
        return dx


class SwiGLU(Layer):
    r"""Gated linear unit: one half of the vector, through a SiLU, multiplies the other.

    .. math:: x = (a, b), \qquad y = \mathrm{silu}(a) \odot b, \qquad
        \mathrm{silu}(a) = a \, \sigma(a)

    Notes
    -----
    ``forward(x)`` takes (..., 2M), such as x W + c of an :class:`Affine` before it, gives (..., M)
    and saves x and sigmoid(a). Shazeer 2020, eq. 6, with both matrices beside each other.

    Raises
    ------
    ValueError
        If the last axis cannot be halved, or the gradient has another shape than the output.

    Examples
    --------
    >>> SwiGLU().forward(xp.asarray([[0.0, 1.0, 5.0, 10.0]])).round(3)
    array([[0.   , 7.311]])
    """

    axes = "... D -> ... M"

    def forward(self, x: Array) -> Array:
        """y = silu(a) b, with a and b the halves of x."""
        if x.shape[-1] % 2:
            raise ValueError(f"SwiGLU: the last axis of x should be even, got shape {x.shape}")
        a, b = functions.split_gates(x, 2)
        s = functions.sigmoid(a)
        self.save_for_backward(x, s)
        return a * s * b

    def backward(self, dy: Array) -> Array:
        """dx = (da, db): db = dy silu(a), and da = dy b times the slope of silu at a."""
        x, s = self.saved()
        a, b = functions.split_gates(x, 2)
        # y = (a s) b, and s = sigmoid(a): the slope of a s is s + a s (1 - s)
        da = dy * b * (s + a * functions.sigmoid_grad(s))
        return xp.concatenate([da, dy * a * s], axis=-1)


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
