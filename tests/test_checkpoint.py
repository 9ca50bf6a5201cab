import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deepnlp
from deepnlp import DeepNLPError, Parameter, Sequential
from deepnlp.backend import asarray, asnumpy
from deepnlp.checkpoint import load, pack_model, read_npz, save, write_npz
from deepnlp.layers import Affine, Embedding, TimeAffine, TimeLSTM
from deepnlp.models import CBOW, RNNLM, Model, RegularisedRNNLM, SimpleRNNLM
from deepnlp.text import Vocabulary

VOCAB = Vocabulary(["<eos>", "<unk>", "ü", '"', "語"], [5, 4, 3, 2, 1], "whitespace")

MODELS: dict[str, Any] = {
    "tied": lambda: RNNLM(5, 4, 4, layers=2, tie="tied"),
    "tied+L": lambda: RNNLM(5, 4, 3, layers=1, tie="tied+L", output_bias=False),
    "gru in float64": lambda: RNNLM(5, 4, 3, cell="gru", tie="none", dtype="float64"),
    "rnn": lambda: RegularisedRNNLM(
        5, 4, 4, cell="rnn", tie="none", input_matrix=False, init="book"
    ),
    "frozen": lambda: RegularisedRNNLM(5, 4, 4, freeze_embedding=True, locked_dropout=True),
    "simple": lambda: SimpleRNNLM(5, 4, 3),
}


def by_hand() -> Sequential:
    embed = Embedding.init(5, 3)
    return Sequential(
        embed,
        TimeLSTM.init(3, 3, stateful=True),
        TimeAffine(embed.W.T, Parameter.zeros(5)),
    )


def values(model: Any) -> dict[str, np.ndarray[Any, Any]]:
    return {name: asnumpy(p.value) for name, p in model.named_parameters()}


def assert_same(one: Any, other: Any) -> None:
    a, b = values(one), values(other)
    assert list(a) == list(b)
    for name in a:
        assert a[name].dtype == b[name].dtype
        assert np.array_equal(a[name], b[name]), name


@pytest.mark.parametrize("name", MODELS)
def test_a_model_comes_back_as_it_was(name: str, tmp_path: Path, array_backend: Any) -> None:
    model = MODELS[name]()
    save(tmp_path / "m.npz", model, VOCAB)
    twin = load(tmp_path / "m.npz")
    assert_same(model, twin)
    assert type(twin) is type(model)
    assert twin.config() == model.config()
    assert [p.trainable for p in twin.parameters()] == [p.trainable for p in model.parameters()]
    assert twin.vocab == VOCAB
    assert not twin.training  # ready to be used: logits without dropout
    ids = asarray(np.array([[0, 3, 1, 4]]))
    assert np.array_equal(asnumpy(twin.eval().logits(ids)), asnumpy(model.eval().logits(ids)))


def test_the_number_type_of_the_weights_comes_back(tmp_path: Path) -> None:
    model = RNNLM(5, 4, 4)
    model.astype("float64")
    save(tmp_path / "m.npz", model)
    assert_same(model, load(tmp_path / "m.npz"))


def test_layers_plugged_together_by_hand_are_saved_and_loaded_into_others(tmp_path: Path) -> None:
    model, twin = by_hand(), by_hand()
    save(tmp_path / "m.npz", model)
    with pytest.raises(ValueError, match=r"holds a Sequential.*load\(path, into=model\)"):
        load(tmp_path / "m.npz")
    W = twin.layers[0].W
    assert load(tmp_path / "m.npz", into=twin) is twin
    assert_same(model, twin)
    assert twin.layers[0].W is W
    assert twin.layers[2].W.T is W


def test_numpy_opens_the_file_and_finds_the_names(tmp_path: Path) -> None:
    model = RNNLM(5, 4, 4)
    save(tmp_path / "m.npz", model)
    with np.load(tmp_path / "m.npz", allow_pickle=False) as file:
        assert set(file.files) == {"meta.json", *values(model)}


def test_the_same_model_gives_the_same_bytes(tmp_path: Path) -> None:
    deepnlp.seed(3)
    save(tmp_path / "a.npz", RNNLM(5, 4, 4), VOCAB)
    time.sleep(0.01)
    deepnlp.seed(3)
    (tmp_path / "elsewhere").mkdir()
    save(tmp_path / "elsewhere" / "b.npz", RNNLM(5, 4, 4), VOCAB)
    data = (tmp_path / "a.npz").read_bytes()
    assert data == (tmp_path / "elsewhere" / "b.npz").read_bytes()
    assert str(tmp_path).encode() not in data
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        assert {info.date_time for info in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}


