"""Parts of models: stacks of cells, attention by name, a bridge, the book's weights."""

import math
from collections.abc import Sequence
from typing import Any

from deepnlp.backend import Array, Rng
from deepnlp.backend.initialisers import drawn, normal
from deepnlp.kernels.steps import States
from deepnlp.layer import Layer
from deepnlp.layers import (
    Affine,
    Residual,
    Tanh,
    TimeBidirectional,
    TimeStacked,
)
from deepnlp.layers.additive_attention import AdditiveAttention, ConcatAttention
from deepnlp.layers.attention import DotAttention, GeneralAttention
from deepnlp.models.options import CELLS, cell_options
from deepnlp.parameter import Parameter


def stack_of(
    cell: str,
    D: int,
    H: int,
    layers: int,
    dropout: float,
    dtype: Any,
    rng: Rng,
    bidirectional: bool = False,
    forget_bias: float = 1.0,
    reset_after: bool = False,
) -> TimeStacked:
    """Return layers of one kind, from D inputs to H units, or to H in each direction."""
    of_cell = cell_options(cell, {"forget_bias": forget_bias, "reset_after": reset_after})

    def layer(D: int) -> Any:
        return CELLS[cell].init(D, H, rng, dtype, **of_cell)

    sizes = [D] + [2 * H if bidirectional else H] * (layers - 1)
    made = [TimeBidirectional(layer(D), layer(D)) if bidirectional else layer(D) for D in sizes]
    return TimeStacked(*made, dropout=dropout, rng=rng)


ATTENTIONS = ("none", "dot", "general", "concat", "additive")


def attention_of(kind: str, H: int, width: int, dtype: Any, rng: Rng, scale: float = 1.0) -> Any:
    """Attention of queries of H numbers and a memory that is ``width`` wide."""
    if kind == "dot":
        return DotAttention(scale)
    if kind == "general":
        return GeneralAttention.init(H, width, rng, dtype, scale)
    both: Any = {"concat": ConcatAttention, "additive": AdditiveAttention}[kind]
    return both.init(H, width, H, rng, dtype)


def draw_as_in_the_book(model: Layer, embeddings: Sequence[Parameter], rng: Rng) -> None:
    """Normal matrices: embeddings from N(0, 1) / 100, others over sqrt(fan-in)."""
    for parameter in model.parameters():
        if len(parameter.shape) == 2:
            std = 0.01 if any(parameter is table for table in embeddings) else None
            parameter.value = drawn("book", parameter.shape, 0, rng, parameter.dtype, std)


def draw_by_depth(blocks: Sequence[Layer], rng: Rng, std: float = 0.02) -> None:
    """Matrices from N(0, std^2), and those that add to a road at std / sqrt(number of roads)."""
    roads = [layer for block in blocks for layer in block._layers() if isinstance(layer, Residual)]
    for road in roads:
        *others, last = [p for p in road.layer.parameters() if len(p.shape) == 2]
        for parameter in others:
            parameter.value = normal(parameter.shape, std, rng, parameter.dtype)
        last.value = normal(last.shape, std / math.sqrt(len(roads)), rng, last.dtype)


class Scale(Layer):
    """y = c x, as for the embeddings of a Transformer, with c = sqrt(D)."""

    axes = "..."

    def __init__(self, c: float) -> None:
        self.c = c

    def forward(self, x: Array) -> Array:
        """y = c x."""
        self.save_for_backward()
        return self.c * x

    def backward(self, dy: Array) -> Array:
        """dx = c dy."""
        self.saved()
        return self.c * dy


class Bridge(Layer):
    r"""The state of a decoder from that of an encoder of another width, layer by layer.

    .. math:: h_0^{(l)} = \tanh(h^{(l)} W_l + b_l), \qquad c_0^{(l)} = c^{(l)} V_l + d_l

    A state h lies between -1 and 1, a memory cell c anywhere.

    Parameters
    ----------
    layers, states : int
        Layers of each stack, and arrays in the state of a layer: 2 for an LSTM, else 1.
    D, H : int
        Widths of the encoder's states and the decoder's.
    rng : numpy.random.Generator, optional
    dtype : data-type

    Notes
    -----
    ``forward(state)`` takes and gives a list with a tuple for each layer; so does
    ``backward(dstate)``. Bahdanau, Cho and Bengio 2015, appendix A.2.2, have it for one layer, from
    the half of the state that was read from right to left.
    """

    def __init__(self, layers: int, states: int, D: int, H: int, rng: Rng, dtype: Any) -> None:
        self.maps = [Affine.init(D, H, rng, dtype) for _ in range(layers * states)]
        self.tanhs = [Tanh() for _ in range(layers)]

    def forward(self, state: list[States]) -> list[States]:
        """Return the decoder's state."""
        maps = iter(self.maps)  # of each layer that of h, and that of c if there is one
        return [
            (tanh.forward(next(maps).forward(h)), *(next(maps).forward(c) for c in cs))
            for (h, *cs), tanh in zip(state, self.tanhs)
        ]

    def backward(self, dstate: list[States]) -> list[States]:
        """Return the gradients with respect to the encoder's state."""
        maps = iter(self.maps)
        return [
            (next(maps).backward(tanh.backward(dh)), *(next(maps).backward(dc) for dc in dcs))
            for (dh, *dcs), tanh in zip(dstate, self.tanhs)
        ]
