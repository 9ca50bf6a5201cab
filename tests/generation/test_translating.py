"""Texts in, texts out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import deepnlp
from deepnlp.backend import asarray, asnumpy
from deepnlp.generation import align, beam_search, greedy_search, translate
from deepnlp.models import RNNLM, Seq2Seq
from deepnlp.text import Vocabulary, pad

SOURCE = Vocabulary.build("abcde ", tokenizer="chars")
TARGET = Vocabulary.build("vwxyz", tokenizer="chars")
TEXTS = ["abc", "e", "", "edcba abc", "bad", "q"]
ATTENTIONS = ["none", "dot", "general", "concat", "additive"]


def model(**options: Any) -> Seq2Seq:
    deepnlp.seed(4)
    made = Seq2Seq(len(SOURCE), len(TARGET), 5, 7, **options)
    for parameter in made.parameters():
        parameter.value *= 3
    made.source_vocab, made.target_vocab = SOURCE, TARGET
    return made


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize(
    "options", [{}, {"cell": "gru", "layers": 2, "dropout": 0.4}, {"reverse": True}]
)
def test_many_texts_are_translated_as_each_by_itself(attention: str, options: Any) -> None:
    made = model(attention=attention, **options)
    for search in ({}, {"beam": 3, "n_best": 2}):
        together = translate(made, TEXTS, batch_size=2, max_length=12, **search)
        for text, found in zip(TEXTS, together, strict=True):
            (alone,) = translate(made, [text], max_length=12, **search)
            assert [one.text for one in found] == [one.text for one in alone]
            np.testing.assert_allclose(
                [one.score for one in found], [one.score for one in alone], rtol=1e-4
            )
    assert made.training


def test_a_translation_is_what_the_searches_find() -> None:
    made = model(attention="general")
    ids, lengths = map(asarray, pad([SOURCE.encode([*"cab"])]))
    marks = {"start_id": TARGET.eos_id, "end_id": TARGET.eos_id, "max_length": 9}
    marks["banned"] = (TARGET.unk_id,)
    made.eval()
    (greedy,) = greedy_search(made.step, made.start(ids, lengths), 1, **marks)
    (beam,) = beam_search(made.step, made.start(ids, lengths), 1, **marks, width=4, n_best=3)
    made.train()
    ((plain,),) = translate(made, ["cab"], max_length=9)
    assert plain.tokens == TARGET.decode(greedy.ids)
    assert plain.text == "".join(plain.tokens)
    assert plain.log_probability == pytest.approx(greedy.log_probability)
    (several,) = translate(made, ["cab"], beam=4, n_best=3, max_length=9)
    assert [one.tokens for one in several] == [TARGET.decode(h.ids) for h in beam]
    assert [one.score for one in several] == pytest.approx([h.score for h in beam])


def test_its_probability_is_that_of_the_teacher_forced_model() -> None:
    made = model(attention="concat", input_feeding=True)
    ((best,),) = translate(made, ["bead"], max_length=8)
    ids = TARGET.encode(best.tokens).tolist()
    source, lengths = map(asarray, pad([SOURCE.encode([*"bead"])]))
    eos = TARGET.eos_id
    losses = made.losses(source, lengths, asarray([[eos, *ids]]), asarray([[*ids, eos]]))
    assert -float(asnumpy(losses).sum()) == pytest.approx(best.log_probability, rel=1e-4)


def test_neither_marks_nor_unknown_tokens_are_written() -> None:
    made = model()
    found = [one for many in translate(made, TEXTS, beam=4, n_best=4) for one in many]
    assert all("<unk>" not in one.tokens and "\n" not in one.tokens for one in found)
    made.output.b.value[TARGET.unk_id] += 20
    assert "<unk>" in translate(made, ["abc"], allow_unknown=True)[0][0].tokens
    assert "<unk>" not in translate(made, ["abc"])[0][0].tokens


def test_an_empty_text_has_an_empty_translation() -> None:
    assert translate(model(), ["", "  "])[0][0].text == ""
    assert translate(model(), []) == []


@pytest.mark.parametrize("attention", ATTENTIONS[1:])
@pytest.mark.parametrize("reverse", [False, True])
def test_an_alignment_is_what_each_step_looked_at(attention: str, reverse: bool) -> None:
    made = model(attention=attention, reverse=reverse)
    tokens = translate(made, ["abcd"], max_length=6)[0][0].tokens
    found = align(made, "abcd", tokens)
    assert found.source == [*"abcd"]
    assert found.target == [*tokens, "\n"]
    assert found.weights.shape == (len(tokens) + 1, 4)
    np.testing.assert_allclose(found.weights.sum(axis=1), 1, rtol=1e-5)
    made.eval()
    state = made.start(*map(asarray, pad([SOURCE.encode([*"abcd"])])))
    for id_, row in zip([TARGET.eos_id, *TARGET.encode(tokens)], found.weights, strict=True):
        _, state = made.step(asarray([id_]), state)
        np.testing.assert_allclose(asnumpy(made.attention_weights)[0], row, rtol=1e-4, atol=1e-6)


def test_a_reversed_source_is_aligned_in_its_own_order() -> None:
    plain, reversed_ = model(attention="dot"), model(attention="dot", reverse=True)
    forth = align(plain, "abcd", ["v", "w"]).weights
    back = align(reversed_, "dcba", ["v", "w"]).weights
    np.testing.assert_allclose(forth, back[:, ::-1], rtol=1e-5)


def test_what_cannot_be_translated() -> None:
    with pytest.raises(TypeError, match="takes a list of texts, got one text"):
        translate(model(), "abc")
    with pytest.raises(TypeError, match="expects a Seq2Seq, got a RNNLM"):
        translate(RNNLM(5, 4, 4), ["abc"])
    bare = model()
    bare.source_vocab = None
    with pytest.raises(ValueError, match="this model has no vocabularies"):
        translate(bare, ["abc"])
    with pytest.raises(ValueError, match="n_best should be 1 or more and at most 2, got 3"):
        translate(model(), ["abc"], beam=2, n_best=3)
    with pytest.raises(ValueError, match="this model has no attention"):
        align(model(), "abc", ["v"])
    with pytest.raises(ValueError, match="an empty text has nothing to look at"):
        align(model(attention="dot"), "", ["v"])
