"""GPT and the encoder-decoder Transformer beside PyTorch: ten steps of AdamW with clipping."""

import numpy as np
import pytest

from deepnlp.backend import asarray
from deepnlp.models import GPT, TransformerTranslator
from deepnlp.optimizers import AdamW, clip_gradients
from tests.parity.test_examples import attention, swiglu
from tests.parity.tools import close, tensor, torch

pytestmark = pytest.mark.parity
F = torch.nn.functional

V, D, HEADS, C = 11, 8, 2, 6
FORMS = {
    "gpt2": {"activation": "gelu_tanh"},
    "nanogpt": {"bias": False},
    "llama": {"norms": "rms", "positions": "rotary", "activation": "swiglu", "bias": False},
    "post": {"norm": "post", "activation": "relu"},
}
ACTIVATIONS = {
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "relu": F.relu,
    "swiglu": swiglu,
}


def drawn(model, seed=17):
    """The model with random weights everywhere, biases and gains too."""
    rng = np.random.default_rng(seed)
    for parameter in model.parameters():
        std = parameter.shape[0] ** -0.5 if len(parameter.shape) == 2 else 0.5
        parameter.value[...] = rng.normal(scale=std, size=parameter.shape)
    return model


def part(p, prefix):
    return {name.removeprefix(prefix): t for name, t in p.items() if name.startswith(prefix)}


def gpt(p, ids, form):
    """The loss of a GPT from tensors by our names, in torch's functions."""
    given = {"activation": "gelu", "norms": "layer", "norm": "pre", "positions": "learned", **form}
    rotary = given["positions"] == "rotary"

    def normed(x, w):
        if given["norms"] == "rms":
            return F.rms_norm(x, (D,), w["g"], eps=1e-6)
        return F.layer_norm(x, (D,), w["g"], w.get("b"))

    def feed_forward(w, x):
        h = F.linear(x, w["layers.0.W"].T, w.get("layers.0.b"))
        return F.linear(ACTIVATIONS[given["activation"]](h), w["layers.2.W"].T, w.get("layers.2.b"))

    def road(x, w, f):
        layer, norm = part(w, "layer."), part(w, "norm.")
        if given["norm"] == "post":
            return normed(x + f(layer, x), norm)
        return x + f(layer, normed(x, norm))

    x = F.embedding(ids, p["layers.0.W"])
    x = x if rotary else x + p["layers.1.P"][: ids.shape[1]]
    first = 1 if rotary else 2
    for k in range(first, first + 2):
        x = road(x, part(p, f"layers.{k}.attention."), attention(HEADS, True, rotary))
        x = road(x, part(p, f"layers.{k}.feed_forward."), feed_forward)
    if given["norm"] == "pre":
        x = normed(x, part(p, f"layers.{first + 2}."))
    return x @ p["layers.0.W"].T


def ten_steps(model, theirs, inputs, reference):
    """Losses, gradients, norms and weights of ten steps on each of which `inputs` gives a batch."""
    decay = {"lr": 0.02, "betas": (0.9, 0.95), "weight_decay": 0.1}
    matrices = [t for t in theirs.values() if t.ndim > 1]
    vectors = [t for t in theirs.values() if t.ndim < 2]
    groups = [{"params": matrices}, {"params": vectors, "weight_decay": 0.0}]
    their_step = torch.optim.AdamW([g for g in groups if g["params"]], **decay)
    our_step = AdamW(model.parameters(), decay="matrices", **decay)
    clipped = 0
    for step in range(10):
        batch = inputs(step)
        loss = model.forward(*map(asarray, batch))
        model.zero_grad()
        model.backward()
        their_loss = reference(*map(tensor, batch))
        their_step.zero_grad()
        their_loss.backward()
        close(loss, their_loss)
        for name, parameter in model.named_parameters():
            close(parameter.grad, theirs[name].grad)
        norm = clip_gradients(model.parameters(), 0.25)
        close(norm, torch.nn.utils.clip_grad_norm_(theirs.values(), 0.25))
        clipped += float(norm) > 0.25
        our_step.step()
        their_step.step()
        for name, parameter in model.named_parameters():
            close(parameter.value, theirs[name])
    assert clipped


def tensors_of(model):
    return {name: tensor(p.value, grad=True) for name, p in model.named_parameters()}


