"""The figures of counting: what they show, that labels do not overlap, what they refuse."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from deepnlp.lessons.figures import against_chance, axis_words, svd_plane, word_table


def boxes(figure):
    """Where the texts of a figure come to lie, in pixels, by text."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw_without_rendering()
    shown = [*figure.texts, *(t for axes in figure.axes for t in axes.texts)]
    return [(t.get_text(), t.get_window_extent(renderer)) for t in shown if t.get_text()]


def assert_inside(figure):
    for text, box in boxes(figure):
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1, text
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1, text


def test_a_table_shows_its_numbers_and_leaves_zeros_blank():
    counts = np.array([[0, 3, 1], [2, 0, 0]])
    figure = word_table(
        {"counts": counts, "shares": counts / 6 - 0.1}, ["cat", "dog"], ["the", "a", "sees"],
        title="Two rows",
    )  # fmt: skip
    first, second = figure.axes
    assert [t.get_text() for t in first.texts] == ["3", "1", "2"]
    assert [t.get_text() for t in second.texts] == ["−0.1", "0.4", "0.1", "0.2", "−0.1", "−0.1"]
    assert [t.get_text() for t in first.get_xticklabels()] == ["", "", ""]
    assert [t.get_text() for t in second.get_xticklabels()] == ["the", "a", "sees"]
    assert_inside(figure)


def test_a_table_of_zeros_and_one_of_a_single_number():
    word_table({"": np.zeros((1, 2))}, ["a"], ["b", "c"], title="None")
    assert len(word_table({"": [[7]]}, ["a"], ["b"], title="One").axes[0].texts) == 1


@pytest.mark.parametrize("panels", [{}, {"": np.zeros((2, 1))}])
def test_a_table_of_another_shape_is_refused(panels):
    with pytest.raises(ValueError, match="expected tables of 1 rows and 2 columns"):
        word_table(panels, ["a"], ["b", "c"], title="")


def test_chance_leaves_out_what_never_occurred():
    rng = np.random.default_rng(0)
    words = [f"word{k}" for k in range(60)]
    expected = rng.uniform(0.1, 50, 60)
    observed = np.round(expected * rng.lognormal(size=60))
    observed[:5] = 0
    figure = against_chance(
        words, observed, expected, label=[*words[:30], *words[:10]], title="Words"
    )
    axes = figure.axes[0]
    drawn = sum(len(line.get_xdata()) for line in axes.lines[:2])
    assert drawn == np.count_nonzero(observed)
    named = [(t, box) for t, box in boxes(figure) if t.startswith("word")]
    assert [t for t, _ in named] == [w for w, n in zip(words[:30], observed) if n]
    for i, (_, box) in enumerate(named):
        assert not any(box.overlaps(other) for _, other in named[:i])


def test_chance_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="two numbers for each of 2 words"):
        against_chance(["a", "b"], [1.0], [1.0, 2.0], label=[], title="")
    with pytest.raises(ValueError, match="some of them above zero"):
        against_chance(["a"], [0], [1.0], label=[], title="")


def test_the_plane_joins_words_at_one_place():
    points = {"book": (2.2, 2.5), "letter": (2.2, 2.5), "a": (1.8, 0.0), "the": (0.03, 0.0)}
    figure = svd_plane(points, ("reads", "a"), title="A plane")
    shown = [text for text, _ in boxes(figure)]
    S = np.linalg.svd(np.array(list(points.values())))[1]
    assert f"axis 1: singular value {S[0]:.1f}" in shown
    assert "book, letter" in shown
    assert_inside(figure)
    with pytest.raises(ValueError, match="two or more places, got 1"):
        svd_plane({"a": (1, 2), "b": (1, 2)}, ("x", "y"), title="")


def test_axes_show_the_words_at_both_ends():
    W = np.array([[3.0, 0.1], [-2.0, 0.0], [1.0, 0.2], [-1.0, 0.3]])
    figure = axis_words(["a", "b", "c", "d"], W, [0, 1], title="Two axes", most=2)
    shown = [text for text, _ in boxes(figure)]
    assert shown == ["Two axes", "axis 1", "b\nd", "a\nc", "axis 2", "d\nc"]
    assert_inside(figure)
    with pytest.raises(ValueError, match=r"the axes \[2\], got shape \(4, 2\)"):
        axis_words(["a", "b", "c", "d"], W, [2], title="")
