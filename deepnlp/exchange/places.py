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

from deepnlp.backend import asarray, asnumpy
from deepnlp.errors import DeepNLPError
from deepnlp.layers import TimeAffine, TimeGRU, TimeLSTM, TimeRNN, WeightDrop
from deepnlp.models import RNNLM, Model, SimpleRNNLM
from deepnlp.parameter import View
from deepnlp.views import MaskedView

HostArray = np.ndarray[Any, Any]

OTHERWISE = "; --to safetensors holds every model"


class Place(NamedTuple):
    """A weight, the names that all hold it, and the name of a second bias that is added to it."""

    weight: View
    names: tuple[str, ...]
    transposed: bool = False
    added: str | None = None


def places(model: Model) -> list[Place]:
    """The place of every weight, in the order of the module in PyTorch."""
    check_has_places(model)
    recurrent: list[Any]
    L: View | None = None
    if isinstance(model, SimpleRNNLM):
        recurrent = [model.rnn]
        E, W, b = model.embed.W, model.affine.W, model.affine.b
    else:
        one: Any = model
        within: list[Any] = [x.layer if isinstance(x, WeightDrop) else x for x in one.layers]
        recurrent = [x for x in within if isinstance(x, TimeLSTM | TimeGRU | TimeRNN)]
        E, W, b = within[0].W, one.output.W, one.output.b
        if isinstance(within[-1], TimeAffine):
            L = within[-1].W
    tied = W.T is E
    found = [Place(E, ("encoder.weight", "decoder.weight") if tied else ("encoder.weight",))]
    for k, layer in enumerate(recurrent):
        ih, hh = f"rnn.bias_ih_l{k}", f"rnn.bias_hh_l{k}"
        found += [
            Place(layer.Wx, (f"rnn.weight_ih_l{k}",), transposed=True),
            Place(_unmasked(layer.Wh), (f"rnn.weight_hh_l{k}",), transposed=True),
        ]
        if isinstance(layer, TimeGRU):
            bh: Any = layer.bh  # a GRU that resets after the product has one
            found += [Place(layer.b, (ih,)), Place(bh, (hh,))]
        else:
            found += [Place(layer.b, (ih,), added=hh)]
    if L is not None:
        found.append(Place(L, ("projection.weight",), transposed=True))
    if not tied:
        found.append(Place(W, ("decoder.weight",), transposed=True))
    if b is not None:
        found.append(Place(b, ("decoder.bias",)))
    return found


def _unmasked(weight: View) -> View:
    """The weight itself where a layer reads it through a mask."""
    return weight.W if isinstance(weight, MaskedView) else weight


def check_has_places(model: Model) -> None:
    """An error where PyTorch has no layers that compute the same."""
    name, config = type(model).__name__, model.config()
    reason = None
    if not isinstance(model, RNNLM | SimpleRNNLM):
        reason = f"the file in PyTorch's form is that of a language model, this is a {name}"
    elif config.get("cell") == "gru" and not config["reset_after"]:
        reason = (
            "PyTorch's GRU resets after the recurrent product, this one before it "
            "(reset_after=False)"
        )
    elif isinstance(config["hidden_size"], list) and len({*config["hidden_size"]}) > 1:
        reason = f"PyTorch's layers have one hidden size, these have {config['hidden_size']}"
    elif not config.get("input_matrix", True):
        reason = "PyTorch's RNN has a matrix for its input, this one has none (input_matrix=False)"
    else:
        for option in ("trained_ids", "output_ids"):
            if config.get(option) is not None:
                reason = f"PyTorch has no weights whose rows are shared in part ({option})"
    if reason is not None:
        raise DeepNLPError(f"PyTorch cannot hold this model: {reason}{OTHERWISE}")


def constructor(model: Model) -> str:
    """The call that makes the module of ``docs/exchange.md`` with the sizes of a model.

    >>> constructor(RNNLM(vocab_size=9, embed_size=4, hidden_size=4))
    "LanguageModel('LSTM', 9, 4, 4, 2, tie='tied')"
    """
    given: dict[str, Any] = {
        "cell": "rnn",
        "layers": 1,
        "tie": "none",
        "activation": "tanh",
        "output_bias": True,
    }
    given |= model.config()
    H = given["hidden_size"]
    sizes = [given["vocab_size"], given["embed_size"], H[0] if isinstance(H, list) else H]
    told = [repr(given["cell"].upper()), *map(str, sizes), str(given["layers"])]
    told += [f"tie={given['tie']!r}"] * (given["tie"] != "none")
    told += ["bias=False"] * (not given["output_bias"])
    told += ["nonlinearity='relu'"] * (given["cell"] == "rnn" and given["activation"] == "relu")
    return f"LanguageModel({', '.join(told)})"


def to_tensors(model: Model) -> dict[str, HostArray]:
    """The arrays of a ``state_dict`` by name; a tied weight is the same array under both names."""
    found: dict[str, HostArray] = {}
    for weight, names, transposed, added in places(model):
        value = asnumpy(weight.value)
        value = np.ascontiguousarray(value.T if transposed else value)
        found |= dict.fromkeys(names, value)
        if added is not None:
            found[added] = np.zeros_like(value)
    return found


def set_tensors(model: Model, tensors: Mapping[str, HostArray]) -> None:
    """Put the arrays of a ``state_dict`` into a model; where one does not fit, nothing changes."""
    found, known = places(model), set()
    for weight, names, transposed, added in found:
        shape = weight.shape[::-1] if transposed else weight.shape
        for name in [*names, *([added] if added else [])]:
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
    for name in tensors:
        if name not in known:
            raise ValueError(f"the model has no place for the tensor {name}")
    for weight, names, transposed, added in found:
        value = tensors[names[0]]
        if added is not None and tensors[added].any():  # -0.0 + 0.0 would lose its sign
            value = value + tensors[added]
        weight.value[...] = asarray(value.T if transposed else value)
