"""The drawings of lesson 9: a query that reads a memory, and three arrangements of a decoder."""

from pathlib import Path

import numpy as np
import pytest

from deepnlp.lessons.figures import arrangements, weighted_sum
from tests.plots.test_attention import overlaps


def boxes_of(figure) -> list:
    figure.draw_without_rendering()
    return [text.get_window_extent() for text in figure.axes[0].texts]


@pytest.mark.parametrize(("S", "H", "length"), [(1, 1, None), (4, 3, 2), (7, 2, 7), (10, 5, 1)])
def test_texts_do_not_touch_and_stay_inside(S: int, H: int, length: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(S)
    memory, query, path = (
        3 * rng.standard_normal((S, H)),
        rng.standard_normal(H),
        tmp_path / "a.png",
    )
    figure = weighted_sum(["(pad)"] * S, memory, query, length=length, path=path)
    assert path.stat().st_size > 0
    boxes, inside = boxes_of(figure), figure.bbox
    assert not overlaps(boxes)
    assert all(inside.x0 <= b.x0 and b.x1 <= inside.x1 for b in boxes)
    assert all(inside.y0 <= b.y0 and b.y1 <= inside.y1 for b in boxes)


def test_weights_are_a_softmax_without_the_padding() -> None:
    memory = np.array([[0.0], [np.log(3)], [50.0]])
    figure = weighted_sum(["a", "b", "pad"], memory, np.array([1.0]), length=2)
    texts = {text.get_gid(): [] for text in figure.axes[0].texts}
    for text in figure.axes[0].texts:
        texts[text.get_gid()].append(text.get_text())
    assert texts["weight"] == ["0.25", "0.75", "0"]
    assert "0.8" in texts[None]  # the context: 0.75 log 3


def test_minus_zero_has_no_sign() -> None:
    figure = weighted_sum(["a"], np.array([[-0.01, -2.0]]), np.array([0.0, 0.0]))
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert "\u22120.0" not in texts
    assert "\u22122.0" in texts


@pytest.mark.parametrize("length", [0, 4])
def test_a_length_out_of_range(length: int) -> None:
    with pytest.raises(ValueError, match="a length from 1 to S, got"):
        weighted_sum(["a", "b", "c"], np.ones((3, 2)), np.ones(2), length=length)


def test_shapes_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match=r"a memory \(S, H\) with S = 2"):
        weighted_sum(["a", "b"], np.ones((3, 2)), np.ones(2))
    with pytest.raises(ValueError, match=r"a query \(H,\)"):
        weighted_sum(["a", "b"], np.ones((2, 2)), np.ones(3))


def test_each_arrangement_has_two_steps(tmp_path: Path) -> None:
    figure = arrangements(title="What waits\nfor what", path=tmp_path / "a.png")
    assert (tmp_path / "a.png").stat().st_size > 0
    texts = [text.get_text() for text in figure.axes[0].texts]
    for node in "xhcy":
        assert texts.count(f"${node}_{{t}}$") == texts.count(f"${node}_{{t-1}}$") == 3
    assert not overlaps(boxes_of(figure))
