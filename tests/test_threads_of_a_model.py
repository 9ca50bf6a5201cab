"""A model in two threads at once: an error, never a wrong gradient."""

from __future__ import annotations

import copy
import pickle
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import deepnlp
from deepnlp.layer import Sequential
from deepnlp.layers import Affine, TimeLSTM
from deepnlp.models import RNNLM
from tests.training.tools import tiny_trainer

IDS = np.random.default_rng(0).integers(0, 20, (2, 2, 3, 6))


@pytest.fixture
def model() -> RNNLM:
    deepnlp.seed(0)
    return RNNLM(20, 8, 8, dropout=0.0)


def gradients(model: RNNLM, k: int) -> list[Any]:
    model.reset_state()
    model.forward(*IDS[k])
    model.zero_grad()
    model.backward()
    return [parameter.grad.copy() for parameter in model.parameters()]


def in_thread(function: Callable[[], Any]) -> Any:
    """What a function gives, or the error that it raises, in a thread of its own."""
    found: list[Any] = []

    def call() -> None:
        try:
            found.append(function())
        except RuntimeError as error:
            found.append(error)

    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    return found[0]


def at_once(model: RNNLM, expected: list[list[Any]]) -> str:
    """What two threads get that go through a model at the same moment."""
    found = [""] * 2
    barrier = threading.Barrier(2)

    def work(k: int) -> None:
        barrier.wait()
        try:
            same = map(np.array_equal, gradients(model, k), expected[k])
            found[k] = "right" if all(same) else "wrong"
        except RuntimeError as error:
            found[k] = "an error" if "another thread" in str(error) else repr(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return " and ".join(sorted(found))


def in_two_threads(times: int) -> Counter[str]:
    """How often two threads get what."""
    deepnlp.seed(0)
    model = RNNLM(20, 8, 8, dropout=0.0)
    expected = [gradients(copy.deepcopy(model), k) for k in range(2)]
    return Counter(at_once(model, expected) for _ in range(times))


def test_two_threads_get_right_gradients_or_an_error() -> None:
    assert {*in_two_threads(30)} <= {"an error and right", "right and right"}


@pytest.mark.parametrize("method", ["forward", "zero_grad", "backward"])
def test_while_one_thread_is_at_it_no_other_is(method: str, model: RNNLM) -> None:
    model.forward(*IDS[0])
    call = {
        "forward": lambda: model.forward(*IDS[1]),
        "zero_grad": model.zero_grad,
        "backward": model.backward,
    }[method]
    error = in_thread(call)
    assert isinstance(error, RuntimeError)
    assert f".{method}: another thread goes forward and back" in str(error)
    model.backward()  # what this thread saved is still there


def test_a_layer_that_begins_in_a_workspace_is_guarded_before_it_writes() -> None:
    layer = TimeLSTM.init(3, 4, dtype="float64")
    x = np.random.default_rng(0).normal(size=(2, 5, 3))
    layer.forward(x)
    assert isinstance(in_thread(lambda: layer.forward(2 * x)), RuntimeError)
    twin = copy.deepcopy(layer)
    twin.forward(x)
    np.testing.assert_array_equal(
        layer.backward(np.ones((2, 5, 4))), twin.backward(np.ones((2, 5, 4)))
    )


def test_a_copy_a_new_thread_and_a_handover_are_free(model: RNNLM) -> None:
    expected = gradients(model, 0)
    for free in (
        lambda: gradients(copy.deepcopy(model), 0),
        lambda: gradients(pickle.loads(pickle.dumps(model)), 0),
        lambda: (model.take_over(), gradients(model, 0))[1],
    ):
        for ours, theirs in zip(in_thread(free), expected, strict=True):
            np.testing.assert_array_equal(ours, theirs)
    gradients(model, 0)  # that thread has ended


def test_evaluation_in_another_thread_is_free(model: RNNLM) -> None:
    model.forward(*IDS[0])
    assert in_thread(lambda: model.logits(IDS[1][0])).shape == (3, 6, 20)


def test_training_takes_a_model_over() -> None:
    trainer = tiny_trainer(epochs=1)
    trainer.model.forward(*trainer.batches[0])
    trainer.model.reset_state()
    assert in_thread(trainer.fit).status == "finished"


def test_layers_plugged_by_hand_are_guarded(model: RNNLM) -> None:
    layers = Sequential(Affine(np.ones((2, 2))), Affine(np.ones((2, 2))))
    layers.forward(np.ones((1, 2)))
    assert isinstance(in_thread(layers.zero_grad), RuntimeError)
