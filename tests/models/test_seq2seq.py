"""Encoder and decoder, and the tagger: padding, steps, ties, checkpoints, what is refused."""

import numpy as np
import pytest

import deepnlp
from deepnlp import no_backward
from deepnlp.backend import asarray, asnumpy
from deepnlp.checkpoint import load, save
from deepnlp.examples import EXAMPLES, SMALL
from deepnlp.layer import map_state
from deepnlp.models import Seq2Seq, Tagger
from deepnlp.optimizers import Adam
from deepnlp.text import Vocabulary
from tests.layers.tools import assert_close, parameter_gradients

SEQ2SEQ = [example for example in EXAMPLES.values() if example.covers is Seq2Seq]
TAGGERS = [example for example in EXAMPLES.values() if example.covers is Tagger]
every_model = pytest.mark.parametrize("case", SEQ2SEQ, ids=str)
every_tagger = pytest.mark.parametrize("case", TAGGERS, ids=str)
LENGTHS, TARGETS = [4, 1, 3], [2, 3, 1]  # of sources (N, S) and of targets (N, T)


def setting(case, seed=1):
    """A model in evaluation mode, and a batch with padding; what is past the ends is any id."""
    rng = np.random.default_rng(seed)
    sizes = SMALL._replace(N=3, T=3, S=4)
    model, _ = case.build(rng, sizes)
    model.eval()
    source, inputs, targets = (
        rng.integers(0, sizes.V, size=shape) for shape in ((3, 4), (3, 3), (3, 3))
    )
    for n, length in enumerate(TARGETS):
        targets[n, length:] = -1
    return model, source, inputs, targets


def device(*arrays):
    return [asarray(array) for array in arrays]


@every_model
def test_a_padded_batch_is_its_pairs_one_by_one(array_backend, case):
    model, source, inputs, targets = setting(case)
    total = float(model.forward(*device(source), LENGTHS, *device(inputs, targets)))
    model.zero_grad()
    model.backward()
    together = parameter_gradients(model)
    losses = asnumpy(model.losses(*device(source), LENGTHS, *device(inputs, targets)))
    model.zero_grad()
    summed = 0.0
    for n, (S, T) in enumerate(zip(LENGTHS, TARGETS, strict=True)):
        alone = device(source[n : n + 1, :S]), device(inputs[n : n + 1, :T], targets[n : n + 1, :T])
        for lengths in (None, [S]):
            loss = float(model.forward(*alone[0], lengths, *alone[1]))
        assert loss == pytest.approx(losses[n, :T].mean(), abs=1e-12)
        model.backward(T / sum(TARGETS))
        summed += loss * T
    assert total == pytest.approx(summed / sum(TARGETS), abs=1e-12)
    assert (losses[targets == -1] == 0).all()
    for gradient, expected in zip(parameter_gradients(model), together, strict=True):
        assert_close(gradient, expected)


@every_model
def test_steps_are_the_scores_of_a_forward(array_backend, case):
    model, source, inputs, _ = setting(case)
    expected = asnumpy(model.logits(*device(source), LENGTHS, *device(inputs)))
    weights = model.attention_weights
    state = model.start(*device(source), LENGTHS)
    for t in range(inputs.shape[1]):
        scores, state = model.step(asarray(inputs[:, t]), state)
        assert_close(scores, expected[:, t])
        if weights is not None:
            assert model.attention_weights.shape == (3, 4)
            assert_close(model.attention_weights, asnumpy(weights)[:, t])
    if weights is not None:
        weights = asnumpy(weights)
        assert_close(weights.sum(axis=2), np.ones((3, 3)))
        for n, length in enumerate(LENGTHS):
            assert (weights[n, :, length:] == 0).all()
    else:
        assert model.attention_weights is None


@every_model
def test_rows_of_a_state_are_texts_of_their_own(array_backend, case):
    """In another order, some more than once, as beam search needs it."""
    model, source, inputs, _ = setting(case)
    rows = np.array([2, 0, 0, 1, 2])
    _, state = model.step(asarray(inputs[:, 0]), model.start(*device(source), LENGTHS))
    sizes = []
    map_state(lambda array: sizes.append(len(array)), state)
    assert set(sizes) == {3}
    chosen = map_state(lambda array: array[asarray(rows)], state)
    actual, _ = model.step(asarray(inputs[rows, 1]), chosen)
    expected, _ = model.step(asarray(inputs[:, 1]), state)
    assert_close(actual, asnumpy(expected)[rows])


@every_model
def test_writing_leaves_a_waiting_forward_alone(array_backend, case):
    model, source, inputs, targets = setting(case)
    batch = *device(source), LENGTHS, *device(inputs, targets)
    model.forward(*batch)
    model.backward()
    expected = parameter_gradients(model)
    model.zero_grad()
    loss = model.forward(*batch)
    model.step(asarray(inputs[:, 0]), model.start(*device(source), LENGTHS))
    model.losses(*batch)
    with no_backward():
        assert_close(model.forward(*batch), asnumpy(loss), 1e-14)
    model.backward()
    for gradient, value in zip(parameter_gradients(model), expected, strict=True):
        assert_close(gradient, value)
    with pytest.raises(RuntimeError, match=r"Seq2Seq\.backward: no forward to go back through"):
        model.backward()


