"""The models that come with the package answer at once."""

import numpy as np
import pytest

from deepnlp import checkpoint
from deepnlp.checkpoint import PRETRAINED, load, save
from deepnlp.cli.main import main
from deepnlp.generation import generate, translate
from deepnlp.models import RNNLM


def test_they_are_small():
    assert sorted(PRETRAINED) == ["dates", "pydocs-small"]
    assert all(path.stat().st_size <= 2e6 for path in PRETRAINED.values())


def test_the_language_model_writes_and_carries_its_vocabulary(capsys):
    model = load("pydocs-small")
    assert model.parameters()[0].dtype == "float32"
    text = generate(model, "the function", 12, seed=0)
    assert text.startswith("the function")
    assert main(["generate", "pydocs-small", "the function", "--length", "12", "--seed", "0"]) == 0
    assert capsys.readouterr().out == text + "\n"


def test_the_translator_writes_dates(capsys):
    assert main(["translate", "dates", "AUG 19, 2003"]) == 0
    assert capsys.readouterr().out == "2003-08-19\n"
    lines = translate(load("dates"), ["september 27, 1994", "1/2/08"])
    assert [best[0].text for best in lines] == ["1994-09-27", "2008-01-02"]


def test_the_text_to_continue_is_given_once(capsys):
    assert main(["generate", "pydocs-small", "the", "--prompt", "the"]) == 2
    assert "given twice" in capsys.readouterr().err


def test_a_folder_of_the_same_name_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dates").mkdir()
    with pytest.raises(FileNotFoundError, match="no checkpoint in the folder dates"):
        load("dates")


def test_a_half_checkpoint_is_rounded_and_half_the_size(tmp_path):
    model = RNNLM(vocab_size=50, embed_size=16, hidden_size=16)
    save(tmp_path / "whole.npz", model)
    save(tmp_path / "half.npz", model, half=True)
    sizes = [(tmp_path / name).stat().st_size for name in ("half.npz", "whole.npz")]
    assert sizes[0] < 0.7 * sizes[1]
    arrays = checkpoint.get_parameters(model)
    for name, array in checkpoint.get_parameters(load(tmp_path / "half.npz")).items():
        assert array.dtype == np.float32
        np.testing.assert_array_equal(array, arrays[name].astype(np.float16))


def test_half_is_of_a_checkpoint(tmp_path, capsys):
    assert main(["export", "dates", "--out", str(tmp_path / "a.pt"), "--half"]) == 2
    assert "expected a name in .npz" in capsys.readouterr().err
