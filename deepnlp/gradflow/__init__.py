"""The gradient microscope: how much of a gradient is left, step by step back in time.

:func:`gradient_flow` measures a model on text, :class:`GradientHistory` keeps such measurements
over the course of training, :func:`observe` looks at the backward pass of anything that holds
recurrent layers.
"""

from deepnlp.gradflow.cells import gate_values, hidden_blocks, step_jacobian
from deepnlp.gradflow.history import GradientHistory
from deepnlp.gradflow.microscope import GateUse, GradientFlow, LayerFlow, gradient_flow
from deepnlp.gradflow.observer import Observation, observe
from deepnlp.gradflow.spectra import Jacobians, Spectrum, jacobian_products, spectrum

__all__ = [
    "GateUse", "GradientFlow", "GradientHistory", "Jacobians", "LayerFlow", "Observation",
    "Spectrum", "gate_values", "gradient_flow", "hidden_blocks", "jacobian_products", "observe",
    "spectrum", "step_jacobian",
]  # fmt: skip
