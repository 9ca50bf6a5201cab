"""Figures, drawn without a display and without touching pyplot.

Every function returns a ``matplotlib.figure.Figure`` that the caller owns: it can be shown in a
notebook, changed, or saved. Colours are those of Okabe and Ito (2008), which readers with any
colour vision tell apart; lines differ in style and marker as well, for print without colour.
"""

from deepnlp.plots.attention import attention_heads, attention_map, by_token
from deepnlp.plots.bars import bars
from deepnlp.plots.curves import curves
from deepnlp.plots.display import as_svg, described, show_figures_in_notebooks
from deepnlp.plots.embeddings import embeddings
from deepnlp.plots.gradients import gradient_flow, gradient_heat_map, gradient_norms
from deepnlp.plots.learning import learning_curve
from deepnlp.plots.surprisal import surprisal_text

__all__ = [
    "as_svg", "attention_heads", "attention_map", "bars", "by_token", "curves", "described",
    "embeddings", "gradient_flow", "gradient_heat_map", "gradient_norms", "learning_curve",
    "show_figures_in_notebooks", "surprisal_text",
]  # fmt: skip

show_figures_in_notebooks()
