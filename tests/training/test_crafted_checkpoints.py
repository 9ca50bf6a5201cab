"""Checkpoints with a valid digest that no run has written: none is believed, nothing is touched."""

from __future__ import annotations

import copy
import io
import json
import math
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deepnlp import DeepNLPError
from deepnlp.checkpoint import load
from deepnlp.files import archives
from deepnlp.files.archives import META, read_npz, write_npz
from deepnlp.optimizers import NTASGD
from deepnlp.training import Cosine, TrainConfig
from tests.training.tools import STEPS_AN_EPOCH, stop_at, tiny_trainer

STOPPED = STEPS_AN_EPOCH + 5  # in the second of three epochs


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run")
    trainer = tiny_trainer(path)
    stop_at(trainer, STOPPED, "interrupt")
    trainer.fit()
    return path


@pytest.fixture
def crafted(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[Callable[[dict[str, Any], dict[str, Any]], Any]], Path]:
    """A copy of the run whose checkpoint was changed, and has the digest of what it is now."""

    def craft(change: Callable[[dict[str, Any], dict[str, Any]], Any]) -> Path:
        for file in folder.iterdir():
            (tmp_path / file.name).write_bytes(file.read_bytes())
        arrays, meta = read_npz(tmp_path / "checkpoint.npz")
        change(arrays, meta)
        with monkeypatch.context() as patch:
            patch.setattr(archives, "_check_arrays", lambda arrays: None)
            write_npz(tmp_path / "checkpoint.npz", arrays, meta)
        return tmp_path

    return craft


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir() if file.name != ".lock"}


def is_refused(folder: Path, message: str, **options: Any) -> None:
    """The run cannot be resumed; neither the folder nor the trainer is changed."""
    before = contents(folder)
    trainer = tiny_trainer(folder, **options)
    weights = [p.value.copy() for p in trainer.parameters]
    state, schedule = trainer.optimizer.state(), trainer.schedule.state()
    with pytest.raises((DeepNLPError, ValueError), match=message) as caught:
        trainer.fit(resume=True)
    assert "\n" not in str(caught.value)
    assert contents(folder) == before
    assert trainer.state.step == 0
    assert trainer.history == []
    assert trainer.best is None
    assert trainer.optimizer.state() == state
    assert trainer.schedule.state() == schedule
    for parameter, weight in zip(trainer.parameters, weights, strict=True):
        np.testing.assert_array_equal(parameter.value, weight)


def setting(*path: str, to: Any) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    """The change of one entry of the JSON text."""

    def change(arrays: dict[str, Any], meta: dict[str, Any]) -> None:
        table = meta
        for key in path[:-1]:
            table = table[key]
        assert path[-1] in table
        table[path[-1]] = to

    return change


def removing(*path: str) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    def change(arrays: dict[str, Any], meta: dict[str, Any]) -> None:
        table = meta
        for key in path[:-1]:
            table = table[key]
        del table[path[-1]]

    return change


def test_unchanged_it_goes_on(crafted: Any) -> None:
    path = crafted(lambda arrays, meta: None)
    assert tiny_trainer(path).fit(resume=True).status == "finished"


COUNTERS = [
    ("step", 10**9, "step should be"),
    ("step", STOPPED + 1, "step should be 19, got 20"),
    ("step", float(STOPPED), "step should be a whole number, 0 or more"),
    ("step", True, "step should be a whole number, 0 or more"),
    ("step", "19", "step should be a whole number, 0 or more"),
    ("step", None, "step should be a whole number, 0 or more"),
    ("epoch", 1.5, "epoch should be a whole number, 0 or more"),
    ("epoch", 99, "epoch should be at most 3"),
    ("epoch", 3, "batch should be at most 0"),
    ("epoch", -1, "epoch should be a whole number, 0 or more, got -1"),
    ("epoch", 0, "number of rows of figures should be 0"),
    ("batch", STEPS_AN_EPOCH + 1, "batch should be at most 14"),
    ("batch", -1, "batch should be a whole number, 0 or more"),
    ("batch", 0, "step should be"),
    ("targets", -1, "targets should be a whole number, 0 or more"),
    ("norm_sum", -1.0, "norm_sum should be a number, 0 or more"),
    ("best", "nan", "best should be a number"),
    ("best", None, "best and best_epoch should be there"),
    ("best_epoch", 2, "epochs_without should be"),
    ("best_epoch", 0, "best_epoch should be a whole number, 1 or more"),
    ("best_epoch", None, "best and best_epoch should be there"),
    ("epochs_without", 7, "epochs_without should be"),
]


