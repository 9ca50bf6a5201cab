"""Kneser-Ney n-gram models, against a plain form of the same equation."""

import math
from collections import Counter

import numpy as np
import pytest

from deepnlp.datasets import load_corpus
from deepnlp.models.ngrams import KneserNey, Unigram, baselines
from tests.datasets.conditions import needs


def plain_kneser_ney(
    train: list[int], V: int, context: tuple[int, ...], word: int, n: int
) -> float:
    """The equation, word for word, with dictionaries; ``context`` has at most n - 1 words."""

    def counts(k: int) -> Counter:
        grams = Counter(tuple(train[i : i + k]) for i in range(len(train) - k + 1))
        if k == n:
            return grams
        longer = {tuple(train[i : i + k + 1]) for i in range(len(train) - k)}
        return Counter(gram[1:] for gram in longer)

    k = len(context) + 1
    lower = 1 / V if k == 1 else plain_kneser_ney(train, V, context[1:], word, n)
    N = counts(k)
    values = Counter(N.values())
    D = values[1] / (values[1] + 2 * values[2]) if values[1] else 0.5
    following = [c for gram, c in N.items() if gram[:-1] == context]
    if not following:
        return lower
    seen = max(N[(*context, word)] - D, 0)
    return (seen + D * len(following) * lower) / sum(following)


def zipf(rng: np.random.Generator, V: int, size: int) -> np.ndarray:
    """Ids of which the first are frequent and the last are rare, as words are."""
    p = 1 / np.arange(1, V + 1)
    return rng.choice(V, size=size, p=p / p.sum())


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_every_probability_is_that_of_the_equation(n: int) -> None:
    rng = np.random.default_rng(n)
    V = 9
    train = zipf(rng, V - 1, 120)  # the last word is never seen
    model = KneserNey(n).fit(train, V)
    test = zipf(rng, V, 40)
    expected = [
        plain_kneser_ney(train.tolist(), V, tuple(test[max(0, i - n + 1) : i].tolist()), int(w), n)
        for i, w in enumerate(test)
        if i > 0
    ]
    np.testing.assert_allclose(np.exp(model.log_probabilities(test)), expected, rtol=1e-12)
    assert model.perplexity(test) == pytest.approx(math.exp(-np.mean(np.log(expected))))


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_probabilities_of_all_words_sum_to_one_after_any_context(n: int) -> None:
    rng = np.random.default_rng(n)
    V = 11
    train = zipf(rng, V - 2, 300)
    model = KneserNey(n).fit(train, V)
    for length in range(n + 2):
        for _ in range(10):
            p = model.probabilities(rng.integers(0, V, size=length))
            assert p.sum() == pytest.approx(1.0, abs=1e-12)
            assert (p > 0).all()


def test_the_distribution_agrees_with_the_probability_of_each_word() -> None:
    rng = np.random.default_rng(0)
    model = KneserNey(3).fit(zipf(rng, 7, 200), 7)
    context = [3, 0, 1]
    each = [math.exp(model.log_probabilities([*context, word])[-1]) for word in range(7)]
    np.testing.assert_allclose(model.probabilities(context), each, rtol=1e-12)


def test_the_unigram_is_the_relative_frequency_but_for_the_discount() -> None:
    ids = np.repeat([0, 1, 2, 3], [50, 20, 2, 1])
    p = Unigram().fit(ids, 5).probabilities([])
    D = 1 / (1 + 2 * 1)
    expected = (np.maximum(np.array([50, 20, 2, 1, 0]) - D, 0) + D * 4 / 5) / 73
    np.testing.assert_allclose(p, expected, rtol=1e-12)


def test_a_word_in_many_contexts_is_likelier_after_a_new_one_than_a_word_in_one() -> None:
    # 1 ("san") always comes before 2 ("francisco"); 3 comes as often, after many words.
    train = [1, 2, 4, 3, 1, 2, 5, 3, 1, 2, 6, 3, 1, 2, 7, 3]
    p = KneserNey(2).fit(train, 9).probabilities([8])
    assert p[3] > 2 * p[2]


def test_ids_reach_past_the_square_of_a_large_vocabulary() -> None:
    V = 2_000_000  # V ** 3 is no longer a 64-bit number
    train = [V - 1, V - 2, V - 3] * 5
    model = KneserNey(4).fit(train, V)
    assert model.log_probabilities([V - 1, V - 2, V - 3, V - 1])[-1] > math.log(0.8)


def test_memorised_text_costs_little_and_a_tiny_one_is_allowed() -> None:
    assert KneserNey(2).fit([0, 0], 1).perplexity([0, 0, 0]) == pytest.approx(1.0)
    assert KneserNey(1).fit([1], 3).perplexity([0, 2]) < math.inf


def test_baselines_measure_every_split_with_every_order() -> None:
    rng = np.random.default_rng(4)
    train, valid, test = (zipf(rng, 6, size) for size in (200, 31, 2))
    found = baselines(train, {"valid": valid, "test": test}, 6)
    assert list(found) == ["unigram", "bigram", "trigram"]
    assert found["bigram"]["valid"] == KneserNey(2).fit(train, 6).perplexity(valid)
    assert found["unigram"]["test"] == Unigram().fit(train, 6).perplexity(test)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([0, 5], "ids should be from 0 to 4, got 5"),
        ([-1, 0], "ids should be from 0 to 4, got -1"),
        ([[0, 1]], "vector of integer ids"),
        ([0.5, 1.0], "vector of integer ids"),
        ([0], "at least 2 tokens, got 1"),
    ],
)
def test_wrong_ids_are_errors(ids: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        KneserNey(2).fit(ids, 5)
    with pytest.raises(ValueError, match=message):
        KneserNey(2).fit([0, 1, 2], 5).perplexity(ids)


def test_an_order_below_one_and_a_model_without_counts_are_errors() -> None:
    with pytest.raises(ValueError, match=r"order should be a whole number.* at most 20, got 0"):
        KneserNey(0)
    with pytest.raises(ValueError, match="call fit"):
        KneserNey(2).perplexity([0, 1])


@needs("ptb/ptb.train.txt")
def test_ptb_baselines_are_the_published_ones() -> None:
    corpus = load_corpus("ptb")
    found = baselines(corpus.train, {"test": corpus.test}, len(corpus.vocab))
    assert found["bigram"]["test"] == pytest.approx(187, abs=1)
    assert found["trigram"]["test"] == pytest.approx(151, abs=1)
