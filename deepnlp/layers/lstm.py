r"""How does an LSTM learn what happened many steps ago?

One step takes an input x (N, D) and the state before it, h_prev and c_prev (N, H), and gives the
state after it, h and c. With the weights Wx (D, 4H), Wh (H, 4H) and b (4H,)::

    a = x Wx + h_prev Wh + b                            four blocks (N, H): a_i, a_f, a_g, a_o
    i, f, o = sigmoid(a_i), sigmoid(a_f), sigmoid(a_o)  three gates, from 0 to 1
    g = tanh(a_g)                                       new memory
    c = f * c_prev + i * g                              memory: what is kept, what is added
    h = o * tanh(c)                                     output: what is shown of the memory

It learns as every layer does: the gradients of the loss with respect to its weights say how an
optimizer changes them. The question is whether a gradient comes back that far. The answer is one
line of the backward pass, ``dc_prev = dc * f``: on its way back through c the gradient is only
multiplied by f. Where the forget gate stays open, f near 1, it arrives almost whole after many
steps. In a simple recurrent layer (``rnn.py``) there is one way back, through Wh and the slope of
tanh, and what is multiplied by the same matrix at each step mostly vanishes or explodes.

The file goes from the equations to the layers: :func:`lstm_step` and :func:`lstm_step_backward`,
then :class:`LSTM`, one step, and :class:`TimeLSTM`, T steps. The gradients of the weights, which
follow from da, and the loop over time are the same for all cells: ``recurrent.py``. TimeLSTM runs
a quick form of the steps, whose results differ by rounding alone: on NumPy ``lstm_steps`` in
``kernels/fast.py``, which works in place, on a GPU ``kernels/cuda/lstm.cu``, or ``loop.cu``, which
has the loop too. Where a step below is edited, it is what runs, in place of the quick form.

``python -m deepnlp.examples.lstm`` checks the gradients of a step against slopes of its forward,
and prints how much of a gradient is left after 50 steps of an RNN and of LSTMs, and how much of it
comes through c alone; the rest comes through h.
"""

from typing import Any, Self

from deepnlp.backend import Array, Rng, xp
from deepnlp.backend.functions import sigmoid, split_gates
from deepnlp.kernels import Kernel, kernel
from deepnlp.kernels.steps import New, PlainSteps, States, Steps
from deepnlp.layers.recurrent import OneStep, Recurrent, TimeRecurrent
from deepnlp.parameter import View

LARGEST_BIAS = 1000.0  # far beyond the 30 or so at which a forget gate is open or shut for good


def lstm_step(a: Array, h_prev: Array, c_prev: Array, Wh: Array) -> tuple[States, States]:
    """Compute one step: the equations above, where ``a`` holds x Wx + b (N, 4H) so far.

    Gives the new state (h, c), each (N, H), and what the step back needs.
    """
    a_i, a_f, a_g, a_o = split_gates(a + h_prev @ Wh, 4)
    i = sigmoid(a_i)  # input gate
    f = sigmoid(a_f)  # forget gate
    g = xp.tanh(a_g)  # new memory
    o = sigmoid(a_o)  # output gate
    c = f * c_prev + i * g
    tanh_c = xp.tanh(c)
    h = o * tanh_c
    return (h, c), (c_prev, i, f, g, o, tanh_c)


def lstm_step_backward(dh: Array, dc: Array, saved: States, Wh: Array) -> tuple[States, States]:
    """Go back through :func:`lstm_step`, from its last line to its first.

    A name such as dh stands for dL/dh, the gradient of the loss L with respect to h. Takes dh and
    dc (N, H); dc is what comes from later steps. Gives da (N, 4H), in a tuple since other cells
    have two such arrays, and (dh_prev, dc_prev), each (N, H). The gradients of the weights follow
    from da, in ``recurrent.py``.
    """
    c_prev, i, f, g, o, tanh_c = saved
    # h = o * tanh(c): the gradient of a factor is dh times the other factor
    do = dh * tanh_c
    # c acts on the loss in two ways, through later steps (dc) and through h: the gradients add up
    dc = dc + dh * o * (1 - tanh_c * tanh_c)  # the slope of tanh is 1 - tanh^2
    # c = f * c_prev + i * g: a sum hands dc to both products, and of a product each factor gets dc
    # times the other factor
    dc_prev = dc * f  # the answer to the question above
    df = dc * c_prev
    di = dc * g
    dg = dc * i
    # i, f, o = sigmoid(a_i), sigmoid(a_f), sigmoid(a_o) and g = tanh(a_g): times the slope, which
    # follows from the value, y (1 - y) for y = sigmoid(a) and 1 - y^2 for y = tanh(a)
    da_i = di * (i * (1 - i))
    da_f = df * (f * (1 - f))
    da_g = dg * (1 - g * g)
    da_o = do * (o * (1 - o))
    da = xp.concatenate([da_i, da_f, da_g, da_o], axis=1)
    # a = x Wx + h_prev Wh + b: h_prev went forward by Wh, its gradient comes back by the transpose
    dh_prev = da @ Wh.T
    return (da,), (dh_prev, dc_prev)


def check_forget_bias(owner: str, forget_bias: float) -> None:
    """Raise an error where a bias is beyond all that a gate can tell apart."""
    if not abs(forget_bias) <= LARGEST_BIAS:
        raise ValueError(
            f"{owner}: forget_bias should be from {-LARGEST_BIAS:g} to "
            f"{LARGEST_BIAS:g}, got {forget_bias}"
        )


