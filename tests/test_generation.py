"""Sampling: each function by hand, the chain of them, and a model borrowed without a trace."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepnlp import backend
from deepnlp.generation import (
    LINE_MEMORY,
    Sampler,
    apply_temperature,
    draw,
    generate,
    generate_ids,
    keep_top_k,
    keep_top_p,
    text_pieces,
    tokenize_prompt,
)
from deepnlp.models import RNNLM
from deepnlp.text import Vocabulary

WORDS = ["the", "cat", "sat", "on", "a", "mat", ".", '"']


@pytest.fixture
def model():
    """A small model whose weights are large enough to make its predictions uneven."""
    rng = np.random.default_rng(3)
    vocab = Vocabulary.build(WORDS)
    model = RNNLM(len(vocab), 6, 6, layers=2, dropout=0.5)
    for parameter in model.parameters():
        parameter.value[...] = backend.asarray(
            rng.normal(0, 0.8, parameter.shape).astype("float32")
        )
    model.vocab = vocab
    return model


def logits_after(model, ids):
    """Scores after a whole sequence at once: the plain form of feeding it id by id."""
    model.reset_state()
    return backend.asnumpy(model.logits(backend.asarray([ids])))[0, -1]


# --- One function at a time ------------------------------------------------------------------


def test_temperature_by_hand():
    p = apply_temperature(np.log([0.7, 0.2, 0.1]), 2.0)
    root = np.sqrt([0.7, 0.2, 0.1])
    np.testing.assert_allclose(p, root / root.sum(), rtol=1e-14)


@pytest.mark.parametrize("temperature", [1e-300, 1e-8, 1e-4])
def test_a_low_temperature_leaves_only_the_highest_score(temperature):
    assert apply_temperature(np.array([3.0, 5.0, 4.9]), temperature).tolist() == [0.0, 1.0, 0.0]


def test_equally_high_scores_share_at_a_low_temperature():
    assert apply_temperature(np.array([5.0, 5.0, 4.0]), 1e-300).tolist() == [0.5, 0.5, 0.0]


def test_a_high_temperature_makes_all_words_alike():
    p = apply_temperature(np.array([3.0, -5.0, 4.9]), 1e9)
    np.testing.assert_allclose(p, 1 / 3, rtol=1e-8)


def test_scores_of_any_size_and_minus_infinity():
    p = apply_temperature(np.array([1e4, 1e4, -np.inf], dtype="float32"), 1.0)
    assert p.dtype == np.float64
    assert p.tolist() == [0.5, 0.5, 0.0]


@pytest.mark.parametrize(
    ("k", "expected"),
    [
        (1, [0, 1, 0, 0]),
        (2, [0, 2 / 3, 1 / 3, 0]),
        (3, [1 / 7, 4 / 7, 2 / 7, 0]),  # of two equal ones the first
        (4, [1 / 8, 4 / 8, 2 / 8, 1 / 8]),
        (99, [1 / 8, 4 / 8, 2 / 8, 1 / 8]),
    ],
)
def test_top_k_by_hand(k, expected):
    np.testing.assert_allclose(keep_top_k(np.array([1, 4, 2, 1]) / 8, k), expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        (1e-9, [0, 1, 0, 0]),
        (0.5, [0, 1, 0, 0]),  # reached exactly: no further word
        (0.51, [0, 2 / 3, 1 / 3, 0]),
        (0.75, [0, 2 / 3, 1 / 3, 0]),
        (0.76, [1 / 7, 4 / 7, 2 / 7, 0]),
        (0.99, [1 / 8, 4 / 8, 2 / 8, 1 / 8]),
        (1.0, [1 / 8, 4 / 8, 2 / 8, 1 / 8]),
    ],
)
def test_top_p_by_hand(p, expected):
    np.testing.assert_allclose(keep_top_p(np.array([1, 4, 2, 1]) / 8, p), expected, rtol=1e-14)


class OneNumber:
    """Stands for a random generator that gives a number of our choice."""

    def __init__(self, number):
        self.number = number

    def random(self):
        return self.number


@pytest.mark.parametrize(
    ("u", "id_"), [(0.0, 1), (0.249, 1), (0.25, 2), (0.749, 2), (0.75, 4), (1 - 2**-53, 4)]
)
def test_draw_inverts_the_cumulative_distribution(u, id_):
    assert draw(np.array([0.0, 0.25, 0.5, 0.0, 0.25, 0.0]), OneNumber(u)) == id_


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.floats(0, 1, exclude_max=True))
def test_draw_never_gives_a_word_of_probability_zero(weights, u):
    weights = np.array([*weights, 0.5, 0.0])
    assert weights[draw(weights / weights.sum(), OneNumber(u))] > 0


def test_draws_are_as_frequent_as_their_probabilities():
    p = np.array([0.1, 0.6, 0.0, 0.3])
    rng = np.random.default_rng(0)
    counts = np.bincount([draw(p, rng) for _ in range(4000)], minlength=4)
    np.testing.assert_allclose(counts / 4000, p, atol=0.03)


def test_top_p_comes_after_top_k():
    p = Sampler(top_k=3, top_p=0.6).probabilities(np.log([0.4, 0.3, 0.1, 0.1, 0.1]))
    np.testing.assert_allclose(p, [4 / 7, 3 / 7, 0, 0, 0])  # 0.5 + 0.375 of the three kept


# --- Errors ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"temperature": 0.0}, "above 0, got 0.0; .* greedy"),
        ({"temperature": -1.0}, "temperature"),
        ({"temperature": float("nan")}, "temperature"),
        ({"temperature": float("inf")}, "temperature"),
        ({"top_k": 0}, "top_k should be 1 or more, got 0"),
        ({"top_p": 0.0}, "top_p should be above 0 and at most 1"),
        ({"top_p": 1.01}, "top_p"),
        ({"length": -1}, "length should be 0 or more, got -1"),
        ({"seed": -1}, "seed should be 0 or more"),
        ({"seed": 1, "rng": np.random.default_rng()}, "not both"),
    ],
)
def test_wrong_options_are_errors_at_once(model, options, text):
    with pytest.raises(ValueError, match=text):
        generate_ids(model, [1], **options)
    with pytest.raises(ValueError, match=text):
        generate(model, **options)


def test_a_model_without_a_vocabulary_generates_ids_only():
    model = RNNLM(5, 4, 4)
    assert len(list(generate_ids(model, [1], 3))) == 3
    for call in (lambda: generate(model), lambda: generate_ids(model)):
        with pytest.raises(ValueError, match=r"no vocabulary.*set model\.vocab"):
            call()


def test_diverged_weights_and_an_empty_choice_are_said():
    with pytest.raises(ValueError, match="diverged"):
        Sampler().choose(np.array([1.0, np.nan]), np.random.default_rng(0))
    with pytest.raises(ValueError, match="no word is left"):
        Sampler(greedy=True, banned=(0,)).choose(np.array([1.0]), np.random.default_rng(0))


# --- With a model ----------------------------------------------------------------------------


def test_greedy_is_the_argmax_loop_by_hand(model):
    model.eval()
    ids = [2, 5, 1]
    for _ in range(12):
        scores = logits_after(model, ids)
        scores[model.vocab.unk_id] = -np.inf
        ids.append(int(scores.argmax()))
    assert list(generate_ids(model, [2, 5, 1], 12, greedy=True)) == ids[3:]
    prompt = model.vocab.detokenize(model.vocab.decode(ids[:3]))
    text = model.vocab.detokenize(model.vocab.decode(ids))
    assert generate(model, prompt, 12, greedy=True) == text


def test_sampling_is_drawing_from_the_softmax_by_hand(model):
    model.eval()
    rng = np.random.default_rng(8)
    ids = [2]
    for _ in range(10):
        scores = logits_after(model, ids).astype(np.float64)
        scores[model.vocab.unk_id] = -np.inf
        weights = np.exp(scores - scores.max())
        ids.append(int(np.argmax(np.cumsum(weights) / weights.sum() > rng.random())))
    assert list(generate_ids(model, [2], 10, seed=8)) == ids[1:]


def test_the_empty_prompt_starts_after_eos(model):
    eos = model.vocab.eos_id
    assert list(generate_ids(model, length=8, seed=1)) == list(
        generate_ids(model, [eos], length=8, seed=1)
    )


def test_a_seed_means_the_same_text(model):
    texts = {generate(model, "the cat", 20, seed=seed) for seed in (1, 1, 1, 2)}
    assert len(texts) == 2
    rng = np.random.default_rng(1)
    assert generate(model, "the cat", 20, rng=rng) == generate(model, "the cat", 20, seed=1)


def test_without_a_seed_the_seed_of_the_package_counts(model):
    backend.seed(5)
    first = generate(model, length=20)
    backend.seed(5)
    assert generate(model, length=20) == first != generate(model, length=20)


def test_top_k_of_one_is_greedy(model):
    assert generate(model, "a", 15, top_k=1, seed=0) == generate(model, "a", 15, greedy=True)
    assert generate(model, "a", 15, top_p=1e-9, seed=0) == generate(model, "a", 15, greedy=True)
    assert generate(model, "a", 15, temperature=1e-9, seed=0) == generate(
        model, "a", 15, greedy=True
    )


def test_unknown_is_chosen_only_where_it_is_allowed(model):
    unk = model.vocab.unk_id
    model.named_parameters()[-1][1].value[unk] += 50  # the output bias: <unk> would always win
    assert unk not in list(generate_ids(model, [1], 20, seed=0))
    assert unk not in list(generate_ids(model, [1], 20, greedy=True))
    assert set(generate_ids(model, [1], 20, seed=0, allow_unknown=True)) == {unk}


def test_stopping_at_the_end_of_the_sentence(model):
    eos = model.vocab.eos_id
    whole = list(generate_ids(model, [1], 200, seed=4))
    assert eos in whole[:-1]
    stopped = list(generate_ids(model, [1], 200, seed=4, stop_at_eos=True))
    assert stopped == whole[: whole.index(eos) + 1]


def test_length_zero_gives_the_prompt(model):
    assert generate(model, "The cat sat.", 0) == "the cat sat."


def test_a_word_outside_the_vocabulary_stays_in_the_text(model):
    assert generate(model, "the zebra", 3, seed=1).startswith("the zebra")


def test_the_text_does_not_depend_on_the_array_backend(array_backend):
    backend.seed(2)
    model = RNNLM(10, 6, 6, layers=1, cell="gru")
    model.vocab = Vocabulary.build(WORDS)
    texts = [generate(model, "the cat", 12, temperature=0.7, top_p=0.9, seed=1) for _ in range(2)]
    assert texts[0] == texts[1]
    assert texts[0].startswith("the cat")
    assert model.training


# --- The model is only borrowed --------------------------------------------------------------


def states_are_equal(one, other):
    assert one.keys() == other.keys()
    for name in one:
        np.testing.assert_array_equal(one[name], other[name])


@pytest.mark.parametrize("training", [True, False])
def test_mode_and_state_are_as_they_were(model, training):
    ids = backend.asarray([[1, 2, 3], [3, 2, 1]])
    model.train()
    model.forward(ids, ids)  # a batch of two: a state that generation could not use
    if not training:
        model.eval()
    before = model.snapshot()
    generate(model, "the cat", 5)
    states_are_equal(model.snapshot(), before)
    assert model.training is training
    assert all(layer.training is training for layer in model._layers())

    abandoned = generate_ids(model, [1, 2], 50)
    next(abandoned)
    states_are_equal(model.snapshot(), before)  # already now, and not only once it is closed
    assert model.training is training


def test_mode_and_state_are_put_back_after_an_error(model):
    before = model.snapshot()
    with pytest.raises(ValueError, match="0 to"):
        list(generate_ids(model, [1, 99], 3))
    states_are_equal(model.snapshot(), before)
    assert model.training


def test_a_forward_that_waits_for_its_backward_still_has_it(model):
    ids = backend.asarray([[1, 2, 3]])
    model.forward(ids, ids)
    generate(model, length=3)
    model.backward()


def test_two_continuations_may_be_interleaved(model):
    one, other = (list(generate_ids(model, [1, 2], 9, seed=seed)) for seed in (1, 2))
    pairs = zip(
        generate_ids(model, [1, 2], 9, seed=1), generate_ids(model, [1, 2], 9, seed=2), strict=True
    )
    assert list(pairs) == list(zip(one, other, strict=True))


def test_memory_does_not_grow_with_the_length(model):
    def write(length):
        for _ in text_pieces(model.vocab, ["a"], generate_ids(model, [1], length, seed=0)):
            pass

    def peak(length):
        tracemalloc.start()
        write(length)
        _, highest = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return highest

    short, long = 300, 2000
    write(short)  # caches of the interpreter fill once, and are not what is measured
    kept = peak(long) - peak(short)
    assert kept < 4 * (long - short)  # a list of the words would hold 8 bytes a word, or more


# --- Text ------------------------------------------------------------------------------------


def test_pieces_joined_are_the_text(model):
    ids = list(generate_ids(model, [1], 80, seed=2))
    tokens = ["the", "zebra", '"']
    joined = "".join(text_pieces(model.vocab, tokens, ids))
    assert joined == model.vocab.detokenize([*tokens, *model.vocab.decode(ids)])


def test_pieces_of_a_line_longer_than_what_is_kept():
    vocab = Vocabulary.build(["a", "."])
    ids = vocab.encode(["a"] * (3 * LINE_MEMORY) + ["."]).tolist()
    assert "".join(text_pieces(vocab, [], ids)) == "a " * (3 * LINE_MEMORY - 1) + "a."


def test_lines_of_a_prompt_end_with_eos():
    vocab = Vocabulary.build(["a"])
    assert tokenize_prompt(vocab, "") == []
    assert tokenize_prompt(vocab, "A b\n\nc\n") == ["a", "b", "<eos>", "<eos>", "c", "<eos>"]
    chars = Vocabulary.build(["a"], tokenizer="chars")
    assert tokenize_prompt(chars, "ab\nc") == ["a", "b", "\n", "c"]
