"""Values that are no sizes, no numbers or no real numbers: one sentence that says so."""

import numpy as np
import pytest

from deepnlp import Parameter, layers, models, optimizers
from deepnlp.backend import asarray
from deepnlp.backend.initialisers import normal, uniform
from deepnlp.examples import EXAMPLES
from deepnlp.generation import (
    Sampler,
    beam_search,
    generate,
    generate_ids,
    generate_many,
    greedy_search,
)
from deepnlp.models import RNNLM
from deepnlp.text import Vocabulary
from tests.cases import by_layer, together
from tests.layers.tools import as_tuple, is_float


@together(
    size=[2.5, "a", None, True, -1, np.nan],
    make=[
        lambda size: layers.Affine.init(size, 3),
        lambda size: layers.Affine.init(3, size),
        lambda size: layers.Embedding.init(size, 3),
        lambda size: layers.TimeLSTM.init(3, size),
        lambda size: layers.TimeGRU.init(size, 3),
        lambda size: layers.TimeRNN.init(3, 2).start(size),
        lambda size: Parameter.zeros(size, 2),
        lambda size: uniform((size,), 0.1),
        lambda size: normal((3, size), 0.1),
    ],
)
def test_sizes_are_whole_numbers(make, size):
    with pytest.raises(ValueError, match="sizes of a layer should be whole numbers") as caught:
        make(size)
    assert str(caught.value).endswith(f"got {size!r}")


@together(size=[2.5, "a", None, True])
def test_sizes_of_models_are_whole_numbers(size):
    for make in (
        lambda: RNNLM(size, 3, 3),
        lambda: RNNLM(5, size, 3),
        lambda: models.SimpleRNNLM(5, 3, size),
        lambda: models.CBOW(size, 3),
        lambda: models.Tagger(5, size, 3, 3),
        lambda: models.KneserNey(size),
    ):
        with pytest.raises((ValueError, TypeError), match="whole number"):
            make()


@together(bound=[np.nan, np.inf, -1.0, 1e308, "a", None])
def test_a_bound_is_a_number_that_weights_can_have(bound):
    with pytest.raises(ValueError, match="bound should be a number, 0 or more and at most"):
        layers.Embedding.init(5, 3, bound=bound)
    with pytest.raises(ValueError, match="std should be a number, 0 or more and at most"):
        normal((2, 3), bound)


@together(dtype=["zebra", None, "int32", "U3", object])
def test_weights_have_a_type_of_numbers(dtype):
    for make in (
        lambda: layers.Affine.init(3, 2, dtype=dtype),
        lambda: layers.Affine.init(3, 2).astype(dtype),
        lambda: RNNLM(5, 3, 3, dtype=dtype),
        lambda: models.CBOW(5, 3, dtype=dtype),
    ):
        with pytest.raises((TypeError, ValueError), match="number type"):
            make()


STRANGE = {
    "text": np.array([["a", "b", "c"]] * 2),
    "objects": np.array([[None, 1, 2]] * 2),
    "dates": np.zeros((2, 3), "M8[s]"),
}


@together(
    kind=STRANGE,
    layer=[layers.Affine.init(3, 2), layers.Tanh(), layers.ReLU(), layers.Dropout(0.5)],
)
def test_inputs_and_gradients_are_numbers(layer, kind):
    with pytest.raises(TypeError, match=rf"{type(layer).__name__}: x should be numbers, got an "):
        layer.forward(STRANGE[kind])
    layer.forward(np.ones((2, 3)))
    with pytest.raises(TypeError, match="should be numbers, got an array of"):
        layer.backward(STRANGE[kind])


@together(value=["abc", [["a"]], None, {}, object(), [[1.0], [2.0, 3.0]]])
def test_a_parameter_is_made_of_numbers(value):
    with pytest.raises((TypeError, ValueError), match=r"expected numbers|should be numbers"):
        Parameter(value)


def test_what_is_put_into_a_parameter_is_numbers():
    W = Parameter([[1.0, 2.0]])
    text, integers = np.array([["a", "b"]]), np.array([[1, 2]])
    for put in (
        lambda: W.accumulate(text),
        lambda: W.accumulate(np.array([[1j, 2]])),
        lambda: setattr(W, "value", text),
        lambda: setattr(W, "value", integers),
        lambda: setattr(W, "grad", text),
        lambda: W.accumulate_rows(np.array(["a"]), np.array([[1.0, 2.0]])),
        lambda: W.accumulate_rows(np.array([0.5]), np.array([[1.0, 2.0]])),
    ):
        with pytest.raises(TypeError, match=r"expected real numbers|number type|be integers"):
            put()
    W.accumulate(integers)
    assert W.grad.tolist() == [[1.0, 2.0]]


@by_layer(EXAMPLES.values())
def test_complex_inputs_do_not_meet_real_weights(case):
    layer, inputs = case.build(np.random.default_rng(0), case.sizes)
    if not layer.parameters() or not any(is_float(x) for x in inputs):
        return
    inputs = tuple(x.astype("complex128") if is_float(x) else x for x in inputs)
    with pytest.raises(TypeError, match="should be real, as the weights are, got an array of comp"):
        as_tuple(layer.forward(*inputs))


def test_complex_inputs_of_complex_weights():
    layer = layers.Affine.init(3, 2).astype("complex128")
    assert layer.forward(np.ones((2, 3), "complex128")).dtype == "complex128"
    assert layers.Tanh().forward(np.ones((2, 3), "complex128")).dtype == "complex128"


