"""Every layer, one family a file, each with its forward and its backward in the open."""

from deepnlp.layer import Layer, Sequential
from deepnlp.layers.activations import GELU, ReLU, Sigmoid, SiLU, Softmax, SwiGLU, Tanh
from deepnlp.layers.additive_attention import AdditiveAttention, ConcatAttention
from deepnlp.layers.attention import DotAttention, GeneralAttention
from deepnlp.layers.augmented_loss import AugmentedLoss
from deepnlp.layers.bahdanau import BahdanauDecoder
from deepnlp.layers.bidirectional import TimeBidirectional
from deepnlp.layers.decoders import AttentionDecoder, ContextDecoder
from deepnlp.layers.deep import TimeDeepTransition, deep_output
from deepnlp.layers.dense import Affine, MatMul, TimeAffine
from deepnlp.layers.dropout import Dropout, TimeDropout
from deepnlp.layers.embedding import Embedding, EmbeddingDropout
from deepnlp.layers.feeding import InputFeedingDecoder
from deepnlp.layers.gru import GRU, TimeGRU
from deepnlp.layers.lengths import reverse_by_length
from deepnlp.layers.linear_attention import TimeLinearAttention
from deepnlp.layers.losses import AffineSoftmaxWithLoss, SigmoidWithLoss, SoftmaxWithLoss
from deepnlp.layers.lstm import LSTM, TimeLSTM
from deepnlp.layers.mingru import TimeMinGRU
from deepnlp.layers.minlstm import TimeMinLSTM
from deepnlp.layers.mlstm import TimeMLSTM
from deepnlp.layers.mogrifier import TimeMogrifierLSTM
from deepnlp.layers.multihead import CrossAttention, MultiHeadAttention
from deepnlp.layers.negative_sampling import EmbeddingDot, NegativeSamplingLoss
from deepnlp.layers.norm import LayerNorm, RMSNorm
from deepnlp.layers.positions import PositionalEmbedding, RotaryPositions, SinusoidalPositions
from deepnlp.layers.regularisation import ActivationRegularisation, TemporalActivationRegularisation
from deepnlp.layers.rnn import RNN, TimeRNN
from deepnlp.layers.scans import scan, scan_backward
from deepnlp.layers.stacked import TimeStacked
from deepnlp.layers.state_space import TimeStateSpace
from deepnlp.layers.transformer import (
    FeedForward,
    Residual,
    TransformerBlock,
    TransformerDecoderBlock,
)
from deepnlp.layers.unrolled import Unrolled
from deepnlp.layers.weight_drop import WeightDrop

__all__ = [
    "GELU", "GRU", "LSTM", "RNN", "ActivationRegularisation", "AdditiveAttention", "Affine",
    "AffineSoftmaxWithLoss", "AttentionDecoder", "AugmentedLoss", "BahdanauDecoder",
    "ConcatAttention", "ContextDecoder", "CrossAttention", "DotAttention", "Dropout", "Embedding",
    "EmbeddingDot", "EmbeddingDropout", "FeedForward", "GeneralAttention", "InputFeedingDecoder",
    "Layer", "LayerNorm", "MatMul", "MultiHeadAttention", "NegativeSamplingLoss",
    "PositionalEmbedding", "RMSNorm", "ReLU", "Residual", "RotaryPositions", "Sequential", "SiLU",
    "Sigmoid", "SigmoidWithLoss", "SinusoidalPositions", "Softmax", "SoftmaxWithLoss", "SwiGLU",
    "Tanh", "TemporalActivationRegularisation", "TimeAffine", "TimeBidirectional",
    "TimeDeepTransition", "TimeDropout", "TimeGRU", "TimeLSTM", "TimeLinearAttention", "TimeMLSTM",
    "TimeMinGRU", "TimeMinLSTM", "TimeMogrifierLSTM", "TimeRNN", "TimeStacked", "TimeStateSpace",
    "TransformerBlock", "TransformerDecoderBlock", "Unrolled", "WeightDrop", "deep_output",
    "reverse_by_length", "scan", "scan_backward",
]  # fmt: skip
