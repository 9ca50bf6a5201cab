"""A folder of GPT-2's files: what is missing or does not fit is named, and nothing is believed."""

import json
import shutil
import time

import numpy as np
import pytest

from deepnlp.errors import DeepNLPError
from deepnlp.exchange import read_model, write_model
from deepnlp.exchange.gpt2 import places
from deepnlp.models import GPT, RNNLM
from deepnlp.text import BPE, Vocabulary

pytest.importorskip("safetensors")
from safetensors.numpy import load_file, save_file

VOCAB = Vocabulary.build([], tokenizer=BPE.learn("the cat sat on the mat " * 3, vocab_size=270))
V = len(VOCAB)


def gpt(**options):
    model = GPT(len(VOCAB), 4, **{"layers": 2, "heads": 2, "context": 6, **options})
    model.vocab = VOCAB
    return model


@pytest.fixture
def folder(tmp_path):
    write_model(tmp_path / "gpt", gpt(), "gpt2")
    return tmp_path / "gpt"


def test_every_weight_has_a_place():
    model = gpt(dropout=0.1)
    held = places(model)
    assert {id(w) for w in held.values()} == {id(p) for p in model.parameters()}
    assert held["h.1.attn.c_attn.weight"].shape == (4, 12)  # (in, out), as in a Conv1D


def test_there_and_back_by_the_folder_or_the_file_of_weights(folder):
    for path, format in ((folder, None), (folder / "model.safetensors", "gpt2")):
        again = read_model(path, format)
        assert (again.config(), again.vocab) == (gpt().config(), VOCAB)


@pytest.mark.parametrize("name", ["config.json", "vocab.json", "merges.txt", "model.safetensors"])
def test_a_missing_file_is_named(name, folder):
    (folder / name).unlink()
    with pytest.raises(FileNotFoundError, match=f"missing in {folder}: {name}.*: put the files"):
        read_model(folder)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model_type": "llama"}, "model_type = 'llama', and this GPT is for 'gpt2'"),
        ({"layer_norm_epsilon": 1e-6}, "layer_norm_epsilon"),
        ({"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx"),
        ({"n_layer": 10**9}, "n_layer = 1000000000, the tensors have 2"),
        ({"vocab_size": 10**12}, f"the tensors have {V}"),
        ({"n_inner": 8}, "n_inner = 8, the tensors have 16"),
        ({"n_head": None}, "heads should be a whole number"),
        ({"n_head": 3}, "D a multiple of the number of heads"),
        ({"activation_function": []}, "unhashable"),
        ({"activation_function": "tanh"}, "'tanh', expected one of gelu_new"),
        ({"resid_pdrop": 2.0, "attn_pdrop": 2.0, "embd_pdrop": 2.0}, "dropout should be"),
    ],
)
def test_a_config_that_no_gpt_here_has_is_an_error(change, message, folder):
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text("utf-8")) | change), "utf-8")
    with pytest.raises(DeepNLPError, match=message) as caught:
        read_model(folder)
    assert str(caught.value).startswith(str(folder))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"lm_head.weight": np.ones((V, 4), "f4")}, "lm_head.weight differs from wte.weight"),
        ({"transformer.h.0.ln_1.bias": np.ones(5, "f4")}, r"should have shape \(4,\), got \(5,\)"),
        ({"transformer.h.7.what": np.ones(5, "f4")}, "no place for the tensor h.7.what"),
        ({"transformer.ln_f.bias": np.full(4, np.nan, "f4")}, "not finite"),
        ({"transformer.ln_f.bias": None}, "there is no tensor ln_f.bias"),
        ({"transformer.wte.weight": None}, "there is no tensor wte.weight"),
        ({"transformer.wte.weight": np.ones((271, 4), "f4")}, f"{V} tokens, wte.weight 271"),
        ({"transformer.ln_f.bias": np.ones(4, "i4")}, "got int32"),
    ],
)
def test_tensors_that_do_not_fit_are_named(change, message, folder):
    file = folder / "model.safetensors"
    tensors = {n: x for n, x in (load_file(file) | change).items() if x is not None}
    save_file(tensors, file)
    config = json.loads((folder / "config.json").read_text("utf-8")) | {"vocab_size": None}
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    with pytest.raises(DeepNLPError, match=message):
        read_model(folder)


def same_weights(read, folder, tolerance):
    pairs = zip(read.parameters(), read_model(folder).parameters(), strict=True)
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours.value, theirs.value, atol=tolerance)


