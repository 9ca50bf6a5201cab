"""Transformers in the trainer: recipes, resuming, parts of a batch, random windows."""

import numpy as np
import pytest

import deepnlp
from deepnlp.backend import asarray, asnumpy, threads, xp
from deepnlp.checkpoint import load
from deepnlp.datasets import Corpus, load_pairs
from deepnlp.evaluation import perplexity, score, surprisal
from deepnlp.evaluation.neural_cache import cache_perplexity
from deepnlp.generation import generate, generate_many, translate
from deepnlp.layer import map_state
from deepnlp.layers import Embedding, MultiHeadAttention
from deepnlp.models import GPT, TransformerTranslator
from deepnlp.optimizers import AdamW
from deepnlp.parameter import Parameter
from deepnlp.tasks import LanguageModelling, SequenceToSequence
from deepnlp.tasks.batching import RandomWindows
from deepnlp.text import Vocabulary
from deepnlp.training import Cosine, Trainer, configure

SIZES = {"embed_size": 8, "layers": 1, "heads": 2}
MODERN = {"norms": "rms", "positions": "rotary", "activation": "swiglu", "bias": False}


@pytest.fixture
def corpus():
    vocab = Vocabulary.build(["a", "b", "c", "d", "e"])
    ids = vocab.encode(["a", "b", "c", "<eos>", "d", "e", "<eos>"] * 40)
    return Corpus("letters", vocab, ids, ids[:50], ids[:40])


def trainer(corpus, out=False, epochs=2, model=None, **options):
    deepnlp.seed(1)
    model = model or GPT(len(corpus.vocab), **SIZES, context=6, dropout=0.1)
    windows = {"windows": "random", "epoch_steps": 30, "batch_size": 4, "time_size": 6}
    task = LanguageModelling(corpus, **windows, baselines=False)
    optimizer = AdamW(model.parameters(), lr=0.01, betas=(0.9, 0.99), decay="matrices")
    schedule = Cosine(total_steps=60, floor=0.1, warmup_steps=5)
    given = {"schedule": schedule, "seed": 1, "progress": False, **options}
    return Trainer(model, task, optimizer, epochs=epochs, out=out, **given)


# --- The task --------------------------------------------------------------------------------


def test_random_windows_are_pieces_of_the_text():
    ids = np.random.default_rng(0).integers(0, 9, 50)
    windows = RandomWindows(ids, 3, 7, 40, np.random.default_rng(1))
    text = ids.tolist()
    pieces = [text[k : k + 8] for k in range(43)]
    found = [[*x, int(t[-1])] for inputs, targets in windows for x, t in zip(inputs, targets)]
    assert len(found) == 120
    assert all(piece in pieces for piece in found)
    assert {pieces.index(piece) for piece in found} >= {0, 42}  # the ends of the text too
    for inputs, targets in windows:
        np.testing.assert_array_equal(inputs[:, 1:], targets[:, :-1])
    with pytest.raises(ValueError, match="7 tokens are too few for windows of 7"):
        RandomWindows(ids[:7], 1, 7, 1, np.random.default_rng(0))
    with pytest.raises(IndexError, match="windows are 0 to 39, got 40"):
        windows[40]


def test_random_windows_depend_on_seed_and_epoch_alone(corpus):
    options = {"windows": "random", "batch_size": 2, "time_size": 5, "data_seed": 3}
    task = LanguageModelling(corpus, **options, epoch_steps=4)
    first, again, second = (task.batches(epoch) for epoch in (0, 0, 1))
    assert len(first) == 4
    assert len(LanguageModelling(corpus, **options).batches(0)) == 28  # 279 targets in 2 rows of 5
    np.testing.assert_array_equal(first[3][0], again[3][0])
    assert (first[3][0] != second[3][0]).any()
    with pytest.raises(ValueError, match="vary_time is for windows='contiguous'"):
        LanguageModelling(corpus, windows="random", vary_time=True)


