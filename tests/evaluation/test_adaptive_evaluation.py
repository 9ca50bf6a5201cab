"""The neural cache and dynamic evaluation, beside direct computations in NumPy."""

import itertools
from typing import Any

import numpy as np
import pytest

import deepnlp
from deepnlp.backend import asarray, asnumpy
from deepnlp.evaluation import perplexity, surprisal
from deepnlp.evaluation.dynamic_evaluation import dynamic_perplexity
from deepnlp.evaluation.neural_cache import cache_perplexity, cache_surprisal
from deepnlp.models import RNNLM, RegularisedRNNLM
from tests.cases import together
from tests.evaluation.test_evaluation import V, random_ids, random_model

TIES: list[dict[str, Any]] = [{}, {"tie": "tied+L"}, {"tie": "none"}]


def cache_by_hand(
    model: RNNLM, ids: np.ndarray[Any, Any], n: int, theta: float, lam: float
) -> list[float]:
    """-log p of each target, from the equations, one word at a time."""
    model.eval()
    model.reset_state()
    states, following, found = [], [], []
    for word, target in itertools.pairwise(ids.tolist()):
        snapshot = model.snapshot()
        h = asnumpy(model.hidden(asarray([[word]])))[0, 0]
        model.restore(snapshot)
        z = asnumpy(model.logits(asarray([[word]])))[0, 0]
        p = np.exp(z - z.max()) / np.exp(z - z.max()).sum()
        if states:
            recent = np.array(states[-n:]) @ h * theta
            weights = np.exp(recent - recent.max())
            cache = np.zeros(V)
            for next_word, weight in zip(following[-n:], weights / weights.sum(), strict=True):
                cache[next_word] += weight
            p = (1 - lam) * p + lam * cache
        found.append(-float(np.log(p[target])))
        states.append(h)
        following.append(target)
    model.reset_state()
    model.train()
    return found


@pytest.mark.parametrize("options", TIES)
@together(size=[1, 4, 500], window=[None, 1, 7])
def test_a_cache_is_its_equation(options: dict[str, Any], size: int, window: int | None) -> None:
    model, ids = random_model(**options), random_ids(40)
    expected = cache_by_hand(model, ids, size, 0.7, 0.3)
    found = cache_surprisal(model, ids, size, 0.7, 0.3, window)
    assert found == pytest.approx(expected, rel=1e-10)
    whole = cache_perplexity(model, ids, size, 0.7, 0.3)
    assert whole == pytest.approx(float(np.exp(np.mean(expected))), rel=1e-10)


def test_without_a_share_a_cache_changes_nothing() -> None:
    model, ids = random_model(), random_ids(30)
    np.testing.assert_allclose(cache_surprisal(model, ids, share=0.0), surprisal(model, ids))
    assert len(cache_surprisal(model, ids[:2])) == 1


def test_a_cache_on_every_backend(array_backend: Any) -> None:
    model, ids = random_model(), random_ids(30)
    expected = cache_by_hand(model, ids, 6, 0.5, 0.2)
    assert cache_surprisal(model, ids, 6, 0.5, 0.2, 4) == pytest.approx(expected, rel=1e-10)


def gradient_of(model: RNNLM, x: Any, t: Any) -> tuple[float, list[Any]]:
    loss = float(model.forward(asarray(x), asarray(t)))
    model.zero_grad()
    model.backward()
    return loss, [asnumpy(p.grad).copy() for p in model.parameters()]


def dynamic_by_hand(
    model: RNNLM, ids: Any, train: Any, lr: float, decay: float, eps: float, T: int
) -> float:
    """The equations, over flat vectors; ``train`` is read in 100 streams of equal length."""
    model.eval()
    rows = train[:-1].reshape(100, -1), train[1:].reshape(100, -1)
    squares = []
    for k in range(0, rows[0].shape[1], T):
        _, g = gradient_of(model, rows[0][:, k : k + T], rows[1][:, k : k + T])
        squares.append(np.concatenate([one.ravel() for one in g]) ** 2)
    R = np.sqrt(np.mean(squares, axis=0))
    shapes = [p.shape for p in model.parameters()]
    W = W0 = np.concatenate([asnumpy(p.value).ravel() for p in model.parameters()])
    model.reset_state()
    total = 0.0
    for k in range(0, len(ids) - 1, T):
        parts = np.split(W, np.cumsum([int(np.prod(s)) for s in shapes])[:-1])
        for p, part, shape in zip(model.parameters(), parts, shapes, strict=True):
            p.value[...] = asarray(part.reshape(shape))
        targets = ids[k + 1 : k + 1 + T]
        loss, g = gradient_of(model, ids[k : k + len(targets)][None], targets[None])
        total += loss * len(targets)
        D = np.minimum(1 / decay, R / R.mean()) if decay else 0
        W = W - lr * np.concatenate([one.ravel() for one in g]) / (R + eps) + decay * D * (W0 - W)
    return float(np.exp(total / (len(ids) - 1)))


