"""Figures, drawn without a display and without touching pyplot.

Every function returns a ``matplotlib.figure.Figure`` that the caller owns: it can be shown in a
notebook, changed, or saved. Colours are those of Okabe and Ito (2008), which readers with any
colour vision tell apart; lines differ in style and marker as well, for print without colour.
"""

from deepnlp.plots.arrangements import arrangements
from deepnlp.plots.attention import attention_map
from deepnlp.plots.axes_of_svd import axis_words, svd_plane
from deepnlp.plots.bars import bars
from deepnlp.plots.beam_tree import Candidate, beam_tree
from deepnlp.plots.chance import against_chance
from deepnlp.plots.curves import curves
from deepnlp.plots.display import show_figures_in_notebooks
from deepnlp.plots.embeddings import embeddings
from deepnlp.plots.encoder_decoder import encoder_decoder
from deepnlp.plots.gates import gate_traces
from deepnlp.plots.gradients import gradient_flow, gradient_heat_map
from deepnlp.plots.graphs import computation_graph, memory_road
from deepnlp.plots.layers_in_time import layers_in_time
from deepnlp.plots.learning import learning_curve
from deepnlp.plots.paths import vector_paths
from deepnlp.plots.reach import gradient_reach
from deepnlp.plots.regions import decision_regions
from deepnlp.plots.sliders import explore
from deepnlp.plots.story import long_link
from deepnlp.plots.style import spread
from deepnlp.plots.surprisal import SurprisalText, surprisal_text
from deepnlp.plots.unrolled import unrolled
from deepnlp.plots.weighted_sum import weighted_sum
from deepnlp.plots.windows import moving_window
from deepnlp.plots.word_tables import word_table
from deepnlp.plots.words import next_words

__all__ = [
    "Candidate", "SurprisalText", "against_chance", "arrangements", "attention_map",
    "axis_words", "bars", "beam_tree", "computation_graph", "curves", "decision_regions",
    "embeddings", "encoder_decoder", "explore", "gate_traces", "gradient_flow",
    "gradient_heat_map", "gradient_reach", "layers_in_time", "learning_curve", "long_link",
    "memory_road", "moving_window", "next_words", "spread", "surprisal_text", "svd_plane",
    "unrolled", "vector_paths", "weighted_sum", "word_table",
]  # fmt: skip

show_figures_in_notebooks()
