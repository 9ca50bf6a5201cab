"""Figures as values of notebook cells."""

import struct
import sys
from types import SimpleNamespace

from matplotlib.figure import Figure

from deepnlp.plots.display import show_figures_in_notebooks


class Formatter:
    def __init__(self):
        self.printers = {}

    def for_type(self, kind, printer):
        self.printers[kind] = printer


def test_outside_of_a_notebook_nothing_happens(monkeypatch):
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    assert not show_figures_in_notebooks()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert not show_figures_in_notebooks()


def test_in_a_notebook_a_figure_becomes_a_picture(monkeypatch):
    formatter = Formatter()
    shell = SimpleNamespace(display_formatter=SimpleNamespace(formatters={"image/png": formatter}))
    monkeypatch.setitem(
        sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell, version_info=(9, 0))
    )
    assert show_figures_in_notebooks()
    picture, size = formatter.printers[Figure](Figure(figsize=(3.0, 2.0)))
    assert picture.startswith(b"\x89PNG")
    assert struct.unpack(">II", picture[16:24]) == (480, 320)  # 160 pixels an inch
    assert size == {"width": 288, "height": 192, "alt": "Figure."}  # shown at 96 an inch
