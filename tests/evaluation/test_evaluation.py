import itertools
import math
from typing import Any

import numpy as np
import pytest

import deepnlp
from deepnlp.backend import asarray, asnumpy
from deepnlp.evaluation import perplexity, score, streams, surprisal
from deepnlp.models import RNNLM
from deepnlp.text import Vocabulary

V = 13


def random_model(dtype: str = "float64", **options: Any) -> RNNLM:
    """Large random weights, so that context, order and state show in the figures."""
    rng = np.random.default_rng(4)
    model = RNNLM(V, 5, 5, layers=2, dropout=0.5, dtype=dtype, **options)
    for p in model.parameters():
        p.value[...] = asarray(rng.standard_normal(p.shape).astype(dtype))
    return model


def random_ids(n: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(n).integers(0, V, n).astype(np.int32)


def losses_by_hand(model: RNNLM, ids: np.ndarray[Any, Any]) -> list[float]:
    """-log p of each target, one token at a time, from a state of zeros."""
    model.eval()
    model.reset_state()
    found = []
    for token, target in itertools.pairwise(ids):
        z = asnumpy(model.logits(asarray(np.array([[token]]))))[0, 0]
        found.append(float(np.log(np.exp(z - z.max()).sum()) + z.max() - z[target]))
    model.reset_state()
    model.train()
    return found


@pytest.mark.parametrize("n", [2, 3, 50])
@pytest.mark.parametrize("window", [None, 1, 7, 49, 1000])
def test_at_batch_1_every_target_counts_once_for_any_window(n: int, window: int | None) -> None:
    model, ids = random_model(), random_ids(n)
    losses = losses_by_hand(model, ids)
    expected = math.exp(math.fsum(losses) / (n - 1))
    assert perplexity(model, ids, window=window) == pytest.approx(expected, rel=1e-12)
    assert surprisal(model, ids, window=window) == pytest.approx(losses, rel=1e-12)


@pytest.mark.parametrize(("n", "N"), [(50, 7), (50, 4), (43, 10), (5, 10), (2, 10), (51, 50)])
@pytest.mark.parametrize("window", [1, 3, 100])
def test_in_streams_every_target_counts_once(n: int, N: int, window: int) -> None:
    model, ids = random_model(), random_ids(n)
    parts = np.array_split(np.arange(1, n), min(N, n - 1))  # positions of each stream's targets
    losses = [loss for p in parts for loss in losses_by_hand(model, ids[p[0] - 1 : p[-1] + 1])]
    assert len(losses) == n - 1
    expected = math.exp(math.fsum(losses) / (n - 1))
    assert perplexity(model, ids, N, window) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("n", "N"), [(50, 7), (8, 7), (9, 7), (7, 7), (2, 1), (2, 9)])
def test_streams_hold_each_target_once_in_order(n: int, N: int) -> None:
    ids = np.arange(n)
    inputs, targets = streams(ids, N)
    real = targets >= 0
    assert targets[real].tolist() == list(range(1, n))
    assert np.array_equal(inputs[real], targets[real] - 1)
    assert real[:, :-1].all()  # only a last target may be ignored


@pytest.mark.parametrize("training", [True, False])
def test_evaluating_leaves_the_model_as_it_was(training: bool) -> None:
    ids = asarray(random_ids(12).reshape(3, 4))

    def two_losses(between: bool) -> tuple[float, float]:
        deepnlp.seed(1)
        model = random_model()
        model.vocab = Vocabulary(["<eos>", "<unk>", *"abcdefghijk"], [1] * V, "whitespace")
        if not training:
            model.eval()
        first = float(model.forward(ids, ids))
        if between:
            before = model.snapshot()
            perplexity(model, random_ids(30), batch_size=2)
            surprisal(model, random_ids(30))
            score(model, "a b c")
            after = model.snapshot()
            assert model.training is training
            assert before.keys() == after.keys()
            for key in before:
                assert np.array_equal(before[key], after[key])
        return first, float(model.forward(ids, ids))

    assert two_losses(between=True) == two_losses(between=False)