@pytest.mark.parametrize("form", ["float16", "bfloat16", "shards", "tokenizer.json"])
def test_other_forms_of_the_files_are_read(form, folder, tmp_path):
    other, file = tmp_path / "other", folder / "model.safetensors"
    shutil.copytree(folder, other)
    tensors = load_file(file)
    if form == "float16":
        save_file({name: x.astype("f2") for name, x in tensors.items()}, other / file.name)
    elif form == "bfloat16":
        torch = pytest.importorskip("torch")
        halves = {name: torch.from_numpy(x).bfloat16() for name, x in tensors.items()}
        pytest.importorskip("safetensors.torch").save_file(halves, other / file.name)
    elif form == "shards":
        (other / file.name).unlink()
        names = sorted(tensors)
        parts = {"a.safetensors": names[:9], "b.safetensors": names[9:]}
        for part, inside in parts.items():
            save_file({name: tensors[name] for name in inside}, other / part)
        places = {name: part for part, inside in parts.items() for name in inside}
        (other / f"{file.name}.index.json").write_text(json.dumps({"weight_map": places}))
    else:
        vocab = json.loads((other / "vocab.json").read_text("utf-8"))
        merges = (other / "merges.txt").read_text("utf-8").split("\n")[1:-1]
        model = {"type": "BPE", "vocab": vocab, "merges": merges}
        for name in ("vocab.json", "merges.txt"):
            (other / name).unlink()
        whole = {"model": model, "added_tokens": [{"content": next(iter(vocab)), "id": 0}]}
        (other / "tokenizer.json").write_text(json.dumps(whole), "utf-8")
        whole["added_tokens"] = [{"content": "<pad>", "id": len(vocab)}]
        (folder / "tokenizer.json").write_text(json.dumps(whole), "utf-8")
    read = read_model(other)
    same_weights(read, folder, 0.01 if "float" in form else 0)


def test_added_tokens_and_too_many_merges_are_refused_for_what_they_are(folder):
    (folder / "added_tokens.json").write_text('{"<pad>": 300}')
    with pytest.raises(DeepNLPError, match="the token '<pad>' was added to the vocabulary"):
        read_model(folder)
    (folder / "added_tokens.json").unlink()
    (folder / "merges.txt").write_text("a b\n" * 3_700_000)
    begin = time.process_time()
    with pytest.raises(DeepNLPError, match="has 3,700,000 merges for"):
        read_model(folder)
    assert time.process_time() - begin < 5


def test_masks_that_older_files_hold_and_names_without_a_prefix_are_read(folder):
    file = folder / "model.safetensors"
    tensors = {name.removeprefix("transformer."): x for name, x in load_file(file).items()}
    masks = {
        "h.0.attn.bias": np.ones((1, 1, 6, 6), bool),
        "h.1.attn.masked_bias": np.ones((), "u1"),
    }
    save_file(tensors | masks | {"lm_head.weight": tensors["wte.weight"].copy()}, file)
    np.testing.assert_array_equal(read_model(folder).layers[0].W.value, tensors["wte.weight"])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("merges.txt", "#version: 0.2\na b c\n", r"merges.txt: merge 1 should be a pair"),
        ("merges.txt", "the cat\n", "merges.txt: merge 1"),
        ("merges.txt", "x y\n", "needs the token 'xy'"),
        ("vocab.json", '{"a": 0, "b": 0}', "ids 0 to 1, each once"),
        ("vocab.json", '{"a": "0"}', "each once"),
        ("vocab.json", '{"a": 0}', "needs the token '!'"),
        ("vocab.json", "[1]", "not a JSON object"),
        ("config.json", "{", "not a JSON object"),
    ],
)
def test_tokeniser_files_that_cannot_be_are_an_error(name, content, message, folder):
    (folder / name).write_text(content, encoding="utf-8")
    with pytest.raises(DeepNLPError, match=message):
        read_model(folder)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"norms": "rms"}, r"norms = 'rms' \(GPT-2: 'layer'\)"),
        ({"positions": "rotary"}, "positions = 'rotary'"),
        ({"norm": "post"}, "norm = 'post'"),
        ({"bias": False}, "bias = False"),
        ({"activation": "swiglu"}, "activation = 'swiglu'"),
    ],
)
def test_a_model_in_another_form_is_not_written(options, message, tmp_path):
    with pytest.raises(DeepNLPError, match=message):
        write_model(tmp_path / "gpt", gpt(**options), "gpt2")
    assert not (tmp_path / "gpt").exists()


def test_what_is_no_gpt_of_byte_pairs_is_not_written(tmp_path):
    with pytest.raises(DeepNLPError, match="hold a GPT, this is a RNNLM"):
        write_model(tmp_path / "gpt", RNNLM(9, 4, 4), "gpt2")
    model = gpt()
    model.vocab = Vocabulary.build("ab", tokenizer="chars")
    with pytest.raises(DeepNLPError, match="no byte pair encoding"):
        write_model(tmp_path / "gpt", model, "gpt2")


def test_other_options_have_no_say(folder):
    with pytest.raises(ValueError, match="say all of their model"):
        read_model(folder, vocab=VOCAB)
