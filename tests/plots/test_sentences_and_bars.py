"""Figures of lesson 6: bars, gates, word vectors and long links; mistakes are named."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from deepnlp.lessons.figures import gate_traces, long_link
from deepnlp.plots import bars, embeddings

STORY = [
    *[
        "Tom",
        "was",
        "watching",
        "TV",
        ".",
        "Mary",
        "came",
        "in",
        ".",
        "It",
        "rained",
        ".",
        "Mary",
        "said",
        "hi",
    ],
    "to",
    "Tom",
]


def assert_inside(figure):
    """Every text lies on the paper."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw_without_rendering()
    for axes in figure.axes:
        texts = [*axes.texts, axes.xaxis.label, axes.yaxis.label]
        if axes.axison:
            low, high = sorted(axes.get_xlim())
            texts += [x for x in axes.get_xticklabels() if low <= x.get_position()[0] <= high]
        for text in [*texts, *figure.texts]:
            if text.get_text():
                box = text.get_window_extent(renderer)
                assert box.x0 >= figure.bbox.x0, text
                assert box.x1 <= figure.bbox.x1, text
                assert box.y0 >= figure.bbox.y0, text
                assert box.y1 <= figure.bbox.y1, text


# --- Bars -------------------------------------------------------------------------------------


def test_every_bar_has_its_number():
    values = {"RNN": {"train": 51.4, "valid": 79.8}, "LSTM": {"train": 40.2, "valid": np.nan}}
    figure = bars(
        values, title="Two", ylabel="perplexity", levels={"unigram": 90.0}, missing="lost"
    )
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert texts == ["51", "40", "80", "lost", "unigram"]
    assert_inside(figure)


def test_a_single_kind_of_bar_needs_no_legend():
    figure = bars(
        {"a": {"x": 1.0}, "b\nc": {"x": 2.0}}, title="One\nkind", ylabel="y", number=".2f"
    )
    assert not figure.legends
    assert_inside(figure)


@pytest.mark.parametrize("values", [{}, {"a": {}}, {"a": {"x": 1.0}, "b": {"y": 1.0}}])
def test_groups_with_other_bars_are_refused(values):
    with pytest.raises(ValueError, match="the same 1 to 5 bars"):
        bars(values, title="", ylabel="")


# --- Gates over a sentence --------------------------------------------------------------------


@pytest.mark.parametrize(("T", "H", "units"), [(1, 1, 12), (7, 30, 12), (25, 5, 3)])
def test_gates_have_a_row_a_unit_and_a_column_a_word(T, H, units):
    rng = np.random.default_rng(0)
    gates = {"forget, f": rng.random((T, H)), "output, o": rng.random((T, H))}
    words = [f"word{t}" for t in range(T)]
    figure = gate_traces(words, gates, title="They open", units=units)
    picture = figure.axes[0].images[0].get_array()
    assert picture.shape == (min(H, units), T)
    assert [text.get_text() for text in figure.axes[1].get_xticklabels()] == words
    assert_inside(figure)


def test_the_units_that_change_most_are_shown():
    gate = np.full((4, 3), 0.5)
    gate[:, 2] = [0.0, 1.0, 0.0, 1.0]
    figure = gate_traces(list("abcd"), {"f": gate}, title="", units=1)
    assert figure.axes[0].images[0].get_array()[0].tolist() == [0.0, 1.0, 0.0, 1.0]


@pytest.mark.parametrize("gates", [{}, {"f": np.ones((3, 2))}])
def test_gates_of_another_length_are_refused(gates):
    with pytest.raises(ValueError, match="a row for each of 2 words"):
        gate_traces(["a", "b"], gates, title="")


# --- Word vectors -----------------------------------------------------------------------------


def test_words_stand_where_their_vectors_point():
    vectors = {"one": [1.0, 0.1], "two": [3.0, 0.2], "red": [-1.0, 0.1], "blue": [-2.0, 0.3]}
    groups = {"numbers": ["one", "two"], "colours": ["red", "blue"]}
    figure = embeddings(groups, {w: np.array(v) for w, v in vectors.items()}, title="Apart")
    places = {text.get_text(): text.xy[0] for text in figure.axes[0].texts}
    assert abs(places["one"] - places["two"]) < 0.1 < 1 < abs(places["one"] - places["red"])
    assert_inside(figure)


def test_labels_of_near_words_do_not_cover_each_other():
    rng = np.random.default_rng(0)
    centre = rng.normal(size=8)
    vectors = {"is": centre, "are": centre + 0.01, "can": -centre, "far": rng.normal(size=8)}
    figure = embeddings({"verbs": ["is", "are"], "others": ["can", "far"]}, vectors, title="Near")
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw_without_rendering()
    first, second = (text.get_window_extent(renderer) for text in figure.axes[0].texts[:2])
    assert not first.overlaps(second)


def test_a_word_without_a_vector_is_named():
    with pytest.raises(ValueError, match=r"without a vector: \['b'\]"):
        embeddings({"x": ["a", "b", "c"]}, {"a": np.ones(2), "c": np.ones(2)}, title="")


# --- A long link ------------------------------------------------------------------------------


def test_the_last_word_is_asked_for():
    figure = long_link(STORY, 0, distractor=5, title="Who?")
    shown = [text.get_text() for text in figure.axes[0].texts]
    assert "?" in shown
    assert any("must travel 15 steps" in text for text in shown)
    assert_inside(figure)


@pytest.mark.parametrize("cause", [-1, 16, 99])
def test_a_cause_after_the_question_is_refused(cause):
    with pytest.raises(ValueError, match="from 0 to 15"):
        long_link(STORY, cause, title="")
