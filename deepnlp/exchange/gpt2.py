"""GPT-2's files in the layout of Hugging Face: weights, config and tokeniser of a GPT.

A folder holds ``config.json``, ``vocab.json`` with the id of each token, ``merges.txt``, and the
weights in ``model.safetensors`` or ``pytorch_model.bin``. GPT-2's matrices (a layer that it calls
Conv1D) are (in, out), as those here, and so none is transposed. The head is the embedding.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from deepnlp.backend import HostArray, asarray, asnumpy
from deepnlp.errors import DeepNLPError
from deepnlp.exchange import files
from deepnlp.exchange.places import OTHERWISE, check_finite, check_tensors, matrix
from deepnlp.files.reading import content_of, decode, read_json
from deepnlp.files.writing import write_whole
from deepnlp.layers import TransformerBlock
from deepnlp.models import GPT, Model
from deepnlp.parameter import View
from deepnlp.text import BPE, Vocabulary
from deepnlp.text.bpe import LINE_BREAK

CONFIG, VOCAB, MERGES = "config.json", "vocab.json", "merges.txt"
TOKENIZER, ADDED = "tokenizer.json", "added_tokens.json"
NO = "here a GPT has the tokens of its byte pairs alone"
WEIGHTS = ("model.safetensors", "pytorch_model.bin")
VERSION = "#version: 0.2"  # the first line of merges.txt
ACTIVATIONS = {"gelu_new": "gelu_tanh", "gelu": "gelu", "relu": "relu", "silu": "silu"}
DROPOUTS = ("embd_pdrop", "attn_pdrop", "resid_pdrop")
#: What the options of a GPT are called there.
NAMES = {
    "vocab_size": "vocab_size",
    "embed_size": "n_embd",
    "context": "n_positions",
    "layers": "n_layer",
    "heads": "n_head",
    "feed_size": "n_inner",
}
#: What a config may say and a GPT computes no other way.
FIXED = {
    "model_type": "gpt2",
    "layer_norm_epsilon": 1e-5,
    "scale_attn_weights": True,
    "scale_attn_by_inverse_layer_idx": False,
    "add_cross_attention": False,
    "tie_word_embeddings": True,
}
MASKS = re.compile(r".*\.attn\.(masked_)?bias")  # constants that older files have among the weights


def places(model: Any) -> dict[str, View]:
    """Return each weight of a GPT in GPT-2's form by its name there."""
    embedding, positions, *_ = model.layers
    held = {"wte.weight": embedding.W, "wpe.weight": positions.P}
    parts: dict[str, Any] = {}
    for k, block in enumerate(b for b in model.layers if isinstance(b, TransformerBlock)):
        attention: Any = block.attention.layer
        feed_forward: Any = block.feed_forward.layer
        parts |= {
            f"h.{k}.ln_1": block.attention.norm,
            f"h.{k}.attn.c_attn": attention.qkv,
            f"h.{k}.attn.c_proj": attention.output,
            f"h.{k}.ln_2": block.feed_forward.norm,
            f"h.{k}.mlp.c_fc": feed_forward.layers[0],
            f"h.{k}.mlp.c_proj": feed_forward.layers[-1],
        }
    parts["ln_f"] = model.layers[-1]
    for name, part in parts.items():
        held[f"{name}.weight"], held[f"{name}.bias"] = part.parameters()
    return held


# --- Reading -------------------------------------------------------------------------------------


