"""CuPy forms of the kernels: one launch on the GPU for what is several passes in the formulas.

The formulas are in CUDA C++, in the files ``*.cu`` beside this one; they are compiled when they
are first needed. Python works out here how many threads a launch takes and what it is given. Of
every array it knows only where it lies on the device, so a launch never waits for a result.

There are kernels for float32 and float64. All else, complex numbers for one, goes to the functions
of :mod:`deepnlp.kernels.plain`, and so do the sums, at which CuPy itself is as good.
"""

from deepnlp.kernels.cuda.losses import softmax_nll, softmax_nll_backward
from deepnlp.kernels.cuda.masks import dropout, dropout_backward
from deepnlp.kernels.cuda.steps import (
    gru_gates,
    gru_gates_backward,
    gru_output,
    gru_output_backward,
    gru_slopes,
    gru_step,
    gru_step_backward,
    lstm_slopes,
    lstm_step,
    lstm_step_backward,
    rnn_slopes,
    rnn_step,
    rnn_step_backward,
)
from deepnlp.kernels.cuda.weights import clip_all, update_all

__all__ = [
    "clip_all",
    "dropout",
    "dropout_backward",
    "gru_gates",
    "gru_gates_backward",
    "gru_output",
    "gru_output_backward",
    "gru_slopes",
    "gru_step",
    "gru_step_backward",
    "lstm_slopes",
    "lstm_step",
    "lstm_step_backward",
    "rnn_slopes",
    "rnn_step",
    "rnn_step_backward",
    "softmax_nll",
    "softmax_nll_backward",
    "update_all",
]