@every_model
def test_an_empty_source(array_backend, case):
    model, source, inputs, targets = setting(case)
    loss = model.forward(*device(source), [4, 0, 3], *device(inputs, targets))
    model.backward()
    assert np.isfinite(float(loss))
    assert all(np.isfinite(g).all() for g in parameter_gradients(model))


@pytest.mark.parametrize("case", SEQ2SEQ + TAGGERS, ids=str)
def test_built_again_from_a_file(case, tmp_path):
    model, *_ = setting(case)
    for k, name in enumerate(model.vocab_names):
        words = [f"word{k}{n}" for n in range(model.config().get(f"{name}_size", 5) - 2)]
        setattr(model, name, Vocabulary(["<eos>", "<unk>", *words]))
    save(tmp_path / "model.npz", model)
    again = load(tmp_path / "model.npz")
    assert type(again) is type(model)
    assert again.config() == model.config()
    assert again.summary() == model.summary()
    for (name, a), (other, b) in zip(
        model.named_parameters(), again.named_parameters(), strict=True
    ):
        assert name == other
        np.testing.assert_array_equal(a.value, b.value)
    for name in model.vocab_names:
        assert list(getattr(again, name).tokens) == list(getattr(model, name).tokens)


# --- Ties ------------------------------------------------------------------------------------


def names(model):
    return [name for name, _ in model.named_parameters()]


def test_ties():
    sizes = {"embed_size": 4, "hidden_size": 4}
    free = Seq2Seq(6, 6, **sizes)
    assert free.size() == 2 * 6 * 4 + 2 * (4 * 16 + 4 * 16 + 16) + 4 * 6 + 6
    output = Seq2Seq(6, 6, **sizes, tie="output")
    assert output.size() == free.size() - 24
    assert output.output.W.T is output.target.layers[0].W
    everything = Seq2Seq(6, 6, **sizes, tie="all")
    assert everything.size() == free.size() - 48
    assert everything.source.layers[0].W is everything.target.layers[0].W
    wide = Seq2Seq(6, 6, embed_size=4, hidden_size=5, tie="output")
    assert wide.head.layers[-1].W.shape == (5, 4)
    assert "head.layers.0.W" in names(wide)


def test_words_in_both_vocabularies_share_a_vector():
    model = Seq2Seq(5, 4, 3, 3, tie="all", shared_ids=[4, -1, 0, -1], dtype="float64")
    E, F = model.source.layers[0].W, model.target.layers[0].W
    assert_close(F.value[asarray([0, 2])], E.value[asarray([4, 0])], 0)
    assert model.size() == (5 + 2) * 3 + 2 * (3 * 12 + 3 * 12 + 12) + 4
    every = Seq2Seq(5, 2, 3, 3, tie="all", shared_ids=np.array([4, 0]))
    assert every.config()["shared_ids"] == [4, 0]
    ids = asarray([[0, 1]])
    assert np.isfinite(float(every.forward(ids, None, ids, ids)))
    every.backward()


# --- Options ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"attention": "dot", "context": "every"}, "context='every' is for attention='none'"),
        ({"input_feeding": True}, "input_feeding is for attention='dot'"),
        ({"attention": "additive", "input_feeding": True}, "the context enters the step itself"),
        ({"attention": "dot", "bidirectional": True}, "attention='general' has a matrix between"),
        ({"tie": "all"}, "tie='all' needs one vocabulary, got 6 and 5 words"),
        ({"tie": "all", "shared_ids": [1]}, "an id for each of the 5 target words"),
        ({"shared_ids": [1] * 5}, "shared_ids belong to tie='all'"),
        ({"reset_after": True}, "reset_after is an option of cell='gru'"),
        (
            {"cell": "elman"},
            "cell should be one of 'lstm', 'gru', 'rnn', 'mogrifier', .*, or .* got 'elman'",
        ),
        ({"attention": "soft"}, "attention should be one of"),
        ({"dropout": 1.0}, "dropout should be"),
        ({"layers": 0}, "layers should be"),
        ({"tie": "both"}, "tie should be one of"),
    ],
)
def test_options_that_do_not_fit(options, message):
    with pytest.raises(ValueError, match=message):
        Seq2Seq(6, 5, 4, 4, **options)


