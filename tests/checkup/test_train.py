"""``deepnlp train --checkup``: the training is examined, and goes on as it would without."""

import numpy as np
import pytest

from deepnlp.cli.main import main

SIZES = ["--embed-size", "8", "--hidden-size", "8", "--batch-size", "4", "--time-size", "10"]


@pytest.fixture
def train(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("the cat sat on the mat and the dog sat on the log\n" * 60, "utf-8")

    def call(name, *options):
        given = ["--corpus", str(text), "--out", str(tmp_path / name), "--epochs", "1"]
        return main(["train", *SIZES, *given, *options]), tmp_path / name

    return call


def test_the_result_is_the_same_to_the_last_bit(train, capsys):
    (code, plain), (again, examined) = train("plain"), train("examined", "--checkup")
    assert (code, again) == (0, 0)
    assert "some epochs" in capsys.readouterr().out
    with np.load(plain / "best.npz") as one, np.load(examined / "best.npz") as other:
        arrays = [name for name in one.files if one[name].dtype.kind == "f"]
        assert len(arrays) > 3
        assert all((one[name] == other[name]).all() for name in arrays)


def test_a_wrong_training_is_not_begun(train, capsys):
    code, folder = train("wrong", "--checkup", "--lr", "300000", "--max-norm", "0")
    assert code == 1
    assert "nothing was trained" in capsys.readouterr().out
    assert not (folder / "result.json").exists()
