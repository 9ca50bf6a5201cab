"""Sampling: each function by hand, the chain of them, and a model borrowed without a trace."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepnlp import backend
from deepnlp.evaluation import evaluating
from deepnlp.generation import (
    LINE_MEMORY,
    Sampler,
    apply_temperature,
    draw,
    generate,
    generate_batch,
    generate_ids,
    generate_many,
    keep_top_k,
    keep_top_p,
    text_pieces,
    tokenize_prompt,
)
from deepnlp.generation.sampling import BLOCK, FIRST_NUCLEUS
from deepnlp.layers import Embedding, TimeAffine, TimeGRU, TimeLSTM
from deepnlp.models import RNNLM, RegularisedRNNLM, SimpleRNNLM
from deepnlp.models.language_model import LanguageModel
from deepnlp.text import BPE, Vocabulary
from tests.cases import together

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


class OwnModel(LanguageModel):
    """A learner's model: no chain that anyone knows."""

    def __init__(self, vocab_size, embed_size, hidden_size, dtype="float32", rng=None):
        self._remember(
            vocab_size=vocab_size, embed_size=embed_size, hidden_size=hidden_size, dtype=dtype
        )
        self.embed = Embedding.init(vocab_size, embed_size, rng, dtype, bound=2.0)
        self.gru = TimeGRU.init(embed_size, hidden_size, rng, dtype, stateful=True)
        self.affine = TimeAffine.init(hidden_size, vocab_size, rng, dtype)

    def logits(self, ids):
        return 3 * self.affine.forward(self.gru.forward(self.embed.forward(ids)))


def own_model():
    return OwnModel(9, 5, 7, dtype="float64", rng=np.random.default_rng(6))


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


def sorted_ids(p):
    """The plain form: the likeliest first, and of equal ones the smaller id first."""
    return sorted(range(len(p)), key=lambda id_: (-p[id_], id_))


def shared_out(p, ids):
    kept = np.zeros_like(p)
    kept[ids] = p[ids]
    return kept / kept.sum()


@together(V=[1, 7, FIRST_NUCLEUS, 5 * FIRST_NUCLEUS], ties=[True, False], share=[0.01, 0.5, 1.0])
def test_the_likeliest_words_are_those_of_a_sort(V, ties, share):
    rng = np.random.default_rng(V)
    weights = rng.integers(0, 4, V) + 0.0 if ties else rng.random(V)
    weights[-1] += 1
    p = weights / weights.sum()
    k = max(1, round(share * V))
    assert keep_top_k(p, k).tolist() == shared_out(p, sorted_ids(p)[:k]).tolist()
    reached = 0.99 * share
    size = int((np.cumsum(p[sorted_ids(p)]) < reached).sum()) + 1
    assert keep_top_p(p, reached).tolist() == shared_out(p, sorted_ids(p)[:size]).tolist()


@together(V=[2, BLOCK - 1, BLOCK, BLOCK + 1, 10 * BLOCK + 3], temperature=[0.3, 1.0, 50.0])
def test_a_choice_is_that_of_the_plain_chain(V, temperature):
    rng = np.random.default_rng(V)
    sampler = Sampler(temperature, banned=(0,))
    for _ in range(20):
        logits = rng.normal(0, 3, V).astype("float32")
        p = sampler.probabilities(logits)
        ends = np.cumsum(p)[rng.integers(0, V, 10)]  # where one word ends and another begins
        numbers = [0.0, 1 - 2**-53, *rng.random(20), *np.minimum(ends, 1 - 2**-53)]
        numbers += [max(0.0, min(end * factor, 1 - 2**-53)) for end in ends for factor in NEAR_ONE]
        for u in numbers:
            assert sampler.choose(logits, OneNumber(u)) == draw(p, OneNumber(u))


NEAR_ONE = [1 - 1e-15, 1 + 1e-15, 1 - 1e-12, 1 + 1e-12]


def test_equally_likely_words_are_told_apart_where_they_meet():
    V = 4 * BLOCK
    for k in range(V):
        assert Sampler().choose(np.zeros(V), OneNumber(k / V)) == k


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


@pytest.mark.parametrize("id_", [-1, 11])
def test_a_prompt_outside_the_vocabulary_is_an_error_at_once(model, id_):
    with pytest.raises(ValueError, match=f"0 or more and below {model.vocab_size}, got {id_}"):
        generate_ids(model, [1, id_])
    with pytest.raises(ValueError, match=f"0 or more and below {model.vocab_size}, got {id_}"):
        generate_batch(model, [[1], [id_, 1]])