def fresh() -> RNNLM:
    deepnlp.seed(2)
    options: dict[str, Any] = {"weight_drop": 0.5, "embed_dropout": 0.2, "ar": 2.0, "tar": 1.0}
    return RegularisedRNNLM(V, 5, [6, 5], embed_bound=1.0, dtype="float64", **options)


@pytest.mark.parametrize("decay", [0.0, 0.02, 0.8])
@pytest.mark.parametrize("segment", [1, 5])
def test_dynamic_evaluation_is_its_equation(decay: float, segment: int) -> None:
    ids, train = random_ids(33), random_ids(701)
    expected = dynamic_by_hand(fresh(), ids, train, 0.01, decay, 0.002, segment)
    found = dynamic_perplexity(fresh(), ids, train, 0.01, decay, 0.002, segment)
    assert found == pytest.approx(expected, rel=1e-9)
    plain = perplexity(fresh(), ids)
    assert abs(found - plain) > 1e-4
    still = dynamic_perplexity(fresh(), ids, train, 0.0, decay, 0.002, segment)
    assert still == pytest.approx(plain, rel=1e-10)


@pytest.mark.parametrize("training", [True, False])
def test_the_model_is_afterwards_what_it_was(training: bool) -> None:
    model = fresh()
    if not training:
        model.eval()
    ids = asarray(random_ids(12).reshape(3, 4))
    model.forward(ids, ids)
    weights, carried = [p.value.copy() for p in model.parameters()], model.snapshot()
    dynamic_perplexity(model, random_ids(30), random_ids(300), lr=0.1)
    cache_perplexity(model, random_ids(30))
    assert model.training is training
    for p, value in zip(model.parameters(), weights, strict=True):
        np.testing.assert_array_equal(p.value, value)
        assert not p.grad.any()
    after = model.snapshot()
    assert carried.keys() == after.keys()
    for key, value in carried.items():
        np.testing.assert_array_equal(after[key], value)


def test_an_error_on_the_way_puts_the_weights_back(monkeypatch: pytest.MonkeyPatch) -> None:
    model, calls = fresh(), itertools.count()
    backward, before = model.backward, [p.value.copy() for p in model.parameters()]

    def failing() -> None:
        if next(calls) == 4:
            raise RuntimeError("no")
        backward()

    monkeypatch.setattr(model, "backward", failing)
    with pytest.raises(RuntimeError):
        dynamic_perplexity(model, random_ids(30), random_ids(30), lr=0.1)
    for p, value in zip(model.parameters(), before, strict=True):
        np.testing.assert_array_equal(p.value, value)


def test_a_frozen_embedding_stays() -> None:
    deepnlp.seed(2)
    model = RegularisedRNNLM(V, 5, 5, tie="none", freeze_embedding=True)
    found = dynamic_perplexity(model, random_ids(60), random_ids(300), lr=0.05)
    assert found != pytest.approx(perplexity(model, random_ids(60)), rel=1e-3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 0}, "size of the cache should be 1 or more, got 0"),
        ({"flatness": -1.0}, r"flatness should be 0 or more, got -1\.0"),
        ({"share": 1.0}, r"share of the cache should be 0 or more and below 1, got 1\.0"),
    ],
)
def test_wrong_caches_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cache_perplexity(random_model(), random_ids(9), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lr": -1.0}, r"lr should be 0 or more, got -1\.0"),
        ({"decay": -1.0}, r"decay should be 0 or more, got -1\.0"),
        ({"eps": 0.0}, r"eps should be above 0, got 0\.0"),
        ({"segment": 0}, "window should be 1 or more, got 0"),
    ],
)
def test_wrong_dynamics_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        dynamic_perplexity(random_model(), random_ids(9), random_ids(30), **options)
