"""``deepnlp vectors`` on a trained model, both sides."""

import numpy as np
import pytest

from deepnlp.models import RNNLM, RegularisedRNNLM
from deepnlp.text import Vocabulary
from deepnlp.training import load, save
from deepnlp.vectors import WordVectors


@pytest.mark.parametrize("side", ["input", "output"])
def test_the_vectors_of_a_run(deepnlp, run_folder, tmp_path, side):
    model = load(run_folder)
    expected = WordVectors(model.vocab.tokens, model.vectors(side))
    for source in (run_folder, run_folder / "best.npz"):
        options = ["vectors", "neighbours", source, "cat", "-k", 3, "--side", side]
        found = deepnlp(*options, "--json").json
        assert found["side"] == side
        assert found["neighbours"]["cat"] == [
            {"word": word, "cosine": cosine} for word, cosine in expected.neighbours("cat", 3)
        ]
    out = tmp_path / "v.npy"
    assert deepnlp("vectors", "convert", run_folder, out, "--side", side).code == 0
    np.testing.assert_array_equal(WordVectors.load(out).matrix, expected.matrix)
    few = deepnlp("vectors", "neighbours", run_folder, "the", "--limit", 4, "--json").json
    assert {row["word"] for row in few["neighbours"]["the"]} <= set(model.vocab.tokens[:4])
    assert few["side"] == "input"


def test_sides_that_differ_and_words_that_are_predicted(deepnlp, tmp_path):
    vocab = Vocabulary.build(["the", "the", "the", "cat", "cat", "dog"])
    rng = np.random.default_rng(2)
    ids = [vocab.id("dog"), vocab.id("the"), vocab.unk_id]
    model = RegularisedRNNLM(len(vocab), 3, 4, layers=1, tie="none", output_ids=ids, rng=rng)
    save(tmp_path / "m.npz", model, vocab)
    options = ["vectors", "convert", tmp_path / "m.npz", tmp_path / "v.npy", "--overwrite"]
    assert deepnlp(*options).out.endswith("v.npy: 5 words, D = 3\n")
    assert deepnlp(*options, "--side", "output").out.endswith("v.npy: 3 words, D = 4\n")
    found = WordVectors.load(tmp_path / "v.npy")
    assert found.words == ("dog", "the", "<unk>")
    np.testing.assert_array_equal(found["the"], model.vectors("output")[1])


def test_a_character_model_keeps_its_line_break(deepnlp, tmp_path):
    vocab = Vocabulary.build(list("the cat\n"), tokenizer="chars")
    save(tmp_path / "m.npz", RNNLM(len(vocab), 3, 3, layers=1, rng=np.random.default_rng(2)), vocab)
    refused = deepnlp("vectors", "convert", tmp_path / "m.npz", tmp_path / "v.txt")
    assert "cannot hold the word" in refused.err
    assert ".npy holds every word" in refused.err
    assert deepnlp("vectors", "convert", tmp_path / "m.npz", tmp_path / "v.npy").code == 0
    assert "\n" in WordVectors.load(tmp_path / "v.npy")


def test_a_model_without_a_vocabulary(deepnlp, tmp_path):
    save(tmp_path / "m.npz", RNNLM(7, 3, 3, layers=1, rng=np.random.default_rng(2)))
    done = deepnlp("vectors", "neighbours", tmp_path / "m.npz", "cat")
    assert (done.code, done.err.count("\n")) == (2, 1)
    assert "vocabulary" in done.err
