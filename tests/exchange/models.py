"""Models to exchange, with weights that show every lost bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from deepnlp.backend import asarray, asnumpy
from deepnlp.models import RegularisedRNNLM, SimpleRNNLM
from deepnlp.text import Vocabulary

VOCAB = Vocabulary(["the", "<eos>", "cat", "<unk>", "sat", "é", "1,000"], [9, 3, 2, 1, 1, 1, 0])
V = len(VOCAB)

EXTREMES = [-0.0, 1e-45, -1e-38, np.nextafter(np.float32(1), np.float32(2)), 3.3e38, 1 / 3]

OPTIONS: dict[str, dict[str, Any]] = {
    "lstm tied": {},
    "lstm tied+L": {"hidden_size": 5, "tie": "tied+L"},
    "lstm none": {"hidden_size": 5, "tie": "none", "layers": 3},
    "gru": {"cell": "gru", "reset_after": True, "hidden_size": 3, "tie": "none", "layers": 1},
    "gru tied+L": {"cell": "gru", "reset_after": True, "hidden_size": 2, "tie": "tied+L"},
    "rnn": {"cell": "rnn", "layers": 1},
    "rnn relu": {"cell": "rnn", "activation": "relu", "tie": "none", "hidden_size": 1},
    "no output bias": {"output_bias": False},
    "AWD": {"weight_drop": 0.5, "embed_dropout": 0.2, "locked_dropout": True, "ar": 1.0},
    "frozen": {"freeze_embedding": True},
    "equal sizes": {"hidden_size": [4, 4]},
}
"""Language models that PyTorch can hold too."""


def model_of(name: str, dtype: str = "float32", extreme: bool = False) -> Any:
    """A model with random asymmetric weights, and numbers at the ends of its type."""
    if name == "simple":
        model: Any = SimpleRNNLM(V, 3, 5, dtype)
    else:
        model = RegularisedRNNLM(V, 4, **{"hidden_size": 4, "dtype": dtype} | OPTIONS[name])
    model.vocab = VOCAB
    rng = np.random.default_rng(3)
    for parameter in model.parameters():
        values = rng.normal(size=parameter.shape)
        if extreme:
            values.flat[: len(EXTREMES)] = EXTREMES[: values.size]
        parameter.value[...] = asarray(values.astype(dtype))
    return model


def bits(model: Any) -> dict[str, tuple[str, bytes]]:
    """The type and the bytes of every parameter."""
    named = {name: asnumpy(p.value) for name, p in model.named_parameters()}
    return {name: (str(x.dtype), x.tobytes()) for name, x in named.items()}