def test_windows_are_no_longer_than_the_context(corpus):
    with pytest.raises(ValueError, match=r"time_size should be at most the model's context, 5, go"):
        Trainer(GPT(len(corpus.vocab), **SIZES, context=5), corpus, time_size=6)


def test_a_model_is_measured_in_windows_of_its_context(corpus):
    model = GPT(len(corpus.vocab), **SIZES, context=6, dtype="float64")
    for parameter in model.parameters():
        parameter.value = np.random.default_rng(0).normal(size=parameter.shape)
    ids = corpus.valid
    losses = []
    for start in range(0, len(ids) - 1, 6):
        x, t = (asarray([part[start : start + 6]]) for part in (ids[:-1], ids[1:]))
        losses += asnumpy(model.losses(x, t))[0].tolist()
    np.testing.assert_allclose(surprisal(model, ids), losses, rtol=1e-12)
    assert perplexity(model, ids) == pytest.approx(np.exp(np.mean(losses)), rel=1e-12)
    assert perplexity(model, ids, window=100) == perplexity(model, ids)


# --- Training --------------------------------------------------------------------------------


def test_a_gpt_learns_and_is_used_like_any_language_model(corpus, tmp_path):
    result = trainer(corpus, tmp_path / "run").fit()
    assert result.perplexity["valid"] < 2.5  # of six words; the text is a cycle of seven
    model = load(tmp_path / "run")
    assert isinstance(model, GPT)
    assert model.config()["context"] == 6
    text = generate(model, "a b", length=20, temperature=0.1, seed=0)
    assert "c" in text
    both = generate_many(model, ["a", "a b c <eos> d"], length=12, temperature=0.1, seed=0)
    assert len(both) == 2
    assert score(model, "a b c").perplexity > 1
    assert cache_perplexity(model, corpus.valid, size=10, flatness=0.3) > 1


def test_a_resumed_run_has_the_same_bits(corpus, tmp_path):
    whole = trainer(corpus, tmp_path / "whole")
    whole.fit()
    trainer(corpus, tmp_path / "parts", epochs=1).fit()
    resumed = trainer(corpus, tmp_path / "parts")
    resumed.fit(resume=True)
    for one, other in zip(whole.model.parameters(), resumed.model.parameters(), strict=True):
        np.testing.assert_array_equal(one.value, other.value)


def test_parts_of_a_batch_have_the_gradient_of_the_whole(corpus):
    gradients = []
    for accumulate in (1, 3):
        deepnlp.seed(0)
        model = GPT(len(corpus.vocab), **SIZES, context=6, dtype="float64")
        run = trainer(corpus, model=model, accumulate=accumulate, max_norm=None)
        loss, norm = run.train_step(*run.batches[0])
        gradients.append((loss, norm, [p.grad.copy() for p in model.parameters()]))
    assert gradients[0][:2] == pytest.approx(gradients[1][:2], rel=1e-12)
    for one, other in zip(gradients[0][2], gradients[1][2], strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-13)


def test_parts_are_weighted_by_their_targets():
    pairs = load_pairs("addition", examples=200)
    losses = []
    for accumulate in (1, 2):
        deepnlp.seed(0)
        vocab = len(pairs.source_vocab), len(pairs.target_vocab)
        model = TransformerTranslator(*vocab, **SIZES, dtype="float64")
        optimizer = AdamW(model.parameters())
        task = SequenceToSequence(pairs, batch_size=7)
        run = Trainer(model, task, optimizer, out=False, progress=False, accumulate=accumulate)
        losses.append(run.train_step(*run.batches[0]))
    assert losses[0] == pytest.approx(losses[1], rel=1e-12)


