"""Figures of lesson 5: they say what they should, nothing overlaps, mistakes are named."""

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from deepnlp.lessons.figures import gradient_reach, next_words, unrolled
from deepnlp.plots import curves, surprisal_text
from deepnlp.plots.surprisal import WIDTH


def boxes(figure, texts):
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw_without_rendering()  # axis labels find their place only when drawn
    return [text.get_window_extent(renderer) for text in texts if text.get_text()]


def assert_apart_and_inside(figure, texts):
    found = boxes(figure, texts)
    for i, box in enumerate(found):
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1
        assert not any(box.overlaps(other) for other in found[:i])


def labels(figure):
    axes = figure.axes[0]
    return [*axes.texts, axes._left_title, axes.xaxis.label, axes.yaxis.label]


# --- Curves -------------------------------------------------------------------------------------


@pytest.mark.parametrize("logy", [False, True])
@pytest.mark.parametrize("count", [1, 3, 7])
def test_curves_are_labelled_apart(count, logy):
    x = np.arange(1, 9)
    lines = {f"line {k}": (x, 5.0 + x / 10 + 0.01 * k) for k in range(count)}
    figure = curves(
        lines,
        title="One line\nand a second",
        xlabel="updates",
        ylabel="loss (nats)",
        levels={"level": 5.2},
        logy=logy,
    )
    assert_apart_and_inside(figure, labels(figure))


def test_points_that_are_not_finite_are_left_out():
    figure = curves({"a": ([1, 2, 3], [1.0, np.nan, 2.0])}, title="t", xlabel="x", ylabel="y")
    assert figure.axes[0].lines[0].get_xdata().tolist() == [1.0, 3.0]


def test_whole_numbers_have_whole_ticks():
    figure = curves({"a": ([1, 2, 3], [1, 2, 3])}, title="t", xlabel="x", ylabel="y")
    assert all(float(tick).is_integer() for tick in figure.axes[0].get_xticks())


def test_a_logarithmic_x_axis_has_a_tick_at_every_value():
    figure = curves({"a": ([1, 4, 32], [1, 2, 3])}, title="t", xlabel="x", ylabel="y", logx=True)
    assert figure.axes[0].get_xticks().tolist() == [1.0, 4.0, 32.0]


def test_a_logarithmic_x_axis_counts_millions_where_values_are_not_round():
    lines = {"a": ([711_048, 1_548_168, 3_201_544], [3, 2, 1])}
    axis = curves(lines, title="t", xlabel="parameters", ylabel="y", logx=True).axes[0].xaxis
    low, high = axis.get_view_interval()
    shown = [x for x in axis.get_majorticklocs() if low <= x <= high]
    assert axis.get_major_formatter().format_ticks(shown) == ["1M", "2M"]


@pytest.mark.parametrize("count", [0, 8])
def test_there_is_a_limit_to_the_number_of_curves(count):
    lines = {str(k): ([1], [1]) for k in range(count)}
    with pytest.raises(ValueError, match=f"expected 1 to 7 lines, got {count}"):
        curves(lines, title="t", xlabel="x", ylabel="y")


# --- Unrolled -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "window", "borders"), [(4, None, 0), (9, 3, 2), (7, 3, 2), (1, 1, 0)]
)
def test_the_gradient_stops_between_windows(steps, window, borders):
    figure = unrolled([f"word{k}" for k in range(steps + 1)], window)
    crosses = [line for line in figure.axes[0].lines if line.get_marker() == "x"]
    assert len(crosses) == borders


def test_an_unrolled_network_has_readable_words():
    figure = unrolled(["<eos>", "the", "file", "is", "closed", "when", "it"], 2)
    assert_apart_and_inside(figure, [t for t in figure.axes[0].texts if t.get_text()])


def test_unrolled_wants_two_words():
    with pytest.raises(ValueError, match="two or more tokens"):
        unrolled(["alone"])


# --- Reach --------------------------------------------------------------------------------------


