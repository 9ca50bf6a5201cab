r"""How does a network remember? It hands its state from step to step: the layer of Elman 1990.

One step takes an input x (N, D) and the state before it, h_prev (N, H), and gives the state after
it. With the weights Wx (D, H), Wh (H, H) and b (H,), and f = tanh or relu::

    a = x Wx + h_prev Wh + b                            (N, H)
    h = f(a)

So h depends on all inputs so far. Learning goes the other way, ``dh_prev = (dh * f'(a)) Wh^T``: at
each step back the gradient is multiplied by a slope, at most 1, and by the same matrix. After many
steps it has vanished, or exploded if Wh is large. That is what ``lstm.py`` and ``gru.py`` mend.

The file goes from the equations to the layers: :func:`rnn_step` and :func:`rnn_step_backward`,
then :class:`RNN`, one step, and :class:`TimeRNN`, T steps. The gradients of the weights and the
loop over time are in ``recurrent.py``. On NumPy TimeRNN runs these equations; its quick form on a
GPU is ``kernels/cuda/rnn.cu``.
"""

from typing import Any

from deepnlp.backend import Array, xp
from deepnlp.backend.functions import relu, relu_grad, tanh_grad
from deepnlp.kernels import kernel
from deepnlp.kernels.steps import New, PlainSteps, States, Steps
from deepnlp.layers.recurrent import OneStep, Recurrent, TimeRecurrent

ACTIVATIONS = ("tanh", "relu")


def rnn_step(a: Array, h_prev: Array, Wh: Array, activation: str) -> tuple[States, States]:
    """Compute one step from the input's part a = x Wx + b, (N, H): the equations above.

    Gives the new state (h,), (N, H), and what the step back needs.
    """
    a = a + h_prev @ Wh
    h = xp.tanh(a) if activation == "tanh" else relu(a)
    return (h,), (h,)


def rnn_step_backward(
    dh: Array, saved: States, Wh: Array, activation: str
) -> tuple[States, States]:
    """Go back through :func:`rnn_step`, last line first: da and dh_prev (N, H) from dh (N, H)."""
    (h,) = saved
    # h = f(a): dh times the slope of f, which its value h tells
    da = dh * (tanh_grad(h) if activation == "tanh" else relu_grad(h))
    # a = x Wx + h_prev Wh + b: h_prev went forward by Wh, its gradient comes back by the transpose
    dh_prev = da @ Wh.T
    return (da,), (dh_prev,)


@kernel
def rnn_steps(a: Array, start: States, Wh: Array, activation: str, new: New) -> Steps:
    """Return the steps through one sequence, for the loop over time."""
    return PlainSteps(rnn_step, rnn_step_backward, a, start, (Wh, activation), new)


class RNNWeights(Recurrent):
    """Weights and function of a simple recurrent layer, for one step and for T steps."""

    loop = rnn_steps
    init_options = ("activation", "input_matrix")

    def __init__(self, Wx: Any, Wh: Any, b: Any, activation: str = "tanh", **options: Any) -> None:
        super().__init__(Wx, Wh, b, **options)
        if activation not in ACTIVATIONS:
            name = type(self).__name__
            raise ValueError(f"{name}: activation should be 'tanh' or 'relu', got {activation!r}")
        self.activation = activation

    def formula(self) -> Any:
        """Return :func:`rnn_step` and its way back, with Wh and the function f."""
        return rnn_step, rnn_step_backward, (self.Wh.value, self.activation)


class RNN(RNNWeights, OneStep):
    r"""One step of a simple recurrent layer.

    .. math:: h = f(x W_x + h_{prev} W_h + b)

    Parameters
    ----------
    Wx : Parameter, View, or array (D, H); or None
        None for the form without an input matrix, h = f(x + h_prev Wh + b), with D = H.
    Wh : Parameter, View, or array (H, H)
    b : Parameter or array (H,)
    activation : {"tanh", "relu"}
        The function f.

    Notes
    -----
    ``forward(x, h_prev)`` takes (N, D) and (N, H), gives h (N, H), and saves all three.
    ``backward(dh)`` gives ``(dx, dh_prev)``. With a = x Wx + h_prev Wh + b: da = dh f'(a),
    dx = da Wx^T, dh_prev = da Wh^T, dWx = x^T da, dWh = h_prev^T da, db = sum_n da_n. Elman 1990.

    Raises
    ------
    ValueError
        If shapes do not fit.

    Examples
    --------
    >>> step = RNN(Wx=[[1.0]], Wh=[[0.5]], b=[0.0])
    >>> step.forward(xp.zeros((1, 1)), xp.ones((1, 1))).round(4)   # tanh(0.5)
    array([[0.4621]])
    """

    axes = "N D, N H -> N H"

    def forward(self, x: Array, h_prev: Array) -> Array:
        """h = f(x Wx + h_prev Wh + b)."""
        return self._forward(x, h_prev)[0]

    def backward(self, dh: Array) -> tuple[Array, ...]:
        """(dx, dh_prev) from dh; dWx, dWh, db accumulate."""
        return self._backward(dh)


class TimeRNN(RNNWeights, TimeRecurrent):
    r"""A simple recurrent layer over T steps.

    .. math:: h_t = f(x_t W_x + h_{t-1} W_h + b), \qquad t = 1, \dots, T

    It equals T objects of :class:`RNN` that share their Parameters. x Wx is one matrix product of
    all steps before the loop, and so is each weight's gradient after it.

    Parameters
    ----------
    Wx : Parameter, View, or array (D, H); or None
        None for the form without an input matrix, with D = H.
    Wh : Parameter, View, or array (H, H)
    b : Parameter or array (H,)
    activation : {"tanh", "relu"}
        The function f.
    stateful : bool
        Whether a forward starts from the state the last one ended in.

    Notes
    -----
    ``forward(x, lengths=None)`` takes (N, T, D) and gives all states (N, T, H); it saves the input
    and the states. ``backward(dhs, dh=None)`` is backpropagation through time: the gradient with
    respect to h_t is that from above plus that from step t + 1. It gives dx (N, T, D) and leaves
    ``dh0``, where the gradient stops in truncated BPTT. Elman 1990; Werbos 1990.

    Raises
    ------
    ValueError
        If shapes do not fit, or a carried state has another batch size.

    Examples
    --------
    >>> layer = TimeRNN.init(3, 5)
    >>> layer.forward(xp.zeros((2, 4, 3), dtype="float32")).shape
    (2, 4, 5)
    """

    def __init__(
        self, Wx: Any, Wh: Any, b: Any, activation: str = "tanh", stateful: bool = False
    ) -> None:
        super().__init__(Wx, Wh, b, activation, stateful=stateful)
