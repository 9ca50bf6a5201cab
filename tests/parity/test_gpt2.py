"""GPT-2 against Hugging Face's transformers: scores, losses, ids, there and back."""

import json
import warnings

import numpy as np
import pytest

from deepnlp.backend import asarray
from deepnlp.exchange import read_model, write_model
from deepnlp.models import GPT
from deepnlp.optimizers import AdamW, clip_gradients
from deepnlp.text import BPE, Vocabulary
from tests.parity.tools import torch

pytestmark = pytest.mark.parity
pytest.importorskip("safetensors")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    transformers = pytest.importorskip("transformers")

MARK = "<|endoftext|>"
BPE_ = BPE.learn("the cat sat on the mat, the dog sat too.\n" * 4, vocab_size=280)
TOKENS = [*BPE_.needs, MARK]
TOLERANCE = {"float64": 1e-10, "float32": 1e-4}


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def theirs(dtype="float64", **options):
    """Their model of random weights, large enough for every part of it to matter."""
    torch.manual_seed(1)
    sizes = {"vocab_size": len(TOKENS), "n_positions": 12, "n_embd": 8, "n_layer": 2, "n_head": 2}
    marks = dict.fromkeys(("bos_token_id", "eos_token_id"), len(TOKENS) - 1)
    dropouts = dict.fromkeys(("embd_pdrop", "attn_pdrop", "resid_pdrop"), 0.0)
    config = transformers.GPT2Config(**{**sizes, **marks, **dropouts, **options})
    model = transformers.GPT2LMHeadModel(config).to(getattr(torch, dtype))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, dtype=parameter.dtype)
    return model.eval()


def with_tokeniser(folder):
    """The folder with files of a tokeniser beside the weights."""
    ids = {token: id_ for id_, token in enumerate(TOKENS)}
    (folder / "vocab.json").write_text(json.dumps(ids), encoding="utf-8")
    lines = ["#version: 0.2", *map(" ".join, BPE_.merges), ""]
    (folder / "merges.txt").write_text("\n".join(lines), encoding="utf-8")
    return folder


def batches(seed, count):
    ids = np.random.default_rng(seed).integers(0, len(TOKENS), (count, 3, 13))
    return [(window[:, :-1], window[:, 1:]) for window in ids]


def scores(model, ids):
    with torch.no_grad():
        return model(torch.tensor(ids)).logits.numpy()


def losses_of_theirs(model, seed):
    """Of ten steps of AdamW with clipping."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1)
    for inputs, targets in batches(seed, 10):
        logits = model(torch.tensor(inputs)).logits
        loss = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), torch.tensor(targets).flatten()
        )
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        yield float(loss)


def losses_of_ours(model, seed):
    optimizer = AdamW(model.parameters(), lr=1e-2, weight_decay=0.1)
    for inputs, targets in batches(seed, 10):
        loss = model.forward(asarray(inputs), asarray(targets))
        model.zero_grad()
        model.backward()
        clip_gradients(model.parameters(), 1.0)
        optimizer.step()
        yield float(loss)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("file", ["model.safetensors", "pytorch_model.bin"])
def test_scores_and_ten_training_losses_are_theirs(file, dtype, tmp_path):
    other = theirs(dtype)
    other.save_pretrained(with_tokeniser(tmp_path))
    if file == "pytorch_model.bin":
        (tmp_path / "model.safetensors").unlink()
        torch.save(other.state_dict(), tmp_path / file)
    model = read_model(tmp_path)
    assert model.config()["dtype"] == dtype
    ((ids, _),) = batches(0, 1)
    scale = np.abs(scores(other, ids)).max()
    close = {"rtol": 0, "atol": TOLERANCE[dtype] * scale}
    np.testing.assert_allclose(model.eval().logits(asarray(ids)), scores(other, ids), **close)
    np.testing.assert_allclose(
        [*losses_of_ours(model.train(), 2)],
        [*losses_of_theirs(other.train(), 2)],
        rtol=TOLERANCE[dtype],
    )


@pytest.mark.parametrize(
    "options",
    [{"activation_function": "relu"}, {"activation_function": "gelu", "n_inner": 12, "n_layer": 1}],
)
def test_other_functions_and_sizes_are_read(options, tmp_path):
    other = theirs(**options)
    other.save_pretrained(with_tokeniser(tmp_path))
    ((ids, _),) = batches(0, 1)
    ours = read_model(tmp_path).eval().logits(asarray(ids))
    np.testing.assert_allclose(ours, scores(other, ids), rtol=0, atol=1e-10)


@pytest.mark.parametrize("activation", ["gelu", "gelu_tanh"])
def test_transformers_reads_what_was_written(activation, tmp_path):
    options = {"heads": 2, "context": 12, "activation": activation, "dtype": "float64"}
    model = GPT(len(BPE_.needs), 8, layers=2, dropout=0.1, **options)
    for parameter in model.parameters():
        parameter.value += np.random.default_rng(0).normal(0, 0.3, parameter.shape)
    model.vocab = Vocabulary.build([], tokenizer=BPE_)
    write_model(tmp_path / "gpt", model, "gpt2")
    other = transformers.GPT2LMHeadModel.from_pretrained(tmp_path / "gpt", dtype=torch.float64)
    ids = np.random.default_rng(0).integers(0, len(BPE_.needs), (2, 12))
    ours = model.eval().logits(asarray(ids))
    np.testing.assert_allclose(ours, scores(other.eval(), ids), rtol=0, atol=1e-12)
    cut = transformers.GPT2Tokenizer.from_pretrained(tmp_path / "gpt")
    text = "The cat's mat, und Öl:\n\n  3 dogs"
    assert cut(text)["input_ids"] == model.vocab.encode(model.vocab.tokenize(text)).tolist()
    again = read_model(tmp_path / "gpt")
    assert (again.config(), again.vocab) == (model.config(), model.vocab)
    for one, two in zip(again.parameters(), model.parameters(), strict=True):
        np.testing.assert_array_equal(one.value, two.value)