@kernel
def lstm_steps(a: Array, start: States, Wh: Array, new: New) -> Steps:
    """Return the steps through a sequence from a (T, N, 4H) and (h_0, c_0).

    ``new(name, shape, dtype)`` gives memory.
    """
    return PlainSteps(lstm_step, lstm_step_backward, a, start, (Wh,), new)


class LSTMWeights(Recurrent):
    """Weights of the four gates i, f, g, o, for one step and for T steps."""

    gates = "ifgo"
    _states = ("h", "c")
    loop: Kernel[..., Steps] | None = lstm_steps
    init_options: tuple[str, ...] = ("forget_bias",)
    Wx: View

    @classmethod
    def init(
        cls,
        D: int,
        H: int,
        rng: Rng = None,
        dtype: Any = "float32",
        forget_bias: float | None = None,
        *,
        scheme: str = "uniform",
        **options: Any,
    ) -> Self:
        """Draw fresh weights: Wx and Wh from U(-1/sqrt(H), 1/sqrt(H)), b zero but for the gate f.

        Parameters
        ----------
        D, H : int
            Sizes of input and state.
        rng : numpy.random.Generator, optional
        dtype : data-type
        forget_bias : float, optional
            With 1, the default, the gate starts mostly open, f about 0.73; with 0, the default of
            the book, it starts half open.
        scheme : {"uniform", "book"}
            Book: matrices from N(0, 1) / sqrt(fan-in).
        **options
            Other arguments of the constructor, such as ``stateful``.
        """
        layer = super().init(D, H, rng, dtype, scheme=scheme, **options)
        if forget_bias is None:
            forget_bias = 1.0 if scheme == "uniform" else 0.0
        check_forget_bias(cls.__name__, forget_bias)
        layer.b.value[H : 2 * H] = forget_bias  # the second block of b, that of the gate f
        return layer

    def formula(self) -> Any:
        """Return :func:`lstm_step` and its way back, with Wh."""
        return lstm_step, lstm_step_backward, (self.Wh.value,)


class LSTM(LSTMWeights, OneStep):
    r"""One step of an LSTM.

    .. math::
        a &= x W_x + h_{prev} W_h + b = [a_i, a_f, a_g, a_o] \\
        i, f, o &= \sigma(a_i), \sigma(a_f), \sigma(a_o) \qquad g = \tanh(a_g) \\
        c &= f \odot c_{prev} + i \odot g \\
        h &= o \odot \tanh(c)

    Parameters
    ----------
    Wx : Parameter, View, or array (D, 4H)
        Gates in the order i, f, g, o: input, forget, new memory, output.
    Wh : Parameter, View, or array (H, 4H)
    b : Parameter or array (4H,)

    Notes
    -----
    ``forward(x, h_prev, c_prev)`` gives ``(h, c)``, each (N, H); it saves its inputs, the gates
    and tanh(c). ``backward(dh, dc)`` gives ``(dx, dh_prev, dc_prev)``. Hochreiter and Schmidhuber
    1997; the forget gate is from Gers, Schmidhuber and Cummins 2000.

    Raises
    ------
    ValueError
        If shapes do not fit.

    Examples
    --------
    >>> step = LSTM.init(3, 2, dtype="float64")
    >>> h, c = step.forward(xp.ones((1, 3)), xp.zeros((1, 2)), xp.zeros((1, 2)))
    >>> h.shape, c.shape
    ((1, 2), (1, 2))
    """

    def forward(self, x: Array, h_prev: Array, c_prev: Array) -> tuple[Array, Array]:
        """(h, c) from x and the state before."""
        h, c = self._forward(x, h_prev, c_prev)
        return h, c

    def backward(self, dh: Array, dc: Array) -> tuple[Array, ...]:
        """(dx, dh_prev, dc_prev) from the gradients of both outputs; dWx, dWh, db accumulate."""
        return self._backward(dh, dc)


class TimeLSTM(LSTMWeights, TimeRecurrent):
    r"""An LSTM over T steps.

    .. math::
        a_t &= x_t W_x + h_{t-1} W_h + b \\
        c_t &= \sigma(a_{t,f}) \odot c_{t-1} + \sigma(a_{t,i}) \odot \tanh(a_{t,g}) \\
        h_t &= \sigma(a_{t,o}) \odot \tanh(c_t)

    It equals T objects of :class:`LSTM` that share their Parameters. x Wx is one matrix product of
    all steps before the loop, and so is each weight's gradient after it.

    Parameters
    ----------
    Wx : Parameter, View, or array (D, 4H)
        Gates in the order i, f, g, o.
    Wh : Parameter, View, or array (H, 4H)
    b : Parameter or array (4H,)
    stateful : bool
        Whether a forward starts from the state the last one ended in.

    Notes
    -----
    ``forward(x, lengths=None)`` takes (N, T, D) and gives all states h (N, T, H); ``h`` and ``c``
    hold the last ones. ``backward(dhs, dh=None, dc=None)`` gives dx (N, T, D) and leaves ``dh0``
    and ``dc0``. Two paths lead back in time: through h by the product with Wh^T, and through c by
    the product with the forget gate alone, which is why an LSTM can remember. Hochreiter and
    Schmidhuber 1997.

    Raises
    ------
    ValueError
        If shapes do not fit, or a carried state has another batch size.

    Examples
    --------
    >>> layer = TimeLSTM.init(3, 5)
    >>> layer.forward(xp.zeros((2, 4, 3), dtype="float32")).shape
    (2, 4, 5)
    >>> layer.c.shape
    (2, 5)
    """