def read_gpt2(path: Path) -> GPT:
    """Return the model in a folder, or that of a file of weights with the other files beside it."""
    folder = path if path.is_dir() else path.parent
    listed = [*WEIGHTS, *(f"{name}.index.json" for name in WEIGHTS)]
    files_there = [path] if path.is_file() else [folder / name for name in listed]
    weights = next((file for file in files_there if file.is_file()), None)
    texts = (CONFIG,) if (folder / TOKENIZER).is_file() else (CONFIG, VOCAB, MERGES)
    missing = [name for name in texts if not (folder / name).is_file()]
    missing += [] if weights else [" or ".join(WEIGHTS)]
    if weights is None or missing:
        raise FileNotFoundError(
            f"missing in {folder}: {', '.join(missing)}: put the files of a GPT-2, as Hugging "
            "Face has them, into one folder; nothing is downloaded"
        )
    config, tensors = read_json(folder / CONFIG), _read_tensors(weights)
    options = _options(config, tensors)
    vocab = _read_vocabulary(folder, config.get("eos_token_id"))
    if len(vocab) != options["vocab_size"]:
        sizes = f"{VOCAB} has {len(vocab)} tokens, wte.weight {options['vocab_size']} rows"
        raise ValueError(f"{sizes}: they belong to different models")
    model = GPT(**options)
    held = places(model)
    check_tensors({name: weight.shape for name, weight in held.items()}, tensors)
    for name, weight in held.items():
        weight.value[...] = asarray(tensors[name])
    model.vocab = vocab
    return model


def _read_tensors(path: Path) -> dict[str, HostArray]:
    """Return the weights by their names in places()."""
    shards, tensors = [path], dict[str, HostArray]()
    if path.suffix == ".json":
        names = sorted({str(name) for name in read_json(path).get("weight_map", {}).values()})
        shards = [path.with_name(Path(name).name) for name in names]
    for shard in shards:
        read = files.read_safetensors if shard.suffix == ".safetensors" else files.read_torch
        tensors |= read(shard, MASKS)[0]
    check_finite(tensors)
    tensors = {name.removeprefix("transformer."): x for name, x in tensors.items()}
    head = tensors.pop("lm_head.weight", None)
    if head is not None and not np.array_equal(head, matrix(tensors, "wte.weight")):
        raise ValueError("lm_head.weight differs from wte.weight, to which GPT's head is tied")
    return tensors


def _options(config: Mapping[str, Any], tensors: Mapping[str, HostArray]) -> dict[str, Any]:
    """Return arguments of a GPT: sizes from the tensors, which the config must agree with."""
    for name, value in FIXED.items():
        if config.get(name, value) != value:
            said = f"{CONFIG} says {name} = {config[name]!r}"
            raise ValueError(f"{said}, and this GPT is for {value!r} alone")
    E, P = matrix(tensors, "wte.weight"), matrix(tensors, "wpe.weight")
    V, D = E.shape
    layers = sum(name.endswith(".ln_1.weight") for name in tensors)
    M = matrix(tensors, "h.0.mlp.c_fc.weight").shape[1]
    sizes = dict(zip(NAMES, (V, D, len(P), layers, config.get("n_head"), M)))
    for ours, size in sizes.items():
        stated = config.get(NAMES[ours])
        if stated not in (None, size):
            raise ValueError(f"{CONFIG} says {NAMES[ours]} = {stated!r}, the tensors have {size}")
    activation = config.get("activation_function", "gelu_new")
    if activation not in ACTIVATIONS:
        names = ", ".join(ACTIVATIONS)
        raise ValueError(
            f"{CONFIG} says activation_function = {activation!r}, expected one of {names}"
        )
    dropouts = {config.get(name, 0.0) for name in DROPOUTS}
    return sizes | {
        "dropout": dropouts.pop() if len(dropouts) == 1 else 0.0,
        "feed_size": None if M == 4 * D else M,
        "activation": ACTIVATIONS[activation],
        "dtype": str(E.dtype),
    }


def _read_vocabulary(folder: Path, eos_id: Any) -> Vocabulary:
    """Return the tokens in the order of their ids, with the merges; eos as the config has it."""
    ids, merges, added = _tokens_and_merges(folder)
    if added := [token for token in added if token not in ids]:
        raise ValueError(f"the token {added[0]!r} was added to the vocabulary: {NO}")
    if any(type(id_) is not int for id_ in ids.values()) or {*ids.values()} != {*range(len(ids))}:
        raise ValueError(f"{VOCAB} should have tokens with the ids 0 to {len(ids) - 1}, each once")
    tokens = sorted(ids, key=lambda token: ids[token])
    is_id = type(eos_id) is int and 0 <= eos_id < len(tokens)
    if len(merges) > max(len(tokens), 1000):
        raise ValueError(f"{MERGES} has {len(merges):,} merges for {len(tokens):,} tokens")
    try:
        bpe = BPE(merges, tokens[eos_id] if is_id else LINE_BREAK)
    except ValueError as error:
        raise ValueError(f"{MERGES}: {error}") from error
    return Vocabulary(tokens, tokenizer=bpe)


