"""A language model from a file of vectors, or with fewer output words: options to figures."""

import json

import numpy as np
import pytest

from deepnlp.backend import asnumpy
from deepnlp.datasets import load_corpus
from deepnlp.evaluation import perplexity
from deepnlp.models import ngrams
from deepnlp.tasks.fresh_model import output_ids
from deepnlp.training import TrainConfig, build_trainer, configure, load, plan, train

SENTENCES = ["the cat saw the dog .", "a dog saw the cat .", "the dog and a cat sleep ."]
FOUND = {"cat": [0.5, -1.0, 0.25, 2.0], "dog": [1.5, 0.5, -0.5, 1.0], "emu": [9.0, 9.0, 9.0, 9.0]}


@pytest.fixture
def config(tmp_path) -> TrainConfig:
    text = "\n".join(SENTENCES[k] for k in np.random.default_rng(0).integers(0, 3, 80))
    (tmp_path / "text.txt").write_text(text, encoding="utf-8")
    lines = (f"{word} {' '.join(map(str, numbers))}" for word, numbers in FOUND.items())
    (tmp_path / "vectors.txt").write_text("\n".join(lines), encoding="utf-8")
    return configure(
        None,
        {
            **{"corpus": str(tmp_path / "text.txt"), "vectors": str(tmp_path / "vectors.txt")},
            **{"embed_size": 4, "hidden_size": 6, "tie": "tied+L", "layers": 1, "dropout": 0.0},
            **{"epochs": 2, "batch_size": 3, "time_size": 7, "lr": 0.05, "seed": 1},
        },
    )


def test_the_coverage_is_reported(config, tmp_path, capsys):
    result = train(config, tmp_path / "run", progress=True)
    corpus = load_corpus(config.corpus)
    counts = np.bincount(corpus.train)
    share = counts[[corpus.vocab.id("cat"), corpus.vocab.id("dog")]].sum() / counts.sum()
    expected = {
        "file": "vectors.txt",
        "size": 4,
        "words": 2,
        "vocabulary": len(corpus.vocab),
        "share_of_text": round(float(share), 4),
    }
    written = json.loads((tmp_path / "run" / "result.json").read_text(encoding="utf-8"))
    assert written["corpus"]["vectors"] == result.corpus["vectors"] == expected
    line = f"vectors of vectors.txt: 2 of {len(corpus.vocab)} words (20.0%), {share:.1%} of the"
    assert line in capsys.readouterr().err
    assert line in plan(config).table()
    without = train(config.replace(vectors=None), tmp_path / "none", progress=False)
    assert "vectors" not in without.corpus


@pytest.mark.parametrize("tie", ["none", "tied+L"])
def test_only_words_of_the_file_are_frozen(config, tmp_path, tie):
    config = config.replace(freeze_embedding=True, tie=tie)
    trainer = build_trainer(config, tmp_path / "run", progress=False)
    embedding = trainer.model.layers[0].W
    before = asnumpy(embedding.value).copy()
    trainer.fit()
    vocab = trainer.task.corpus.vocab
    same = (asnumpy(embedding.value) == before).all(axis=1)
    kept = {vocab.token(i) for i in np.flatnonzero(same)}
    assert kept - {"<unk>"} == {"cat", "dog"}  # no word of this text is unknown
    np.testing.assert_allclose(asnumpy(embedding.value)[vocab.id("dog")], FOUND["dog"])
    again = load(tmp_path / "run")
    assert np.array_equal(asnumpy(again.layers[0].W.value), asnumpy(embedding.value))


def test_a_file_that_has_every_word_is_frozen_as_a_whole(config, tmp_path):
    vocab = load_corpus(config.corpus).vocab
    lines = "".join(f"{word} {k} 0.5 1 2\n" for k, word in enumerate(vocab.tokens))
    (tmp_path / "vectors.txt").write_text(lines, encoding="utf-8")
    trainer = build_trainer(config.replace(freeze_embedding=True), False, progress=False)
    E = trainer.model.layers[0].W
    assert not E.trainable
    assert asnumpy(E.value)[:, 0].tolist() == list(range(len(vocab)))


def test_vectors_are_looked_up_in_the_data_folder(config, tmp_path, monkeypatch):
    folder = tmp_path / "data" / "glove"
    folder.mkdir(parents=True)
    (tmp_path / "vectors.txt").rename(folder / "small.txt")
    monkeypatch.setenv("DEEPNLP_DATA", str(tmp_path / "data"))
    trainer = build_trainer(config.replace(vectors="glove/small.txt"), False, progress=False)
    assert trainer.task.facts()["vectors"]["words"] == 2
    with pytest.raises(FileNotFoundError, match=r"glove/none\.txt"):
        build_trainer(config.replace(vectors="glove/none.txt"), False, progress=False)


@pytest.mark.parametrize("tie", ["none", "tied+L"])
def test_a_model_with_fewer_output_words_trains_and_is_measured_on_them(config, tmp_path, tie):
    config = config.replace(output_words=5, tie=tie, vectors=None, baselines=True)
    result = train(config, tmp_path / "run", progress=False)
    corpus = load_corpus(config.corpus)
    model = load(tmp_path / "run")
    kept = [corpus.vocab.token(i) for i in model.config()["output_ids"]]
    assert {"<unk>", "<eos>", "the"} < {*kept}
    assert model.output_size == 5
    assert perplexity(model, corpus.test) == pytest.approx(result.perplexity["test"], rel=1e-6)
    assert result.perplexity["valid"] < result.baselines["unigram"]["valid"]
    mapped = {split: model.targets(ids) for split, ids in corpus.splits.items()}
    expected = ngrams.baselines(mapped["train"], {"test": mapped["test"]}, 5)
    assert result.baselines["bigram"]["test"] == expected["bigram"]["test"]
    whole = train(config.replace(output_words=0), tmp_path / "whole", progress=False)
    assert result.parameters < whole.parameters


def test_the_most_frequent_words_are_kept(config):
    corpus = load_corpus(config.corpus)
    counts = np.bincount(corpus.train)
    ids = output_ids(corpus, output_words=6)
    assert {corpus.vocab.unk_id, corpus.vocab.eos_id} < {*ids}
    left = [id_ for id_ in range(len(corpus.vocab)) if id_ not in ids]
    words = [id_ for id_ in ids if id_ not in (corpus.vocab.unk_id, corpus.vocab.eos_id)]
    assert min(counts[words]) >= max(counts[left])
    assert output_ids(corpus, output_words=len(corpus.vocab)) is None
    with pytest.raises(ValueError, match="output_words should be 3 or more"):
        output_ids(corpus, output_words=2)


def test_a_resumed_run_with_vectors_ends_with_the_same_bits(config, tmp_path):
    config = config.replace(freeze_embedding=True, output_words=6)
    train(config, tmp_path / "whole", progress=False)
    train(config.replace(epochs=1), tmp_path / "parts", progress=False)
    train(config, tmp_path / "parts", resume=True, progress=False)
    for name in ("best.npz", "checkpoint.npz"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "parts" / name).read_bytes()
