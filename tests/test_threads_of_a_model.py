"""A model in two threads at once: an error, never a wrong gradient."""

from __future__ import annotations

import copy
import pickle
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
import pytest

import deepnlp
from deepnlp.evaluation import evaluating, perplexity, score, surprisal
from deepnlp.evaluation.dynamic_evaluation import dynamic_perplexity
from deepnlp.evaluation.neural_cache import cache_perplexity
from deepnlp.generation import align, generate, generate_many, translate
from deepnlp.layer import Layer, Sequential
from deepnlp.layers import Affine, Dropout, TimeLSTM
from deepnlp.models import RNNLM, Seq2Seq
from deepnlp.text import Vocabulary
from tests.training.tools import tiny_trainer

IDS = np.random.default_rng(0).integers(0, 20, (2, 2, 3, 6))
TEXTS = np.random.default_rng(1).integers(0, 20, (4, 60))


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


READINGS: dict[str, Callable[[Any, int], Any]] = {
    "perplexity": lambda model, k: perplexity(model, TEXTS[k], batch_size=3),
    "surprisal": lambda model, k: surprisal(model, TEXTS[k], window=7).tolist(),
    "score": lambda model, k: score(model, "a b c d " * (k + 3)),
    "cache": lambda model, k: cache_perplexity(model, TEXTS[k]),
    "dynamic": lambda model, k: dynamic_perplexity(model, TEXTS[k], TEXTS[0], lr=0.01),
    "generate": lambda model, k: generate(model, "a b", length=40, seed=k),
    "generate_many": lambda model, k: generate_many(model, ["a", "b c"], length=20, seed=k),
}


@pytest.fixture
def reader() -> RNNLM:
    """A model with dropout in training mode, and with a state in the middle of a text."""
    deepnlp.seed(0)
    model = RNNLM(20, 8, 8, dropout=0.5)
    model.vocab = Vocabulary.build([chr(97 + k) for k in range(18)])
    model.forward(*IDS[0])
    return model


@pytest.mark.parametrize("reading", READINGS)
def test_many_threads_read_one_model(reading: str, reader: RNNLM) -> None:
    """All get what one alone gets, and neither mode nor state of the model is touched."""
    read = READINGS[reading]
    before = reader.snapshot()
    expected = [read(copy.deepcopy(reader), k) for k in range(4)]
    found: list[Any] = [None] * 4
    barrier = threading.Barrier(5)

    def work(k: int) -> None:
        barrier.wait()
        found[k] = [read(reader, k) for _ in range(3)]

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    barrier.wait()
    while any(thread.is_alive() for thread in threads):
        assert all(layer.training for layer in reader._layers())
        after = reader.snapshot()
        assert all(np.array_equal(after[name], value) for name, value in before.items())
    assert found == [[value] * 3 for value in expected]
    reader.backward()  # what this thread saved is still there


def test_translations_in_many_threads() -> None:
    deepnlp.seed(0)
    vocab = Vocabulary.build("abc", tokenizer="chars")
    model = Seq2Seq(len(vocab), len(vocab), embed_size=4, hidden_size=8, attention="dot")
    model.source_vocab = model.target_vocab = vocab
    texts = ["ab", "cab", "b", "ccaba"]

    def read(k: int) -> Any:
        written = translate(model, texts[k:], max_length=9)
        return written, align(model, texts[k], ["a", "b"]).weights.tolist()

    expected = [read(k) for k in range(4)]
    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(read, [*range(4)] * 5)] == expected * 5


