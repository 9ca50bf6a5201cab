"""deepnlp: deep learning for language, from scratch, with every backward pass in the open.

Layers live in ``deepnlp.layers``, models in ``deepnlp.models``, corpora in ``deepnlp.datasets``,
training in ``deepnlp.training``. At the top: the backend switch, the seed, ``no_backward`` and
what is plugged together.
"""

from deepnlp.backend import seed, use
from deepnlp.errors import DeepNLPError
from deepnlp.layer import Layer, Sequential, no_backward
from deepnlp.parameter import Parameter

__version__ = "0.1.0"

__all__ = [
    "DeepNLPError",
    "Layer",
    "Parameter",
    "Sequential",
    "__version__",
    "no_backward",
    "seed",
    "threads",
    "use",
]
