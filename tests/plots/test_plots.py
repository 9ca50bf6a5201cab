"""The learning curve: what it says, that nothing overlaps, that no display is needed."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg

from deepnlp.plots import learning_curve
from deepnlp.plots.style import spread
from tests.training.tools import tiny_trainer

BASELINES = {"unigram": 451.3, "bigram": 95.2, "trigram": 71.0}


def history(epochs, lr=lambda epoch: 0.01):
    return [
        {
            "epoch": epoch,
            "train_perplexity": 50 + 400 / epoch**1.3,
            "valid_perplexity": 66 + 40 / epoch**1.2 + max(0, epoch - 30) * 0.5,
            "lr": lr(epoch),
            "gradient_norm": 0.2,
        }
        for epoch in range(1, epochs + 1)
    ]


def title(figure):
    return figure.axes[0].get_title(loc="left")


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def boxes(figure):
    """Where each text of the figure comes to lie, in pixels."""
    renderer = FigureCanvasAgg(figure).get_renderer()
    figure.draw_without_rendering()  # axis labels find their place only when drawn
    axes = figure.axes[0]
    shown = [*axes.texts, axes._left_title, axes.xaxis.label, axes.yaxis.label]
    return [text.get_window_extent(renderer) for text in shown if text.get_text()]


@pytest.mark.parametrize("epochs", [1, 2, 4, 40])
@pytest.mark.parametrize("baselines", [None, BASELINES, {"trigram": 66.1, "bigram": 66.2}])
@pytest.mark.parametrize("lr", [lambda epoch: 0.01, lambda epoch: 20 / 4 ** (epoch // 3)])
def test_no_text_overlaps_another_or_leaves_the_figure(epochs, baselines, lr):
    figure = learning_curve(history(epochs, lr), baselines)
    found = boxes(figure)
    for i, box in enumerate(found):
        assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
        assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1
        assert not any(box.overlaps(other) for other in found[:i])


def test_title_says_which_baselines_are_beaten():
    row = {"epoch": 1, "train_perplexity": 150.0}
    below_all = learning_curve([{**row, "valid_perplexity": 67.5}], BASELINES)
    assert title(below_all) == "Validation perplexity 67.5 after 1 epoch, below the trigram's 71.0"
    between = learning_curve([{**row, "valid_perplexity": 80.0}], BASELINES)
    assert title(between).endswith("between the bigram's 95.2 and the trigram's 71.0")
    above_all = learning_curve([{**row, "valid_perplexity": 500.0}], BASELINES)
    assert title(above_all).endswith("above the unigram's 451.3")


def test_title_and_ring_are_at_the_best_epoch():
    figure = learning_curve(history(40))
    best = min(history(40), key=lambda row: row["valid_perplexity"])
    assert f"{best['valid_perplexity']:.1f} (epoch {best['epoch']} of 40)" in title(figure)
    ring = next(line for line in figure.axes[0].lines if line.get_markerfacecolor() == "none")
    np.testing.assert_allclose(ring.get_xydata(), [[best["epoch"], best["valid_perplexity"]]])


def test_every_line_is_labelled_with_its_last_value():
    shown = texts(learning_curve(history(4), BASELINES))
    last = history(4)[-1]
    for name, value in [
        ("training", last["train_perplexity"]),
        ("validation", last["valid_perplexity"]),
        *BASELINES.items(),
    ]:
        assert f"{name} {value:.1f}" in shown


def test_changes_of_the_learning_rate_are_written_below():
    def below(figure):
        return figure.axes[0].get_xlabel()

    steps = learning_curve(history(4, lambda epoch: 0.01 if epoch < 4 else 0.0025))
    assert below(steps) == "epoch; learning rate 0.01, 0.0025 from 4"
    smooth = learning_curve(history(20, lambda epoch: 0.5 / epoch))
    assert below(smooth) == "epoch; learning rate 0.5 to 0.025"
    assert below(learning_curve(history(4))) == "epoch"


def test_a_wide_range_is_drawn_on_a_logarithmic_axis():
    assert learning_curve(history(4), BASELINES).axes[0].get_yscale() == "log"
    narrow = [{"epoch": e, "train_perplexity": 80 - e, "valid_perplexity": 90 - e} for e in (1, 2)]
    assert learning_curve(narrow).axes[0].get_yscale() == "linear"


@pytest.mark.parametrize("values", [(0.0, 0.0), (0.1, 99.9), (40.0, 40.0)])
def test_of_a_figure_of_which_higher_is_better_the_axis_is_not_logarithmic(values):
    rows = [{"epoch": k, "valid_exact_match": v, "lr": 0.1} for k, v in enumerate(values, start=1)]
    axes = learning_curve(rows, metric="exact_match", higher_is_better=True).axes[0]
    assert axes.get_yscale() == "linear"
    assert axes.get_ylim()[0] < min(values) <= max(values) < axes.get_ylim()[1]
    assert axes.get_ylabel() == "exact match"
    assert "alidation exact match" in axes.get_title(loc="left")


def test_values_that_cannot_be_drawn_are_left_out():
    rows = history(3)
    rows[1].update(valid_perplexity=float("inf"), train_perplexity=None)
    figure = learning_curve(rows, {"unigram": float("nan"), "bigram": 80.0})
    assert not any("unigram" in text for text in texts(figure))
    curve = figure.axes[0].lines[0]
    assert list(curve.get_xdata()) == [1, 3]
    with pytest.raises(ValueError, match="got 1 rows without any"):
        learning_curve([{"epoch": 1, "valid_perplexity": float("nan")}])


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_saving(tmp_path, suffix):
    path = tmp_path / f"curve.{suffix}"
    learning_curve(history(2), BASELINES, path)
    assert path.stat().st_size > 5000


def test_a_run_draws_its_curve_and_the_levels_but_for_the_unigram_model(tmp_path, monkeypatch):
    path, drawn = tmp_path / "curve.png", []
    monkeypatch.setattr(
        "deepnlp.plots.learning_curve",
        lambda *given, **options: drawn.append((given, options)) or learning_curve(*given),
    )
    rows, levels = history(2), {name: {"valid": level} for name, level in BASELINES.items()}
    tiny_trainer().task.draw(rows, levels, path)
    shown = {name: BASELINES[name] for name in ("bigram", "trigram")}
    assert drawn == [((rows, shown, path, "perplexity"), {"higher_is_better": False})]
    assert path.stat().st_size > 5000


def test_pyplot_is_never_imported():
    code = (
        "import sys; from deepnlp.plots import learning_curve;"
        "learning_curve([{'epoch': 1, 'valid_perplexity': 9.0}]);"
        "sys.exit('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(0.01, 0.08))
def test_spread_keeps_order_distance_and_range(positions, gap):
    placed = spread(positions, gap, 0.0, 1.0)
    order = np.argsort(positions, kind="stable")
    assert np.all(np.diff(np.array(placed)[order]) >= gap - 1e-9)
    assert -1e-9 <= min(placed) <= max(placed) <= 1 + 1e-9


def test_spread_moves_nothing_that_is_far_enough_apart():
    assert spread([0.9, 0.1, 0.5], 0.2, 0.0, 1.0) == [0.9, 0.1, 0.5]
