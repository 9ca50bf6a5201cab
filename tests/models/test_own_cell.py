"""A cell of the user's own, in the file ``mgu.py``: in every model, and from the command line."""

import inspect
from pathlib import Path

import numpy as np
import pytest

import deepnlp
from deepnlp import checkpoint
from deepnlp.errors import DeepNLPError
from deepnlp.examples.layers import _layer
from deepnlp.kernels import formulas
from deepnlp.layers import TimeGRU, lstm
from deepnlp.models import RNNLM, Seq2Seq, Tagger
from deepnlp.models.options import CELLS, Cells, cell_of_file
from deepnlp.optimizers import Adam
from tests.cli.conftest import TINY, text_file  # noqa: F401
from tests.cli.conftest import deepnlp as command  # noqa: F401
from tests.layers import test_contract
from tests.models.mgu import MGU

FILE = Path(__file__).with_name("mgu.py")
IDS = np.array([[1, 2, 3, 4], [4, 3, 2, 1]])
MODELS = {
    "RNNLM": (lambda cell: RNNLM(6, 8, 8, cell=cell, dropout=0.0), (IDS, IDS)),
    "RNNLM, book": (lambda cell: RNNLM(6, 8, 8, cell=cell, init="book", dropout=0.0), (IDS, IDS)),
    "Seq2Seq": (
        lambda cell: Seq2Seq(6, 6, 8, 8, cell=cell, bidirectional=True),
        (IDS, None, IDS, IDS),
    ),
    "Tagger": (lambda cell: Tagger(6, 6, 8, 8, cell=cell, layers=2), (IDS, [4, 3], IDS % 6)),
}
ROWS = [*_layer("", MGU, "D,2H H,2H 2H", "N,T,D")]
CONTRACT = {
    name: test
    for name, test in vars(test_contract).items()
    if name.startswith("test_") and "examples" in inspect.signature(test).parameters
}


@pytest.fixture(autouse=True)
def only_the_cells_of_the_package(monkeypatch):
    known = {name: cell for name, cell in CELLS.items() if "#" not in name}
    CELLS.clear()
    CELLS.update(known)
    yield
    CELLS.clear()
    CELLS.update(known)


@pytest.mark.parametrize("name", CONTRACT)
def test_one_row_brings_the_tests_of_the_contract(array_backend, name):
    test, fixtures = CONTRACT[name], {"array_backend": array_backend}
    needed = fixtures.keys() & inspect.signature(test).parameters
    test(examples=[(row,) for row in ROWS], **{fixture: fixtures[fixture] for fixture in needed})


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("cell", ["a file's", "a notebook's", "mogrifier"])
def test_every_model_takes_a_cell_of_ones_own(name, cell):
    make, batch = MODELS[name]
    if cell == "a notebook's":
        CELLS["mgu#"] = MGU
    key = {"a file's": lambda: cell_of_file(f"{FILE}:MGU"), "a notebook's": lambda: "mgu#"}
    deepnlp.seed(0)
    model = make(key.get(cell, lambda: cell)())
    optimizer, losses = Adam(model.parameters(), lr=0.05), []
    for _ in range(40):
        model.reset_state()
        model.zero_grad()
        losses.append(float(model.forward(*batch)))
        model.backward()
        optimizer.step()
    assert losses[-1] < 0.7 * losses[0]


def test_a_checkpoint_runs_no_file_that_nobody_named(tmp_path):
    file, ran = tmp_path / "mine.py", tmp_path / "ran"
    source = f"with open({str(ran)!r}, 'a') as f: f.write('x')\n{FILE.read_text('utf-8')}"
    file.write_text(source, "utf-8")
    key = cell_of_file(f"{file}:MGU")
    assert key.startswith("mine.py:MGU#")
    model = RNNLM(6, 4, 4, cell=key)
    checkpoint.save(tmp_path / "model.npz", model)
    assert checkpoint.load(tmp_path / "model.npz").config() == model.config()
    del CELLS[key]
    with pytest.raises(DeepNLPError, match=r"FILE\.py:NAME.* got 'mine.py:MGU#"):
        checkpoint.load(tmp_path / "model.npz")
    assert ran.read_text() == "x"  # once, when its file was named
    file.write_text(source.replace("1 - f", "1.0 - f"), "utf-8")
    assert cell_of_file(f"{file}:MGU") != key
    with pytest.raises(DeepNLPError, match="unchanged since the model was made"):
        checkpoint.load(tmp_path / "model.npz")


@pytest.mark.parametrize(
    ("place", "error", "message"),
    [
        ("none.py:MGU", FileNotFoundError, "none.py"),
        (f"{FILE}:GRU", ValueError, "mgu.py should have a class GRU derived from TimeRecurrent"),
        (f"{FILE}:sigmoid", ValueError, "class sigmoid derived"),
    ],
)
def test_what_is_no_cell_is_refused(place, error, message):
    with pytest.raises(error, match=message):
        cell_of_file(place)


def test_the_command_line_trains_resumes_evaluates_and_generates(command, text_file, tmp_path):  # noqa: F811
    out, cell = tmp_path / "run", ["--cell", f"{FILE}:MGU"]
    done = command("train", "--corpus", text_file, "--out", out, "--tie", "none", *TINY, *cell)
    assert done.code == 0, done.err
    assert "plain form" not in done.out
    only_the_files = {name: CELLS[name] for name in CELLS if "#" in name}
    assert [name.split("#")[0] for name in only_the_files] == ["mgu.py:MGU"]
    calls = {
        "train": ["--out", out, "--resume", "--epochs", "2"],
        "evaluate": [out],
        "generate": [out, "--length", "5"],
        "info": [out],
    }
    for name, arguments in calls.items():
        for key in only_the_files:
            CELLS.pop(key, None)
        refused = command(name, *arguments)
        if name != "info":
            assert refused.code == 2
            assert "FILE.py:NAME" in refused.err
        done = command(name, *arguments, f"--cell={FILE}:MGU")
        assert done.code == 0, done.err


def mine(a, h_prev, c_prev, Wh):
    (_, c), saved = lstm.lstm_step(a, h_prev, c_prev, Wh)
    return (c, c), saved


def test_a_subclass_with_a_step_of_its_own_runs_it(monkeypatch):
    monkeypatch.setattr(formulas, "_warned", set())

    class Mine(deepnlp.layers.TimeLSTM):
        def formula(self):
            return mine, lstm.lstm_step_backward, (self.Wh.value,)

    layer = Mine.init(3, 4, dtype="float64")
    with pytest.warns(UserWarning, match="the formula of mine has changed") as warned:
        _, y = [layer.forward(np.ones((2, 5, 3))) for _ in range(2)]
    assert len(warned) == 1
    np.testing.assert_array_equal(y[:, -1], layer.c)


def test_the_registry_is_where_cells_are_found():
    assert isinstance(CELLS, Cells)
    assert CELLS["gru"] is TimeGRU
