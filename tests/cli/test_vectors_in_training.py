"""``train`` with word vectors and with fewer output words, and the commands on such a run."""

import json

import pytest

from tests.cli.conftest import TINY


@pytest.fixture(scope="module")
def vectors_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("vectors") / "glove.txt"
    path.write_text("cat 1 2 3 4 5 6 7 8\ndog 8 7 6 5 4 3 2 1\n", encoding="utf-8")
    return path


def test_the_commands_on_a_run_with_frozen_vectors_and_fewer_output_words(
    deepnlp, text_file, vectors_file, tmp_path
):
    folder = tmp_path / "run"
    given = ["--corpus", text_file, "--out", folder, *TINY, "--embed-size", "8"]
    more = ["--vectors", vectors_file, "--freeze-embedding", "--output-words", "9"]
    outcome = deepnlp("train", *given, *more, "--tie", "tied+L", "--json")
    assert outcome.code == 0
    assert "vectors of glove.txt: 2 of" in outcome.err
    assert json.loads(outcome.out)["corpus"]["vectors"]["words"] == 2
    info = deepnlp("info", folder)
    assert "of them frozen" in info.out
    assert "output_ids=<9 ids>" in info.out
    evaluated = json.loads(deepnlp("evaluate", folder, "--baselines", "--json").out)
    trained = json.loads(outcome.out)
    assert evaluated["perplexity"] == pytest.approx(trained["perplexity"]["test"], rel=1e-6)
    for name, value in evaluated["baselines"].items():
        assert value == pytest.approx(trained["baselines"][name]["test"], rel=1e-6)
    assert deepnlp("generate", folder, "--length", "5").code == 0
    assert deepnlp("score", folder, "the cat sat").code == 0
    assert deepnlp("gradflow", folder, "--steps", "5").code == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--vectors", "none.txt"], "none.txt"),
        (["--output-words", "2"], "output_words should be 3 or more"),
        (["--output-words", "-1"], "--output-words: should be a whole number, 0 or more"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(deepnlp, text_file, tmp_path, options, message):
    outcome = deepnlp("train", "--corpus", text_file, "--out", tmp_path / "run", *TINY, *options)
    assert outcome.code == 2
    assert message in outcome.err
    assert outcome.err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_vectors_of_another_size_are_refused(deepnlp, text_file, vectors_file, tmp_path):
    given = ["--corpus", text_file, "--out", tmp_path / "run", *TINY, "--embed-size", "5"]
    outcome = deepnlp("train", *given, "--vectors", vectors_file, "--tie", "tied+L")
    assert outcome.code == 2
    assert "embed_size should be 8" in outcome.err
