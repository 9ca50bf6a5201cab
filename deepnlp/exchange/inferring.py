"""The options of a language model, as far as the shapes of its tensors tell them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from deepnlp.backend import HostArray
from deepnlp.models.options import CELLS

CELL_OF_GATES = {len(layer.gates): cell for cell, layer in CELLS.items()}


def options_of_tensors(tensors: Mapping[str, HostArray]) -> dict[str, Any]:
    """Arguments of an :class:`~deepnlp.models.RNNLM` that the tensors of a ``state_dict`` fit.

    >>> shapes = {"encoder": (9, 4), "rnn.weight_ih_l0": (20, 4), "rnn.weight_hh_l0": (20, 5)}
    >>> tensors = {name: np.zeros(shape) for name, shape in shapes.items()}
    >>> tensors["encoder.weight"] = tensors.pop("encoder")
    >>> options = options_of_tensors(tensors | {"decoder.weight": np.ones((9, 5))})
    >>> options["cell"], options["hidden_size"], options["tie"]
    ('lstm', 5, 'none')
    """
    E, decoder = _matrix(tensors, "encoder.weight"), _matrix(tensors, "decoder.weight")
    G, H = _matrix(tensors, "rnn.weight_hh_l0").shape
    if not H or G % H or G // H not in CELL_OF_GATES:
        raise ValueError(
            f"rnn.weight_hh_l0 should have shape (4H, H) of an LSTM, (3H, H) of a GRU or (H, H) of "
            f"an RNN, got {(G, H)}"
        )
    tie = "none"
    if "projection.weight" in tensors:
        tie = "tied+L"
    elif decoder.shape == E.shape and np.array_equal(decoder, E):
        tie = "tied"
    options = {
        "vocab_size": E.shape[0],
        "embed_size": E.shape[1],
        "hidden_size": H,
        "layers": sum(bool(re.fullmatch(r"rnn\.weight_hh_l\d+", name)) for name in tensors),
        "cell": CELL_OF_GATES[G // H],
        "tie": tie,
        "output_bias": "decoder.bias" in tensors,
        "dtype": str(E.dtype),
    }
    return options | ({"reset_after": True} if options["cell"] == "gru" else {})


def with_all_biases(tensors: Mapping[str, HostArray]) -> dict[str, HostArray]:
    """The tensors, and zeros for the biases of recurrent layers that have none (``bias=False``)."""
    if any(name.startswith("rnn.bias_") for name in tensors):
        return dict(tensors)
    weights = {name: x for name, x in tensors.items() if name.startswith("rnn.weight_")}
    biases = {name.replace("weight", "bias"): np.zeros_like(x[:, 0]) for name, x in weights.items()}
    return {**tensors, **biases}


def _matrix(tensors: Mapping[str, HostArray], name: str) -> HostArray:
    if name not in tensors:
        raise ValueError(
            f"there is no tensor {name}: expected the names of docs/exchange.md, such as "
            "encoder.weight, rnn.weight_ih_l0 and decoder.weight"
        )
    if tensors[name].ndim != 2:
        raise ValueError(f"the tensor {name} should be a matrix, got shape {tensors[name].shape}")
    return tensors[name]
