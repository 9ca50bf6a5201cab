"""Figures of the lessons: what only a notebook, a chapter or an experiment draws.

As in :mod:`deepnlp.plots`, every function returns a ``matplotlib.figure.Figure``.
"""

from material.figures.arrangements import arrangements
from material.figures.axes_of_svd import svd_plane
from material.figures.beam_tree import Candidate, beam_tree
from material.figures.chance import against_chance
from material.figures.encoder_decoder import encoder_decoder
from material.figures.gates import gate_traces
from material.figures.graphs import computation_graph, memory_road
from material.figures.layers_in_time import layers_in_time
from material.figures.paths import vector_paths
from material.figures.reach import gradient_reach
from material.figures.regions import decision_regions
from material.figures.sliders import explore
from material.figures.story import long_link
from material.figures.unrolled import unrolled
from material.figures.weighted_sum import weighted_sum
from material.figures.windows import moving_window
from material.figures.word_tables import word_table

__all__ = [
    "Candidate", "against_chance", "arrangements", "beam_tree",
    "computation_graph", "decision_regions", "encoder_decoder", "explore", "gate_traces",
    "gradient_reach", "layers_in_time", "long_link", "memory_road", "moving_window", "svd_plane",
    "unrolled", "vector_paths", "weighted_sum", "word_table",
]  # fmt: skip
