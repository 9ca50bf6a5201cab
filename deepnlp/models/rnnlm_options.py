"""The options of an RNNLM: what they may be, in words, and which fit each other."""

from __future__ import annotations

from typing import Any

from deepnlp.models.cells import LAYER_OF_CELL

CELLS = tuple(LAYER_OF_CELL)
TIES = ("none", "tied", "tied+L")
INITS = ("uniform", "book")
DTYPES = ("float32", "float64")

# Help texts of options.
HIDDEN_SIZE = "H, size of a hidden state; 8,8,4 for one a layer"
TIE = "tied: the output weight is the embedding, transposed (D = H); tied+L: a matrix L between"
DROPOUT = "probability of zeroing a number between layers"
INPUT_DROPOUT = "the same for the word vectors; by default as dropout"
OUTPUT_DROPOUT = "the same for the last layer's states; by default as dropout"
EMBED_DROPOUT = "probability of leaving out a word, wherever it is read in a window"
WEIGHT_DROP = "probability of zeroing a recurrent weight for a window"
LOCKED_DROPOUT = "one dropout mask for all steps of a window"
AR = "alpha, weight of the mean square of the last layer's states after dropout"
TAR = "beta, weight of the mean square of their changes from step to step, before dropout"
AUGMENT = "gamma, weight of the augmented loss, as a fraction of its temperature (Inan et al. 2017)"
AUGMENT_TEMPERATURE = "tau of the augmented loss"
INIT = "distribution of fresh weights: uniform (Gulordava et al. 2018), or book (normal)"
EMBED_BOUND = "uniform: the embedding starts in U(-bound, bound)"
FORGET_BIAS = "lstm: initial bias of the forget gate, -1000 to 1000; by default 1, for book 0"
ACTIVATION = "nonlinearity of an rnn cell"
INPUT_MATRIX = "rnn: an input matrix Wx in the first layer; without it D = H"
FREEZE = "leave the embedding as it starts; with vectors, only the words that the file has"
RESET_AFTER = "gru: reset gate after the recurrent product, as in cuDNN"


def layer_sizes(hidden_size: int | list[int], layers: int) -> list[int]:
    """H of each layer.

    >>> layer_sizes(8, 2), layer_sizes([8, 4], 2)
    ([8, 8], [8, 4])
    """
    sizes = list(hidden_size) if isinstance(hidden_size, list) else [hidden_size] * layers
    if len(sizes) != layers:
        raise ValueError(
            f"RNNLM: hidden_size should be one number, or one for each of {layers} layers, "
            f"got {sizes}"
        )
    return sizes


def check_together(given: dict[str, Any]) -> None:
    """An error where options do not fit each other."""
    cell, tie, D = given["cell"], given["tie"], given["embed_size"]
    sizes = layer_sizes(given["hidden_size"], given["layers"])
    if given["reset_after"] and cell != "gru":
        raise ValueError(f"RNNLM: reset_after is a form of cell='gru', got cell={cell!r}")
    if tie == "tied" and sizes[-1] != D:
        raise ValueError(
            f"RNNLM: tie='tied' makes the output weight the embedding's transpose, so it needs "
            f"embed_size = hidden_size (that of the last layer), got {D} and {sizes[-1]}; "
            "tie='tied+L' is free of that"
        )
    if not given["input_matrix"] and (cell != "rnn" or {D} != {*sizes}):
        raise ValueError(
            "RNNLM: input_matrix=False is the form h = f(x + h_prev Wh + b) of cell='rnn' "
            f"with embed_size = hidden_size, got cell={cell!r}, {D} and {given['hidden_size']}"
        )
    if given["trained_ids"] is not None and not given["freeze_embedding"]:
        raise ValueError("RNNLM: trained_ids belong to freeze_embedding=True")
    if given["augment"] and given["output_ids"] is not None:
        raise ValueError(
            "RNNLM: the augmented loss compares the vectors of all words that are predicted; with "
            "output_ids some have none"
        )