def test_arrays_of_every_layout_come_back(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    arrays = {
        "turned": rng.standard_normal((3, 4)).T,
        "strided": rng.standard_normal(10)[::3],
        "scalar": np.float32(2.5).reshape(()),
        "empty": np.zeros((0, 3)),
        "ids/large": np.array([2**62], dtype=np.uint64),
    }
    meta = {"big": 2**127 + 1, "float": 0.1 + 0.2, "none": None, "text": "語"}
    write_npz(tmp_path / "a.npz", arrays, meta)
    found, text = read_npz(tmp_path / "a.npz")
    assert text == meta
    assert set(found) == set(arrays)
    for name, array in arrays.items():
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape
        assert np.array_equal(found[name], array)


@pytest.mark.parametrize(
    ("into", "message"),
    [
        (
            lambda: RNNLM(5, 3, 3),
            r"m\.npz: parameter layers\.0\.W should have shape \(5, 3\), the file has \(5, 4\)",
        ),
        (lambda: RNNLM(5, 4, 4, layers=3), r"the model has a parameter layers\.\d\.W?h?x?b?, the"),
        (lambda: RNNLM(5, 4, 4, output_bias=False), "the file has a parameter .*, the model has"),
    ],
)
def test_the_first_difference_is_named(into: Any, message: str, tmp_path: Path) -> None:
    save(tmp_path / "m.npz", RNNLM(5, 4, 4))
    model = into()
    before = {name: value.copy() for name, value in values(model).items()}
    with pytest.raises(ValueError, match=message):
        load(tmp_path / "m.npz", into=model)
    for name, value in values(model).items():
        assert np.array_equal(value, before[name])


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"no checkpoint .*m\.npz"):
        load(tmp_path / "m.npz")
    with pytest.raises(FileNotFoundError, match=r"expected best\.npz or checkpoint\.npz"):
        load(tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        save(tmp_path / "none" / "m.npz", RNNLM(5, 4, 4))


def test_a_run_folder_gives_its_best_model_or_else_the_latest(tmp_path: Path) -> None:
    latest, best = RNNLM(5, 4, 4), RNNLM(5, 4, 4)
    save(tmp_path / "checkpoint.npz", latest)
    assert_same(load(tmp_path), latest)
    save(tmp_path / "best.npz", best)
    assert_same(load(tmp_path), best)


def damage_in_the_middle(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0xFF]) + data[middle + 1 :]