def test_training_while_other_threads_generate_has_the_same_bits() -> None:
    alone, watched = tiny_trainer(epochs=3), tiny_trainer(epochs=3)
    alone.fit()
    over = threading.Event()

    def watch() -> None:
        while not over.is_set():
            generate(watched.model, length=5)
            perplexity(watched.model, [1, 2, 3, 1])

    threads = [threading.Thread(target=watch) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        watched.fit()
    finally:
        over.set()
        for thread in threads:
            thread.join()
    for ours, theirs in zip(watched.parameters, alone.parameters, strict=True):
        np.testing.assert_array_equal(ours.value, theirs.value)


CHANGES: dict[str, Callable[[RNNLM], Any]] = {
    "train": lambda model: model.train(),
    "eval": lambda model: model.eval(),
    "reset_state": lambda model: model.reset_state(),
    "restore": lambda model: model.restore(model.snapshot()),
    "logits": lambda model: model.logits(IDS[1][0]),
    "losses": lambda model: model.losses(*IDS[1]),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_changes_a_mode_or_a_state_is_an_error_in_another_thread(
    change: str, reader: RNNLM
) -> None:
    before = reader.snapshot()
    values = [parameter.value.copy() for parameter in reader.parameters()]
    error = in_thread(lambda: CHANGES[change](reader))
    assert isinstance(error, RuntimeError)
    assert "another thread goes forward and back" in str(error)
    assert all(layer.training for layer in reader._layers())
    after = reader.snapshot()
    assert all(np.array_equal(after[name], value) for name, value in before.items())
    for parameter, value in zip(reader.parameters(), values, strict=True):
        np.testing.assert_array_equal(parameter.value, value)


@pytest.mark.parametrize("layer", [TimeLSTM.init(3, 4), Dropout(0.5)], ids=["state", "masks"])
def test_a_forward_without_backward_that_leaves_a_state_is_guarded(layer: Layer) -> None:
    with deepnlp.no_backward():
        layer.forward(np.ones((2, 5, 3), "float32"))

    def again() -> None:
        with deepnlp.no_backward():
            layer.forward(np.ones((2, 5, 3), "float32"))

    assert isinstance(in_thread(again), RuntimeError)
    again()


def test_one_model_is_evaluated_in_place_by_one_thread_at_a_time(reader: RNNLM) -> None:
    reader.take_over()

    def inside() -> None:
        with evaluating(reader):
            pass

    with evaluating(reader):
        assert isinstance(in_thread(inside), RuntimeError)
        assert not reader.training
    assert reader.training


class Pair(NamedTuple):
    first: Layer
    weight: Any


class Held(Layer):
    """Layers in every kind of container, one of them twice."""

    def __init__(self) -> None:
        self.pair = Pair(TimeLSTM.init(2, 2), np.ones(3))
        self.by_name = OrderedDict(a=TimeLSTM.init(2, 2, stateful=True), b=self.pair.first)
        self.again = self.pair.first
        self.lock = threading.Lock()  # cannot be copied


def test_a_twin_shares_weights_and_nothing_that_changes() -> None:
    held = Held()
    twin = held.twin()
    assert isinstance(twin.pair, Pair)
    assert isinstance(twin.by_name, OrderedDict)
    assert twin.again is twin.pair.first is twin.by_name["b"] is not held.again
    assert twin.lock is held.lock
    assert twin.pair.weight is held.pair.weight
    assert all(a is b for a, b in zip(twin.parameters(), held.parameters(), strict=True))
    twin.by_name["a"].forward(np.ones((1, 1, 2), "float32"))
    assert held.by_name["a"].h is None
    held.by_name["a"].forward(np.ones((3, 1, 2), "float32"))
    third = held.twin()
    np.testing.assert_array_equal(third.by_name["a"].h, held.by_name["a"].h)
    with pytest.raises(RuntimeError, match="no forward to go back through"):
        third.by_name["a"].backward(np.ones((3, 1, 2), "float32"))
    held.by_name["a"].backward(np.ones((3, 1, 2), "float32"))


def test_training_takes_a_model_over() -> None:
    trainer = tiny_trainer(epochs=1)
    trainer.model.forward(*trainer.batches[0])
    trainer.model.reset_state()
    assert in_thread(trainer.fit).status == "finished"


def test_layers_plugged_by_hand_are_guarded(model: RNNLM) -> None:
    layers = Sequential(Affine(np.ones((2, 2))), Affine(np.ones((2, 2))))
    layers.forward(np.ones((1, 2)))
    assert isinstance(in_thread(layers.zero_grad), RuntimeError)
