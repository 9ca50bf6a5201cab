"""The limit: the matrix products of the language model's step and nothing else.

Into arrays that are there already, on random numbers, in the forms that run best: the input
product of all steps as one, weight gradients as one product after the loop, Wh^T contiguous.
"""

from __future__ import annotations

from benchmarks.contestant import Answer
from benchmarks.settings import Spec
from benchmarks.timing import Work, interleaved_ms
from deepnlp.backend import Array, xp
from deepnlp.backend.initialisers import uniform

LAYERS = 2


def lstm_products(N: int, T: int, H: int) -> tuple[Work, Work]:
    """The products of one LSTM layer with D = H, forward and backward."""
    x, da = uniform((T * N, H), 1.0), uniform((T * N, 4 * H), 1.0)
    Wx, Wh, Wh_T = uniform((H, 4 * H), 1.0), uniform((H, 4 * H), 1.0), uniform((4 * H, H), 1.0)
    a, a_t = _room(T * N, 4 * H), _room(N, 4 * H)
    dx, dW, dh = _room(T * N, H), _room(H, 4 * H), _room(N, H)

    def forward() -> None:
        xp.matmul(x, Wx, out=a)
        for t in range(T):
            xp.matmul(x[t * N : (t + 1) * N], Wh, out=a_t)

    def backward() -> None:
        for t in range(T):
            xp.matmul(da[t * N : (t + 1) * N], Wh_T, out=dh)
        xp.matmul(x.T, da, out=dW)  # dWx
        xp.matmul(x.T, da, out=dW)  # dWh
        xp.matmul(da, Wx.T, out=dx)

    return forward, backward


def output_products(V: int, N: int, T: int, H: int) -> tuple[Work, Work]:
    """The products of the output layer, whose weight is the embedding E (V, H), transposed."""
    h, E = uniform((T * N, H), 1.0), uniform((V, H), 1.0)
    logits, dh, dE = _room(T * N, V), _room(T * N, H), _room(V, H)

    def forward() -> None:
        xp.matmul(h, E.T, out=logits)

    def backward() -> None:
        xp.matmul(logits, E, out=dh)
        xp.matmul(logits.T, h, out=dE)

    return forward, backward


def run(spec: Spec) -> Answer:
    """Time of all products of a training step, of those of an evaluation, and of each part.

    Parameters
    ----------
    spec : Spec
        Sizes V, N, T, H.
    """
    V, N, T, H = spec.model
    lstm_forward, lstm_backward = lstm_products(N, T, H)
    output_forward, output_backward = output_products(V, N, T, H)

    def evaluation() -> None:
        for _ in range(LAYERS):
            lstm_forward()
        output_forward()

    def training() -> None:
        evaluation()
        output_backward()
        for _ in range(LAYERS):
            lstm_backward()

    whole = interleaved_ms({"train_ms": training, "eval_ms": evaluation}, spec)
    lstm = interleaved_ms({"forward_ms": lstm_forward, "backward_ms": lstm_backward}, spec)
    output = interleaved_ms({"forward_ms": output_forward, "backward_ms": output_backward}, spec)
    return {"step": whole, "LSTM": lstm, "output": output}


def _room(*shape: int) -> Array:
    return xp.zeros(shape, dtype="float32")
