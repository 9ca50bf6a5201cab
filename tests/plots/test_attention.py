"""The heat map of attention."""

from pathlib import Path

import numpy as np
import pytest

from deepnlp.plots import attention_heads, attention_map


def weights(T: int, S: int) -> np.ndarray:
    made = np.random.default_rng(0).random((T, S))
    return made / made.sum(axis=1, keepdims=True)


def overlaps(boxes: list) -> bool:
    return any(a.overlaps(b) for n, a in enumerate(boxes) for b in boxes[:n])


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ([*"Saturday, April 20"], [*"1994-04-20", "\n"]),
        (
            ["why", "are", "you", "under", "the", "table", "?"],
            ["¿", "por", "qué", "estás", "?", "<eos>"],
        ),
        (["a"], ["<eos>"]),
        (["incomprehensibilities"] * 12, ["uncharacteristically"] * 30),
    ],
)
def test_every_label_stands_by_its_row_or_column(
    source: list[str], target: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "a.png"
    figure = attention_map(source, target, weights(len(target), len(source)), path=path)
    assert path.stat().st_size > 0
    axes = figure.axes[0]
    columns, rows = axes.get_xticklabels(), axes.get_yticklabels()
    assert [label.get_text() for label in columns] == [t.replace(" ", "␣") for t in source]
    assert [label.get_text() for label in rows][-1] == "end" or target[-1] not in ("\n", "<eos>")
    inside = figure.bbox
    for labels in (columns, rows):
        boxes = [label.get_window_extent() for label in labels]
        assert not overlaps(boxes)
        assert all(inside.x0 <= b.x0 and b.x1 <= inside.x1 + 1 for b in boxes)
        assert all(inside.y0 <= b.y0 and b.y1 <= inside.y1 + 1 for b in boxes)
    (title,) = figure.texts
    assert title.get_window_extent().x1 <= inside.x1
    assert not any(title.get_window_extent().overlaps(c.get_window_extent()) for c in columns)


def test_rows_are_written_tokens_from_the_top() -> None:
    found = weights(2, 3)
    figure = attention_map(["a", "b", "c"], ["x", "y"], found)
    image = figure.axes[0].get_images()[0]
    np.testing.assert_array_equal(np.asarray(image.get_array()), found)
    low, high = figure.axes[0].get_ylim()
    assert low > high  # the first row above
    assert image.get_clim() == (0, 1)


@pytest.mark.parametrize("shape", [(3, 2), (2, 4), (0, 0)])
def test_weights_of_another_shape(shape: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=r"weights should have shape \(T, S\) = \(2, 3\)"):
        attention_map(["a", "b", "c"], ["x", "y"], np.zeros(shape))


def causal(blocks: int, heads: int, T: int) -> np.ndarray:
    made = np.tril(np.random.default_rng(0).random((blocks, heads, T, T)))
    return made / made.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize(("blocks", "heads", "T"), [(1, 1, 1), (2, 3, 5), (4, 2, 24)])
def test_each_head_has_its_map(blocks: int, heads: int, T: int, tmp_path: Path) -> None:
    weights, path = causal(blocks, heads, T), tmp_path / "heads.svg"
    figure = attention_heads([*"ab \ncdefghijklmnopqrstuv"][:T], weights, path=path)
    assert path.stat().st_size > 0
    maps = [axes.images[0].get_array() for axes in figure.axes[:-1]]  # the last is the scale
    assert len(maps) == blocks * heads
    for drawn, expected in zip(maps, weights.reshape(-1, T, T), strict=True):
        np.testing.assert_array_equal(drawn, expected)
    figure.draw_without_rendering()
    rows = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert rows == [*"ab␣", "end", *"cdefghijklmnopqrstuv"][:T]


def test_words_below_the_maps_of_heads_do_not_overlap() -> None:
    figure = attention_heads(["the", "incomprehensibilities", "of", "cats"], causal(2, 3, 4))
    figure.draw_without_rendering()
    lowest = [label for axes in figure.axes[3:6] for label in axes.get_xticklabels()]
    assert len(lowest) == 12
    assert not overlaps([label.get_window_extent() for label in lowest])


@pytest.mark.parametrize("shape", [(2, 3, 3), (1, 2, 3, 4), (0, 2, 3, 3)])
def test_heads_need_square_weights(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"should have shape \(blocks, heads, T, T\) with T = 3"):
        attention_heads([*"abc"], np.ones(shape))


def test_the_heads_of_a_long_text_could_not_be_read() -> None:
    with pytest.raises(ValueError, match="at most 64 tokens can be read, got 65"):
        attention_heads(["a"] * 65, causal(1, 1, 65))
