"""An example of every layer and model: what must hold for all of them is tested on these."""

from deepnlp.examples.layers import EXAMPLES, SINGLE, SIZES, SMALL, TOLERANCES, Example, Sizes

__all__ = ["EXAMPLES", "SINGLE", "SIZES", "SMALL", "TOLERANCES", "Example", "Sizes"]
