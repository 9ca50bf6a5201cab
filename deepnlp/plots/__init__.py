"""Figures, drawn without a display and without touching pyplot.

Every function returns a ``matplotlib.figure.Figure`` that the caller owns: it can be shown in a
notebook, changed, or saved. Colours are those of Okabe and Ito (2008), which readers with any
colour vision tell apart; lines differ in style and marker as well, for print without colour.
"""

from deepnlp.plots.curves import curves
from deepnlp.plots.display import show_figures_in_notebooks
from deepnlp.plots.gradients import gradient_flow, gradient_heat_map
from deepnlp.plots.learning import learning_curve
from deepnlp.plots.reach import gradient_reach
from deepnlp.plots.style import spread
from deepnlp.plots.surprisal import SurprisalText, surprisal_text
from deepnlp.plots.unrolled import unrolled
from deepnlp.plots.words import next_words

__all__ = [
    "SurprisalText",
    "curves",
    "gradient_flow",
    "gradient_heat_map",
    "gradient_reach",
    "learning_curve",
    "next_words",
    "spread",
    "surprisal_text",
    "unrolled",
]

show_figures_in_notebooks()
