"""Figures of the lessons: what they show, that it can be read, and what they refuse."""

from itertools import pairwise

import numpy as np
import pytest

from deepnlp.plots.style import BLUE, VERMILLION
from material.figures import (
    Candidate,
    against_chance,
    arrangements,
    beam_tree,
    decision_regions,
    encoder_decoder,
    gate_traces,
    gradient_reach,
    long_link,
    moving_window,
    svd_plane,
    unrolled,
    vector_paths,
    weighted_sum,
    word_table,
)
from tests.gradflow.test_gradflow import overlaps

TEXT = ["the", "king", "eats", "the", "bread", "today", ".", "a", "horse", "sleeps", "now", "."]
STORY = [
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
    "to",
    "Tom",
]
COUNTS = np.array([[0, 3, 1], [2, 0, 0]])
BOOKS = {"book": (2.2, 2.5), "letter": (2.2, 2.5), "a": (1.8, 0.0), "the": (0.03, 0.0)}
W = np.array([[3.0, 0.1], [-2.0, 0.0], [1.0, 0.2], [-1.0, 0.3]])
POINTS = np.array([[-1.0, 0.5], [2.0, -0.5], [0.5, 1.0], [-0.5, -1.0]])
STEPS = [
    [Candidate(0, "8", -0.3, True), Candidate(0, "9", -1.4, True), Candidate(0, "7", -3.7, False)],
    [
        Candidate(1, "0", -1.8, True), Candidate(0, "9", -1.9, True),
        Candidate(0, "4", -12.26, False), Candidate(1, "end", -13.0, False),
    ],
    [Candidate(0, "end", -1.84, True), Candidate(1, "end", -1.9, True)],
]  # fmt: skip
WAYS = {"greedy": ["8", "9", "end"], "beam": ["9", "0", "end"]}
ENDS = {word: np.array(xy) for word, xy in zip("abcd", [(3, 0), (0, 2), (-3, 1), (1, -2)])}
TOWARDS = {word: np.linspace(0, 1, 8)[:, None] * end for word, end in ENDS.items()}


def left_or_right(points):
    """Scores of two classes: right of zero, or left of it."""
    return np.stack([-points[:, 0], points[:, 0]], axis=1)


def gates(T, H):
    rng = np.random.default_rng(0)
    return {"forget, f": rng.random((T, H)), "output, o": rng.random((T, H))}


def sums(S, H, length):
    rng = np.random.default_rng(S)
    memory, query = 3 * rng.standard_normal((S, H)), rng.standard_normal(H)
    return weighted_sum(["(pad)"] * S, memory, query, length=length)


FIGURES = {
    **{f"weighted sum {n}": lambda n=n: sums(*n) for n in [(1, 1, None), (4, 3, 2), (10, 5, 1)]},
    "arrangements": lambda: arrangements(title="What waits\nfor what"),
    "table": lambda: word_table({"": COUNTS}, ["cat", "dog"], ["the", "a", "sees"], title="Two"),
    "plane": lambda: svd_plane(BOOKS, ("reads", "a"), title="A plane"),
    "regions": lambda: decision_regions(left_or_right, POINTS, np.array([0, 1, 1, 0])),
    "encoder": lambda: encoder_decoder("123+456", "579"),
    "peeky": lambda: encoder_decoder("7", "7", peeky=True),
    "tree": lambda: beam_tree(STEPS, WAYS, title="The likeliest\nbeginning"),
    **{
        f"window {way}": lambda way=way: moving_window(
            TEXT, [2, 1], [2, 11], title="Two", arrows=way
        )
        for way in ("none", "in", "out")
    },
    "notes": lambda: moving_window(TEXT * 2, 2, [0, 23], title="A\nB", notes=["the: a", "last"]),
    "paths": lambda: vector_paths({"one": "ab", "two": "cd"}, TOWARDS, title="Four\nwords"),
    "unrolled": lambda: unrolled(["<eos>", *TEXT[:6]], 2),
    "reach": lambda: gradient_reach(np.tril(np.ones((6, 6))), 3),
    **{f"gates {n}": lambda n=n: gate_traces(TEXT[: n[0]], gates(*n), title="They open")
       for n in [(7, 30), (12, 5)]},
    "story": lambda: long_link(STORY, 0, distractor=5, title="Who?"),
}  # fmt: skip


@pytest.mark.parametrize("name", FIGURES)
def test_no_text_lies_over_another_or_leaves_the_figure(name):
    assert not overlaps(FIGURES[name]())


def two_by_two(**changes):
    return moving_window(TEXT, **{"window": 1, "centres": [3], "title": ""} | changes)


def weighted(memory, query, length=None):
    return weighted_sum(["a", "b"], np.ones(memory), np.ones(query), length=length)