def _tokens_and_merges(folder: Path) -> tuple[dict[str, Any], list[Any], list[str]]:
    """Read ids of tokens, merges and added tokens: three files, or ``tokenizer.json``."""
    if (folder / VOCAB).is_file() and (folder / MERGES).is_file():
        lines = decode(content_of(folder / MERGES), str(folder / MERGES)).removesuffix("\n")
        merges = [line.split(" ") for line in lines.split("\n") if not line.startswith("#version")]
        more = read_json(folder / ADDED) if (folder / ADDED).is_file() else {}
        return read_json(folder / VOCAB), merges, [*more]
    whole = read_json(folder / TOKENIZER)
    try:
        ids, merges = whole["model"]["vocab"], whole["model"]["merges"]
        merges = [pair.split(" ") if isinstance(pair, str) else pair for pair in merges]
        added = [token["content"] for token in whole.get("added_tokens") or []]
        if whole["model"]["type"] != "BPE" or not isinstance(ids, dict):
            raise TypeError
    except (KeyError, TypeError):
        raise ValueError(f"{TOKENIZER} holds no byte pair encoding, as GPT-2's does") from None
    return ids, merges, added


# --- Writing -------------------------------------------------------------------------------------


def write_gpt2(folder: Path, model: Model) -> None:
    """Write the four files, and the name of the tokeniser's class, into a folder."""
    config, names = _config(model), {ours: theirs for theirs, ours in ACTIVATIONS.items()}
    vocab: Any = model.vocab
    tensors = {f"transformer.{name}": asnumpy(w.value) for name, w in places(model).items()}
    eos = vocab.cut.eos
    table = {
        **FIXED,
        "architectures": ["GPT2LMHeadModel"],
        **{theirs: config[ours] for ours, theirs in NAMES.items()},
        "activation_function": names[config["activation"]],
        **dict.fromkeys(DROPOUTS, config["dropout"]),
        **dict.fromkeys(("bos_token_id", "eos_token_id"), vocab.eos_id),
    }
    marks = dict.fromkeys(("bos_token", "eos_token", "unk_token"), eos)
    texts = {
        CONFIG: json.dumps(table, indent=2),
        "tokenizer_config.json": json.dumps({"tokenizer_class": "GPT2Tokenizer", **marks}),
        VOCAB: json.dumps({token: id_ for id_, token in enumerate(vocab.tokens)}),
        MERGES: "\n".join([VERSION, *map(" ".join, vocab.cut.merges), ""]),
    }
    with TemporaryDirectory(dir=folder.parent, prefix=f"{folder.name}.") as made:
        for name, text in texts.items():
            write_whole(Path(made, name), text)
        files.write_safetensors(Path(made, WEIGHTS[0]), tensors, {"format": "pt"})
        folder.mkdir(exist_ok=True)
        for file in Path(made).iterdir():  # all are whole
            file.replace(folder / file.name)


def _config(model: Model) -> dict[str, Any]:
    """Return the options of a model for GPT-2's files, or an error if they cannot hold it."""
    kind = type(model).__name__
    if not isinstance(model, GPT):
        raise DeepNLPError(f"GPT-2's files hold a GPT, this is a {kind}{OTHERWISE}")
    config = model.config()
    form = {"positions": "learned", "norms": "layer", "norm": "pre", "bias": True}
    reasons = [
        f"{n} = {config[n]!r} (GPT-2: {value!r})" for n, value in form.items() if config[n] != value
    ]
    if config["activation"] not in ACTIVATIONS.values():
        reasons.append(f"activation = {config['activation']!r}")
    if model.vocab is None or model.vocab.tokenizer != "bpe":
        reasons.append("a vocabulary that is no byte pair encoding (--tokens bpe)")
    if reasons:
        raise DeepNLPError(f"GPT-2's files cannot hold this model: it has {reasons[0]}{OTHERWISE}")
    return config
