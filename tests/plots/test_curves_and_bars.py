"""Curves, bars, word vectors and surprisal: what they show, and what they refuse."""

from itertools import pairwise

import numpy as np
import pytest

from deepnlp.plots import bars, curves, embeddings, surprisal_text
from deepnlp.plots.surprisal import WIDTH, _colours
from tests.gradflow.test_gradflow import overlaps


def drawn(lines, **options):
    return curves(lines, **{"title": "t", "xlabel": "x", "ylabel": "y"} | options)


@pytest.mark.parametrize("logy", [False, True])
@pytest.mark.parametrize("count", [1, 3, 7])
def test_curves_are_labelled_apart(count, logy):
    x = np.arange(1, 9)
    lines = {f"line {k}": (x, 5.0 + x / 10 + 0.01 * k) for k in range(count)}
    assert not overlaps(drawn(lines, title="One\ntwo", levels={"level": 5.2}, logy=logy))


def test_ticks_are_round_and_points_finite(tmp_path):
    axes = drawn({"a": ([1, 2, 3], [1.0, np.nan, 2.0])}, path=tmp_path / "a.png").axes[0]
    assert axes.lines[0].get_xdata().tolist() == [1.0, 3.0]
    assert all(float(tick).is_integer() for tick in axes.get_xticks())
    assert (tmp_path / "a.png").stat().st_size > 1000
    axes = drawn({"a": ([1, 4, 32], [1, 2, 3])}, logx=True).axes[0]
    assert axes.get_xticks().tolist() == [1.0, 4.0, 32.0]
    axis = drawn({"a": ([711_048, 1_548_168, 3_201_544], [3, 2, 1])}, logx=True).axes[0].xaxis
    low, high = axis.get_view_interval()
    shown = [x for x in axis.get_majorticklocs() if low <= x <= high]
    assert axis.get_major_formatter().format_ticks(shown) == ["800k", "1M", "1.5M", "2M", "3M"]


@pytest.mark.parametrize("count", [0, 8])
def test_there_is_a_limit_to_the_number_of_curves(count):
    with pytest.raises(ValueError, match=f"expected 1 to 7 lines, got {count}"):
        drawn({str(k): ([1], [1]) for k in range(count)})


def test_every_bar_has_its_number_and_one_kind_needs_no_legend():
    values = {"RNN": {"train": 51.4, "valid": 79.8}, "LSTM": {"train": 40.2, "valid": np.nan}}
    levels = {"unigram": 90.0}
    figure = bars(values, title="Two", ylabel="perplexity", levels=levels, missing="lost")
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts == ["51", "40", "80", "lost", "unigram"]
    one = bars({"a": {"x": 1.0}, "b\nc": {"x": 2.0}}, title="A\nB", ylabel="y", number=".2f")
    assert not one.legends
    assert not overlaps(figure) + overlaps(one)


@pytest.mark.parametrize("values", [{}, {"a": {}}, {"a": {"x": 1.0}, "b": {"y": 1.0}}])
def test_groups_with_other_bars_are_refused(values):
    with pytest.raises(ValueError, match="the same 1 to 5 bars"):
        bars(values, title="", ylabel="")


def test_words_stand_where_their_vectors_point():
    vectors = {"one": [1.0, 0.1], "two": [3.0, 0.2], "red": [-1.0, 0.1], "blue": [-2.0, 0.3]}
    groups = {"numbers": ["one", "two"], "colours": ["red", "blue"]}
    figure = embeddings(groups, {w: np.array(v) for w, v in vectors.items()}, title="Apart")
    places = {text.get_text(): text.xy[0] for text in figure.axes[0].texts}
    assert abs(places["one"] - places["two"]) < 0.1 < 1 < abs(places["one"] - places["red"])
    assert not overlaps(figure)
    with pytest.raises(ValueError, match=r"without a vector: \['b'\]"):
        embeddings({"x": ["a", "b", "c"]}, {"a": np.ones(2), "c": np.ones(2)}, title="")


def test_a_long_text_is_broken_into_lines():
    rng = np.random.default_rng(0)
    tokens = ["w" * int(rng.integers(1, 14)) for _ in range(60)]
    figure = surprisal_text(tokens, rng.uniform(0, 20, 60))
    assert figure.get_size_inches()[0] == WIDTH
    assert not overlaps(figure)


def lightness(colour):
    red, green, blue = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_the_less_expected_the_darker_and_letters_stay_readable():
    colours = [_colours(bits, 10.0) for bits in np.linspace(0, 12, 40)]
    dark = [lightness(background) for background, _ in colours]
    assert all(after <= before + 0.005 for before, after in pairwise(dark))
    assert all(abs(lightness(a) - lightness(b)) > 0.35 for a, b in colours)


@pytest.mark.parametrize(
    ("tokens", "bits", "most"), [([], [], 1.0), (["a"], [1.0, 2.0], 1.0), (["a"], [1.0], 0.0)]
)
def test_surprisal_text_says_what_it_expects(tokens, bits, most):
    with pytest.raises(ValueError, match="one or more tokens, as many bits"):
        surprisal_text(tokens, bits, most=most)