def test_wrong_prompts_of_a_batch(model):
    with pytest.raises(ValueError, match="there is no prompt"):
        generate_batch(model, [])
    with pytest.raises(ValueError, match="there is no prompt"):
        generate_many(model, [])
    with pytest.raises(TypeError, match="list of prompts, got one text"):
        generate_many(model, "the cat")
    with pytest.raises(ValueError, match="top_k"):
        generate_batch(model, [[1]], top_k=0)


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


# --- Word by word ----------------------------------------------------------------------------

KINDS = {
    "lstm tied": {},
    "lstm tied+L": {"tie": "tied+L", "embed_size": 5},
    "lstm, no bias": {"tie": "none", "output_bias": False, "layers": 1, "embed_size": 5},
    "gru": {"cell": "gru", "dropout": 0.0},
    "gru, reset after": {"cell": "gru", "reset_after": True, "locked_dropout": True},
    "rnn": {"cell": "rnn", "tie": "none", "embed_size": 9},
    "relu": {"cell": "rnn", "activation": "relu", "layers": 3},
    "no input matrix": {"cell": "rnn", "input_matrix": False},
}


def built(kind):
    sizes = {"vocab_size": 11, "embed_size": 7, "hidden_size": 7, "dtype": "float64"}
    rng = np.random.default_rng(5)
    model = (
        SimpleRNNLM(**sizes) if kind == "simple" else RegularisedRNNLM(**{**sizes, **KINDS[kind]})
    )
    for parameter in model.parameters():
        parameter.value = backend.asarray(rng.normal(0, 0.5, parameter.shape))
    return model


@pytest.mark.parametrize("kind", [*KINDS, "simple"])
@together(B=[1, 3])
def test_steps_are_the_sequence_read_at_once(kind, B, array_backend):
    """Both the model's own step and the general one, which reads the whole text again."""
    model = built(kind)
    ids = np.random.default_rng(0).integers(0, 11, (B, 6))
    with evaluating(model):
        whole = backend.asnumpy(model.logits(backend.asarray(ids)))
    model.forward(backend.asarray(ids), backend.asarray(ids))  # leaves a state and a backward
    carried = model.snapshot()
    model.eval()
    for step in (model.step, model._general_step):
        state = model.start(B) if step == model.step else model._general_start(B)
        for t in range(6):
            scores, state = step(backend.asarray(ids[:, t]), state)
            assert scores.shape == (B, 11)
            np.testing.assert_allclose(backend.asnumpy(scores), whole[:, t], 1e-11, 1e-13)
    model.train()
    assert all(np.array_equal(model.snapshot()[name], carried[name]) for name in carried)
    model.backward()


def test_a_step_begins_anew_where_it_is_given_no_state(model):
    model.eval()
    ids = backend.asarray([3, 1])
    first, _ = model.step(ids)
    again, _ = model.step(ids, model.start(2))
    np.testing.assert_array_equal(backend.asnumpy(first), backend.asnumpy(again))


def test_a_model_without_layers_steps_by_its_logits():
    """Its scores depend on the last two ids only; fed one id at a time it would be wrong."""

    class LastTwo(LanguageModel):
        def __init__(self):
            self._remember(vocab_size=7, embed_size=1, hidden_size=1, dtype="float64")

        def logits(self, ids):
            ids = backend.asnumpy(ids)
            before = np.concatenate([np.full((len(ids), 1), 3), ids[:, :-1]], axis=1)
            return backend.asarray(np.eye(7)[(2 * ids + before) % 7])

    def continued(a, b, n):
        found = []
        for _ in range(n):
            a, b = b, (2 * b + a) % 7
            found.append(b)
        return found

    assert list(generate_ids(LastTwo(), [1, 2], 9, greedy=True)) == continued(1, 2, 9)
    steps = list(generate_batch(LastTwo(), [[1, 2], [5], [0, 6, 4]], 9, greedy=True))
    rows = [continued(1, 2, 9), continued(3, 5, 9), continued(6, 4, 9)]
    assert np.stack(steps, axis=1).tolist() == rows


def own_logits():
    class Own(RNNLM):
        def logits(self, ids):
            return -super().logits(ids)

    return Own(11, 7, 7)


def own_layer():
    class Own(TimeLSTM):
        def forward(self, x):
            return -super().forward(x)

    model = RNNLM(11, 7, 7, layers=1, dropout=0.0)
    old = model.layers[1]
    model.layers[1] = Own(old.Wx, old.Wh, old.b, stateful=True)
    return model


def two_types():
    model = RNNLM(11, 7, 7)
    model.layers[2].b.astype("float64")
    return model