def test_reach_counts_what_a_window_keeps():
    norms = np.tril(np.ones((6, 6)))
    figure = gradient_reach(norms, window=3)
    assert "compute 57.1 % of the paths" in figure.texts[0].get_text()  # 12 of 21
    assert "57.1 % of the gradient" in figure.texts[0].get_text()


def test_a_window_over_all_keeps_all():
    figure = gradient_reach(np.tril(np.ones((5, 5))), window=9)
    assert "100 % of the gradient" in figure.texts[0].get_text()


@pytest.mark.parametrize(
    ("norms", "window"),
    [(np.ones((2, 3)), 1), (np.zeros((3, 3)), 1), (np.ones((3, 3)), 0)],
)
def test_reach_says_what_it_expects(norms, window):
    with pytest.raises(ValueError, match="expected a square matrix"):
        gradient_reach(norms, window)


# --- Surprisal ----------------------------------------------------------------------------------


def test_a_long_text_is_broken_into_lines():
    rng = np.random.default_rng(0)
    tokens = [f"{'w' * int(rng.integers(1, 14))}" for _ in range(60)]
    shown = surprisal_text(tokens, rng.uniform(0, 20, 60))
    figure = shown.figure()
    assert figure.get_size_inches()[0] == WIDTH
    assert_apart_and_inside(figure, figure.axes[0].texts)


def test_html_holds_every_word_and_its_bits_and_escapes_marks():
    html = surprisal_text(["<eos>", "a"], [0.25, 12.0])._repr_html_()
    assert "&lt;eos&gt;" in html
    assert "<rt" in html
    assert ">12.0</rt>" in html
    assert "<eos>" not in html


def lightness(colour):
    red, green, blue = (int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_the_less_expected_the_darker_and_letters_stay_readable():
    shown = surprisal_text(["a"], [1.0], most=10.0)
    colours = [shown._colours(bits) for bits in np.linspace(0, 12, 40)]
    dark = [lightness(background) for background, _ in colours]
    assert all(after <= before + 0.005 for before, after in pairwise(dark))
    assert all(abs(lightness(a) - lightness(b)) > 0.35 for a, b in colours)


@pytest.mark.parametrize(
    ("tokens", "bits", "most"), [([], [], 1.0), (["a"], [1.0, 2.0], 1.0), (["a"], [1.0], 0.0)]
)
def test_surprisal_text_says_what_it_expects(tokens, bits, most):
    with pytest.raises(ValueError, match="one or more tokens, as many bits"):
        surprisal_text(tokens, bits, most=most)


# --- Next words -----------------------------------------------------------------------------------


def test_next_words_are_those_of_the_first_distribution():
    tokens = ["a", "b", "c", "d"]
    figure = next_words(
        tokens, {"one": [0.1, 0.4, 0.2, 0.3], "two": [0.7, 0.1, 0.1, 0.1]}, title="t", most=2
    )
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == ["b", "d", "all others"]
    widths = [bar.get_width() for bar in figure.axes[1].patches]
    assert widths == pytest.approx([0.1, 0.1, 0.8])


@pytest.mark.parametrize(
    "distributions", [{}, {str(k): [1.0] for k in range(5)}, {"a": [0.5, 0.5]}]
)
def test_next_words_says_what_it_expects(distributions):
    with pytest.raises(ValueError, match="next_words"):
        next_words(["a"], distributions, title="t")


def test_figures_can_be_saved(tmp_path):
    p = [0.5, 0.5]
    for k, draw in enumerate(
        [
            lambda path: curves({"a": ([1], [1])}, title="t", xlabel="x", ylabel="y", path=path),
            lambda path: unrolled(["a", "b"], path=path),
            lambda path: gradient_reach(np.tril(np.ones((3, 3))), 2, path),
            lambda path: surprisal_text(["a"], [1.0]).figure(path),
            lambda path: next_words(["a", "b"], {"p": p}, title="t", path=path),
        ]
    ):
        path = tmp_path / f"{k}.png"
        assert isinstance(draw(path), Figure)
        assert path.stat().st_size > 1000