@pytest.mark.parametrize(("name", "value", "message"), COUNTERS)
def test_counters_that_do_not_agree(name: str, value: Any, message: str, crafted: Any) -> None:
    is_refused(crafted(setting("training", "state", name, to=value)), message)


@pytest.mark.parametrize("value", [math.nan, math.inf])
@pytest.mark.parametrize("name", ["best", "loss_sum", "norm_sum"])
def test_a_counter_that_is_not_finite(
    name: str, value: float, crafted: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    dumps = json.dumps
    with monkeypatch.context() as patch:
        patch.setattr(json, "dumps", lambda *a, **o: dumps(*a, **{**o, "allow_nan": True}))
        path = crafted(setting("training", "state", name, to=value))
    is_refused(path, "damaged, or is not a checkpoint .*JSON compliant")


def test_the_first_epoch_has_no_best(crafted: Any) -> None:
    def change(arrays: dict[str, Any], meta: dict[str, Any]) -> None:
        meta["training"]["state"] |= {"epoch": 0, "batch": 5, "step": 5}
        meta["training"]["history"] = []

    is_refused(crafted(change), "best and best_epoch should be None")


def test_sums_at_the_beginning_of_an_epoch_are_zero(crafted: Any) -> None:
    def change(arrays: dict[str, Any], meta: dict[str, Any]) -> None:
        meta["training"]["state"] |= {"batch": 0, "step": STEPS_AN_EPOCH}

    is_refused(crafted(change), "sums of an epoch should be 0")


WRONG_ARRAYS = [
    (lambda W: W.astype("U"), "should be numbers, it is an array of <U"),
    (lambda W: W.astype("int32"), "should be (floating-point numbers|float32), .* .?int32"),
    (lambda W: W > 0, "should be numbers, it is an array of bool"),
    (lambda W: W.astype("int64").astype("datetime64[s]"), r"should be numbers.*datetime64"),
    (lambda W: W.astype("complex64"), r"should be numbers.*complex64"),
    (lambda W: W * np.nan, "has values that are not finite"),
    (lambda W: W + np.float32(np.inf), "has values that are not finite"),
    (lambda W: W.astype("float64"), "should .*float32,.* float64"),
    (lambda W: W.astype(">f4"), "an array of >f4"),
    (lambda W: W[:-1], "should have shape"),
    (lambda W: W[..., None], "should have shape|all of"),
    (lambda W: W.astype([("a", "f4")]), "should be numbers"),
]
NAMES = ["layers.0.W", "best/layers.0.W", "optimizer/0.m", "carried/layers.2.h"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("wrong", WRONG_ARRAYS, ids=lambda wrong: wrong[1])
def test_arrays_of_anything_else(name: str, wrong: Any, crafted: Any) -> None:
    turn, message = wrong
    if "float64" in message and name.startswith("carried"):
        return  # the state of a text may be wider than the weights
    with np.errstate(invalid="ignore"):
        path = crafted(lambda arrays, meta: arrays.update({name: turn(arrays[name])}))
    is_refused(path, message)
    if name == "layers.0.W":
        with pytest.raises((DeepNLPError, ValueError), match=message):
            load(path / "checkpoint.npz")


def test_a_model_alone_with_such_weights_is_refused(crafted: Any) -> None:
    path = crafted(lambda arrays, meta: arrays.update(W=np.zeros(3, "f4")))
    with pytest.raises(ValueError, match="a parameter W, the model has none"):
        load(path / "checkpoint.npz")


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_array(name: str, crafted: Any) -> None:
    is_refused(crafted(lambda arrays, meta: arrays.pop(name)), "none of that name|not a s|all of")


def test_an_array_that_nobody_knows(crafted: Any) -> None:
    is_refused(
        crafted(lambda arrays, meta: arrays.update({"x/y": np.zeros(1)})), "name of an array"
    )


PIECES = [
    (setting("training", to=[]), "training should be a table"),
    (removing("training", "random"), "it has no 'random'"),
    (setting("training", "history", to={}), "history should be a list"),
    (setting("training", "setup", to=None), "setup should be a table"),
    (removing("training", "state", "batch"), "names in state"),
    (removing("training", "corpus", "fingerprint"), "corpus should be a table with a fingerprint"),
    (setting("training", "random", to={}), "random should be a state of PCG64"),
    (setting("training", "random", "bit_generator", to="MT19937"), "random should be"),
    (setting("training", "random", "state", "inc", to=2**200), "random should be"),
    (setting("training", "optimizer", "lr", to=-1.0), "state lr should be a finite number"),
    (setting("training", "optimizer", "lr", to="0.1"), "state lr should be a finite number"),
    (
        setting("training", "optimizer", "0.steps", to=1.0),
        "0.steps should be a whole number, 1 or more",
    ),
    (
        setting("training", "optimizer", "0.steps", to=0),
        "0.steps should be a whole number, 1 or more",
    ),
    (removing("training", "optimizer", "0.steps"), "not a state of this optimizer"),
    (
        setting("training", "schedule", "level", to=4.0),
        "schedule level should be a number, 0 or more and at most 1",
    ),
    (setting("training", "schedule", "level", to=True), "schedule level"),
    (
        setting("training", "schedule", "epochs_without", to=99),
        "epochs_without should be a whole number, 0 or more and at most 1",
    ),
    (setting("training", "schedule", "best", to="x"), "schedule best should be a number"),
    (removing("training", "schedule", "best"), "it has no 'best'"),
    (setting("training", "carried", "layers.1.calls", to=-1), "calls should be a whole number"),
    (setting("training", "carried", "layers.1.key", to=0.5), "key should be a whole number"),
    (setting("training", "carried", "layers.2.given", to=5), "a carried state should have"),
    (removing("training", "carried", "layers.1.key"), "not a snapshot of this layer"),
    (setting("training", "history", to=[]), "number of rows of figures should be 1"),
    (setting("training", "history", to=[{"epoch": 1, "step": 13}]), "step should be 18"),
    (setting("training", "history", to=[{"epoch": 2, "step": 14}]), "epoch in row 1"),
    (setting("training", "history", to=[{"epoch": 1, "step": 14, "a": "b"}]), "a in row 1"),
    (setting("training", "history", to=[7]), "row 1 of the figures should be a table"),
    (setting("config", "hidden_size", to=7), "config of the model should be"),
    (setting("class", to="SimpleRNNLM"), "class of the model should be"),
    (setting("vocab", to=None), "vocab of the model should be"),
    (setting("vocab", "counts", to=[-1] * 11), "vocab should have tokens, as many counts"),
    (setting("vocab", "tokens", to="abcdefghijk"), "vocab should have tokens, as many counts"),
    (setting("vocab", "tokenizer", to="chars"), "vocabulary needs the token"),
]


@pytest.mark.parametrize(("change", "message"), PIECES, ids=[message for _, message in PIECES])
def test_pieces_that_are_missing_or_wrong(change: Any, message: str, crafted: Any) -> None:
    is_refused(crafted(change), message)


def test_a_vocabulary_of_another_size(crafted: Any) -> None:
    def change(arrays: dict[str, Any], meta: dict[str, Any]) -> None:
        meta["vocab"]["tokens"].append("z")
        meta["vocab"]["counts"].append(1)

    path = crafted(change)
    is_refused(path, "vocab should have 11 tokens, the file has 12")
    with pytest.raises(ValueError, match="vocab should have 11 tokens, the file has 12"):
        load(path / "checkpoint.npz")


def test_squares_that_are_negative(crafted: Any) -> None:
    is_refused(
        crafted(lambda arrays, meta: arrays["optimizer/0.s"].__isub__(1)), "being a sum of squares"
    )


# --- The container ------------------------------------------------------------------------------


def rewritten(path: Path, change: Callable[[dict[str, bytes]], Any], **options: Any) -> None:
    """The archive with other members, each with a valid checksum of its own."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w", **options) as archive:
        for name, data in members.items():
            archive.writestr(name.removesuffix("|"), data)


def npy(array: np.ndarray[Any, Any]) -> bytes:
    file = io.BytesIO()
    np.lib.format.write_array(file, array)
    return file.getvalue()


def lied(header: str) -> bytes:
    """The bytes of an array whose header says something else."""
    text = header.encode("latin-1").ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(8)


def member(name: str, array: Any) -> Callable[[dict[str, bytes]], Any]:
    return lambda members: members.update({f"{name}.npy": npy(array)})


def header(text: str) -> Callable[[dict[str, bytes]], Any]:
    return lambda members: members.update({"a.npy": lied(text)})


def text(content: bytes) -> Callable[[dict[str, bytes]], Any]:
    return member(META, np.frombuffer(content, np.uint8))


CONTAINERS = [
    (lambda m: m.update({"layers.0.W.npy|": m["layers.0.W.npy"]}), "two members layers.0.W.npy"),
    (member("layers.0.W", np.ones((11, 6), "f4")), "not those of its digest"),
    (lambda m: m.pop("best/layers.0.W.npy"), "not those of its digest"),
    (lambda m: m.update({"notes.txt": b"mine"}), "notes.txt is no array"),
    (header("{'descr': '<f8', 'fortran_order': False, 'shape': (10**12,)}"), ""),
    (header("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}"), ""),
    (header("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}"), "in another order than C"),
    (header("{'descr': '<f8', 'fortran_order': True, 'shape': (1, 1)}"), "another order than C"),
    (text(b"[1]"), "holds no object"),
    (text(b'{"a": 1, "a": 2}'), "key twice"),
    (text(b"[" * 10**5), "recursion"),
    (text(b'{"format": "deepnlp"}'), "its version is None"),
]


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(("change", "message"), CONTAINERS, ids=range(len(CONTAINERS)))
def test_archives_that_lie(change: Any, message: str, crafted: Any) -> None:
    path = crafted(lambda arrays, meta: None)
    rewritten(path / "checkpoint.npz", change)
    is_refused(path, f"damaged, or is not a checkpoint.*{message}")


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_compressed_archive_is_refused_before_it_is_unpacked(method: int, crafted: Any) -> None:
    path = crafted(lambda arrays, meta: None)
    rewritten(path / "checkpoint.npz", lambda members: None, compression=method)
    is_refused(path, "is compressed")


@pytest.mark.parametrize("version", [1.0, "2", None, True, [2]])
def test_a_version_is_a_whole_number(version: Any, crafted: Any) -> None:
    is_refused(crafted(lambda arrays, meta: meta.update(version=version)), "its version is")


def test_a_bit_of_the_text_or_of_a_weight_is_noticed_by_the_digest(folder: Path) -> None:
    arrays, meta = read_npz(folder / "checkpoint.npz")
    head = {"format": "deepnlp", "version": 2, **meta}
    digest = archives.digest(arrays, head)
    changed = copy.deepcopy(arrays)
    changed["best/layers.0.W"][0, 0] *= -1
    assert archives.digest(changed, head) != digest
    reshaped = {**arrays, "layers.0.W": arrays["layers.0.W"].reshape(6, 11)}
    assert archives.digest(reshaped, head) != digest
    assert archives.digest(arrays, {**head, "class": "Tagger"}) != digest


# --- Everything that a checkpoint knows is compared ---------------------------------------------


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: setattr(t.optimizer, "betas", (0.5, 0.9)), "another betas"),
        (lambda t: setattr(t.optimizer, "eps", 1e-3), "another eps"),
        (lambda t: setattr(t.optimizer, "weight_decay", 0.1), "another weight_decay"),
        (lambda t: setattr(t.schedule, "factor", 0.25), "another lr_factor"),
        (lambda t: setattr(t.schedule, "warmup_steps", 9), "another warmup_steps"),
        (lambda t: setattr(t.schedule, "floor", 0.5), "another lr_floor"),
        (lambda t: setattr(t.schedule, "threshold", 0.5), "another lr_threshold"),
        (lambda t: setattr(t.schedule, "patience", 3), "another lr_patience"),
        (lambda t: setattr(t, "max_norm", 3.0), "another max_norm"),
        (lambda t: setattr(t, "early_stop", 3), "another early_stop"),
        (lambda t: setattr(t, "seed", 3), "another seed"),
    ],
)
def test_another_setting_from_python_is_refused(change: Any, message: str, crafted: Any) -> None:
    path = crafted(lambda arrays, meta: None)
    before = contents(path)
    trainer = tiny_trainer(path)
    change(trainer)
    with pytest.raises(ValueError, match=message):
        trainer.fit(resume=True)
    assert contents(path) == before


def test_another_length_of_a_schedule_is_refused(tmp_path: Path) -> None:
    tiny_trainer(tmp_path, epochs=1, schedule=Cosine(99)).fit()
    message = (
        r"another total_steps: the run began with 99, got 98 \(its schedule ends with the last"
    )
    with pytest.raises(ValueError, match=message):
        tiny_trainer(tmp_path, epochs=2, schedule=Cosine(98)).fit(resume=True)


def test_another_option_of_the_config_is_refused(tmp_path: Path) -> None:
    """Also one that the trainer and its parts do not have."""
    tiny_trainer(tmp_path, epochs=1, config=TrainConfig(seed=1)).fit()
    with pytest.raises(ValueError, match="another seed: the run began with 1, got 2"):
        tiny_trainer(tmp_path, epochs=2, config=TrainConfig(seed=2)).fit(resume=True)
    tiny_trainer(tmp_path, epochs=2, config=TrainConfig(seed=1, corpus="moved")).fit(resume=True)


def test_the_options_of_a_run_hold_no_paths() -> None:
    fixed = TrainConfig(corpus="here.txt").fixed()
    assert "corpus" not in fixed
    assert {"seed", "momentum", "lr_floor", "unigram_bias", "cell"} <= set(fixed)
    assert {"epochs", "checkpoint_every", "baselines"}.isdisjoint(fixed)


@pytest.mark.parametrize(
    "wrong",
    [
        {"averaged": -1},
        {"averaged": 1.0},
        {"averaging": 1},
        {"averaging": False, "averaged": 3},
        {"losses": np.array([np.nan])},
        {"losses": np.array([["a"]])},
    ],
)
def test_an_average_that_cannot_be(wrong: dict[str, Any]) -> None:
    trainer = tiny_trainer()
    optimizer = NTASGD(trainer.parameters, lr=1.0)
    state = {"lr": 1.0, "averaging": False, "averaged": 0, "losses": np.zeros(0)}
    optimizer.load_state(state)
    with pytest.raises(ValueError, match="NTASGD: not a state"):
        optimizer.load_state({**state, **wrong})


@pytest.mark.parametrize("length", [1, 20, 60, 100, 117])
def test_a_header_of_an_array_that_is_cut(tmp_path: Path, length: int) -> None:
    with io.BytesIO() as stream:
        np.save(stream, np.arange(3))
        header = stream.getvalue()[10:-25][:length]
    with zipfile.ZipFile(tmp_path / "c.npz", "w") as archive:
        start = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little")
        archive.writestr("meta.json.npy", start + header)
    with pytest.raises(DeepNLPError, match="is damaged, or is not a checkpoint of deepnlp"):
        read_npz(tmp_path / "c.npz")
