"""Figures of lesson 8: encoder and decoder, and the tree of a beam search."""

from itertools import pairwise

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from deepnlp.lessons.figures import Candidate, beam_tree, encoder_decoder
from tests.plots.test_sentences_and_bars import assert_inside

STEPS = [
    [
        Candidate(0, "8", -0.3, True),
        Candidate(0, "9", -1.4, True),
        Candidate(0, "7", -3.7, False),
    ],
    [
        Candidate(1, "0", -1.8, True),
        Candidate(0, "9", -1.9, True),
        Candidate(0, "4", -12.26, False),
        Candidate(1, "end", -13.0, False),
    ],
    [Candidate(0, "end", -1.84, True), Candidate(1, "end", -1.9, True)],
]
PATHS = {"greedy": ["8", "9", "end"], "beam": ["9", "0", "end"]}


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def drawn(colour, figure):
    return [line for line in figure.axes[0].lines if line.get_color() == colour]


@pytest.mark.parametrize("peeky", [False, True])
@pytest.mark.parametrize(("source", "target"), [("123+456", "579"), ("57+5", "62"), ("7", "7")])
def test_encoder_and_decoder_show_every_symbol(source, target, peeky):
    figure = encoder_decoder(source, target, peeky=peeky)
    shown = texts(figure)
    for symbol in {*source, *target}:
        assert shown.count(symbol) == source.count(symbol) + 2 * target.count(symbol)
    assert shown.count("end") == 2
    assert_inside(figure)


def test_the_peeky_decoder_reads_the_state_at_every_step():
    plain, peeky = (encoder_decoder("5+7", "12", peeky=value) for value in (False, True))
    more = len(peeky.axes[0].patches) - len(plain.axes[0].patches)
    assert more == len("12") + 1


@pytest.mark.parametrize(("source", "target"), [("", "1"), ("1", "")])
def test_encoder_and_decoder_need_symbols(source, target):
    with pytest.raises(ValueError, match="at least one symbol"):
        encoder_decoder(source, target)


def test_the_tree_shows_every_candidate_once():
    figure = beam_tree(STEPS, PATHS, title="The likeliest\nbeginning")
    shown = texts(figure)
    assert shown.count("end  −1.84") == 1
    assert sum("−" in text for text in shown) == sum(map(len, STEPS))
    assert_inside(figure)


def test_boxes_of_a_tree_are_apart():
    figure = beam_tree(STEPS, PATHS, title="Apart")
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw_without_rendering()
    boxes = [
        text.get_bbox_patch().get_window_extent(renderer)
        for text in figure.axes[0].texts
        if text.get_bbox_patch() is not None
    ]
    for k, one in enumerate(boxes):
        assert not any(one.overlaps(other) for other in boxes[k + 1 :])


def test_lines_of_a_tree_join_a_candidate_to_its_parent():
    figure = beam_tree(STEPS, {"beam": PATHS["beam"]}, title="One path")
    (colour,) = {line.get_color() for line in figure.axes[0].lines if line.get_linewidth() == 2.4}
    ends = [line.get_ydata() for line in drawn(colour, figure) if len(line.get_ydata())]
    assert len(ends) == 3
    for before, after in pairwise(ends):
        assert before[1] == after[0]


def test_what_a_tree_cannot_draw_is_an_error():
    with pytest.raises(ValueError, match="a step or more and at most 2 paths"):
        beam_tree([], {}, title="Nothing")
    with pytest.raises(ValueError, match="at most 2 paths"):
        beam_tree(STEPS, {name: ["8"] for name in "abc"}, title="Three")
    with pytest.raises(ValueError, match="no candidate '5' after '8' in step 2"):
        beam_tree(STEPS, {"other": ["8", "5"]}, title="Not seen")