@pytest.mark.parametrize("make", [own_model, own_logits, own_layer, two_types])
def test_a_class_with_a_forward_of_its_own_steps_by_it(make):
    model = make()
    ids = [1]
    for _ in range(5):
        with evaluating(model):
            scores = backend.asnumpy(model.logits(backend.asarray([ids])))[0, -1]
        ids.append(int(scores.argmax()))
    assert list(generate_ids(model, [1], 5, greedy=True)) == ids[1:]


def test_weights_that_change_on_the_way_are_the_new_ones(model):
    ids = generate_ids(model, [1], 9, seed=0)
    next(ids)
    b = model.output.b
    b.value = b.value + 50 * backend.asarray(np.arange(model.vocab_size) == 5)
    assert next(ids) == 5


# --- Many at once ----------------------------------------------------------------------------


def rows_of(steps):
    """The continuations, one a row, from their steps."""
    return np.stack(list(steps), axis=1).tolist()


PROMPTS = [[2, 5, 1], [4], [], [3, 3, 3, 3, 3], [6, 1]]


@pytest.mark.parametrize("make", [lambda: built("lstm tied"), lambda: built("gru"), own_model])
@pytest.mark.parametrize(
    "options", [{}, {"temperature": 0.7, "top_k": 6, "top_p": 0.9}, {"greedy": True}]
)
def test_each_row_is_a_text_of_its_own(make, options):
    model = make()
    model.vocab = Vocabulary.build(WORDS[: model.vocab_size - 2])
    batch = rows_of(generate_batch(model, PROMPTS, 12, seed=9, **options))
    children = np.random.default_rng(9).spawn(len(PROMPTS))
    for row, prompt, rng in zip(batch, PROMPTS, children, strict=True):
        assert row == list(generate_ids(model, prompt, 12, rng=rng, **options))


def test_a_row_depends_neither_on_the_others_nor_on_their_number():
    model = built("lstm tied")
    one = rows_of(generate_batch(model, [[1, 2]], 10, seed=3))
    three = rows_of(generate_batch(model, [[1, 2], [7], [5, 5, 5]], 10, seed=3))
    assert three[0] == one[0]
    same = rows_of(generate_batch(model, [[1, 2]] * 6, 10, seed=3))
    assert same[0] == one[0]
    assert len({tuple(row) for row in same}) == 6


def test_a_step_of_a_batch(model, array_backend):
    backend.seed(1)
    steps = list(generate_batch(RNNLM(11, 6, 6, cell="gru"), [[1], [2, 3]], 4))
    assert [step.shape for step in steps] == [(2,)] * 4
    assert all(isinstance(step, np.ndarray) and step.dtype.kind == "i" for step in steps)


def test_a_batch_that_is_changed_by_its_reader_goes_on_as_it_would(model):
    plain = rows_of(generate_batch(model, [[1], [2]], 8, seed=2))
    seen = []
    for step in generate_batch(model, [[1], [2]], 8, seed=2):
        seen.append(step.copy())
        step[:] = 0
    assert rows_of(seen) == plain


def test_where_the_randomness_of_a_batch_comes_from(model):
    def batch(**source):
        return rows_of(generate_batch(model, [[1], [1]], 15, **source))

    rng = np.random.default_rng(4)
    first, second = batch(rng=rng), batch(rng=rng)
    assert first == batch(seed=4) != second
    backend.seed(4)
    assert batch() == first


def test_a_batch_of_unknown_words_only_where_they_are_allowed(model):
    unk = model.vocab.unk_id
    model.named_parameters()[-1][1].value[unk] += 50
    assert unk not in np.concatenate(list(generate_batch(model, [[1], [2]], 9, seed=0)))
    for step in generate_batch(model, [[1], [2]], 9, seed=0, allow_unknown=True):
        assert step.tolist() == [unk, unk]


def test_no_step_of_a_batch(model):
    assert list(generate_batch(model, [[1], [2, 3]], 0)) == []
    assert generate_many(model, ["The cat.", "a"], 0) == ["the cat.", "a"]


def test_many_texts(model):
    prompts = ["the cat", "", "A mat.\nThe zebra"]
    texts = generate_many(model, prompts, 9, seed=7, temperature=0.8)
    children = np.random.default_rng(7).spawn(3)
    assert texts == [
        generate(model, prompt, 9, rng=rng, temperature=0.8)
        for prompt, rng in zip(prompts, children, strict=True)
    ]


def test_many_texts_end_each_with_its_sentence(model):
    prompts = ["the cat"] * 5
    children = np.random.default_rng(7).spawn(5)
    texts = generate_many(model, prompts, 300, seed=7, stop_at_eos=True)
    assert texts == [generate(model, "the cat", 300, rng=rng, stop_at_eos=True) for rng in children]
    assert len({len(text) for text in texts}) > 1


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

    for abandoned in (generate_ids(model, [1, 2], 50), generate_batch(model, [[1, 2], [3]], 50)):
        next(abandoned)
        states_are_equal(model.snapshot(), before)  # already now, and not only once it is closed
        assert model.training is training


