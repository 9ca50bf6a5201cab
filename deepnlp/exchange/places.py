"""Where each weight of a language model stands in PyTorch: names, gates and orientation.

The names are those of ``docs/exchange.md``, which has the module in PyTorch. Both sides order the
gates of an LSTM i, f, g, o and those of a GRU r, z, n, and both GRUs reset after the product. What
differs: PyTorch holds the matrices of its recurrent and affine layers transposed, and adds two
biases where an LSTM or an RNN here has one. The second is written as zeros, and added when read.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from deepnlp.backend import HostArray, asarray, asnumpy
from deepnlp.errors import DeepNLPError
from deepnlp.layers import TimeAffine, TimeGRU, TimeLSTM, TimeRNN
from deepnlp.layers.recurrent import TimeRecurrent
from deepnlp.models import RNNLM, Model, SimpleRNNLM
from deepnlp.parameter import View

SHARED_ROWS = ("trained_ids", "output_ids")  # options
OTHERWISE = "; --to safetensors holds every model"
IN_PYTORCH: dict[type[TimeRecurrent], str] = {TimeLSTM: "LSTM", TimeGRU: "GRU", TimeRNN: "RNN"}
CELL_OF_GATES = {len(layer.gates): name.lower() for layer, name in IN_PYTORCH.items()}
FIRST, SECOND = "rnn.bias_ih_l", "rnn.bias_hh_l"
RECURRENT = {"Wx": "rnn.weight_ih_l", "Wh": "rnn.weight_hh_l", "b": FIRST, "bh": SECOND}


def places(model: Any) -> dict[str, View]:
    """Return each weight by its name in PyTorch, in PyTorch's layout and the module's order."""
    check_has_places(model)
    output = model.affine if isinstance(model, SimpleRNNLM) else model.output
    E, decoder = model._tables()  # (V, D) and (V, H), the same weight where it is tied
    held = {"encoder.weight": E}
    layers = model._layers()
    for k, layer in enumerate(x for x in layers if isinstance(x, TimeRecurrent)):
        for attribute, name in RECURRENT.items():
            weight = getattr(layer, attribute, None)  # only a GRU has bh
            if weight is not None:
                weight = weight.bases[0]  # without a mask
                held[f"{name}{k}"] = weight.T if len(weight.shape) == 2 else weight
    for layer in layers:
        if isinstance(layer, TimeAffine) and layer is not output:
            held["projection.weight"] = layer.W.T
    held["decoder.weight"] = decoder
    return held if output.b is None else held | {"decoder.bias": output.b}


def second_biases(held: Mapping[str, View]) -> dict[str, str]:
    """Name the second biases, which PyTorch adds to a bias, and the biases they are added to."""
    pairs = {name.replace(FIRST, SECOND): name for name in held if name.startswith(FIRST)}
    return {second: first for second, first in pairs.items() if second not in held}


def check_has_places(model: Model) -> None:
    """Raise an error where PyTorch has no layers that compute the same."""
    config, kind = model.config(), type(model).__name__
    layers = [layer for layer in model._layers() if isinstance(layer, TimeRecurrent)]
    others = {type(layer).__name__ for layer in layers if type(layer) not in IN_PYTORCH}
    H, shared = config.get("hidden_size"), [o for o in SHARED_ROWS if config.get(o) is not None]
    reasons = {
        f"the file in PyTorch's form is that of a language model, this is a {kind}": (
            not isinstance(model, RNNLM | SimpleRNNLM)
        ),
        "PyTorch's GRU resets after the product, this one before it (reset_after=False)": (
            any(getattr(layer, "reset_after", None) is False for layer in layers)
        ),
        f"PyTorch has no layer such as {', '.join(sorted(others))}": bool(others),
        f"PyTorch's layers have one hidden size, these have {H}": (
            isinstance(H, list) and len({*H}) > 1
        ),
        "PyTorch's RNN has a matrix for its input, this one has none (input_matrix=False)": (
            not config.get("input_matrix", True)
        ),
        f"PyTorch has no weights whose rows are shared in part ({', '.join(shared)})": bool(shared),
    }
    for reason, holds in reasons.items():
        if holds:
            raise DeepNLPError(f"PyTorch cannot hold this model: {reason}{OTHERWISE}")


def constructor(model: Model) -> str:
    """Return the call that makes the module of ``docs/exchange.md`` with the sizes of a model.

    >>> constructor(RNNLM(vocab_size=9, embed_size=4, hidden_size=4))
    "LanguageModel('LSTM', 9, 4, 4, 2, tie='tied', bias=True)"
    """
    config: dict[str, Any] = {"cell": "rnn", "layers": 1, "tie": "none", "output_bias": True}
    config |= model.config()
    V, D, H = (config[name] for name in ("vocab_size", "embed_size", "hidden_size"))
    cell, H = config["cell"], H[0] if isinstance(H, list) else H
    relu = ", nonlinearity='relu'" if (cell, config.get("activation")) == ("rnn", "relu") else ""
    sizes = f"{cell.upper()!r}, {V}, {D}, {H}, {config['layers']}"
    return f"LanguageModel({sizes}, tie={config['tie']!r}, bias={config['output_bias']}{relu})"


def to_tensors(model: Model) -> dict[str, HostArray]:
    """Return the arrays of a ``state_dict``; a tied weight is one array under both names."""
    held = places(model)
    arrays = {id(x): np.ascontiguousarray(asnumpy(x.value)) for x in held.values()}
    tensors = {name: arrays[id(x)] for name, x in held.items()}
    return tensors | {b: np.zeros_like(tensors[a]) for b, a in second_biases(held).items()}


def set_tensors(model: Model, tensors: Mapping[str, HostArray]) -> None:
    """Put the arrays of a ``state_dict`` into a model; where one does not fit, nothing changes."""
    held = places(model)
    second = second_biases(held)
    shapes = {name: held[second.get(name, name)].shape for name in [*held, *second]}
    if not any(name.startswith("rnn.bias_") for name in tensors):  # layers with bias=False
        biases = {name: np.zeros(shape) for name, shape in shapes.items() if "rnn.bias_" in name}
        tensors = biases | dict(tensors)
    check_tensors(shapes, tensors)
    tied = held["decoder.weight"] is held["encoder.weight"]
    if tied and not np.array_equal(tensors["decoder.weight"], tensors["encoder.weight"]):
        raise ValueError("the model is tied, but decoder.weight differs from encoder.weight")
    sums = {a: tensors[a] + tensors[b] for b, a in second.items() if tensors[b].any()}
    for name, weight in held.items():  # where b is zero, a sum would lose the sign of -0.0
        weight.value[...] = asarray(sums.get(name, tensors[name]))


def check_tensors(shapes: Mapping[str, tuple[int, ...]], tensors: Mapping[str, HostArray]) -> None:
    """Raise an error unless there are tensors of just these names and shapes."""
    for name, shape in shapes.items():
        if name not in tensors:
            raise ValueError(f"there is no tensor {name}")
        if tensors[name].shape != shape:
            raise ValueError(
                f"the tensor {name} should have shape {shape}, got {tensors[name].shape}"
            )
    unknown = [name for name in tensors if name not in shapes]
    if unknown:
        raise ValueError(f"the model has no place for the tensor {unknown[0]}")


def check_finite(tensors: Mapping[str, HostArray]) -> None:
    """Raise an error that names a tensor with infinity or NaN."""
    for name, x in tensors.items():
        if not np.isfinite(x).all():
            raise ValueError(f"the tensor {name} holds numbers that are not finite")


# --- What the tensors tell -----------------------------------------------------------------------


def options_of_tensors(tensors: Mapping[str, HostArray]) -> dict[str, Any]:
    """Return arguments of an :class:`~deepnlp.models.RNNLM` with the tensors of a ``state_dict``.

    >>> shapes = {"encoder": (9, 4), "rnn.weight_ih_l0": (20, 4), "rnn.weight_hh_l0": (20, 5)}
    >>> tensors = {name: np.zeros(shape) for name, shape in shapes.items()}
    >>> tensors["encoder.weight"] = tensors.pop("encoder")
    >>> options = options_of_tensors(tensors | {"decoder.weight": np.ones((9, 5))})
    >>> options["cell"], options["hidden_size"], options["tie"]
    ('lstm', 5, 'none')
    """
    E, decoder = matrix(tensors, "encoder.weight"), matrix(tensors, "decoder.weight")
    G, H = matrix(tensors, "rnn.weight_hh_l0").shape
    if not H or G % H or G // H not in CELL_OF_GATES:
        raise ValueError(
            f"rnn.weight_hh_l0 should have shape (4H, H) of an LSTM, (3H, H) of a GRU or (H, H) of "
            f"an RNN, got {(G, H)}"
        )
    tie = "tied" if np.array_equal(decoder, E) else "none"
    options = {
        "vocab_size": E.shape[0],
        "embed_size": E.shape[1],
        "hidden_size": H,
        "layers": sum(name.startswith("rnn.weight_hh_l") for name in tensors),
        "cell": CELL_OF_GATES[G // H],
        "tie": "tied+L" if "projection.weight" in tensors else tie,
        "output_bias": "decoder.bias" in tensors,
        "dtype": str(E.dtype),
    }
    return options | ({"reset_after": True} if options["cell"] == "gru" else {})


def matrix(tensors: Mapping[str, HostArray], name: str) -> HostArray:
    """Return a tensor with two axes, or an error."""
    if name not in tensors:
        raise ValueError(f"there is no tensor {name}: expected the names of docs/exchange.md")
    if tensors[name].ndim != 2:
        raise ValueError(f"the tensor {name} should be a matrix, got shape {tensors[name].shape}")
    return tensors[name]