def test_a_backward_that_waits_is_not_disturbed() -> None:
    def gradient(between: bool) -> np.ndarray[Any, Any]:
        deepnlp.seed(1)
        model = random_model()
        ids = asarray(random_ids(12).reshape(3, 4))
        model.forward(ids, ids)
        if between:
            perplexity(model, random_ids(9))
        model.backward()
        return asnumpy(model.parameters()[0].grad)

    assert np.array_equal(gradient(between=True), gradient(between=False))


def test_an_error_while_evaluating_leaves_the_model_as_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = random_model()

    def fail(*args: Any) -> None:
        raise RuntimeError("no")

    monkeypatch.setattr(model, "forward", fail)
    with pytest.raises(RuntimeError):
        perplexity(model, random_ids(9))
    assert model.training


def test_on_every_backend(array_backend: Any) -> None:
    model, ids = random_model(), random_ids(40)
    losses = losses_by_hand(model, ids)
    assert surprisal(model, ids, window=6) == pytest.approx(losses, rel=1e-12)
    expected = math.exp(math.fsum(losses) / 39)
    assert perplexity(model, ids, window=6) == pytest.approx(expected, rel=1e-12)
    assert math.isfinite(perplexity(model, ids, batch_size=7))


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([], "at least 2 tokens, the first as context, got 0"),
        ([1], "at least 2 tokens, the first as context, got 1"),
        ([1, V], f"ids should be from 0 to {V - 1}, got {V}"),
        ([-1, 1], f"ids should be from 0 to {V - 1}, got -1"),
        ([[1, 2], [3, 4]], r"expected a vector of integer ids, got shape \(2, 2\)"),
        ([0.5, 1.5], "expected a vector of integer ids, got shape"),
    ],
)
def test_wrong_ids_are_refused(ids: Any, message: str) -> None:
    for measure in (perplexity, surprisal):
        with pytest.raises(ValueError, match=message):
            measure(random_model(), ids)


def test_sizes_of_zero_are_refused() -> None:
    with pytest.raises(ValueError, match="batch_size should be 1 or more, got 0"):
        perplexity(random_model(), [1, 2], batch_size=0)
    with pytest.raises(ValueError, match="window should be 1 or more, got 0"):
        perplexity(random_model(), [1, 2], window=0)


def scoring_model() -> RNNLM:
    model = random_model()
    model.vocab = Vocabulary(["<eos>", "<unk>", *"abcdefghijk"], [1] * V, "whitespace")
    return model


def test_a_score_starts_after_eos_and_counts_the_closing_one() -> None:
    model = scoring_model()
    found = score(model, "c zebra a")
    bits = np.array(losses_by_hand(model, np.array([0, 4, 1, 2, 0]))) / math.log(2)
    assert found.tokens == ["c", "zebra", "a", "<eos>"]
    assert found.unknown == [False, True, False, False]
    assert found.surprisals == pytest.approx(bits.tolist(), rel=1e-12)
    assert found.total == pytest.approx(bits.sum(), rel=1e-12)
    assert found.perplexity == pytest.approx(2 ** (bits.sum() / 4), rel=1e-12)


def test_a_text_of_lines_has_an_eos_after_each_and_none_twice() -> None:
    model = scoring_model()
    expected = ["a", "b", "<eos>", "c", "<eos>"]
    assert score(model, "a b\nc").tokens == expected
    assert score(model, "a b\nc\n").tokens == expected


def test_what_cannot_be_scored_is_refused() -> None:
    with pytest.raises(ValueError, match="the model has no vocabulary"):
        score(random_model(), "a")
    for text in ("", "  ", "\n\n"):
        with pytest.raises(ValueError, match="holds no words"):
            score(scoring_model(), text)


def test_a_hopeless_model_has_an_infinite_perplexity_and_no_error() -> None:
    model = random_model()
    model.parameters()[-1].value[...] = asarray(np.linspace(0.0, 1e6, V))
    assert perplexity(model, [0, 0, 0]) == math.inf
