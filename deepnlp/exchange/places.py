"""Where each weight of a language model stands in PyTorch: names, gates and orientation.

The names are those of ``docs/exchange.md``, which has the module in PyTorch. Both sides order the
gates of an LSTM i, f, g, o and those of a GRU r, z, n, and both GRUs reset after the product. What
differs: PyTorch holds the matrices of its recurrent and affine layers transposed, and adds two
biases where an LSTM or an RNN here has one. The second is written as zeros, and added when read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from deepnlp.backend import HostArray, asarray, asnumpy
from deepnlp.errors import DeepNLPError
from deepnlp.layers import TimeAffine, WeightDrop
from deepnlp.layers.recurrent import TimeRecurrent
from deepnlp.models import RNNLM, Model, SimpleRNNLM
from deepnlp.parameter import View
from deepnlp.views import MaskedView

SHARED_ROWS = ("trained_ids", "output_ids")  # options
OTHERWISE = "; --to safetensors holds every model"


class Place(NamedTuple):
    """A weight, the names that all hold it, and the name of a second bias that is added to it."""

    weight: View
    names: tuple[str, ...]
    transposed: bool = False
    added: str | None = None


def places(model: Any) -> list[Place]:
    """The place of every weight, in the order of the module in PyTorch."""
    check_has_places(model)
    if isinstance(model, SimpleRNNLM):
        recurrent: list[Any] = [model.rnn]
        E, L, W, b = model.embed.W, None, model.affine.W, model.affine.b
    else:
        layers: list[Any] = [x.layer if isinstance(x, WeightDrop) else x for x in model.layers]
        recurrent = [x for x in layers if isinstance(x, TimeRecurrent)]
        L = layers[-1].W if isinstance(layers[-1], TimeAffine) else None
        E, W, b = layers[0].W, model.output.W, model.output.b
    tied = W.T is E
    held = [Place(E, ("encoder.weight", "decoder.weight") if tied else ("encoder.weight",))]
    for k, layer in enumerate(recurrent):
        ih, hh = f"rnn.bias_ih_l{k}", f"rnn.bias_hh_l{k}"
        bh = getattr(layer, "bh", None)  # a GRU that resets after the product has one
        held += [
            Place(layer.Wx, (f"rnn.weight_ih_l{k}",), transposed=True),
            Place(_unmasked(layer.Wh), (f"rnn.weight_hh_l{k}",), transposed=True),
            Place(layer.b, (ih,), added=hh if bh is None else None),
        ]
        held += [] if bh is None else [Place(bh, (hh,))]
    if L is not None:
        held.append(Place(L, ("projection.weight",), transposed=True))
    if not tied:
        held.append(Place(W, ("decoder.weight",), transposed=True))
    if b is not None:
        held.append(Place(b, ("decoder.bias",)))
    return held


def _unmasked(weight: View) -> View:
    """The weight itself where a layer reads it through a mask."""
    return weight.W if isinstance(weight, MaskedView) else weight


def check_has_places(model: Model) -> None:
    """An error where PyTorch has no layers that compute the same."""
    config = model.config()
    H, shared = config.get("hidden_size"), [o for o in SHARED_ROWS if config.get(o) is not None]
    reason = None
    if not isinstance(model, RNNLM | SimpleRNNLM):
        name = type(model).__name__
        reason = f"the file in PyTorch's form is that of a language model, this is a {name}"
    elif config.get("cell") == "gru" and not config["reset_after"]:
        reason = (
            "PyTorch's GRU resets after the recurrent product, this one before it "
            "(reset_after=False)"
        )
    elif isinstance(H, list) and len({*H}) > 1:
        reason = f"PyTorch's layers have one hidden size, these have {H}"
    elif not config.get("input_matrix", True):
        reason = "PyTorch's RNN has a matrix for its input, this one has none (input_matrix=False)"
    elif shared:
        reason = f"PyTorch has no weights whose rows are shared in part ({shared[-1]})"
    if reason is not None:
        raise DeepNLPError(f"PyTorch cannot hold this model: {reason}{OTHERWISE}")


def constructor(model: Model) -> str:
    """The call that makes the module of ``docs/exchange.md`` with the sizes of a model.

    >>> constructor(RNNLM(vocab_size=9, embed_size=4, hidden_size=4))
    "LanguageModel('LSTM', 9, 4, 4, 2, tie='tied')"
    """
    config: dict[str, Any] = {"cell": "rnn", "layers": 1, "tie": "none", "output_bias": True}
    config |= model.config()
    H = config["hidden_size"]
    sizes = [config["vocab_size"], config["embed_size"], H[0] if isinstance(H, list) else H]
    arguments = [repr(config["cell"].upper()), *map(str, sizes), str(config["layers"])]
    arguments += [f"tie={config['tie']!r}"] * (config["tie"] != "none")
    arguments += ["bias=False"] * (not config["output_bias"])
    relu = config["cell"] == "rnn" and config.get("activation") == "relu"
    arguments += ["nonlinearity='relu'"] * relu
    return f"LanguageModel({', '.join(arguments)})"


def to_tensors(model: Model) -> dict[str, HostArray]:
    """The arrays of a ``state_dict`` by name; a tied weight is the same array under both names."""
    tensors: dict[str, HostArray] = {}
    for weight, names, transposed, added in places(model):
        value = asnumpy(weight.value)
        value = np.ascontiguousarray(value.T if transposed else value)
        tensors |= dict.fromkeys(names, value)
        if added is not None:
            tensors[added] = np.zeros_like(value)
    return tensors


def set_tensors(model: Model, tensors: Mapping[str, HostArray]) -> None:
    """Put the arrays of a ``state_dict`` into a model; where one does not fit, nothing changes."""
    held, known = places(model), set()
    for weight, names, transposed, added in held:
        shape = weight.shape[::-1] if transposed else weight.shape
        for name in [*names, added] if added else names:
            known.add(name)
            if name not in tensors:
                raise ValueError(f"there is no tensor {name}")
            if tensors[name].shape != shape:
                raise ValueError(
                    f"the tensor {name} should have shape {shape}, got {tensors[name].shape}"
                )
            if not np.isfinite(tensors[name]).all():
                raise ValueError(f"the tensor {name} holds numbers that are not finite")
        for other in names[1:]:
            if not np.array_equal(tensors[other], tensors[names[0]]):
                raise ValueError(f"the model is tied, but {other} differs from {names[0]}")
    unknown = [name for name in tensors if name not in known]
    if unknown:
        raise ValueError(f"the model has no place for the tensor {unknown[0]}")
    for weight, names, transposed, added in held:
        value = tensors[names[0]]
        if added is not None and tensors[added].any():  # -0.0 + 0.0 would lose its sign
            value = value + tensors[added]
        weight.value[...] = asarray(value.T if transposed else value)
