"""The file of PyTorch in PyTorch: the module of the page, its scores, and files from elsewhere."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pytest

from deepnlp.backend import asarray
from deepnlp.checkpoint import save
from deepnlp.errors import DeepNLPError
from deepnlp.exchange import read_model, write_model
from deepnlp.exchange.places import constructor
from deepnlp.models import CBOW, RNNLM, RegularisedRNNLM
from tests.exchange.models import OPTIONS, VOCAB, V, model_of

torch = pytest.importorskip("torch")

PAGE = Path(__file__).parents[2] / "docs" / "exchange.md"
IDS = np.array([[0, 3, 1, 4, 6], [2, 2, 5, 0, 1]])


def language_model(call):
    """The module whose source the page shows, made by a call."""
    names = {}
    source = re.search(r"```python\n(import torch.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    exec(compile(source[1], str(PAGE), "exec"), names)
    return eval(call, names)


def scores(module):
    with torch.no_grad():
        return module.eval()(torch.tensor(IDS))[0].numpy()


def ours(model):
    model.eval().reset_state()
    return model.logits(asarray(IDS))


@pytest.mark.parametrize("name", [*OPTIONS, "simple"])
def test_the_module_of_the_page_gives_the_same_scores(name, tmp_path):
    model = model_of(name, "float64")
    write_model(tmp_path / "m.pt", model)
    module = language_model(constructor(model)).double()
    module.load_state_dict(torch.load(tmp_path / "m.pt", weights_only=True))
    np.testing.assert_allclose(scores(module), ours(model), rtol=0, atol=1e-12)
    with torch.no_grad():  # step by step, with the state carried
        h, state = module(torch.tensor(IDS[:, :2]))
        rest, _ = module(torch.tensor(IDS[:, 2:]), state)
    both = torch.cat([h, rest], 1).numpy()
    np.testing.assert_allclose(both, ours(model), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", OPTIONS)
def test_a_file_holds_nothing_but_the_tensors_of_the_module(name, tmp_path):
    model = model_of(name)
    write_model(tmp_path / "m.pt", model)
    state = torch.load(tmp_path / "m.pt", weights_only=True)
    module = language_model(constructor(model))
    assert {k: x.shape for k, x in state.items()} == {
        k: x.shape for k, x in module.state_dict().items()
    }
    assert all(x.dtype == torch.float32 and x.is_contiguous() for x in state.values())
    tied = model.config()["tie"] != "none"
    E, decoder = state["encoder.weight"], state["decoder.weight"]
    assert (E.data_ptr() == decoder.data_ptr()) == tied


def test_gates_are_in_the_order_of_pytorch(tmp_path):
    model = model_of("lstm tied")
    H = 4
    for k, layer in enumerate(x for x in model.layers if hasattr(x, "Wh")):
        layer.b.value[...] = np.repeat([1.0, 2.0, 3.0, 4.0], H) + 10 * k  # i, f, g, o
    write_model(tmp_path / "m.pt", model)
    state = torch.load(tmp_path / "m.pt", weights_only=True)
    for k in range(2):
        assert state[f"rnn.bias_ih_l{k}"][::H].tolist() == [10 * k + n for n in (1, 2, 3, 4)]
        assert not state[f"rnn.bias_hh_l{k}"].any()
        Wx = [x for x in model.layers if hasattr(x, "Wh")][k].Wx.value
        np.testing.assert_array_equal(state[f"rnn.weight_ih_l{k}"].numpy(), Wx.T)


def module_of(name, seed=0):
    """A module of PyTorch with weights of its own, both biases other than zero."""
    torch.manual_seed(seed)
    module = language_model(constructor(model_of(name)))
    for x in module.parameters():
        torch.nn.init.normal_(x)
    return module


@pytest.mark.parametrize("name", [*OPTIONS, "simple"])
def test_a_state_dict_of_pytorch_with_both_biases(name, tmp_path):
    module = module_of(name).double()
    torch.save(module.state_dict(), tmp_path / "theirs.pt")
    model = model_of(name, "float64")
    save(tmp_path / "like.npz", model)
    read = read_model(tmp_path / "theirs.pt", like=tmp_path / "like.npz")
    assert read.config() == model.config()
    assert read.vocab == VOCAB
    np.testing.assert_allclose(ours(read), scores(module), rtol=0, atol=1e-11)
    write_model(tmp_path / "back.pt", read)
    again = language_model(constructor(read)).double()
    again.load_state_dict(torch.load(tmp_path / "back.pt", weights_only=True))
    np.testing.assert_allclose(scores(again), scores(module), rtol=0, atol=1e-11)
    for (key, x), y in zip(again.state_dict().items(), module.state_dict().values(), strict=True):
        if "bias_" not in key or "gru" in name:
            assert torch.equal(x, y), key


@pytest.mark.parametrize("name", OPTIONS)
def test_sizes_cell_and_tie_are_seen_from_the_tensors(name, tmp_path):
    module = module_of(name)
    torch.save(module.state_dict(), tmp_path / "theirs.pt")
    options = {"activation": "relu"} if name == "rnn relu" else {}
    read = read_model(tmp_path / "theirs.pt", vocab=VOCAB, **options)
    expected = model_of(name).config()
    for key in ("vocab_size", "embed_size", "layers", "cell", "tie", "output_bias", "reset_after"):
        assert read.config()[key] == expected[key], key
    assert read.config()["dropout"] == 0
    np.testing.assert_allclose(ours(read), scores(module), rtol=1e-4, atol=1e-4)


def test_recurrent_layers_without_biases(tmp_path):
    torch.manual_seed(1)
    module = language_model(f"LanguageModel('LSTM', {V}, 3, 5, 2)").double()
    module.rnn = torch.nn.LSTM(3, 5, 2, batch_first=True, bias=False).double()
    torch.save(module.state_dict(), tmp_path / "theirs.pt")
    read = read_model(tmp_path / "theirs.pt", vocab=VOCAB)
    np.testing.assert_allclose(ours(read), scores(module), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (lambda: RNNLM(V, 4, 4, cell="gru"), r"resets after .* \(reset_after=False\)"),
        (lambda: RNNLM(V, 4, [6, 4]), r"one hidden size, these have \[6, 4\]"),
        (lambda: RegularisedRNNLM(V, 4, 4, cell="rnn", input_matrix=False), "input_matrix=False"),
        (
            lambda: RegularisedRNNLM(V, 4, 4, output_ids=[0, 1, -1]),
            r"shared in part \(output_ids\)",
        ),
        (
            lambda: RegularisedRNNLM(V, 4, 4, freeze_embedding=True, trained_ids=[1]),
            r"\(trained_ids\)",
        ),
        (lambda: CBOW(V, 4), "that of a language model, this is a CBOW"),
    ],
)
def test_what_pytorch_has_no_layers_for_is_refused(model, reason, tmp_path):
    with pytest.raises(DeepNLPError, match=f"PyTorch cannot hold this model: .*{reason}.*holds ev"):
        write_model(tmp_path / "m.pt", model())
    assert not any(tmp_path.iterdir())


def changed(**changes):
    """The tensors of a file, some of them replaced; None takes one out."""
    state = module_of("lstm tied").state_dict()
    state = {k: x for k, x in state.items() if k not in changes}
    return state | {k: x for k, x in changes.items() if x is not None}


CHANGES = {
    "no encoder": ({"encoder.weight": None}, "there is no tensor encoder.weight: expected the na"),
    "no bias": ({"rnn.bias_hh_l1": None}, "there is no tensor rnn.bias_hh_l1"),
    "one more": ({"rnn.weight_hr_l0": torch.ones(2)}, "no place for the tensor rnn.weight_hr_l0"),
    "a layer left out": (
        {"rnn.weight_hh_l0": None, "rnn.weight_hh_l2": torch.ones(16, 4)},
        "there is no tensor rnn.weight_hh_l0",
    ),
    "shape": (
        {"rnn.weight_ih_l1": torch.ones(16, 5)},
        r"rnn.weight_ih_l1 should have shape \(16, 4\), got \(16, 5\)",
    ),
    "gates": ({"rnn.weight_hh_l0": torch.ones(20, 4)}, r"an RNN, got \(20, 4\)"),
    "no gates": ({"rnn.weight_hh_l0": torch.ones(0, 0)}, r"an RNN, got \(0, 0\)"),
    "a cube": ({"encoder.weight": torch.ones(2, 2, 2)}, "should be a matrix"),
    "not finite": (
        {"rnn.weight_ih_l0": torch.full((16, 4), torch.nan)},
        "rnn.weight_ih_l0 holds numbers that are not finite",
    ),
    "eight bits": ({"decoder.bias": torch.ones(V).to(torch.float8_e5m2)}, "got float8_e5m2: con"),
    "integers": ({"decoder.bias": torch.ones(V).long()}, "got int64"),
    "sparse": ({"decoder.weight": torch.eye(V, 4).to_sparse()}, "should be dense"),
    "a number": ({"decoder.bias": 3}, "got 'decoder.bias' with a int"),
    "repeated": (
        {"encoder.weight": torch.ones(1, 1).expand(10**6, 10**6)},
        "tensors are larger than the file",
    ),
}


@pytest.mark.parametrize("case", CHANGES)
def test_tensors_that_do_not_fit_are_named(case, tmp_path):
    changes, message = CHANGES[case]
    torch.save(changed(**changes), tmp_path / "theirs.pt")
    with pytest.raises(DeepNLPError, match=message) as caught:
        read_model(tmp_path / "theirs.pt", vocab=VOCAB)
    assert str(caught.value).startswith(str(tmp_path / "theirs.pt"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("form", ["module.", "_orig_mod.", "_orig_mod.module.", "module._orig_mod.",
                                  "state_dict", "half", "bfloat16"])  # fmt: skip
def test_wrapped_and_short_tensors_are_read(form, tmp_path):
    state = changed()
    torch.save(state, tmp_path / "plain.pt")
    if form == "state_dict":
        state = {"state_dict": state, "epoch": 3}
    elif form.endswith("."):
        state = {form + name: tensor for name, tensor in state.items()}
    else:
        state = {name: getattr(tensor, form)() for name, tensor in state.items()}
    torch.save(state, tmp_path / "other.pt")
    plain, other = (read_model(tmp_path / name, vocab=VOCAB) for name in ("plain.pt", "other.pt"))
    for ours, theirs in zip(plain.parameters(), other.parameters(), strict=True):
        np.testing.assert_allclose(ours.value, theirs.value, rtol=0.02)


def test_an_older_torch_reads_no_file(tmp_path, monkeypatch):
    torch.save(changed(), tmp_path / "theirs.pt")
    monkeypatch.setattr(torch, "__version__", "2.5.1+cpu")
    with pytest.raises(DeepNLPError, match=r"needs torch 2\.6, .* this is torch 2\.5\.1"):
        read_model(tmp_path / "theirs.pt", vocab=VOCAB)


def test_a_tie_that_is_broken_is_named(tmp_path):
    model = model_of("lstm tied")
    save(tmp_path / "like.npz", model)
    torch.save(changed(**{"decoder.weight": torch.ones(V, 4)}), tmp_path / "theirs.pt")
    with pytest.raises(DeepNLPError, match=r"decoder\.weight differs from encoder\.weight"):
        read_model(tmp_path / "theirs.pt", like=tmp_path / "like.npz")


@pytest.mark.parametrize("lie", [{"vocab_size": 10**12}, {"layers": 10**6}, {"hidden_size": 9}])
def test_a_description_that_does_not_fit_the_tensors_is_not_believed(lie, tmp_path, monkeypatch):
    model = model_of("lstm none")
    monkeypatch.setattr(model, "_config", model.config() | lie)
    write_model(tmp_path / "m.pt", model)
    (name,) = lie
    with pytest.raises(DeepNLPError, match=rf"the tensors have {name} \d+, the model has \d+"):
        read_model(tmp_path / "m.pt")


class Code:
    """What runs where it is unpickled."""

    def __reduce__(self):
        return os.system, ("touch executed",)


@pytest.mark.parametrize(
    "content", [Code(), {"encoder.weight": Code()}, torch.nn.Linear(1, 1), [], {}, torch.ones(2)]
)
def test_nothing_is_executed_and_what_is_no_state_dict_is_refused(content, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    torch.save(content, "theirs.pt")
    with pytest.raises(DeepNLPError, match=r"theirs\.pt (is damaged, or|holds) no state_dict"):
        read_model("theirs.pt", vocab=VOCAB)
    assert not Path("executed").exists()


@pytest.mark.parametrize("data", [b"", b"PK\x03\x04", b"text\n" * 99, b"\x80\x02}q\x00."])
def test_a_damaged_file_is_named(data, tmp_path):
    path = tmp_path / "theirs.pt"
    path.write_bytes(data)
    with pytest.raises(DeepNLPError, match=r"theirs\.pt"):
        read_model(path, vocab=VOCAB)


def test_a_file_cut_off_anywhere_is_refused(tmp_path):
    path = tmp_path / "m.pt"
    write_model(path, model_of("rnn"))
    data = path.read_bytes()
    for end in range(0, len(data), len(data) // 40):
        path.write_bytes(data[:end])
        with pytest.raises(DeepNLPError, match=r"m\.pt"):
            read_model(path)


def test_vocabularies_have_a_token_for_each_row(tmp_path):
    torch.save(module_of("rnn").state_dict(), tmp_path / "theirs.pt")
    short = type(VOCAB)(VOCAB.tokens[:5])
    with pytest.raises(DeepNLPError, match=f"should have {V} tokens, .*, got 5"):
        read_model(tmp_path / "theirs.pt", vocab=short)


def test_safetensors_with_the_names_of_pytorch(tmp_path):
    """As other programs write them: no description, the same names."""
    safetensors = pytest.importorskip("safetensors.torch")
    module = module_of("lstm none").double()
    safetensors.save_file(module.state_dict(), tmp_path / "theirs.safetensors")
    read = read_model(tmp_path / "theirs.safetensors", vocab=VOCAB)
    np.testing.assert_allclose(ours(read), scores(module), rtol=0, atol=1e-11)


def rewritten(path, **tensors):
    """The file of a small model with other tensors in place of its own."""
    model = model_of("lstm tied")
    write_model(path, model)
    state = torch.load(path, weights_only=True)
    for name, change in tensors.items():
        state[name.replace("__", ".")] = change(state[name.replace("__", ".")])
    torch.save(state, path)
    return model


def test_a_tensor_with_its_negative_bit_is_read(tmp_path):
    model = rewritten(tmp_path / "m.pt", decoder__bias=lambda b: (-b)._neg_view())
    assert torch.load(tmp_path / "m.pt", weights_only=True)["decoder.bias"].is_neg()
    read = read_model(tmp_path / "m.pt")
    np.testing.assert_array_equal(read.output.b.value, model.output.b.value)


def test_a_tensor_without_numbers_is_named(tmp_path):
    rewritten(tmp_path / "m.pt", decoder__bias=lambda b: b.to("meta"))
    with pytest.raises(DeepNLPError, match=r"m\.pt is damaged, or no state_dict of PyTorch"):
        read_model(tmp_path / "m.pt")


@pytest.mark.parametrize(
    "wrong",
    [
        {"counts": [-1] * V},
        {"counts": [1.5] * V},
        {"counts": [2**63] * V},
        {"counts": {}},
        {"tokens": None},
        {"tokens": [1] * V},
        {"tokenizer": []},
        None,
    ],
    ids=str,
)
def test_a_vocabulary_that_a_checkpoint_could_not_hold_is_refused(wrong, tmp_path):
    path = tmp_path / "m.pt"
    write_model(path, model_of("lstm tied"))
    state = torch.load(path, weights_only=True)
    meta = json.loads(state._metadata[""]["deepnlp"])
    meta["vocab"] = 7 if wrong is None else meta["vocab"] | wrong
    state._metadata[""]["deepnlp"] = json.dumps(meta)
    torch.save(state, path)
    with pytest.raises(DeepNLPError, match=r"m\.pt: vocab should have tokens, as many counts"):
        read_model(path)
