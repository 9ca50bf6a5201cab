"""``export`` and ``import``: a run written for other programs and read again."""

import json

import pytest

from deepnlp.checkpoint import load
from tests.cli.conftest import contents

ENDINGS = {"torch": "pt", "safetensors": "safetensors"}


@pytest.mark.parametrize("format", ENDINGS)
def test_a_run_there_and_back(format, deepnlp, run_folder, text_file, tmp_path):
    pytest.importorskip(format)
    file, back = tmp_path / f"cats.{ENDINGS[format]}", tmp_path / "cats.npz"
    before = contents(run_folder)
    done = deepnlp("export", run_folder, "--out", file)
    assert (done.code, done.err) == (0, "")
    assert ("LanguageModel('LSTM', " in done.out) == (format == "torch")
    done = deepnlp("import", file, "--out", back)
    assert (done.code, done.err) == (0, "")
    assert back.read_bytes() != b""
    for command in (
        ["evaluate", "--corpus", text_file, "--json"],
        ["generate", "--seed", 1, "--length", 9],
        ["score", "The cat sat."],
    ):
        one, other = (deepnlp(command[0], model, *command[1:]) for model in (run_folder, back))
        assert one.code == other.code == 0
        assert one.out == other.out
    assert contents(run_folder) == before


def test_vectors_there_and_back(deepnlp, run_folder, tmp_path):
    file, back = tmp_path / "cats.txt", tmp_path / "cats.npz"
    assert deepnlp("export", run_folder, "--out", file, "--side", "output").code == 0
    done = deepnlp("import", file, "--like", run_folder, "--out", back, "--side", "output")
    assert (done.code, done.err) == (0, "")
    one, other = (deepnlp("score", model, "The cat sat.").out for model in (run_folder, back))
    assert one == other


def test_a_state_dict_from_elsewhere_needs_a_vocabulary(deepnlp, run_folder, tmp_path):
    torch = pytest.importorskip("torch")
    file, back = tmp_path / "cats.pt", tmp_path / "cats.npz"
    deepnlp("export", run_folder, "--out", file)
    torch.save(dict(torch.load(file, weights_only=True)), file)  # PyTorch's own metadata only
    done = deepnlp("import", file, "--out", back)
    assert done.code == 2
    assert "names no tokens" in done.err
    assert not back.exists()
    tokens = load(run_folder).vocab.tokens
    (tmp_path / "tokens.txt").write_text("\n".join(tokens) + "\n", encoding="utf-8")
    given = (["--like", run_folder], ["--vocab", tmp_path / "tokens.txt", "--tokenizer", "words"])
    expected = deepnlp("score", run_folder, "The cat sat.").out
    for k, options in enumerate(given):
        out = tmp_path / f"{k}.npz"
        assert deepnlp("import", file, "--out", out, *options).code == 0
        assert deepnlp("score", out, "The cat sat.").out == expected


def test_the_tokens_are_a_file_beside_that_for_pytorch(deepnlp, run_folder, tmp_path):
    pytest.importorskip("torch")
    done = deepnlp("export", run_folder, "--out", tmp_path / "cats.pt")
    beside = tmp_path / "cats.vocab.json"
    assert f"its tokens, in the order of the ids: {beside}" in done.out
    table = json.loads(beside.read_text(encoding="utf-8"))
    assert tuple(table["tokens"]) == load(run_folder).vocab.tokens
    (tmp_path / "cats.pt").unlink()
    refused = deepnlp("export", run_folder, "--out", tmp_path / "cats.pt")
    assert f"{beside} exists" in refused.err


def test_json(deepnlp, run_folder, tmp_path):
    pytest.importorskip("safetensors")
    file, back = tmp_path / "cats.safetensors", tmp_path / "cats.npz"
    found = deepnlp("export", run_folder, "--out", file, "--json").json
    assert (found["out"], found["format"]) == (str(file), "safetensors")
    assert deepnlp("import", file, "--out", back, "--json").json["model"] == "RNNLM"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["export", "RUN"], "the following arguments are required: --out"),
        (["export", "RUN", "--out", "a.onnx"], "expected a name that ends in .pt"),
        (["export", "RUN", "--out", "there.txt"], "there.txt exists: choose another name"),
        (["export", "RUN", "--out", "none/a.txt"], "there is no folder none"),
        (["export", "RUN", "--out", "a.pt", "--side", "input"], "--side goes with --to glove"),
        (["export", "nowhere", "--out", "a.txt"], "no checkpoint nowhere"),
        (["export", "RUN", "--out", "a.txt", "--to", "npz"], "invalid choice"),
        (["import", "nowhere.pt", "--out", "a.npz"], "no file nowhere.pt"),
        (["import", "there.txt", "--out", "a.npz"], "holds vectors and no model"),
        (["import", "there.txt", "--out", "a.npz", "--like", "RUN"], "there.txt"),
        (["import", "there.txt", "--out", "a.pt"], "--out should end in .npz"),
        (["import", "there.txt", "--out", "there.npz"], "there.npz exists"),
        (["import", "there.txt", "--out", "a.npz", "--from", "torch"], "there.txt is damaged, or"),
        (["import", "there.txt", "--out", "a.npz", "--from", "safetensors"], "there.txt is damage"),
    ],
)
def test_what_can_be_got_wrong(deepnlp, run_folder, tmp_path, monkeypatch, arguments, text):
    if "--from" in arguments:
        pytest.importorskip(arguments[-1])
    monkeypatch.chdir(tmp_path)
    for name in ("there.txt", "there.npz"):
        (tmp_path / name).write_bytes(b"what is there\n")
    before = contents(tmp_path)
    done = deepnlp(*[run_folder if word == "RUN" else word for word in arguments])
    assert (done.code, done.out) == (2, "")
    assert text in done.err
    assert len(done.err.splitlines()) == 1
    assert contents(tmp_path) == before