def test_a_translator_learns_and_translates(tmp_path):
    deepnlp.seed(0)
    pairs = load_pairs("addition", examples=300)
    vocab = len(pairs.source_vocab), len(pairs.target_vocab)
    model = TransformerTranslator(*vocab, embed_size=16, layers=1, heads=2)
    task = SequenceToSequence(pairs, batch_size=50, metric="accuracy", beam=2)
    optimizer = AdamW(model.parameters(), lr=0.01)
    run = Trainer(model, task, optimizer, epochs=10, out=tmp_path / "run", progress=False)
    result = run.fit()
    assert result.figures["accuracy"]["valid"] > 25  # of eleven digits and the end
    loaded = load(tmp_path / "run")
    greedy, searched = (translate(loaded, ["12+5"], beam=beam)[0][0].text for beam in (1, 3))
    assert greedy
    assert searched


def test_a_training_step_has_the_same_bits_for_any_number_of_threads():
    ids, before, gradients = np.arange(12 * 65).reshape(12, 65) * 7 % 65, threads.number(), []
    try:
        for number in (1, 2, 3):
            threads.use(number)
            deepnlp.seed(0)
            model = GPT(65, 128, layers=1, dropout=0.1, context=64)
            model.forward(asarray(ids[:, :-1]), asarray(ids[:, 1:]))
            model.backward()
            gradients.append([asnumpy(p.grad) for p in model.parameters()])
    finally:
        threads.use(before)
    for of_one, *of_more in zip(*gradients, strict=True):
        for other in of_more:
            np.testing.assert_array_equal(other, of_one)


# --- Weights that do not decay ---------------------------------------------------------------


def test_gains_biases_and_chosen_weights_do_not_decay():
    W, g, E = Parameter(np.ones((2, 2))), Parameter(np.ones(2)), Parameter(np.ones((3, 2)))
    Embedding(E)
    for optimizer, decayed in (
        (AdamW([W, g, E], lr=0.1, weight_decay=0.5), (W, g, E)),
        (AdamW([W, g, E], lr=0.1, weight_decay=0.5, decay="matrices"), (W, E)),
        (AdamW([W, g, E], lr=0.1, weight_decay=0.5, decay="matrices", undecayed=[E.T]), (W,)),
        (AdamW([W, g, E], lr=0.1, weight_decay=0.5, decay="products"), (W,)),
    ):
        for parameter in (W, g, E):
            parameter.value = np.ones(parameter.shape)
            parameter.zero_grad()
        optimizer.step()  # the gradient is zero
        for parameter in (W, g, E):
            expected = 0.95 if any(parameter is each for each in decayed) else 1.0
            np.testing.assert_allclose(parameter.value, expected)
    with pytest.raises(
        ValueError, match="decay should be one of 'all', 'matrices', 'products', got 'none'"
    ):
        AdamW([W], decay="none")


def test_no_embedding_of_a_gpt_decays_with_its_recipe():
    model = GPT(7, **SIZES, context=6)
    undecayed = AdamW(model.parameters(), decay=configure("gpt-pydocs").decay)._undecayed
    tables = {"layers.0.W", "layers.1.P"}
    expected = {name for name, p in model.named_parameters() if p.value.ndim < 2} | tables
    assert {name for name, p in model.named_parameters() if p in undecayed} == expected


def test_the_microscope_refuses_a_gpt_before_anything_is_written(corpus, tmp_path):
    with pytest.raises(ValueError, match="GPT has no recurrent layer over time: the microscope"):
        trainer(corpus, out=tmp_path / "run", watch_gradients=5)
    assert not (tmp_path / "run").exists()


# --- Keys and values kept --------------------------------------------------------------------


