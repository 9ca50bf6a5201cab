"""``deepnlp train --task vectors``: from a text file to vectors, resumed, and shown again."""

import re

import pytest

from deepnlp.models import CBOW, SkipGram
from deepnlp.training import TrainConfig, load
from tests.cli.conftest import contents

TINY = ["--task", "vectors", "--embed-size", "8", "--batch-size", "4", "--epochs", "2"]


@pytest.mark.parametrize(("name", "kind"), [("cbow", CBOW), ("skipgram", SkipGram)])
def test_a_run_from_text_to_vectors(deepnlp, text_file, tmp_path, name, kind):
    folder = tmp_path / "run"
    options = ["--model", name, "--tie", "tied+L", "--lr", "1", "--window", "3", "--subsample", "0"]
    done = deepnlp("train", *TINY, "--corpus", text_file, "--out", folder, *options)
    assert done.code == 0
    assert "project.W" in done.out
    assert re.search(r"^model +\d\.\d\d +\d\.\d\d$", done.out, re.MULTILINE)
    assert re.search(r"^sampled: number: \w", done.out, re.MULTILINE)
    model = load(folder)
    assert type(model) is kind
    assert model.vectors().shape == (len(model.vocab), 8)
    config = TrainConfig.load(folder / "config.toml")
    assert (config.task, config.model, config.tie, config.window) == ("vectors", name, "tied+L", 3)
    shown = deepnlp("info", folder)
    assert shown.code == 0
    assert f"{kind.__name__}(vocab_size=" in shown.out
    for side in ("input", "output"):
        near = deepnlp("vectors", "neighbours", folder, "cat", "-k", "2", "--side", side)
        assert near.code == 0
        assert near.out.startswith("cat ")
    for command in ("generate", "evaluate"):
        done = deepnlp(command, folder)
        assert done.code == 2
        assert f"holds a {kind.__name__}, expected an RNNLM" in done.err


def test_a_finished_run_goes_on_to_more_epochs(deepnlp, text_file, tmp_path):
    folder = tmp_path / "run"
    options = ["--corpus", text_file, "--schedule", "constant", "--lr", "1"]
    assert deepnlp("train", *TINY, "--out", folder, *options).code == 0
    more = deepnlp("train", *TINY[:-2], "--out", folder, "--resume", "--epochs", "3")
    assert more.code == 0
    assert "epoch 3/3" in more.err
    before = contents(folder)
    refused = deepnlp("train", "--task", "vectors", "--out", folder, "--resume", "--window", "2")
    assert refused.code == 2
    assert "window = 2: it was begun with 5" in refused.err
    assert contents(folder) == before


def test_the_default_recipe_and_its_model(deepnlp, text_file):
    shown = deepnlp("info", "--recipe", "word2vec-skipgram", "--vocab-size", "1000")
    assert shown.code == 0
    assert "200,000 parameters" in shown.out
    options = ["--corpus", text_file, "--dry-run", "--json"]
    planned = deepnlp("train", "--task", "vectors", *options).json
    assert planned["model"].startswith("CBOW(")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--similarity", "nowhere"], "unknown similarity set 'nowhere'"),
        (["--window", "0"], "--window: should be a whole number, 1 or more and at most 1000"),
        (["--model", "glove"], "invalid choice: 'glove'"),
        (["--cell", "gru"], "unrecognized arguments: --cell gru"),
        (["--recipe", "book-rnnlm"], "recipe book-rnnlm is for task 'lm', got 'vectors'"),
        (["--watch-gradients"], "CBOW has no recurrent layer over time"),
    ],
)
def test_errors_take_one_line_and_write_nothing(deepnlp, text_file, tmp_path, options, message):
    try:
        done = deepnlp("train", *TINY, "--corpus", text_file, "--out", tmp_path / "run", *options)
        code, err = done.code, done.err
    except SystemExit as error:
        pytest.fail(f"exit {error.code}")
    assert code == 2
    assert message in err
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "run").exists()
