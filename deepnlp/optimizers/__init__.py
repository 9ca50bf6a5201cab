"""Updating parameters from their gradients. The formulas are those of torch.optim.

Throughout, g is the gradient of a parameter W after weight decay, lr the learning rate. An
optimizer changes ``Parameter.value`` in place and keeps its own arrays by parameter.

Where g is zero, SGD and AdaGrad change neither W nor what they keep. So from a sparse gradient
(:mod:`deepnlp.parameter`) they update only its rows, with the same result to the last bit. The
other optimizers change every row at every step, and so does weight decay: these use the dense
gradient, except for ``Adam(lazy=True)``. Clipping scales a sparse gradient without making it
dense.
"""

from deepnlp.optimizers.adaptive import AdaGrad, Adam, AdamW, RMSprop
from deepnlp.optimizers.averaging import NTASGD, TwoTails
from deepnlp.optimizers.clipping import clip_all, clip_gradients
from deepnlp.optimizers.descent import SGD, Momentum, Nesterov
from deepnlp.optimizers.muon import Muon, orthogonalised
from deepnlp.optimizers.optimizer import Optimizer, Update, update_all
from deepnlp.options import Choice

__all__ = [
    "NTASGD", "OPTIMIZERS", "SGD", "AdaGrad", "Adam", "AdamW", "Choice", "Momentum", "Muon",
    "Nesterov", "Optimizer", "RMSprop", "TwoTails", "Update", "clip_all", "clip_gradients",
    "orthogonalised", "update_all",
]  # fmt: skip

OPTIMIZERS = Choice(
    *("rule of the update", SGD, Momentum, Nesterov, AdaGrad, RMSprop, Adam, AdamW, Muon),
    *(NTASGD, TwoTails),
)
