"""The moving window, and the paths of vectors: every word in its place; mistakes are named."""

import numpy as np
import pytest

from deepnlp.lessons.figures import moving_window, vector_paths
from deepnlp.plots.style import BLUE, VERMILLION
from tests.plots.test_sentences_and_bars import assert_inside

TEXT = ["the", "king", "eats", "the", "bread", "today", ".", "a", "horse", "sleeps", "now", "."]


def words(figure, colour):
    return [text.get_text() for text in figure.axes[0].texts if text.get_color() == colour]


@pytest.mark.parametrize("arrows", ["none", "in", "out"])
def test_centre_and_context_are_set_off(arrows):
    figure = moving_window(TEXT, [2, 1], [2, 11], title="Two places", arrows=arrows)
    assert words(figure, VERMILLION) == ["eats", "."]
    assert words(figure, BLUE) == ["the", "king", "the", "bread", "now"]  # cut off at the end
    heads = [patch for patch in figure.axes[0].patches if hasattr(patch, "get_arrowstyle")]
    assert len(heads) == (0 if arrows == "none" else 5)
    assert_inside(figure)


def test_arrows_run_from_or_to_the_centre():
    for arrows, end in (("in", 1), ("out", 0)):
        figure = moving_window(TEXT, 1, [1], title="One place", arrows=arrows)
        ends = [patch._posA_posB[end] for patch in figure.axes[0].patches[1:]]
        assert ends[0] == ends[1]


def test_notes_and_a_long_text_fit():
    figure = moving_window(
        TEXT * 2, 2, [0, 23], title="One line\nand another", notes=["the: king, eats", "last"]
    )
    assert_inside(figure)
    assert figure.get_size_inches()[0] > 7.0
    assert [t.get_text() for t in figure.axes[0].texts].count("last") == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"centres": [12]}, "centres from 0 to 11"),
        ({"arrows": "up"}, "arrows none, in or out"),
        ({"window": [1, 2]}, "a reach and a note for each of 1 rows, got 2 and 1"),
        ({"notes": []}, "a reach and a note for each of 1 rows, got 1 and 0"),
    ],
)
def test_what_does_not_fit_is_said(changes, message):
    options = {"window": 1, "centres": [3], "title": "", **changes}
    with pytest.raises(ValueError, match=message):
        moving_window(TEXT, **options)


def test_paths_of_vectors_end_at_their_words():
    rng = np.random.default_rng(0)
    steps = np.linspace(0, 1, 8)[:, None]
    ends = {word: rng.normal(size=2) * [3, 1] for word in ("up", "down", "left", "right")}
    figure = vector_paths(
        {"vertical": ["up", "down"], "horizontal": ["left", "right"]},
        {word: steps * end for word, end in ends.items()},
        title="Four words\nleave the origin",
    )
    assert [text.get_text() for text in figure.axes[0].texts] == list(ends)
    marks = np.concatenate(
        [line.get_xydata() for line in figure.axes[0].lines if line.get_marker() != "None"]
    )
    np.testing.assert_allclose(marks, list(ends.values()))
    assert_inside(figure)


@pytest.mark.parametrize("path", [np.zeros((3, 3)), np.zeros(2), None])
def test_a_path_of_two_dimensions_is_needed(path):
    paths = {} if path is None else {"word": path}
    with pytest.raises(ValueError, match=r"each with a path \(S, 2\).*\['word'\]"):
        vector_paths({"one": ["word"]}, paths, title="")
