"""Labels beside points: none over another, each near its own point or joined to it."""

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from deepnlp.plots import embeddings
from deepnlp.plots.labels import MARK, NEAR, label_words, place_labels

BOUNDS = (0.0, 0.0, 430.0, 300.0)


def overlaps(a, b) -> bool:
    return min(a[2], b[2]) > max(a[0], b[0]) and min(a[3], b[3]) > max(a[1], b[1])


def gap(box, point) -> float:
    """Distance of a point's mark from a box."""
    x, y = (max(box[k] - point[k] - MARK, point[k] - MARK - box[k + 2], 0) for k in (0, 1))
    return float(np.hypot(x, y))


def crowd(kind: str, n: int, rng: np.random.Generator) -> np.ndarray:
    if kind == "spread":
        return rng.uniform(size=(n, 2)) * BOUNDS[2:]
    if kind == "crowded":
        return np.clip(rng.normal([215, 150], [60, 40], size=(n, 2)), 0, 300)
    return np.repeat(rng.uniform(100, 200, size=(n, 2)), 2, axis=0)[:n]  # pairs at one place


@pytest.mark.parametrize("kind", ["spread", "crowded", "pairs"])
@pytest.mark.parametrize("n", [1, 2, 15, 40])
def test_no_label_covers_another_or_a_mark(kind, n):
    rng = np.random.default_rng(n)
    crossed = 0
    for _ in range(5 if n < 40 else 1):
        points = crowd(kind, n, rng)
        sizes = np.stack([rng.uniform(4, 45, size=n), np.full(n, 11.0)], axis=1)
        corners, joined = place_labels(points, sizes, BOUNDS)
        boxes = np.concatenate([corners, corners + sizes], axis=1)
        for k, box in enumerate(boxes):
            assert (box[:2] >= BOUNDS[:2]).all()
            assert (box[2:] <= BOUNDS[2:]).all()
            assert not any(overlaps(box, other) for other in boxes[:k])
            assert not any(overlaps(box, [*(p - MARK), *(p + MARK)]) for p in points)
            if not joined[k]:
                assert gap(box, points[k]) == min(gap(box, point) for point in points) <= NEAR
                continue
            # does the line to the nearest place of the box cross another label?
            end = np.clip(points[k], box[:2], box[2:])
            x, y = (points[k] + np.linspace(0, 1, 30)[:, None] * (end - points[k])).T[..., None]
            inside = (boxes[:, 0] < x) & (x < boxes[:, 2]) & (boxes[:, 1] < y) & (y < boxes[:, 3])
            crossed += bool(np.delete(inside, k, axis=1).any())
    assert kind != "spread" or crossed <= n // 50


def test_where_there_is_no_room():
    with pytest.raises(ValueError, match="there is no room for 40 labels: show fewer"):
        place_labels(np.full((40, 2), 50.0), np.full((40, 2), 20.0), (0, 0, 100, 100))


@pytest.mark.parametrize("dpi", [72, 150])
def test_words_as_they_are_drawn(dpi):
    rng = np.random.default_rng(4)
    words = [*["I", "$x$", "a_b_c", "naïve", "“"], *(f"word{'d' * i}" for i in range(20))]
    figure = Figure(figsize=(5, 4), dpi=dpi)
    axes = figure.add_axes((0.1, 0.1, 0.85, 0.85))
    places = dict(zip(words, rng.normal(size=(25, 2)), strict=True))
    axes.plot(*np.array(list(places.values())).T, "o")
    axes.margins(0.1)
    axes.autoscale_view()
    limits = axes.get_xlim(), axes.get_ylim()
    label_words(axes, places, dict.fromkeys(words, "black"))
    figure.draw_without_rendering()
    assert (axes.get_xlim(), axes.get_ylim()) == limits
    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes = [text.get_window_extent(renderer) for text in axes.texts]
    assert [text.get_text() for text in axes.texts] == words
    for k, box in enumerate(boxes):
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
        # a pixel more or less by rounding
        assert not any(box.padded(-1).overlaps(other.padded(-1)) for other in boxes[:k])


def test_many_words_of_one_group():
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in range(80)]
    vectors = {word: rng.normal(size=6) for word in words}
    figure = embeddings({"": words}, vectors, title="80 words")
    assert not figure.legends
    assert [text.get_text() for text in figure.axes[0].texts] == words
    with pytest.raises(ValueError, match="'word0' is repeated"):
        embeddings({"a": words, "b": words[:2]}, vectors, title="")
    vectors["word0"] = np.zeros(6)  # no direction, but a place
    embeddings({"": words[:5]}, vectors, title="")
