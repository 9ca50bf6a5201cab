"""Quick forms on CuPy: one launch on the GPU for what is several passes in the formulas.

The formulas are in CUDA C++, in the files ``*.cu`` of this folder, which are compiled when they are
first needed. Python computes the number of threads and the arguments of a launch. A kernel gets
arrays by their addresses on the device, so a launch never waits for a result.

There are kernels for float32 and float64. Other types, such as complex numbers, are left to the
plain forms.
"""

from deepnlp.kernels.cuda.losses import softmax_nll, softmax_nll_backward
from deepnlp.kernels.cuda.masks import dropout, dropout_backward
from deepnlp.kernels.cuda.recurrent import gru_steps, lstm_steps, rnn_steps
from deepnlp.kernels.cuda.scans import scan, scan_backward
from deepnlp.kernels.cuda.weights import clip_all, update_all

FORMS = {
    "clip_all": clip_all,
    "dropout": dropout,
    "dropout_backward": dropout_backward,
    "gru_steps": gru_steps,
    "lstm_steps": lstm_steps,
    "rnn_steps": rnn_steps,
    "scan": scan,
    "scan_backward": scan_backward,
    "softmax_nll": softmax_nll,
    "softmax_nll_backward": softmax_nll_backward,
    "update_all": update_all,
}
"""The quick form of each kernel that has one on CuPy."""
