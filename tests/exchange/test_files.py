"""There and back: every bit of every weight, options and vocabulary."""

import numpy as np
import pytest

from deepnlp.errors import DeepNLPError
from deepnlp.examples import EXAMPLES
from deepnlp.exchange import read_model, write_model
from deepnlp.models import Model, RegularisedRNNLM
from tests.cases import by_layer, together
from tests.exchange.models import OPTIONS, VOCAB, V, bits, model_of

NAMES = [*OPTIONS, "simple"]
ENDINGS = {"torch": "pt", "safetensors": "safetensors"}


@pytest.fixture(params=ENDINGS)
def file(request, tmp_path):
    """A file to write, in each of the two formats that hold whole models."""
    pytest.importorskip(request.param)
    return tmp_path / f"model.{ENDINGS[request.param]}"


@pytest.mark.parametrize("name", NAMES)
@together(dtype=["float32", "float64"])
def test_a_language_model_comes_back_bit_for_bit(name, dtype, file):
    model = model_of(name, dtype, extreme=True)
    write_model(file, model)
    twin = read_model(file)
    assert type(twin) is type(model)
    assert twin.config() == model.config()
    assert bits(twin) == bits(model)
    assert twin.vocab == VOCAB
    assert not twin.training
    assert [p.trainable for p in twin.parameters()] == [p.trainable for p in model.parameters()]


@by_layer((one for one in EXAMPLES.values() if issubclass(one.covers, Model)), "example")
def test_safetensors_hold_every_model(example, tmp_path):
    pytest.importorskip("safetensors")
    model, _ = example.make("float32")
    write_model(tmp_path / "model.safetensors", model)
    twin = read_model(tmp_path / "model.safetensors")
    assert type(twin) is type(model)
    assert twin.config() == model.config()
    assert bits(twin) == bits(model)


def test_a_mask_of_weight_drop_is_not_written(file):
    model = model_of("AWD")
    before = bits(model)
    ids = np.array([[1, 2, 3]])
    model.forward(ids, ids)  # draws a mask
    assert bits(model) == before
    write_model(file, model)
    assert bits(read_model(file)) == before


def test_an_old_file_is_kept_where_writing_fails(file, monkeypatch):
    write_model(file, model_of("rnn"))
    before = file.read_bytes()

    def fail(_):
        raise OSError("disk full")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        write_model(file, model_of("gru"))
    assert file.read_bytes() == before
    assert [*file.parent.iterdir()] == [file]


@pytest.mark.parametrize("side", ["input", "output"])
@pytest.mark.parametrize("name", ["lstm tied", "lstm none", "lstm tied+L", "simple"])
def test_vectors_come_back_bit_for_bit(name, side, tmp_path):
    from deepnlp.checkpoint import save

    model = model_of(name, extreme=True)
    save(tmp_path / "model.npz", model)
    write_model(tmp_path / "vectors.txt", model, side=side)
    for parameter in model.parameters():
        parameter.value[...] = 0.5
    save(tmp_path / "other.npz", model)
    twin = read_model(tmp_path / "vectors.txt", like=tmp_path / "other.npz", side=side)
    original = model_of(name, extreme=True).vectors(side)
    assert twin.vectors(side).tobytes() == original.tobytes()
    again = read_model(tmp_path / "vectors.txt", like=tmp_path / "model.npz", side=side)
    assert bits(again) == bits(model_of(name, extreme=True))


def test_vectors_of_other_words_or_sizes_are_refused(tmp_path):
    from deepnlp.checkpoint import save

    save(tmp_path / "model.npz", model_of("rnn"))
    lines = [f"{word} 1 2 3 4\n" for word in VOCAB.tokens]
    path = tmp_path / "vectors.txt"
    for text, message in (
        ("".join(lines[1:]), "no vector of 'the' and 0 other words"),
        ("".join(f"{word} 1 2\n" for word in VOCAB.tokens), "vectors of 2 numbers, the input"),
        ("", "holds no vectors"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises((DeepNLPError, ValueError), match=message):
            read_model(path, like=tmp_path / "model.npz")
    with pytest.raises(ValueError, match="holds vectors and no model"):
        read_model(path)
    partly = RegularisedRNNLM(
        V, 4, 4, freeze_embedding=True, trained_ids=[1], output_ids=[0, 1, -1]
    )
    partly.vocab = VOCAB
    save(tmp_path / "partly.npz", partly)
    path.write_text("".join(lines), encoding="utf-8")
    with pytest.raises(DeepNLPError, match="put together from parts"):
        read_model(path, like=tmp_path / "partly.npz")


def test_names_and_formats():
    model = model_of("rnn")
    with pytest.raises(ValueError, match=r"expected a name that ends in \.pt"):
        write_model("model.bin", model)
    with pytest.raises(ValueError, match="unknown format 'onnx'"):
        write_model("model.bin", model, "onnx")
    with pytest.raises(FileNotFoundError, match=r"no file nowhere\.pt"):
        read_model("nowhere.pt")


@pytest.mark.parametrize(
    ("library", "ending"), [("torch", "pt"), ("safetensors.numpy", "safetensors")]
)
def test_a_library_that_is_missing_is_named(library, ending, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, library, None)
    path = tmp_path / f"model.{ending}"
    with pytest.raises(DeepNLPError, match="pip install"):
        write_model(path, model_of("rnn"))
    path.write_bytes(b"")
    with pytest.raises(DeepNLPError, match="pip install"):
        read_model(path)
