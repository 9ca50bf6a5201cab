"""Every layer, one family a file, each with its forward and its backward in the open."""

from deepnlp.layer import Layer, Sequential
from deepnlp.layers.activations import ReLU, Sigmoid, Softmax, Tanh
from deepnlp.layers.dense import Affine, MatMul, TimeAffine
from deepnlp.layers.dropout import Dropout, TimeDropout
from deepnlp.layers.embedding import Embedding
from deepnlp.layers.gru import GRU, TimeGRU
from deepnlp.layers.losses import AffineSoftmaxWithLoss, SigmoidWithLoss, SoftmaxWithLoss
from deepnlp.layers.lstm import LSTM, TimeLSTM
from deepnlp.layers.negative_sampling import EmbeddingDot, NegativeSamplingLoss
from deepnlp.layers.rnn import RNN, TimeRNN

__all__ = [
    "GRU",
    "LSTM",
    "RNN",
    "Affine",
    "AffineSoftmaxWithLoss",
    "Dropout",
    "Embedding",
    "EmbeddingDot",
    "Layer",
    "MatMul",
    "NegativeSamplingLoss",
    "ReLU",
    "Sequential",
    "Sigmoid",
    "SigmoidWithLoss",
    "Softmax",
    "SoftmaxWithLoss",
    "Tanh",
    "TimeAffine",
    "TimeDropout",
    "TimeGRU",
    "TimeLSTM",
    "TimeRNN",
]