@pytest.mark.parametrize(
    "damage",
    [lambda d: d[: len(d) // 2], lambda d: b"", lambda d: b"text" * 99, damage_in_the_middle],
    ids=["cut off", "empty", "text", "a bit turned"],
)
def test_a_damaged_file_is_named_in_one_line(damage: Any, tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    save(path, RNNLM(5, 8, 8))
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DeepNLPError, match=r"m\.npz is damaged, or is not a checkpoint") as caught:
        load(path)
    assert "\n" not in str(caught.value)


def test_files_of_others_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.npz"
    np.savez(path, W=np.ones(3))
    with pytest.raises(DeepNLPError, match=r"it has no meta\.json"):
        load(path)
    np.savez(path, **{"meta.json": np.array([{"a": 1}], dtype=object)}, allow_pickle=True)
    with pytest.raises(DeepNLPError, match="not a checkpoint of deepnlp"):
        load(path)
    write_npz(path, {}, {"version": 99})
    with pytest.raises(DeepNLPError, match="format 99, this deepnlp reads format 2"):
        load(path)


def test_a_failure_while_saving_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.npz"
    save(path, RNNLM(5, 4, 4))
    before = path.read_bytes()

    def fail(*args: Any, **kwargs: Any) -> None:
        raise OSError("disk full")

    for module, name in ((np.lib.format, "write_array"), (os, "fsync"), (Path, "replace")):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, fail)
            with pytest.raises(OSError, match="disk full"):
                save(path, RNNLM(5, 4, 4))
        assert path.read_bytes() == before
        assert [file.name for file in tmp_path.iterdir()] == ["m.npz"]


SAVE_FOREVER = """
import sys
from deepnlp.checkpoint import save
from deepnlp.models import RNNLM
model = RNNLM(400, 64, 64)
while True:
    save(sys.argv[1], model)
    print("saved", flush=True)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
@pytest.mark.parametrize("delay", [0.0011, 0.0037, 0.0104])
def test_a_process_killed_while_it_saves_leaves_a_whole_file(delay: float, tmp_path: Path) -> None:
    path = tmp_path / "m.npz"
    with subprocess.Popen(
        [sys.executable, "-c", SAVE_FOREVER, str(path)], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(delay)  # somewhere within a later save
        process.kill()
    assert load(path).vocab_size == 400


def test_a_vocabulary_from_the_file_is_given_to_the_model_it_goes_into(tmp_path: Path) -> None:
    save(tmp_path / "m.npz", Affine(np.ones((2, 3))), VOCAB)
    model: Any = load(tmp_path / "m.npz", into=Affine(np.zeros((2, 3))))
    assert model.vocab == VOCAB


def test_a_model_that_is_not_finite_is_not_saved(tmp_path: Path) -> None:
    model = RNNLM(5, 4, 4)
    save(tmp_path / "m.npz", model)
    before = (tmp_path / "m.npz").read_bytes()
    model.parameters()[0].value[0, 0] = np.nan
    with pytest.raises(ValueError, match=r"layers\.0\.W has values that are not finite"):
        save(tmp_path / "m.npz", model)
    with pytest.raises(ValueError, match="JSON compliant"):
        write_npz(tmp_path / "m.npz", {}, {"best": float("nan")})
    assert (tmp_path / "m.npz").read_bytes() == before


# --- What a checkpoint says of its model --------------------------------------------------------


class Own(SimpleRNNLM):
    """A model of one's own, which no list names."""

    def __init__(self, vocab_size: int, width: int, scale: Any = 1.0) -> None:
        super().__init__(vocab_size, width, width)
        self._remember(Own, vocab_size=vocab_size, width=width, scale=scale)


class Forgetful(SimpleRNNLM):
    """Its constructor remembers only what the one it builds on takes."""

    def __init__(self, size: int) -> None:
        super().__init__(size, size, size)


def test_a_model_of_ones_own_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path / "m.npz", Own(5, np.int64(3)), VOCAB)
    twin: Any = load(tmp_path / "m.npz")
    assert type(twin) is Own
    assert twin.config() == {"vocab_size": 5, "width": 3, "scale": 1.0}
    monkeypatch.delitem(Model.kinds, Own.kind())
    with pytest.raises(ValueError, match=rf"holds a {__name__}\.Own: import .* {__name__} first"):
        load(tmp_path / "m.npz")
    assert load(tmp_path / "m.npz", into=twin) is twin


def test_a_model_that_forgets_what_it_was_built_from_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"should begin with self\._remember\(Forgetful, \*\*loc"):
        save(tmp_path / "m.npz", Forgetful(4))
    with pytest.raises(TypeError, match=r"Own: a checkpoint keeps .* as JSON .*Own\.starts"):
        Own(5, 3, scale=np.ones(3))


@pytest.mark.parametrize(
    ("model", "lie"),
    [
        (lambda: RNNLM(5, 4, 4), {"vocab_size": 10**7, "embed_size": 10**5, "hidden_size": 10**5}),
        (lambda: RNNLM(5, 4, 4), {"hidden_size": 10**5, "embed_size": 10**5}),
        (lambda: RNNLM(5, 4, 4), {"layers": 100, "hidden_size": 5000, "embed_size": 5000}),
        (lambda: RNNLM(5, 4, [4, 4]), {"hidden_size": [10**5, 4]}),
        (lambda: CBOW(5, 4), {"vocab_size": 10**9}),
    ],
)
def test_a_description_that_is_larger_than_the_file_takes_no_memory(
    model: Any, lie: dict[str, Any], tmp_path: Path
) -> None:
    arrays, meta = pack_model(model())
    meta["config"] |= lie
    write_npz(tmp_path / "m.npz", arrays, meta)
    with pytest.raises(
        DeepNLPError, match=r"m\.npz describes a \w+ of [\d,]+ weights or more, and"
    ):
        load(tmp_path / "m.npz")


@pytest.mark.parametrize("wrong", [[], {}, None, 3])
def test_a_class_that_is_none_is_named(wrong: Any, tmp_path: Path) -> None:
    arrays, meta = pack_model(RNNLM(5, 4, 4))
    write_npz(tmp_path / "m.npz", arrays, meta | {"class": wrong})
    with pytest.raises(ValueError, match=r"m\.npz holds a .*, which was plugged together by hand"):
        load(tmp_path / "m.npz")
