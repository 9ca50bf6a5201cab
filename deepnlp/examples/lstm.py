"""How an LSTM learns, in numbers: ``python -m deepnlp.examples.lstm``.

It checks the gradients of a step against slopes of its forward, and prints how much of a gradient
is left after 50 steps of an RNN and of LSTMs, and how much of it comes through c alone.
"""

from typing import Any

from deepnlp.backend import Array, seed, xp
from deepnlp.backend.functions import sigmoid
from deepnlp.backend.initialisers import uniform
from deepnlp.layers import LSTM, TimeLSTM, TimeRNN
from deepnlp.layers.lstm import lstm_step
from deepnlp.layers.recurrent import TimeRecurrent


def _largest_error() -> float:
    """Return the largest difference between a gradient of a step and the slope of the loss.

    The loss is L = sum(dh * h) + sum(dc * c), for any dh and dc. Its slope with respect to a number
    w is Im L(w + ie) / e for a tiny e, exact to rounding since nothing is subtracted: so all arrays
    are complex here, with imaginary parts of zero (Squire and Trapp 1998).
    """
    N, D, H, e = 2, 3, 4, 1e-30
    layer = LSTM.init(D, H, dtype="float64")
    inputs = [uniform((N, size), 1.0, dtype="complex128") for size in (D, H, H)]
    dh, dc = (uniform((N, H), 1.0, dtype="complex128") for _ in range(2))
    layer.astype("complex128")
    layer.forward(*inputs)
    gradients = [*layer.backward(dh, dc), *(weight.grad for weight in layer.parameters())]
    errors = []
    for array, gradient in zip([*inputs, *(w.value for w in layer.parameters())], gradients):
        for place in range(array.size):
            array.flat[place] += 1j * e
            h, c = layer.forward(*inputs)
            array.flat[place] -= 1j * e
            slope = (xp.sum(dh * h) + xp.sum(dc * c)).imag / e
            errors.append(abs(float(slope - gradient.flat[place].real)))
    return max(errors)


def _what_is_left(layer: TimeRecurrent, x: Array, steps: list[int]) -> list[float]:
    """Return the share of a gradient at the last state that is left, so many steps before it.

    The norm of the gradient with respect to the whole state, h or h and c, as a share of the first.
    """
    norms: list[float] = []  # the last step first

    def watch(*seen: Any) -> None:  # t, x_t, h_prev, dh, and of an LSTM c_prev, dc
        norms.append(float(sum(xp.sum(d * d) for d in seen[3::2])) ** 0.5)

    layer.watch = watch
    y = layer.forward(x)
    layer.backward(xp.zeros_like(y), **{f"d{layer._states[-1]}": xp.ones_like(y[:, -1])})
    return [norms[back] / norms[0] for back in steps]


def _through_c_alone(layer: TimeRecurrent, x: Array, steps: list[int]) -> list[float]:
    """Return the same of dc_prev = dc * f, step by step, as if c had no way to the loss but c."""
    h, c = layer.start(len(x))
    gates = []
    for t in range(x.shape[1]):
        a = layer._input_product(x[:, t])
        (h, c), (_, _, f, *_) = lstm_step(a, h, c, layer.Wh.value)
        gates.append(f)
    dc = xp.ones_like(c)
    norms = [xp.sum(dc * dc) ** 0.5]
    for f in reversed(gates):
        dc = dc * f
        norms.append(xp.sum(dc * dc) ** 0.5)
    return [float(norms[back] / norms[0]) for back in steps]


if __name__ == "__main__":
    seed(0)
    N, D, H, back = 20, 30, 100, [0, 1, 5, 10, 20, 50]
    print(f"Gradients of a step differ from slopes of the loss by {_largest_error():.0e} at most.")
    print("\nWhat is left of a gradient, so many steps back:")
    print(" " * 26, *(f"{steps:8d}" for steps in back))
    x = uniform((N, max(back) + 1, D), 1.0, dtype="float64")
    rows = {"RNN": _what_is_left(TimeRNN.init(D, H, dtype="float64"), x, back)}
    for bias in (1.0, 4.0):
        layer, f = (
            TimeLSTM.init(D, H, dtype="float64", forget_bias=bias),
            float(sigmoid(xp.asarray(bias))),
        )
        rows[f"LSTM, f near {f:.2f}"] = _what_is_left(layer, x, back)
        rows["  through c alone"] = _through_c_alone(layer, x, back)
        for name, shares in rows.items():
            print(f"{name:26s}", *(f"{share:8.2g}" for share in shares))
        rows = {}
