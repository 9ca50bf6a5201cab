"""The page on speed: all of it from the results, and nothing else."""

from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from benchmarks import page
from benchmarks.figures import FIGURES
from benchmarks.results import read, read_all
from benchmarks.suites import SUITES
from deepnlp.errors import DeepNLPError
from tests.benchmarks.tools import fake_result

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Results of all suites, in a folder as `deepnlp bench` leaves it."""
    results = tmp_path / "benchmarks" / "results"
    results.mkdir(parents=True)
    for suite in SUITES:
        fake_result(monkeypatch, suite).write(results)
    return results


def test_a_result_is_read_as_it_was_written(tmp_path, monkeypatch):
    result = fake_result(monkeypatch, "lm")
    assert read(result.write(tmp_path)) == result
    assert [path.name for path in tmp_path.iterdir()] == ["lm.json"]


def test_results_of_a_gpu_stand_beside(monkeypatch):
    result = fake_result(monkeypatch, "lm")
    on_gpu = replace(result, facts=result.facts | {"options": result.options | {"backend": "cupy"}})
    assert (result.file, on_gpu.file) == ("lm.json", "lm-cupy.json")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"suite": "lm", "measurements": [1]}'])
def test_a_file_that_is_no_result(tmp_path, text):
    (tmp_path / "lm.json").write_text(text, encoding="utf-8")
    with pytest.raises(DeepNLPError, match=r"lm.json is no result of a benchmark"):
        read_all(tmp_path)


def test_the_page_and_its_figures_are_written(folder, tmp_path):
    (folder.parent / "notes.md").write_text("A larger block was no faster.\n", encoding="utf-8")
    written = page.write_page(tmp_path / "docs" / "maintaining" / "performance.md", folder)
    assert all(path.stat().st_size > 1000 for path in written)
    text = written[0].read_text(encoding="utf-8")
    assert "$" not in text
    assert "A larger block was no faster." in text
    assert "No GPU was timed" in text
    assert "commit 0123456" in text
    for path in written[1:]:
        assert f"(images/{path.name})" in text
    for suite in SUITES:
        assert f"`deepnlp bench {suite} --threads 2 --rounds 3`" in text


def test_the_page_is_the_same_from_the_same_results(folder):
    results = read_all(folder)
    assert page.render(results) == page.render(read_all(folder))


def test_a_suite_that_was_not_run_says_so(folder):
    results = read_all(folder)
    del results["scaling"]
    text = page.render(results)
    assert "Not measured yet: `deepnlp bench scaling`." in text
    assert "performance-scaling" not in text


def test_missed_goals_are_named_with_what_is_missing(monkeypatch):
    text = page.missed({"lm": fake_result(monkeypatch, "lm")})
    # 1.3 times as fast in training and evaluation, 1.2 times the products, by construction
    assert text.splitlines()[0] == "Of 12 goals 2 are not met in every round:"
    assert "training step at H = 100" in text
    assert "1.30, wanted at least 1.5: missed by 13 %" in text
    assert "1.20, wanted at most 1.08: missed by 11 %" in text


def test_a_gpu_that_was_timed_is_named(monkeypatch):
    result = fake_result(monkeypatch, "lm")
    facts = result.facts | {
        "options": result.options | {"backend": "cupy"},
        "machine": result.facts["machine"] | {"gpu": "A100"},
    }
    text = page.gpu({"lm-cupy": replace(result, facts=facts)})
    assert text.startswith("Timed on A100.")
    assert "| H |" in text


def test_no_results_at_all(tmp_path):
    with pytest.raises(FileNotFoundError, match="run `deepnlp bench` first"):
        page.write_page(tmp_path / "page.md", tmp_path)


@pytest.mark.parametrize("suite", FIGURES)
@pytest.mark.parametrize("sizes", [(100,), (100, 200, 650)])
@pytest.mark.parametrize("torch", [True, False])
def test_nothing_leaves_a_figure(monkeypatch, suite, sizes, torch):
    result = fake_result(monkeypatch, suite, sizes=sizes, torch=torch)
    for draw in FIGURES[suite].values():
        figure = draw(result)
        renderer = FigureCanvasAgg(figure).get_renderer()
        figure.draw_without_rendering()
        texts = [*figure.texts, *(text for axes in figure.axes for text in axes.texts)]
        boxes = [text.get_window_extent(renderer) for text in texts if text.get_text()]
        boxes += [axes.get_tightbbox(renderer) for axes in figure.axes]
        for box in boxes:
            assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
            assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1


RESULTS = ROOT / "benchmarks" / "results"


@pytest.mark.skipif(not RESULTS.exists(), reason="nothing has been measured in this checkout")
def test_the_committed_page_is_that_of_the_committed_results():
    notes = RESULTS.parent / page.NOTES
    text = page.render(
        read_all(RESULTS), notes.read_text(encoding="utf-8") if notes.exists() else ""
    )
    assert (ROOT / "docs" / "maintaining" / "performance.md").read_text(encoding="utf-8") == text
