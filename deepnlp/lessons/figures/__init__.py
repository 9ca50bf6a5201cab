"""Figures of the lessons: what only a notebook, a chapter or an experiment draws.

As in :mod:`deepnlp.plots`, every function returns a ``matplotlib.figure.Figure``.
"""

from deepnlp.lessons.figures.arrangements import arrangements
from deepnlp.lessons.figures.axes_of_svd import svd_plane
from deepnlp.lessons.figures.beam_tree import Candidate, beam_tree
from deepnlp.lessons.figures.chance import against_chance
from deepnlp.lessons.figures.encoder_decoder import encoder_decoder
from deepnlp.lessons.figures.gates import gate_traces
from deepnlp.lessons.figures.graphs import computation_graph, memory_road
from deepnlp.lessons.figures.layers_in_time import layers_in_time
from deepnlp.lessons.figures.paths import vector_paths
from deepnlp.lessons.figures.reach import gradient_reach
from deepnlp.lessons.figures.regions import decision_regions
from deepnlp.lessons.figures.sliders import explore
from deepnlp.lessons.figures.story import long_link
from deepnlp.lessons.figures.unrolled import unrolled
from deepnlp.lessons.figures.weighted_sum import weighted_sum
from deepnlp.lessons.figures.windows import moving_window
from deepnlp.lessons.figures.word_tables import word_table

__all__ = [
    "Candidate", "against_chance", "arrangements", "beam_tree",
    "computation_graph", "decision_regions", "encoder_decoder", "explore", "gate_traces",
    "gradient_reach", "layers_in_time", "long_link", "memory_road", "moving_window", "svd_plane",
    "unrolled", "vector_paths", "weighted_sum", "word_table",
]  # fmt: skip
