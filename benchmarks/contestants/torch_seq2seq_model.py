"""PyTorch: a Seq2Seq as its tutorials write one, with loops over time only where it needs them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from deepnlp.backend import asnumpy
from deepnlp.errors import DeepNLPError
from deepnlp.layers import TimeBidirectional
from deepnlp.models import Seq2Seq
from deepnlp.parameter import Parameter

WRITTEN: dict[str, tuple[Any, ...]] = {
    "cell": ("lstm",),
    "context": ("start",),
    "attention": ("none", "dot", "general", "additive"),
    "reverse": (False,),
    "tie": ("none", "output"),
}
"""The options of our model that are written here."""


def seq2seq(ours: Seq2Seq) -> Any:
    """A module with the architecture and the weights of one of our models.

    Returns
    -------
    torch.nn.Module
        ``module(source, lengths, inputs)`` gives logits (N, T, V); ``start(source, lengths)`` and
        ``step(ids, state)`` are for a search.

    Raises
    ------
    DeepNLPError
        If the model has an option that is not written here.
    """
    import torch
    from torch import nn

    config = ours.config()
    for name, values in WRITTEN.items():
        if config[name] not in values:
            raise DeepNLPError(f"no model of PyTorch is written for {name} = {config[name]!r}")
    D, H, L = config["embed_size"], config["hidden_size"], config["layers"]
    attention, feeding = config["attention"], config["input_feeding"]
    bidirectional, tied = config["bidirectional"], config["tie"] == "output"
    width = 2 * H if bidirectional else H
    loop = feeding or attention == "additive"
    if loop and L > 1:
        raise DeepNLPError("no model of PyTorch is written for a loop over several layers")

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            stack: dict[str, Any] = {"num_layers": L, "batch_first": True}
            stack["dropout"] = config["dropout"] if L > 1 else 0.0
            self.dropout = nn.Dropout(config["dropout"])
            self.source = nn.Embedding(config["source_vocab_size"], D)
            self.encoder = nn.LSTM(D, H, bidirectional=bidirectional, **stack)
            self.bridge = nn.ModuleList(
                nn.Linear(width, H) for _ in range(2 * L if bidirectional else 0)
            )
            self.target = nn.Embedding(config["target_vocab_size"], D)
            if loop:
                self.decoder: Any = nn.LSTMCell(D + (H if feeding else width), H)
            else:
                self.decoder = nn.LSTM(D, H, **stack)
            if attention != "none":
                self.combine = nn.Linear(width + H, H)
            if attention in ("general", "additive"):
                self.key = nn.Linear(width, H, bias=False)
            if attention == "additive":
                self.query, self.v = nn.Linear(H, H, bias=False), nn.Linear(H, 1, bias=False)
            if tied and D != H:
                self.narrow = nn.Linear(H, D, bias=False)
            self.output = nn.Linear(D if tied else H, config["target_vocab_size"])
            if tied:
                self.output.weight = self.target.weight

        def encode(self, source: Any, lengths: Any) -> tuple[Any, Any]:
            """The decoder's first state, and what its steps read: keys, memory, padding."""
            x = nn.utils.rnn.pack_padded_sequence(
                self.dropout(self.source(source)), lengths.cpu(), batch_first=True,
                enforce_sorted=False,
            )  # fmt: skip
            hs, (h, c) = self.encoder(x)
            memory, _ = nn.utils.rnn.pad_packed_sequence(hs, batch_first=True)
            if bidirectional:  # from (2 L, N, H), both directions of a layer side by side
                h, c = (torch.cat([one[0::2], one[1::2]], dim=2) for one in (h, c))
                h = torch.stack([torch.tanh(self.bridge[2 * k](h[k])) for k in range(L)])
                c = torch.stack([self.bridge[2 * k + 1](c[k]) for k in range(L)])
            if attention == "none":
                return (h, c), ()
            padding = torch.arange(memory.shape[1], device=h.device) >= lengths[:, None]
            keys = memory if attention == "dot" else self.key(memory)
            return (h, c), (keys, memory, padding[:, None])

        def attend(self, query: Any, keys: Any, memory: Any, padding: Any) -> Any:
            """The contexts of queries (N, T, H)."""
            if attention == "additive":
                scores = self.v(torch.tanh(self.query(query)[:, :, None] + keys[:, None]))[..., 0]
            else:
                scores = query @ keys.transpose(1, 2)
            return torch.softmax(scores.masked_fill(padding, -torch.inf), dim=2) @ memory

        def decode(self, x: Any, state: Any, fed: Any, read: Any) -> tuple[Any, Any, Any]:
            """Run T steps: outputs (N, T, H), the last state, and the next step's input."""
            if not loop:
                y, state = self.decoder(x, state)
                if attention != "none":
                    y = torch.tanh(self.combine(torch.cat([self.attend(y, *read), y], dim=2)))
                return y, state, fed
            h, c = (one[0] for one in state)
            ys = []
            for t in range(x.shape[1]):
                context = None if feeding else self.attend(h[:, None], *read)[:, 0]
                h, c = self.decoder(torch.cat([x[:, t], fed if feeding else context], 1), (h, c))
                if feeding:
                    context = self.attend(h[:, None], *read)[:, 0]
                    fed = torch.tanh(self.combine(torch.cat([context, h], dim=1)))
                ys.append(fed if feeding else torch.cat([context, h], dim=1))
            y = torch.stack(ys, dim=1)
            return y if feeding else torch.tanh(self.combine(y)), (h[None], c[None]), fed

        def scores(self, y: Any) -> Any:
            """Logits (N, T, V)."""
            y = self.dropout(y)
            return self.output(self.narrow(y) if tied and D != H else y)

        def forward(self, source: Any, lengths: Any, inputs: Any) -> Any:
            state, read = self.encode(source, lengths)
            x = self.dropout(self.target(inputs))
            y, _, _ = self.decode(x, state, x.new_zeros(len(x), H), read)
            return self.scores(y)

        def start(self, source: Any, lengths: Any) -> Any:
            """A state of tensors with N rows: that of the decoder, what is fed, what is read."""
            (h, c), read = self.encode(source, lengths)
            return h.transpose(0, 1), c.transpose(0, 1), h.new_zeros(h.shape[1:]), read

        def step(self, ids: Any, state: Any) -> tuple[Any, Any]:
            """Logits (N, V) of the words after ids (N,), and the next state."""
            *inner, fed, read = state
            inner = tuple(one.transpose(0, 1).contiguous() for one in inner)
            y, (h, c), fed = self.decode(self.target(ids)[:, None], inner, fed, read)
            return self.scores(y)[:, 0], (h.transpose(0, 1), c.transpose(0, 1), fed, read)

    module = Model().to(getattr(torch, config["dtype"]))
    with torch.no_grad():
        for name, tensor in module.named_parameters():
            if "bias_hh" in name:  # ours has one bias
                tensor.zero_().requires_grad_(False)
        for weight, tensor, transposed in pairs(ours, module):
            value = torch.from_numpy(asnumpy(weight.value))
            tensor.copy_((value.T if transposed else value).reshape(tensor.shape))
    return module


