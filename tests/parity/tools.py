"""From our parameters and arrays to torch's and back, in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from deepnlp.backend import asnumpy
from deepnlp.parameter import Parameter

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

TOLERANCE = 1e-9


def tensor(array: Any, grad: bool = False) -> Any:
    """A float64 (or integer) tensor of its own memory."""
    return torch.tensor(np.array(array), requires_grad=grad)


def as_torch(parameter: Parameter, transpose: bool = False) -> Any:
    """A trainable tensor with a Parameter's value; ours are row-vector forms, torch's columns."""
    value = asnumpy(parameter.value)
    return torch.nn.Parameter(tensor(value.T if transpose else value))


def close(ours: Any, theirs: Any, tolerance: float = TOLERANCE) -> None:
    """Equal shapes, and equal entries relative to the largest."""
    ours = asnumpy(ours)
    theirs = theirs.detach().numpy() if hasattr(theirs, "detach") else np.asarray(theirs)
    assert ours.shape == theirs.shape
    scale = max(float(np.abs(theirs).max(initial=0.0)), 1e-3)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance * scale)


def recurrent_module(kind: str, weights: list[Any], cell: bool = False) -> Any:
    """torch's recurrent layer (or cell) with our weights Wx, Wh, b and, for the GRU, bh.

    torch has two biases everywhere; where we have one, its second is zero and stays so.
    """
    Wx, Wh, b, *bh = [asnumpy(p.value) for p in weights]
    D, H = Wx.shape[0], Wh.shape[0]
    options: dict[str, Any] = {"dtype": torch.float64}
    if kind in ("tanh", "relu"):
        options["nonlinearity"] = kind
    name = {"tanh": "RNN", "relu": "RNN", "lstm": "LSTM", "gru": "GRU"}[kind]
    if cell:
        module = getattr(torch.nn, f"{name}Cell")(D, H, **options)
        suffix = ""
    else:
        module = getattr(torch.nn, name)(D, H, batch_first=True, **options)
        suffix = "_l0"
    values = {
        "weight_ih": Wx.T,
        "weight_hh": Wh.T,
        "bias_ih": b,
        "bias_hh": bh[0] if bh else np.zeros_like(b),
    }
    with torch.no_grad():
        for key, value in values.items():
            getattr(module, key + suffix).copy_(tensor(value))
    getattr(module, f"bias_hh{suffix}").requires_grad_(bool(bh))
    return module


def recurrent_tensors(module: Any) -> list[tuple[Any, bool]]:
    """Its trainable tensors in our order Wx, Wh, b, bh, each with whether it is transposed."""
    return [(t, t.ndim == 2) for t in module.parameters() if t.requires_grad]


def compare_gradients(weights: list[Parameter], module: Any) -> None:
    """Every gradient of a recurrent layer against torch's."""
    tensors = recurrent_tensors(module)
    assert len(tensors) == len(weights)
    for parameter, (theirs, transposed) in zip(weights, tensors, strict=True):
        close(parameter.grad, theirs.grad.T if transposed else theirs.grad)
