"""Decision regions: what is drawn and said."""

import numpy as np
import pytest

from deepnlp.lessons.figures import decision_regions

POINTS = np.array([[-1.0, 0.5], [2.0, -0.5], [0.5, 1.0], [-0.5, -1.0]])


def left_or_right(points):
    """Scores of two classes: right of zero, or left of it."""
    return np.stack([-points[:, 0], points[:, 0]], axis=1)


@pytest.mark.parametrize(
    ("classes", "message"),
    [
        ([0, 1, 1, 0], "All 4 points lie in the region of their class"),
        ([0, 1, 0, 0], "1 of 4 points lies in the region of another class"),
        ([1, 0, 1, 0], "2 of 4 points lie in the region of another class"),
    ],
)
def test_the_title_counts_points_on_the_wrong_side(classes, message):
    figure = decision_regions(left_or_right, POINTS, np.array(classes))
    assert figure.axes[0].get_title(loc="left") == message


def test_the_ground_is_that_of_the_scores():
    axes = decision_regions(left_or_right, POINTS, np.array([0, 1, 1, 0])).axes[0]
    ground = axes.collections[0].get_array()
    left, right = ground[:, :1], ground[:, -1:]
    assert np.all(left == 0)
    assert np.all(right == 1)


def test_points_on_the_wrong_side_have_a_rim():
    axes = decision_regions(left_or_right, POINTS, np.array([0, 1, 0, 0])).axes[0]
    rims = [c for c in axes.collections[1:] if tuple(c.get_edgecolor()[0]) == (0, 0, 0, 1)]
    drawn = np.concatenate([np.asarray(c.get_offsets()) for c in rims])
    np.testing.assert_allclose(drawn, [[0.5, 1.0]])


def test_mistakes(tmp_path):
    with pytest.raises(ValueError, match="expected points"):
        decision_regions(left_or_right, POINTS[:, :1], np.zeros(4, dtype=int))
    with pytest.raises(ValueError, match="at most 6 classes"):
        decision_regions(left_or_right, POINTS, np.array([0, 1, 2, 6]))
    path = tmp_path / "regions.png"
    decision_regions(left_or_right, POINTS, np.array([0, 1, 1, 0]), path=path)
    assert path.stat().st_size > 5000
