"""The recurrent layers of an RNNLM by their options, and its fresh weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from deepnlp.backend import Array, Generator
from deepnlp.backend.initialisers import normal, uniform
from deepnlp.layers import TimeGRU, TimeLSTM, TimeRNN
from deepnlp.layers.recurrent import TimeRecurrent
from deepnlp.parameter import Parameter

LAYER_OF_CELL: dict[str, type[TimeRecurrent]] = {"lstm": TimeLSTM, "gru": TimeGRU, "rnn": TimeRNN}


class Draw:
    """Fresh weights by their role in the model, in one of the two schemes."""

    def __init__(self, scheme: str, embed_bound: float, dtype: Any, rng: Generator | None) -> None:
        self.bounds = {"embedding": embed_bound, "output": 0.1, "L": 0.01}
        self.scheme, self.dtype, self.rng = scheme, dtype, rng

    def __call__(self, role: str, shape: tuple[int, int], H: int = 1) -> Array:
        """A matrix; H is the size of the state of the layer that recurrent weights belong to."""
        if self.scheme == "uniform":
            bound = self.bounds.get(role, 1 / math.sqrt(H))
            return uniform(shape, bound, self.rng, self.dtype)
        std = 0.01 if role == "embedding" else 1 / math.sqrt(shape[0])
        return normal(shape, std, self.rng, self.dtype)


def recurrent_layer(config: Mapping[str, Any], draw: Draw, D: int, H: int) -> TimeRecurrent:
    """A recurrent layer from D inputs to H units, by the options of the model."""
    cell, dtype = config["cell"], config["dtype"]
    G = len(LAYER_OF_CELL[cell].gates)
    Wx = Parameter(draw("Wx", (D, G * H), H), "Wx") if config["input_matrix"] else None
    Wh = Parameter(draw("Wh", (H, G * H), H), "Wh")
    b = Parameter.zeros(G * H, dtype=dtype, name="b")
    if cell == "rnn":
        return TimeRNN(Wx, Wh, b, config["activation"], stateful=True)
    if cell == "gru":
        after = config["reset_after"]
        bh = Parameter.zeros(G * H, dtype=dtype, name="bh") if after else None
        return TimeGRU(Wx, Wh, b, bh, after, stateful=True)
    forget_bias = config["forget_bias"]
    if forget_bias is None:
        forget_bias = 1.0 if config["init"] == "uniform" else 0.0
    b.value[H : 2 * H] = forget_bias
    return TimeLSTM(Wx, Wh, b, stateful=True)