@pytest.mark.parametrize("form", [{}, MODERN, {"norm": "post", "positions": "sinusoidal"}])
def test_steps_equal_the_forward_at_every_length(form):
    """In float64 bit for bit, since all products are of tiles that have one shape."""
    model = GPT(7, **SIZES, context=100, dtype="float64", **form)
    rng = np.random.default_rng(0)
    for parameter in model.parameters():
        parameter.value = rng.normal(size=parameter.shape)
    ids = rng.integers(0, 7, size=(2, 100))
    logits, state = model.logits(asarray(ids)), model.start(2)
    for t in range(100):  # past the room of a fresh state
        scores, state = model.step(asarray(ids[:, t]), state)
        np.testing.assert_array_equal(scores, logits[:, t])
    trained = model._features(asarray(ids))  # with all saved for a backward
    np.testing.assert_array_equal(trained, model.hidden(asarray(ids)))


def test_a_full_context_goes_on_from_its_last_half():
    model = GPT(7, **SIZES, context=6, dtype="float64")
    rng = np.random.default_rng(0)
    for parameter in model.parameters():
        parameter.value = rng.normal(size=parameter.shape)
    ids, state = rng.integers(0, 7, size=(2, 12)), model.start(2)
    begins = [0] * 6 + [3] * 3 + [6] * 3
    for t, begin in enumerate(begins):
        scores, state = model.step(asarray(ids[:, t]), state)
        expected = model.logits(asarray(ids[:, begin : t + 1]))[:, -1]
        np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="GPT: the model reads 6 words at a time, got 7"):
        model.logits(asarray(ids[:, :7]))


def test_a_state_may_be_continued_more_than_once():
    model = GPT(7, **SIZES, context=6, dtype="float64")
    first, *others = (asarray([k, k + 3]) for k in range(4))
    _, state = model.step(first)
    kept = map_state(lambda array: array.copy(), state)
    alone = [model.step(ids, map_state(lambda array: array.copy(), kept)) for ids in others]
    after = [model.step(ids, state) for ids in others]
    for (scores, one), (expected, other) in zip(after, alone, strict=True):
        np.testing.assert_array_equal(scores, expected)
        for ids in others[:2]:  # and so may what follows from it
            np.testing.assert_array_equal(model.step(ids, one)[0], model.step(ids, other)[0])
    rows = map_state(lambda array: array[1:], state)  # a view of the same memory
    scores, _ = model.step(others[0][1:], rows)
    np.testing.assert_allclose(scores, alone[0][0][1:], rtol=0, atol=1e-12)


def test_keys_and_values_are_written_in_place():
    attention = MultiHeadAttention.init(4, 2, causal=True, room=4)
    x, states = xp.ones((1, 4), "float32"), [attention.start(1)]
    for _ in range(9):
        states.append(attention.step(x, states[-1])[1])
    keys = [state[0] for state in states[1:]]
    assert [array.shape[2] for array in keys] == [4] * 4 + [8] * 4 + [16]
    assert [keys[t] is keys[t - 1] for t in range(1, 9)] == [t not in (4, 8) for t in range(1, 9)]


def test_many_queries_take_a_block_of_scores_at_a_time(monkeypatch):
    from deepnlp.layers import multihead

    rng = np.random.default_rng(0)
    attention = multihead.MultiHeadAttention.init(4, 2, dtype="float64", causal=True)
    x, mask = rng.normal(size=(2, 9, 4)), rng.random((2, 9, 9)) < 0.7
    sizes, by_tiles = [], multihead.attention_by_tiles

    def watched(q, k, *others):
        sizes.append((q.shape[2], k.shape[2]))
        return by_tiles(q, k, *others)

    watched.formula = by_tiles.formula
    for given in ((x,), (x, mask[:, 0]), (x, mask)):
        whole = attention.forward(*given)
        sizes.clear()
        with monkeypatch.context() as patch, deepnlp.no_backward():
            patch.setattr(multihead, "SCORES_AT_ONCE", 2 * 2 * 9 * 2)
            patch.setattr(multihead, "attention_by_tiles", watched)
            parts = attention.forward(*given)
        np.testing.assert_allclose(parts, whole, rtol=0, atol=1e-14)
        assert sizes == [(2, 2), (2, 4), (2, 6), (2, 8), (1, 9)]
        assert attention.weights is None