@together(shape=[(0,), (0, 3), (3, 0)])
def test_a_sigmoid_loss_of_nothing_is_zero(array_backend, shape):
    loss = layers.SigmoidWithLoss()
    nothing = asarray(np.zeros(shape))
    assert float(loss.forward(nothing, nothing)) == 0
    assert loss.backward().shape == shape


@together(betas=[(0.9,), (), (0.9, 0.99, 0.999), 0.9, None, "ab"])
def test_adam_has_two_betas(betas):
    for kind in (optimizers.Adam, optimizers.AdamW):
        with pytest.raises(ValueError, match=r"two numbers|should be in \[0, 1\)"):
            kind([Parameter([1.0])], betas=betas)


@together(value=["a", None, np.nan, np.inf, -1])
def test_rates_are_numbers(value):
    W = Parameter([1.0])
    for make in (
        lambda: optimizers.SGD([W], lr=value),
        lambda: optimizers.SGD([W], lr=1.0, weight_decay=value),
        lambda: optimizers.Momentum([W], lr=1.0, momentum=value),
        lambda: optimizers.Adam([W], eps=value),
        lambda: optimizers.Adam([W], betas=(0.9, value)),
        lambda: optimizers.RMSprop([W], alpha=value),
        lambda: optimizers.AdaGrad([W], eps=value),
        lambda: optimizers.NTASGD([W], lr=1.0, average_after=value),
        lambda: layers.Dropout(value),
    ):
        with pytest.raises((ValueError, TypeError), match=r"number, |a number|in \[0, 1\)|0 or mo"):
            make()


def equal_scores(ids, state):
    return np.zeros((len(ids), 3)), state


@together(banned=[(3,), (-1,), ("a",), (1.0,), None, 5])
def test_banned_ids_are_ids(banned):
    marks = {"start_id": 0, "end_id": 1}
    for search in (
        lambda: Sampler(banned=banned).choose(np.zeros(3), np.random.default_rng(0)),
        lambda: beam_search(equal_scores, None, 1, **marks, banned=banned),
        lambda: greedy_search(equal_scores, None, 1, **marks, banned=banned),
    ):
        with pytest.raises((ValueError, TypeError), match="banned"):
            search()


def test_numbers_of_a_search():
    marks = {"start_id": 0, "end_id": 1}
    for options, message in (
        ({"width": "a"}, "width should be a whole number, got 'a'"),
        ({"width": 2.5}, "width should be a whole number, got 2.5"),
        ({"n_best": None}, "n_best should be a whole number"),
        ({"max_length": "a"}, "max_length should be a whole number"),
        ({"length_penalty": "a"}, "length_penalty should be a number"),
        ({"end_id": 9}, "end_id should be from 0 to 2, got 9"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            beam_search(equal_scores, None, 1, **{**marks, **options})
    with pytest.raises(ValueError, match="end_id should be from 0 to 2, got 9"):
        greedy_search(equal_scores, None, 1, start_id=0, end_id=9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": "a"}, "temperature should be a number, got 'a'"),
        ({"temperature": None}, "temperature should be a number, got None"),
        ({"top_k": 2.5}, "top_k should be a whole number, got 2.5"),
        ({"top_p": "a"}, "top_p should be a number, got 'a'"),
    ],
)
def test_numbers_of_a_sampler(options, message):
    with pytest.raises(TypeError, match=message):
        Sampler(**options)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.array(["a", "b"]), "scores should be numbers"),
        (np.zeros((2, 2)), "scores should have shape"),
        (np.zeros(0), "scores should have shape"),
    ],
)
def test_scores_are_those_of_one_step(scores, message):
    with pytest.raises((ValueError, TypeError), match=message):
        Sampler().choose(scores, np.random.default_rng(0))


def test_prompts():
    model = RNNLM(4, 8, 8)
    model.vocab = Vocabulary.build(["ha", "ho"])
    for call, message in (
        (lambda: generate(model, None), "a prompt should be a text, got a NoneType"),
        (lambda: generate(model, 5), "a prompt should be a text, got a int"),
        (lambda: generate(model, length="a"), "length should be a whole number, got 'a'"),
        (lambda: generate(model, length=2.5), "length should be a whole number, got 2.5"),
        (lambda: generate(model, seed="a"), "seed should be a whole number, got 'a'"),
        (lambda: generate_many(model, None), "a list of prompts, got a NoneType"),
        (lambda: generate_many(model, [None]), "a prompt should be a text"),
        (lambda: generate_ids(model, None), "a prompt should be a sequence of ids, got None"),
        (lambda: generate_ids(model, "ab"), "a prompt should be a sequence of ids, got 'ab'"),
        (lambda: generate_ids(model, [1.5]), "an id of a prompt should be a whole number"),
    ):
        with pytest.raises(TypeError, match=message):
            call()


def test_clipping_to_an_enormous_norm_clips_nothing():
    W = Parameter([1e-5, 2e-5])
    for grad in (np.array([1e-5, 2e-5]), np.zeros(2), np.array([1e-300, 0.0])):
        W.zero_grad()
        W.accumulate(grad)
        optimizers.clip_gradients([W], 1e308)
        assert W.grad.tolist() == grad.tolist()