def pairs(ours: Seq2Seq, module: Any) -> Iterator[tuple[Parameter, Any, bool]]:
    """Each weight of ours, its tensor, and whether that is its transpose."""
    model: Any = ours
    yield model.source.layers[0].W, module.source.weight, False
    yield model.target.layers[0].W, module.target.weight, False
    yield from _recurrent(model.encoder, module.encoder)
    maps = list(zip(model.bridge.maps, module.bridge, strict=True)) if model.bridge else []
    decoder = model.decoder
    if hasattr(module, "combine"):
        maps.append((decoder.combine.layers[0], module.combine))
        decoder = decoder.recurrent
    yield from _recurrent(decoder, module.decoder)
    if hasattr(module, "narrow"):
        maps.append((model.head.layers[-1], module.narrow))
    if hasattr(module, "key"):
        maps.append((model.decoder.attention.key, module.key))
    if hasattr(module, "query"):
        maps.append((model.decoder.attention.query, module.query))
        yield model.decoder.attention.v, module.v.weight, False
    for affine, linear in [*maps, (model.output, module.output)]:
        if linear.weight is not module.target.weight:
            (W,) = affine.W.bases  # the key of general attention is used as W^T
            yield W, linear.weight, W is affine.W
        if linear.bias is not None:
            yield affine.b, linear.bias, False


def _recurrent(stack: Any, module: Any) -> Iterator[tuple[Parameter, Any, bool]]:
    """The weights of a stack of LSTMs beside those of ``nn.LSTM`` or ``nn.LSTMCell``."""
    for k, layer in enumerate(stack.layers):
        both = isinstance(layer, TimeBidirectional)
        ways = (layer.forward_layer, layer.backward_layer) if both else (layer,)
        for way, suffix in zip(ways, (f"_l{k}", f"_l{k}_reverse"), strict=False):
            end = suffix if hasattr(module, f"weight_ih{suffix}") else ""
            yield way.Wx, getattr(module, f"weight_ih{end}"), True
            yield way.Wh, getattr(module, f"weight_hh{end}"), True
            yield way.b, getattr(module, f"bias_ih{end}"), False