def test_inputs_that_do_not_fit(array_backend):
    model = Seq2Seq(6, 5, 3, 4, attention="dot")
    source, inputs = asarray([[0, 1], [2, 3]]), asarray([[0], [1]])
    with pytest.raises(ValueError, match=r"Seq2Seq: source should have shape \(N, S\)"):
        model.start(source[0])
    with pytest.raises(ValueError, match=r"Seq2Seq: inputs should have shape \(N, T\) with N = 2"):
        model.logits(source, None, inputs[:1])
    with pytest.raises(ValueError, match="lengths should be from 0 to 2, got 3"):
        model.logits(source, [1, 3], inputs)


@pytest.mark.parametrize("init", ["uniform", "book"])
def test_fresh_weights(init):
    model = Seq2Seq(
        400, 300, 100, 64, 2, attention="concat", input_feeding=True, init=init,
        rng=np.random.default_rng(0),
    )  # fmt: skip
    for name, parameter in model.named_parameters():
        std = float(parameter.value.std())
        is_table = name in ("source.layers.0.W", "target.layers.0.W")
        if parameter.value.ndim == 1:
            if name.endswith("b"):
                is_forget = parameter.shape == (256,) and init == "uniform"
                assert set(np.unique(parameter.value)) == ({0, 1} if is_forget else {0}), name
        elif init == "book":
            expected = 0.01 if is_table else parameter.shape[0] ** -0.5
            assert std == pytest.approx(expected, rel=0.1), name
        elif is_table:
            assert std == pytest.approx(0.1 / 3**0.5, rel=0.1), name


@pytest.mark.parametrize("attention", ["none", "general", "additive"])
def test_it_learns_to_reverse(attention):
    deepnlp.seed(0)
    rng = np.random.default_rng(0)
    model = Seq2Seq(8, 8, 16, 32, attention=attention, bidirectional=attention == "additive")
    optimizer = Adam(model.parameters(), lr=0.01)
    lengths = rng.integers(2, 5, size=32)
    source = rng.integers(1, 8, size=(32, 4))
    targets = np.full((32, 4), -1)
    for n, length in enumerate(lengths):
        targets[n, :length] = source[n, :length][::-1]
    inputs = np.concatenate([np.zeros((32, 1), int), targets[:, :-1]], axis=1).clip(0)
    batch = *device(source), lengths, *device(inputs, targets)
    for _ in range(120):
        loss = model.forward(*batch)
        model.zero_grad()
        model.backward()
        optimizer.step()
    assert float(loss) < 0.1
    # and writes it without a teacher
    ids, state, wrong = np.zeros(32, int), model.start(asarray(source), lengths), 0
    for t in range(4):
        scores, state = model.step(asarray(ids), state)
        ids = asnumpy(scores).argmax(axis=1)
        counts = targets[:, t] != -1
        wrong += int((ids != targets[:, t])[counts].sum())
    assert wrong <= 3


# --- The tagger ----------------------------------------------------------------------------------


@every_tagger
def test_a_padded_batch_of_texts_is_its_texts_one_by_one(array_backend, case):
    model, ids, _, _ = setting(case)
    rng = np.random.default_rng(2)
    targets = rng.integers(0, 4, size=ids.shape)
    for n, length in enumerate(LENGTHS):
        targets[n, length:] = -1
    total = float(model.forward(*device(ids), LENGTHS, *device(targets)))
    model.zero_grad()
    model.backward()
    together = parameter_gradients(model)
    logits = asnumpy(model.logits(*device(ids), LENGTHS))
    losses = asnumpy(model.losses(*device(ids), LENGTHS, *device(targets)))
    tags = asnumpy(model.tags(*device(ids), LENGTHS))
    model.zero_grad()
    summed = 0.0
    for n, length in enumerate(LENGTHS):
        here = slice(n, n + 1), slice(0, length)
        alone = device(ids[here])[0]
        loss = float(model.forward(alone, None, asarray(targets[here])))
        model.backward(length / sum(LENGTHS))
        assert_close(model.logits(alone), logits[here])
        assert_close(model.tags(alone), logits[here].argmax(axis=2), 0)
        np.testing.assert_array_equal(
            tags[n], [*logits[n, :length].argmax(axis=1)] + [-1] * (4 - length)
        )
        assert loss == pytest.approx(losses[here].mean(), abs=1e-12)
        summed += loss * length
    assert total == pytest.approx(summed / sum(LENGTHS), abs=1e-12)
    for gradient, expected in zip(parameter_gradients(model), together, strict=True):
        assert_close(gradient, expected)


def test_the_tagger_reads_ahead_only_if_it_reads_both_ways():
    ids = asarray([[1, 2, 3, 4]])
    changed = asarray([[1, 2, 3, 5]])
    for bidirectional in (True, False):
        model = Tagger(6, 3, 4, 5, bidirectional=bidirectional, rng=np.random.default_rng(0))
        same = np.array_equal(model.logits(ids)[:, 0], model.logits(changed)[:, 0])
        assert same != bidirectional
    with pytest.raises(ValueError, match="Tagger: reset_after is an option of cell='gru'"):
        Tagger(6, 3, 4, 5, reset_after=True)
