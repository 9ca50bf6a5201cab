"""The task of writing one text given another: batches, teacher forcing, figures."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import deepnlp
from deepnlp.backend import asarray, asnumpy
from deepnlp.datasets import Pairs, load_pairs
from deepnlp.errors import DeepNLPError
from deepnlp.evaluation import evaluating
from deepnlp.generation import translate
from deepnlp.models import Seq2Seq
from deepnlp.optimizers import Adam
from deepnlp.tasks import SequenceToSequence
from deepnlp.tasks.bleu import bleu
from deepnlp.tasks.seq2seq import shared_ids
from deepnlp.text import Vocabulary
from deepnlp.training import Trainer, build_trainer, configure
from tests.tasks.tools import adding, naming, tiny_pairs


def small_task(**options: Any) -> SequenceToSequence:
    return SequenceToSequence(tiny_pairs(), batch_size=16, **options)


def model_for(pairs: Pairs, **options: Any) -> Seq2Seq:
    deepnlp.seed(1)
    settings = {"embed_size": 6, "hidden_size": 12, **options}
    model = Seq2Seq(len(pairs.source_vocab), len(pairs.target_vocab), **settings)
    model.source_vocab, model.target_vocab = pairs.source_vocab, pairs.target_vocab
    return model


def test_a_batch_begins_and_ends_its_targets() -> None:
    task = small_task()
    vocab = task.pairs.target_vocab
    eos, seen = vocab.eos_id, []
    for k in range(len(task.batches(0))):
        source, lengths, inputs, targets = task.batches(0)[k]
        assert (inputs[:, 0] == eos).all()
        for row in range(len(source)):
            n = int((targets[row] != -1).sum())
            assert targets[row, n - 1] == eos
            assert (targets[row, n:] == -1).all()
            assert targets[row, : n - 1].tolist() == inputs[row, 1:n].tolist()
            question = task.pairs.source_vocab.decode(source[row, : lengths[row]])
            seen.append(("".join(question), "".join(vocab.decode(targets[row, : n - 1]))))
        assert task.count((source, lengths, inputs, targets)) == int((targets != -1).sum())
    assert sorted(seen) == sorted(task.pairs.train)


def test_long_pairs_are_left_out_of_training_alone() -> None:
    whole, short = small_task(), small_task(max_length=4)
    sizes = [sum(len(task.batches(0)[k][0]) for k in range(len(task.batches(0))))
             for task in (whole, short)]  # fmt: skip
    expected = sum(len(question) <= 4 for question, _ in whole.pairs.train)
    assert sizes == [len(whole.pairs.train), expected]
    assert max(task_lengths(short)) == 4
    with pytest.raises(ValueError, match="addition has no pair of at most max_length = 1 tokens"):
        small_task(max_length=1)


def task_lengths(task: SequenceToSequence) -> list[int]:
    return [int(n) for k in range(len(task.batches(0))) for n in task.batches(0)[k][1]]


def test_teacher_forcing_falls_to_its_end() -> None:
    task = small_task(teacher_forcing=0.25, teacher_forcing_epochs=3)
    shares = [task.forced_share(epochs) for epochs in (0, 1, 2, 3, 9)]
    assert shares == pytest.approx([1, 0.75, 0.5, 0.25, 0.25])
    assert len(task.batches(0)[0]) == 4  # nothing to draw yet
    forced = np.concatenate([task.batches(7)[k][4].ravel() for k in range(len(task.batches(7)))])
    assert forced.mean() == pytest.approx(0.25, abs=0.05)
    first, again, other = (task.batches(e)[2][4] for e in (1, 1, 2))
    assert first.tolist() == again.tolist()
    assert first.shape != other.shape or first.tolist() != other.tolist()
    assert all(len(small_task().batches(9)[k]) == 4 for k in range(3))


@pytest.mark.parametrize("attention", ["none", "general"])
def test_where_an_input_is_not_forced_the_model_reads_what_it_finds_likeliest(
    attention: str,
) -> None:
    task = small_task(teacher_forcing=0.0)
    model = model_for(task.pairs, attention=attention, dropout=0.3)
    source, lengths, inputs, *_ = task.batches(2)[1]
    forced = np.random.default_rng(0).random(inputs.shape) < 0.5
    arrays = [asarray(a) for a in (source, lengths, inputs, forced)]
    read = asnumpy(task._with_own_inputs(model, *arrays))
    assert model.training
    model.eval()
    likeliest = asnumpy(model.logits(arrays[0], arrays[1], asarray(read))).argmax(axis=2)
    expected = np.where(forced[:, 1:], inputs[:, 1:], likeliest[:, :-1])
    assert read[:, 0].tolist() == inputs[:, 0].tolist()
    assert read[:, 1:].tolist() == expected.tolist()
    assert (read != inputs).any()


def test_the_loss_is_that_of_the_mixed_inputs() -> None:
    task = small_task(teacher_forcing=0.0)
    model = model_for(task.pairs)
    batch = task.batches(1)[0]
    source, lengths, inputs, targets, forced = map(asarray, batch)
    mixed = task._with_own_inputs(model, source, lengths, inputs, forced)
    expected = float(model.losses(source, lengths, mixed, targets).sum()) / task.count(batch)
    assert float(task.learn(model, batch)) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("reverse", [False, True])
def test_figures_are_those_of_each_pair_by_itself(reverse: bool) -> None:
    task = small_task()
    run = adding(epochs=4)
    model = run.model if reverse else model_for(task.pairs)
    run.fit()
    figures = validation(task, model)
    loss, right, count, exact = 0.0, 0, 0, 0
    with evaluating(model):
        for (question, answer), (source, target) in zip(
            task.pairs.valid, task.pairs.encoded("valid"), strict=True
        ):
            eos = task.pairs.target_vocab.eos_id
            inputs, targets = asarray([[eos, *target]]), asarray([[*target, eos]])
            lengths = asarray([len(source)])
            loss += float(model.losses(asarray(source[None]), lengths, inputs, targets).sum())
            scores = model.logits(asarray(source[None]), lengths, inputs)
            right += int((asnumpy(scores).argmax(axis=2) == asnumpy(targets)).sum())
            count += len(target) + 1
            exact += translate(model, [question])[0][0].text == answer
    n = len(task.pairs.valid)
    assert [*figures] == ["exact_match", "perplexity", "accuracy"]
    assert figures["exact_match"] == pytest.approx(100 * exact / n)
    assert figures["accuracy"] == pytest.approx(100 * right / count)
    assert figures["perplexity"] == pytest.approx(math.exp(loss / count), rel=1e-4)


def validation(task: SequenceToSequence, model: Any) -> dict[str, float]:
    with evaluating(model):
        return task.evaluate(model)


def test_it_learns_and_says_what_it_reached(tmp_path: Path) -> None:
    deepnlp.seed(0)
    pairs = load_pairs("addition", examples=50, digits=1 + 1)
    every = Pairs("few", pairs.source_vocab, pairs.target_vocab, *[pairs.train] * 3)
    task = SequenceToSequence(every, batch_size=15, beam=2)
    model = model_for(pairs, hidden_size=48, attention="general", bidirectional=True)
    run = Trainer(
        model, task, Adam(model.parameters(), lr=0.02), epochs=40, max_norm=5.0, out=tmp_path,
        progress=False, seed=0,
    )  # fmt: skip
    result = run.fit()
    assert result.exact_match["test"] > 90
    assert result.exact_match == {"valid": result.exact_match["valid"], **result.exact_match}
    assert result.beam == 2
    assert result.length_penalty == 1.0
    assert result.perplexity["valid"] < 1.5
    assert "exact_match" not in run.history[0]
    assert "train_perplexity" in run.history[0]
    assert result.figure is not None
    assert " -> " in (task.sample(model) or "")


def test_translations_of_one_source_count_once_and_any_of_them_is_right() -> None:
    vocab = Vocabulary.build(["go", "ve", "vete"])
    pairs = Pairs("p", vocab, vocab, [("go", "ve")], [("go", "Ve"), ("go", "vete")], [("go", "ve")])
    task = SequenceToSequence(pairs, batch_size=2)
    assert task._is_one_of("vete", pairs.references("valid")["go"])
    assert task._is_one_of("ve", pairs.references("valid")["go"])
    assert not task._is_one_of("vete vete", pairs.references("valid")["go"])
    model = model_for(pairs)
    assert validation(task, model)["exact_match"] in (0.0, 100.0)


def test_bleu_decides_if_it_is_asked_for() -> None:
    pairs = tiny_pairs()
    words = Vocabulary.build([answer for _, answer in pairs.train], tokenizer="words")
    pairs = Pairs("w", pairs.source_vocab, words, pairs.train, pairs.valid, pairs.test)
    task = SequenceToSequence(pairs, metric="bleu", beam=3)
    assert task.metric == "bleu"
    assert task.higher_is_better
    model = model_for(pairs)
    with evaluating(model):
        final = task.final(model)
        figures, notes = task.measure(model, "test")
    assert next(iter(final)) == "bleu"
    assert final["bleu"]["test"] == figures["bleu"]
    assert notes["bleu_signature"] == final["bleu_signature"]
    assert notes["bleu_signature"].startswith("nrefs:1|case:lc|eff:no|tok:13a|smooth:exp|version:")
    assert SequenceToSequence(pairs, metric="perplexity").higher_is_better is False


def test_bleu_of_several_references() -> None:
    hypotheses = ["the cat sat on the mat .", "i see a dog now ."]
    references = [["A dog.", "The cat sat on the mat ."], ["I see a dog now ."]]
    score, signature = bleu(hypotheses, references)
    assert score == pytest.approx(100)
    assert signature.startswith("nrefs:var|")
    assert bleu(["i see a dog now ."], [["I see a cat now ."]])[0] < 60


def test_without_sacrebleu_bleu_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu", None)
    with pytest.raises(DeepNLPError, match=r"python -m pip install sacrebleu,"):
        small_task(metric="bleu")
    assert small_task().metric == "exact_match"


def test_words_of_both_vocabularies_are_shared() -> None:
    source = Vocabulary.build(["a", "a", "b", "x"])
    target = Vocabulary.build(["b", "c"])
    shared = shared_ids(source, target)
    for id_, token in enumerate(target.tokens):
        assert shared[id_] == (source.id(token) if token in source else -1)
    config = configure(
        "dates", {"examples": 200, "tie": "all", "embed_size": 4, "hidden_size": 4, "epochs": 1}
    )
    run = build_trainer(config, False, progress=False)
    result = run.fit()
    assert result.status == "finished"
    names = [name for name, _ in run.model.named_parameters()]
    assert len(names) == len(set(names))


def test_the_order_of_batches_follows_the_seed_of_the_run() -> None:
    small = {"examples": 100, "embed_size": 4, "hidden_size": 4}
    seeds = {"seed": 5}, {"seed": 6}, {"seed": 5, "order_seed": 6}
    found = [
        build_trainer(configure("dates", {**small, **given}), False, progress=False).task
        for given in seeds
    ]
    assert [task.order_seed for task in found] == [5, 6, 6]
    first, other, same = ([batch.tolist() for batch in task.batches(0)[0]] for task in found)
    assert first != other == same


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"teacher_forcing": 1.5}, "teacher_forcing should be a number, 0 or more and at most 1"),
        ({"metric": "rouge"}, "metric should be one of 'exact_match', 'bleu'"),
        ({"beam": 0}, "beam should be a whole number, 1 or more and at most 1000, got 0"),
    ],
)
def test_options_out_of_range(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        small_task(**options)


def test_another_model_or_another_setup_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"this task trains a Seq2Seq or a .*, got a Tagger"):
        naming(task=small_task())
    with pytest.raises(ValueError, match=r"the model has 13 source tokens .* 59"):
        adding(task=SequenceToSequence(load_pairs("dates", examples=300)))
    adding(tmp_path, epochs=1).fit()
    with pytest.raises(ValueError, match=r"another teacher_forcing: the run began with 0\.5"):
        adding(tmp_path, epochs=2, task=small_task(pool=3)).fit(resume=True)