@pytest.mark.parametrize("form", FORMS)
def test_ten_training_steps_of_a_gpt(form):
    model = drawn(GPT(V, D, 2, heads=HEADS, context=C, dtype="float64", **FORMS[form]))
    theirs = tensors_of(model)

    def batch(step):
        ids = np.random.default_rng(step).integers(0, V, size=(3, 1 + (C if step % 2 else C - 2)))
        return ids[:, :-1], ids[:, 1:]

    ids, _ = batch(1)
    close(model.logits(asarray(ids)), gpt(theirs, tensor(ids), FORMS[form]))

    def loss(ids, targets):
        return F.cross_entropy(gpt(theirs, ids, FORMS[form]).flatten(0, 1), targets.flatten())

    ten_steps(model, theirs, batch, loss)


def torch_layer(p, prefix, kind, norm):
    """torch's own encoder or decoder layer as a function of our tensors."""
    module = kind(D, HEADS, 4 * D, 0.0, "relu", batch_first=True, norm_first=norm == "pre")
    module = module.double()
    w = part(p, prefix)
    names = {"self_attn": "attention"}
    tensors = {
        "self_attn.in_proj_weight": w["attention.layer.qkv.W"].T,
        "self_attn.in_proj_bias": w["attention.layer.qkv.b"],
    }
    norms = ["attention"]
    if hasattr(module, "multihead_attn"):
        names["multihead_attn"] = "cross"
        norms.append("cross")
        q, m = (w[f"cross.layer.{part_}.W"] for part_ in ("query", "memory"))
        bq, bm = (w[f"cross.layer.{part_}.b"] for part_ in ("query", "memory"))
        tensors["multihead_attn.in_proj_weight"] = torch.cat([q, m], dim=1).T
        tensors["multihead_attn.in_proj_bias"] = torch.cat([bq, bm])
    for theirs, ours in names.items():
        tensors[f"{theirs}.out_proj.weight"] = w[f"{ours}.layer.output.W"].T
        tensors[f"{theirs}.out_proj.bias"] = w[f"{ours}.layer.output.b"]
    for number, ours in enumerate([*norms, "feed_forward"], start=1):
        tensors[f"norm{number}.weight"] = w[f"{ours}.norm.g"]
        tensors[f"norm{number}.bias"] = w[f"{ours}.norm.b"]
    for number, k in ((1, 0), (2, 2)):
        tensors[f"linear{number}.weight"] = w[f"feed_forward.layer.layers.{k}.W"].T
        tensors[f"linear{number}.bias"] = w[f"feed_forward.layer.layers.{k}.b"]

    def call(*inputs, **options):
        return torch.func.functional_call(module, tensors, inputs, options)

    return call


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_ten_training_steps_of_a_translator(norm):
    """Beside torch's TransformerEncoderLayer and TransformerDecoderLayer."""
    model = TransformerTranslator(V + 1, V, D, 2, heads=HEADS, norm=norm, dtype="float64")
    theirs = tensors_of(drawn(model))

    def batch(step):
        rng = np.random.default_rng(step)
        source, inputs = rng.integers(0, V, size=(3, 5)), rng.integers(0, V, size=(3, 4))
        targets = rng.integers(0, V, size=(3, 4))
        targets[1, 2:] = -1
        return source, np.array([5, 2, 3]), inputs, targets

    def embedded(name, ids):
        t, i = torch.arange(ids.shape[1])[:, None], torch.arange(D)
        angles = t / 10000.0 ** ((i - i % 2) / D).double()
        P = torch.where(i % 2 == 0, angles.sin(), angles.cos())
        return D**0.5 * F.embedding(ids, theirs[f"{name}.layers.0.W"]) + P

    def normed(name, x):
        if norm == "post":
            return x
        return F.layer_norm(x, (D,), theirs[f"{name}.layers.0.g"], theirs[f"{name}.layers.0.b"])

    def loss(source, lengths, inputs, targets):
        padding = torch.arange(source.shape[1]) >= lengths[:, None]
        later = torch.ones(inputs.shape[1], inputs.shape[1], dtype=torch.bool).triu(1)
        m, y = embedded("source", source), embedded("target", inputs)
        for k in range(2):
            kind = torch.nn.TransformerEncoderLayer
            layer = torch_layer(theirs, f"encoder.{k}.", kind, norm)
            m = layer(m, src_key_padding_mask=padding)
        m = normed("source_norm", m)
        for k in range(2):
            kind = torch.nn.TransformerDecoderLayer
            layer = torch_layer(theirs, f"decoder.{k}.", kind, norm)
            y = layer(y, m, tgt_mask=later, memory_key_padding_mask=padding)
        W = theirs["target.layers.0.W"]
        scores = normed("target_norm", y) @ W.T + theirs["output.b"]
        return F.cross_entropy(scores.flatten(0, 1), targets.flatten(), ignore_index=-1)

    ten_steps(model, theirs, batch, loss)
