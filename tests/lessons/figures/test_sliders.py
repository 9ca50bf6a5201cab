"""A figure with sliders: at rest without a notebook, moving with one."""

import sys
from types import SimpleNamespace

import pytest
from matplotlib.figure import Figure

from material.figures import explore


def drawing(calls):
    def draw(**values):
        calls.append(values)
        return Figure()

    return draw


class Widgets:
    """What explore uses of ipywidgets."""

    @staticmethod
    def interactive(draw, options, **controls):
        assert options == {"auto_display": True}  # else the figure is drawn and not shown
        return draw, controls

    @staticmethod
    def FloatSlider(value, min, max, step, **shared):
        return ("float", value, min, max, step, shared)


SLIDERS = {"a_b": (0.5, 2.5, 1.0), "n": (1, 9, 3)}


@pytest.fixture
def notebook(monkeypatch):
    shell = SimpleNamespace(get_ipython=lambda: object())
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "ipywidgets", Widgets)
    monkeypatch.delenv("DEEPNLP_LESSON", raising=False)
    return monkeypatch


def test_without_a_notebook_it_is_the_figure_at_the_start():
    calls = []
    assert isinstance(explore(drawing(calls), **SLIDERS), Figure)
    assert calls == [{"a_b": 1.0, "n": 3}]


def test_in_a_notebook_it_has_sliders(notebook):
    calls = []
    draw, controls = explore(drawing(calls), **SLIDERS)
    assert not calls  # ipywidgets draws the first figure
    shared = {"continuous_update": False}
    assert controls["a_b"] == ("float", 1.0, 0.5, 2.5, 0.04, shared | {"description": "a b"})
    assert controls["n"] == ("float", 3, 1, 9, 0.16, shared | {"description": "n"})
    assert isinstance(draw(a_b=2.0), Figure)


def test_a_lesson_that_is_built_and_a_notebook_without_ipywidgets_show_the_figure(notebook):
    notebook.setenv("DEEPNLP_LESSON", "full")
    assert isinstance(explore(drawing([]), **SLIDERS), Figure)
    notebook.delenv("DEEPNLP_LESSON")
    notebook.setitem(sys.modules, "ipywidgets", None)
    assert isinstance(explore(drawing([]), **SLIDERS), Figure)


@pytest.mark.parametrize("bad", [(0, 1), (0, 1, 2), [], 3])
def test_a_slider_that_does_not_fit_is_refused(bad):
    with pytest.raises(ValueError, match="explore: n should be"):
        explore(drawing([]), n=bad)
    with pytest.raises(ValueError, match="one or more sliders"):
        explore(drawing([]))


def test_ipywidgets_takes_these_sliders(monkeypatch):
    widgets = pytest.importorskip("ipywidgets")
    monkeypatch.setattr("material.figures.sliders._widgets", lambda: widgets)
    moved = explore(drawing([]), **SLIDERS)
    assert [child.value for child in moved.children[:2]] == [1.0, 3]
