"""Every name that is guessed from: of weights, gradients, caches, outputs, constants."""

import re

GRADS = ("grads", "gradients", "grad", "gradient", "dparams", "derivatives")
"""A list or dict of gradients beside one of weights."""

PARAMS = ("params", "parameters", "weights", "param")
"""The list or dict of weights."""

_GIVEN = (
    r"mask|running|moving|encoding|^pe$|^pos|_pos|position|eps|noise|freq|target|label|one_?hot|"
    r"(class|sample)_weight|adjacency|const|buffer|rope|rotary|alibi|slopes|^drop|^keep"
)

CONSTANT = re.compile(
    rf"{_GIVEN}|mean|var$|variance|std|prob|state|_prev$|^[hc]0$|^cos|^sin", re.IGNORECASE
)
"""Float arrays that are no weights; they need no gradient."""

GIVEN = re.compile(rf"{_GIVEN}|cos|sin(?!k|g)|table|^[a-z]_?0$|^init|lengths", re.IGNORECASE)
"""Inputs that are given and need no gradient."""

LOSSES = ("loss", "L", "J", "cost")
"""The scalar that lines of code end forward in."""

WEIGHT = re.compile(
    r"^[WbUE][A-Za-z]{0,3}\d*$|^W_|^b_|^w\d*$|weight|bias|gamma|^beta|theta|kernel|param|_prev$|^prev_"
)
"""Arguments whose gradient is expected, though others of the same function have none."""

LABELS = ("targets", "target", "labels", "label", "t", "ts", "y_true", "one_hot", "onehot")
"""Inputs that have no gradient."""

CONTEXTS = ("ctx", "context")
"""The first argument of functions that keep their values in a context."""

CACHES = (
    "cache", "caches", "memory", "memo", "saved", "store", "stored", "residuals", "res", "ctx",
)  # fmt: skip
"""The argument of backward that takes what forward gave behind its outputs."""

OUTPUT = re.compile(r"(y|out|outputs?|[aAzZh]L?|[AZ]\d+|result|probs?|preds?)(_t|_next|_hat)?")
"""An argument of backward that takes the output of forward."""

GRADIENT = re.compile(
    r"d(?!ata|ict|im|ecay|amp|rop|epth|ebug|evice|t$)|g_?[a-z]?$|\w*grad|delta|up|err",
    re.IGNORECASE,
)
"""An argument of backward that takes a gradient."""

ANSWERS = re.compile(r"(y|t|ts|labels?|targets?)(_?(true|one_?hot))?|one_?hot", re.IGNORECASE)
"""An argument of backward that takes what the outputs should be, in the place of a gradient."""

COST = re.compile(r"cost|loss|entropy|mse", re.IGNORECASE)
"""A function of outputs and of what they should be."""

RATE = re.compile(r"l(ea)?r(n(ing)?)?_?(rate)?|rate|eta|alpha|step_?size", re.IGNORECASE)
"""An argument of backward that says how far the weights go."""

DATA = ("data", "value", "val", "array")
"""Where a node of an engine, or a box, keeps its numbers."""

GRAD = ("grad", "derivative", "gradient")
"""Where it keeps the gradient with respect to them."""

GRADIENT_FORMS = ("d{}", "grad_{}", "{}_grad", "d_{}", "grad{}", "_d{}", "dL_d{}", "dLd{}")
"""Names of the gradient of something, the likeliest first."""
