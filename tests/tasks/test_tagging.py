"""The task of restoring capital letters."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import deepnlp
from deepnlp.backend import asarray, asnumpy
from deepnlp.datasets import TAGS, TaggedText
from deepnlp.evaluation import evaluating
from deepnlp.models import Tagger
from deepnlp.optimizers import Adam
from deepnlp.tasks import Tagging
from deepnlp.tasks.tagging import TAG_VOCAB, restore, scores
from deepnlp.text import Vocabulary
from deepnlp.training import Trainer, load
from tests.tasks.tools import adding, naming, tiny_text


def test_figures_are_those_of_each_sentence_by_itself() -> None:
    run = naming(epochs=2)
    run.fit()
    task, model = run.task, run.model
    with evaluating(model):
        figures = task.evaluate(model)
    loss, right, marked, count = 0.0, 0, [0, 0, 0], 0
    with evaluating(model):
        for ids, tags in task.text.encoded("valid"):
            batch = asarray(ids[None]), asarray([len(ids)])
            loss += float(model.losses(*batch, asarray(tags[None])).sum())
            found = asnumpy(model.tags(*batch))[0]
            for tag, own in zip(found, tags, strict=True):
                if own >= 0:
                    right, count = right + int(tag == own), count + 1
                    marked[0] += int(tag == own != 0)
                    marked[1] += int(tag != 0)
                    marked[2] += int(own != 0)
    assert figures["accuracy"] == pytest.approx(100 * right / count)
    assert figures["f1"] == pytest.approx(200 * marked[0] / (marked[1] + marked[2]))
    assert figures["perplexity"] == pytest.approx(math.exp(loss / count), rel=1e-4)
    assert count < sum(len(words) for words in task.text.valid)  # full stops do not count


def test_scores() -> None:
    assert scores(np.array([0, 0]), np.array([0, 0])) == {"accuracy": 100.0, "f1": 100.0}
    assert scores(np.array([1, 0]), np.array([0, 1])) == {"accuracy": 0.0, "f1": 0.0}


@pytest.mark.parametrize("bidirectional", [False, True])
def test_it_learns_more_than_how_words_are_mostly_written(bidirectional: bool) -> None:
    deepnlp.seed(0)
    text = tiny_text()
    model = Tagger(len(text.vocab), len(TAGS), 8, 16, bidirectional=bidirectional)
    task = Tagging(text, batch_size=4, pool=1)
    optimizer = Adam(model.parameters(), lr=0.05)
    run = Trainer(model, task, optimizer, epochs=30, max_norm=5.0, out=False, progress=False)
    result = run.fit()
    assert result.accuracy["valid"] > 90
    assert result.baselines["most frequent"]["valid"] < result.accuracy["valid"]


def test_the_baseline_is_how_a_word_is_mostly_written() -> None:
    vocab = Vocabulary.build(["may", "we"])
    train = [("May", "we"), ("We", "may"), ("may", "We"), ("NASA", "We")]
    text = TaggedText("t", vocab, train, [("May", "We", "X")], [("may", "we")])
    found = Tagging(text, batch_size=2).measure_baselines()["most frequent"]
    # may is mostly lower, we mostly We, and the unknown word of training NASA
    assert found == {"valid": pytest.approx(100 / 3), "test": pytest.approx(50)}


def test_a_sentence_is_written_again() -> None:
    class Known:
        vocab = Vocabulary.build(["nasa", "met", "rose"])

        def tags(self, ids, lengths):
            tag = {"nasa": 2, "met": 0, "rose": 1, "<unk>": 3}
            words = [self.vocab.decode(row) for row in asnumpy(ids)]
            return asarray([[tag[word] for word in row] for row in words])

    sentences = [("NASA", "met", "iPhone"), ("Rose", "MET", "met", "nasa", "!")]
    assert restore(Known(), sentences)[0] == "NASA met iphone"


def test_it_sets_the_vocabularies_and_saves_them(tmp_path: Path) -> None:
    run = naming(tmp_path, epochs=1)
    run.fit()
    assert run.model.tag_vocab.decode([0, 1, 2, 3]) == [*TAGS]
    model = load(tmp_path)
    assert model.vocab == run.task.text.vocab
    assert model.tag_vocab == TAG_VOCAB
    with evaluating(model):
        assert run.task.evaluate(model) == run.task.evaluate(model)


def test_another_model_is_refused() -> None:
    text = tiny_text()
    with pytest.raises(TypeError, match="this task trains a Tagger, got a Seq2Seq"):
        adding(task=Tagging(text))
    for sizes in ((len(text.vocab) + 1, 4), (len(text.vocab), 3)):
        with pytest.raises(ValueError, match=r"the model has .* (words|tags) .* names"):
            Tagging(text).prepare(Tagger(*sizes, 4, 4))
    with pytest.raises(ValueError, match="names has no sentence of at most max_length = 2 words"):
        Tagging(text, max_length=2)
