"""Models for other programs and from them: PyTorch, safetensors, word vectors as text."""

from deepnlp.exchange.reading import read_model
from deepnlp.exchange.writing import FORMATS, write_model

__all__ = ["FORMATS", "read_model", "write_model"]