@pytest.mark.parametrize("training", [True, False])
def test_a_model_that_is_called_gets_its_mode_and_state_back(training):
    model = own_model()
    model.logits(backend.asarray([[1, 2, 3], [3, 2, 1]]))
    if not training:
        model.eval()
    before = model.snapshot()
    for abandoned in (generate_ids(model, [1, 2], 50), generate_batch(model, [[1, 2], [3]], 50)):
        next(abandoned)
        next(abandoned)
        states_are_equal(model.snapshot(), before)
        assert all(layer.training is training for layer in model._layers())


def test_mode_and_state_are_put_back_after_an_error():
    class Broken(OwnModel):
        def logits(self, ids):
            super().logits(ids)
            raise ValueError("broken halfway")

    model = Broken(9, 5, 7)
    model.gru.set_state(backend.xp.ones((2, 7), dtype="float32"))
    before = model.snapshot()
    with pytest.raises(ValueError, match="broken halfway"):
        list(generate_ids(model, [1], 3))
    states_are_equal(model.snapshot(), before)
    assert model.training


def test_a_forward_that_waits_for_its_backward_still_has_it(model):
    ids = backend.asarray([[1, 2, 3]])
    model.forward(ids, ids)
    generate(model, length=3)
    model.backward()


@pytest.mark.parametrize("kind", ["known", "own"])
def test_two_continuations_may_be_interleaved(model, kind):
    if kind == "own":
        model = own_model()
    one, other = (list(generate_ids(model, [1, 2], 9, seed=seed)) for seed in (1, 2))
    pairs = zip(
        generate_ids(model, [1, 2], 9, seed=1), generate_ids(model, [1, 2], 9, seed=2), strict=True
    )
    assert list(pairs) == list(zip(one, other, strict=True))


def write(model, length):
    for _ in text_pieces(model.vocab, ["a"], generate_ids(model, [1], length, seed=0)):
        pass


def read_in_rows(model, length):
    for _ in generate_batch(model, [[1], [2, 3]], length, seed=0):
        pass


@pytest.mark.parametrize("work", [write, read_in_rows])
def test_memory_does_not_grow_with_the_length(model, work):
    def peak(length):
        tracemalloc.start()
        work(model, length)
        _, highest = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return highest

    short, long = 150, 1000
    for _ in range(2):  # lists of free objects fill once, and are not what is measured
        work(model, long)
    kept = min(peak(long) for _ in range(3)) - peak(short)
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


def test_a_letter_of_several_tokens_is_a_piece_when_it_is_whole():
    bpe = BPE([("Ã", "©")])  # é is one token, and the others are a byte each
    vocab = Vocabulary.build([], tokenizer=bpe)
    ids = vocab.encode(bpe.split("é→é\n貓!")).tolist()
    pieces = list(text_pieces(vocab, ["a"], ids))
    assert pieces == ["a", "é", "", "", "→", "é", "\n", "", "", "貓", "!"]
    assert "".join(text_pieces(vocab, ["a"], ids[:-2])) == "aé→é\n\ufffd"
    broken = vocab.encode([*bpe.split("貓")[:2], "a", "ÿ", *bpe.split("→")]).tolist()
    assert "".join(text_pieces(vocab, [], broken)) == "\ufffda\ufffd→"


def test_a_line_of_byte_pairs_ends_with_any_token_that_holds_a_line_break():
    vocab = Vocabulary.build([], tokenizer=BPE([("Ċ", "Ċ")]))
    model = RNNLM(len(vocab), 4, 4)
    model.vocab = vocab
    model.output.b.value[vocab.id("ĊĊ")] = 100
    assert list(generate_ids(model, [1], 5, stop_at_eos=True, seed=0)) == [vocab.id("ĊĊ")]
    assert generate_many(model, ["a", "b"], 5, stop_at_eos=True) == ["a\n\n", "b\n\n"]
    assert generate(model, "a", 5, stop_at_eos=True) == "a\n\n"


def test_lines_of_a_prompt_end_with_eos():
    vocab = Vocabulary.build(["a"])
    assert tokenize_prompt(vocab, "") == []
    assert tokenize_prompt(vocab, "A b\n\nc\n") == ["a", "b", "<eos>", "<eos>", "c", "<eos>"]
    chars = Vocabulary.build(["a"], tokenizer="chars")
    assert tokenize_prompt(chars, "ab\nc") == ["a", "b", "\n", "c"]
