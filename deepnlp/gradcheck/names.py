"""Every name that is guessed from: of weights, gradients, caches, outputs, constants."""

import re

GRADS = ("grads", "gradients", "grad", "gradient", "dparams", "derivatives")
"""A list or dict of gradients beside one of weights."""

PARAMS = ("params", "parameters", "weights", "param")
"""The list or dict of weights."""

CUSTOMARY = re.compile(
    r"((attn|attention|causal|pad(ding)?|key_padding|src|tgt|trg|memory|drop(out)?|x|input|valid|loss|seq|tril)_?)?"
    r"masks?|(running|moving)_?(mean|var|std|avg|average|mu|sigma|m|v|min|max|norm|count|stat)\w*|means?|vars?|variances?|std|mu|eps(ilon)?|noise|(inv_?)?freqs?|rope|rotary|"
    r"(sin|cos)(_(table|cached|cache))?|pe|pos(itional)?_?(enc(oding)?s?|table)|one_?hots?|labels?|targets?|"
    r"y_?(true|one_?hot)|(class|sample)_weights?|adj(acency)?|alibi|slopes|[hcs]_?0|[hcs]_?init|lengths|"
    r"(keep|drop)(_?(prob|mask))?|ts?",
    re.IGNORECASE,
)
"""Whole names of arrays that are often no weights: it is asked whether that is intended."""

ORDER = re.compile(
    r"perm|order|sort|shuffle|len|size|count|num|shift|ax[ei]s|start|end|offset|step", re.IGNORECASE
)
"""Integers that are an order, in which none repeats."""

LOSSES = ("loss", "L", "J", "cost", "total_loss", "total_cost", "total", "objective")
"""The scalar that lines of code end forward in: of several, the one that is computed from most."""

WEIGHT = re.compile(
    r"^[WbUE][A-Za-z]{0,3}\d*$|^W_|^b_|^w\d*$|weight|bias|gamma|^beta|theta|kernel|param|_prev$|^prev_"
)
"""Arguments whose gradient is expected, though others of the same function have none."""

STATE = re.compile(r"_prev$|^prev_")
"""The state that a step begins from: the gradient of a loss may end before it."""

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