MISTAKES = [
    (lambda: weighted((2, 2), 2, 0), "a length from 1 to S, got"),
    (lambda: weighted((2, 2), 2, 4), "a length from 1 to S, got"),
    (lambda: weighted((3, 2), 2), r"a memory \(S, H\) with S = 2"),
    (lambda: weighted((2, 2), 3), r"a query \(H,\)"),
    (lambda: word_table({}, "a", "bc", title=""), "expected tables of 1 rows and 2 columns"),
    (lambda: word_table({"": W}, "a", "bc", title=""), "expected tables of 1 rows and 2 columns"),
    (lambda: against_chance("ab", [1], [1, 2], label=[], title=""), "numbers for each of 2 words"),
    (lambda: against_chance("a", [0], [1], label=[], title=""), "some of them above zero"),
    (lambda: svd_plane({"a": (1, 2)}, ("x", "y"), title=""), "two or more places, got 1"),
    (lambda: decision_regions(left_or_right, W[:, :1], np.zeros(4, int)), "expected points"),
    (lambda: decision_regions(left_or_right, POINTS, np.arange(3, 7)), "at most 6 classes"),
    (lambda: encoder_decoder("", "1"), "at least one symbol"),
    (lambda: encoder_decoder("1", ""), "at least one symbol"),
    (lambda: beam_tree([], {}, title=""), "a step or more and at most 2 paths"),
    (lambda: beam_tree(STEPS, dict.fromkeys("abc", "8"), title=""), "at most 2 paths"),
    (lambda: beam_tree(STEPS, {"x": "85"}, title=""), "no candidate '5' after '8' in step 2"),
    (lambda: two_by_two(centres=[12]), "centres from 0 to 11"),
    (lambda: two_by_two(arrows="up"), "arrows none, in or out"),
    (lambda: two_by_two(window=[1, 2]), "each of 1 rows, .* 2 reaches and 1 notes"),
    (lambda: two_by_two(notes=[]), "each of 1 rows, .* 1 reaches and 0 notes"),
    (lambda: vector_paths({"g": ["w"]}, {"w": np.zeros(2)}, title=""), r"a path \(S, 2\).*\['w'\]"),
    (lambda: vector_paths({"g": ["w"]}, {}, title=""), r"a path \(S, 2\).*\['w'\]"),
    (lambda: unrolled(["alone"]), "two or more tokens"),
    (lambda: gradient_reach(np.ones((2, 3)), 1), "expected a square matrix"),
    (lambda: gradient_reach(np.zeros((3, 3)), 1), "expected a square matrix"),
    (lambda: gradient_reach(np.ones((3, 3)), 0), "expected a square matrix"),
    (lambda: gate_traces("ab", {}, title=""), "a row for each of 2 words"),
    (lambda: gate_traces("ab", {"f": W[:3]}, title=""), "a row for each of 2 words"),
    (lambda: long_link(STORY, 16, title=""), "from 0 to 15"),
    (lambda: long_link(STORY, -1, title=""), "from 0 to 15"),
]


@pytest.mark.parametrize(("draw", "message"), MISTAKES)
def test_what_cannot_be_drawn_is_said(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()


def texts(figure, axes=0, **wanted):
    """The texts of some axes, those of a colour or group id where one is wanted."""
    found = figure.axes[axes].texts
    for key, value in wanted.items():
        found = [text for text in found if getattr(text, f"get_{key}")() == value]
    return [text.get_text() for text in found if text.get_text()]


def test_weights_are_a_softmax_without_the_padding():
    memory = np.array([[0.0], [np.log(3)], [50.0]])
    figure = weighted_sum(["a", "b", "pad"], memory, np.array([1.0]), length=2)
    assert texts(figure, gid="weight") == ["0.25", "0.75", "0"]
    assert "0.8" in texts(figure)  # the context: 0.75 log 3
    shown = texts(weighted_sum(["a"], np.array([[-0.01, -2.0]]), np.zeros(2)))
    assert "\u22122.0" in shown
    assert "\u22120.0" not in shown


def test_each_arrangement_has_two_steps():
    shown = texts(FIGURES["arrangements"]())
    for node in "xhcy":
        assert shown.count(f"${node}_{{t}}$") == shown.count(f"${node}_{{t-1}}$") == 3


def test_a_table_shows_its_numbers_and_leaves_zeros_blank():
    panels = {"counts": COUNTS, "shares": COUNTS / 6 - 0.1}
    figure = word_table(panels, ["cat", "dog"], ["the", "a", "sees"], title="Two rows")
    assert texts(figure) == ["3", "1", "2"]
    assert texts(figure, 1) == ["−0.1", "0.4", "0.1", "0.2", "−0.1", "−0.1"]
    names = [[t.get_text() for t in axes.get_xticklabels()] for axes in figure.axes]
    assert names == [["", "", ""], ["the", "a", "sees"]]
    assert texts(word_table({"": np.zeros((1, 2))}, "a", "bc", title="None")) == []


def test_chance_leaves_out_what_never_occurred():
    rng = np.random.default_rng(0)
    words = [f"word{k}" for k in range(60)]
    expected = rng.uniform(0.1, 50, 60)
    observed = np.round(expected * rng.lognormal(size=60))
    observed[:5] = 0
    figure = against_chance(words, observed, expected, label=words[:30] + words[:10], title="")
    drawn = sum(len(line.get_xdata()) for line in figure.axes[0].lines[:2])
    assert drawn == np.count_nonzero(observed)
    named = [text for text in texts(figure) if text.startswith("word")]
    assert named == [word for word, n in zip(words[:30], observed) if n]
    assert not [pair for pair in overlaps(figure) if all(t.startswith("word") for t in pair)]


def test_the_axes_of_a_decomposition():
    shown, S = texts(FIGURES["plane"]()), np.linalg.svd(np.array(list(BOOKS.values())))[1]
    assert f"axis 1: singular value {S[0]:.1f}" in shown
    assert "book, letter" in shown  # at one place


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ([0, 1, 1, 0], "All 4 points lie in the region of their class"),
        ([0, 1, 0, 0], "1 of 4 points lies in the region of another class"),
        ([1, 0, 1, 0], "2 of 4 points lie in the region of another class"),
    ],
)
def test_regions_are_those_of_the_scores_and_wrong_points_have_a_rim(classes, message):
    axes = decision_regions(left_or_right, POINTS, np.array(classes)).axes[0]
    assert axes.get_title(loc="left") == message
    ground = axes.collections[0].get_array()
    assert np.all(ground[:, :1] == 0)
    assert np.all(ground[:, -1:] == 1)
    rims = [c for c in axes.collections[1:] if len(c.get_offsets()) and c.get_sizes()[0] == 30]
    assert sum(len(c.get_offsets()) for c in rims) == int(message[0] if message[0] != "A" else 0)


