"""Models for other programs and from them: PyTorch, safetensors, word vectors as text."""

from deepnlp.exchange.models import FORMATS, read_model, write_model

__all__ = [
    "FORMATS", "read_model", "write_model",
]  # fmt: skip
