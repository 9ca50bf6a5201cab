"""The check of exercise 5.9: a model that writes one word at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from deepnlp.backend import asarray, asnumpy
from deepnlp.lessons.exercises.registry import exercise
from deepnlp.lessons.exercises.texts import texts_of
from deepnlp.lessons.exercises.verdict import Verdict, is_empty
from deepnlp.models import SimpleRNNLM

SAY = texts_of(5)


@exercise("5.9", stars=3, title="One word at a time")
def one_word_at_a_time(answer: Any) -> Verdict:
    """From a model, a list of ids and a length to the likeliest continuation, a list of ids."""
    model, prompt, length = _dreamer(), [3, 1, 4, 1, 5], 12

    def used() -> _Counting:
        model.reset_state()
        model.logits(asarray([[7, 2, 9]]))
        model.read = 0
        return model

    got = answer(used(), list(prompt), length)
    if is_empty(got):
        return Verdict.empty("no ids were returned")
    read = model.read
    right = _continue(model, prompt, length)
    if [int(id_) for id_ in got] == [*prompt, *right]:
        return SAY["5.9"].wrong("wrong shape")
    wrong = {
        "state not reset": _continue(used(), prompt, length, reset=False),
        "prompt not read": _continue(model, prompt[-1:], length),
        "text fed again": _fed_again(model, prompt, length),
        "state reset before each word": _forgetting(model, prompt, length),
        "one word repeated": [right[0]] * length,
        "scores of the first word of the prompt": _first_scores(model, prompt, length),
        "the least likely words": _continue(model, prompt, length, least=True),
    }
    verdict = SAY["5.9"].compare(got, right, "the continuation", wrong)
    enough = len(prompt) + length  # the last one need not even be read
    if verdict.ok and read > enough:
        return SAY["5.9"].wrong("text read again", read=read, enough=enough)
    return verdict


class _Counting(SimpleRNNLM):
    """A model that counts the ids it reads."""

    read = 0

    def logits(self, ids: Any) -> Any:
        self.read += int(np.size(ids))
        return super().logits(asarray(ids))

    def step(self, ids: Any, state: Any = None) -> Any:
        self.read += int(np.size(ids))
        return super().step(ids, state)


def _dreamer() -> _Counting:
    """A small model with large random weights, whose likeliest words depend on the whole past."""
    rng = np.random.default_rng(512)
    model = _Counting(vocab_size=12, embed_size=6, hidden_size=16, dtype="float64", rng=rng)
    for parameter in model.parameters():
        parameter.value[...] = asarray(rng.normal(size=parameter.shape)) * 0.7
    return model


def _continue(
    model: SimpleRNNLM, prompt: list[int], length: int, reset: bool = True, least: bool = False
) -> list[int]:
    if reset:
        model.reset_state()
    logits = model.logits(asarray([prompt]))
    found: list[int] = []
    for _ in range(length):
        scores = asnumpy(logits)[0, -1]
        found.append(int(scores.argmin() if least else scores.argmax()))
        logits = model.logits(asarray([[found[-1]]]))
    return found


def _fed_again(model: SimpleRNNLM, prompt: list[int], length: int) -> list[int]:
    model.reset_state()
    text = list(prompt)
    for _ in range(length):
        logits = model.logits(asarray([text]))
        text.append(int(asnumpy(logits)[0, -1].argmax()))
    return text[len(prompt) :]


def _forgetting(model: SimpleRNNLM, prompt: list[int], length: int) -> list[int]:
    found = _continue(model, prompt, 1)
    while len(found) < length:
        found += _continue(model, found[-1:], 1)
    return found


def _first_scores(model: SimpleRNNLM, prompt: list[int], length: int) -> list[int]:
    model.reset_state()
    logits, found = model.logits(asarray([prompt])), []
    for _ in range(length):
        found.append(int(asnumpy(logits)[0, 0].argmax()))
        logits = model.logits(asarray([found[-1:]]))
    return found