def test_encoder_and_decoder_show_every_symbol():
    shown = texts(FIGURES["encoder"]())
    for symbol in "12345679+":
        assert shown.count(symbol) == "123+456".count(symbol) + 2 * "579".count(symbol)
    assert shown.count("end") == 2
    plain, peeky = (encoder_decoder("5+7", "12", peeky=value).axes[0] for value in (False, True))
    assert len(peeky.patches) - len(plain.patches) == len("12") + 1


def test_a_tree_joins_every_candidate_to_its_parent():
    figure = beam_tree(STEPS, {"beam": WAYS["beam"]}, title="One path")
    assert sum("−" in text for text in texts(figure)) == sum(map(len, STEPS))
    lines = figure.axes[0].lines
    (way,) = [line.get_xydata().tolist() for line in lines if line.get_linewidth() == 2.4]
    joined = [line.get_xydata().tolist() for line in lines if line.get_linewidth() == 1.0]
    assert len(joined) == sum(map(len, STEPS))
    assert len(way) == 4
    assert all(list(part) in joined for part in pairwise(way))


@pytest.mark.parametrize(("arrows", "count"), [("none", 0), ("in", 5), ("out", 5)])
def test_centre_and_context_of_a_window_are_set_off(arrows, count):
    figure = FIGURES[f"window {arrows}"]()
    assert texts(figure, color=VERMILLION) == ["eats", "."]
    assert texts(figure, color=BLUE) == ["the", "king", "the", "bread", "now"]  # cut off at the end
    heads = [patch for patch in figure.axes[0].patches if hasattr(patch, "get_arrowstyle")]
    assert len(heads) == count
    ends = {patch._posA_posB[arrows == "in"] for patch in heads}
    assert len(ends) == (2 if count else 0)  # one for each centre
    assert FIGURES["notes"]().get_size_inches()[0] > 7.0


def test_paths_of_vectors_end_at_their_words():
    figure = FIGURES["paths"]()
    assert texts(figure) == list(ENDS)
    marks = [line.get_xydata() for line in figure.axes[0].lines if line.get_marker() != "None"]
    np.testing.assert_allclose(np.concatenate(marks), list(ENDS.values()))


@pytest.mark.parametrize(
    ("steps", "window", "borders"), [(4, None, 0), (9, 3, 2), (7, 3, 2), (1, 1, 0)]
)
def test_the_gradient_stops_between_windows(steps, window, borders):
    figure = unrolled([f"word{k}" for k in range(steps + 1)], window)
    crosses = [line for line in figure.axes[0].lines if line.get_marker() == "x"]
    assert len(crosses) == borders


def test_reach_counts_what_a_window_keeps():
    title = FIGURES["reach"]().texts[0].get_text()
    assert "compute 40 % of the paths" in title  # 6 of 15
    assert "40 % of what goes back" in title
    title = gradient_reach(np.tril(np.ones((5, 5))), window=9).texts[0].get_text()
    assert "100 % of what goes back" in title


def test_gates_have_a_row_for_each_of_the_units_that_change_most():
    assert FIGURES["gates (7, 30)"]().axes[0].images[0].get_array().shape == (12, 7)
    gate = np.full((4, 3), 0.5)
    gate[:, 2] = [0.0, 1.0, 0.0, 1.0]
    figure = gate_traces("abcd", {"f": gate}, title="", units=1)
    assert figure.axes[0].images[0].get_array()[0].tolist() == [0.0, 1.0, 0.0, 1.0]


def test_the_last_word_of_a_story_is_asked_for():
    shown = texts(FIGURES["story"]())
    assert "?" in shown
    assert any("must travel 15 steps" in text for text in shown)
