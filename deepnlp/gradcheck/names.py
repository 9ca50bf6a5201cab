"""Every name that is guessed from: of weights, gradients, caches, outputs, constants."""

import re
import sys
from functools import cache
from typing import Any

import numpy

GRADS = ("grads", "gradients", "grad", "gradient", "dparams", "derivatives")
"""A list or dict of gradients beside one of weights."""

PARAMS = ("params", "parameters", "weights", "param")
"""The list or dict of weights."""

CONSTANT = re.compile(
    r"mask|running|moving|encoding|^pe$|^pos|_pos|position|eps|mean|var$|variance|std|noise|prob|"
    r"freq|target|label|one_?hot|(class|sample)_weight|adjacency|state|_prev$|^[hc]0$|const|buffer|"
    r"^cos|^sin|rope|rotary|alibi|slopes|^drop|^keep",
    re.IGNORECASE,
)
"""Float arrays that are no weights; they need no gradient."""

GIVEN = re.compile(
    r"mask|running|moving|encoding|^pe$|^pos|_pos|position|eps|freq|cos|sin(?!k|g)|rope|rotary|table|"
    r"^drop|^keep|noise|one_?hot|target|label|(class|sample)_weight|adjacency|^[a-z]_?0$|^init|const|"
    r"buffer|alibi|slopes|lengths",
    re.IGNORECASE,
)
"""Inputs that are given and need no gradient."""

LOSSES = ("loss", "L", "J", "cost")
"""The scalar that lines of code end forward in."""

WEIGHT = re.compile(
    r"^[WbUE][A-Za-z]{0,3}\d*$|^W_|^b_|^w\d*$|weight|bias|gamma|^beta|theta|kernel|param|_prev$|^prev_"
)
"""Arguments whose gradient is expected, though others of the same function have none."""

LABELS = ("targets", "target", "labels", "label", "t", "ts", "y_true", "one_hot", "onehot")
"""Inputs that have no gradient."""

CACHES = (
    "cache",
    "caches",
    "memory",
    "memo",
    "saved",
    "store",
    "stored",
    "residuals",
    "res",
    "ctx",
)
"""The argument of backward that takes what forward gave behind its outputs."""

OUTPUT = re.compile(r"(y|out|outputs?|[aAzZh]|result)(_t|_next|_hat)?")
"""An argument of backward that takes the output of forward."""

GRADIENT = re.compile(r"d(?!ata|ict|im)|g_?[a-z]?$|grad|delta|up|err|out_?grad", re.IGNORECASE)
"""An argument of backward that takes a gradient."""

DATA = ("data", "value", "val", "array")
"""Where a node of an engine, or a box, keeps its numbers."""

GRAD = ("grad", "derivative", "gradient")
"""Where it keeps the gradient with respect to them."""

_FORMS = ("d{}", "grad_{}", "{}_grad", "d_{}", "grad{}", "_d{}", "dL_d{}", "dLd{}")


def gradient_names(key: Any) -> tuple[str, ...]:
    """The usual names of the gradient of something, the likeliest first.

    >>> gradient_names("W")[:4]
    ('dW', 'grad_W', 'W_grad', 'd_W')
    """
    return _gradient_names(str(key))


@cache
def _gradient_names(key: str) -> tuple[str, ...]:
    spelt = [key, key.strip("_"), key.lower(), key.strip("_").lower(), key.replace("_", "")]
    return tuple(form.format(one) for one in dict.fromkeys(spelt) for form in _FORMS)


def belongs(name: str, key: Any) -> bool:
    """Whether a gradient of that name is that of a variable of this key.

    >>> belongs("dW", "W"), belongs("W", "W"), belongs("dx", "W")
    (True, True, False)
    """
    key = str(key)
    return bool(name) and (name in (key, key.lower()) or name in gradient_names(key))


def name_of(names: tuple[str, ...], owner: Any) -> str:
    """The first of these names that an object has; an empty one if it has none."""
    return next((name for name in names if hasattr(owner, name)), "")


_PLAIN = (numpy.ndarray, numpy.generic, str, bytes, int, float, complex, type(None), type)


def is_node(value: Any) -> bool:
    """Whether it keeps numbers and their gradient, and can go backward."""
    if not is_box(value) or not hasattr(value, "backward"):
        return False
    return is_tensor(value) or bool(name_of(GRAD, value))


def is_tensor(value: Any) -> bool:
    """Whether it is a tensor of torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def is_box(value: Any) -> bool:
    """Whether it is an object that keeps numbers."""
    is_array = isinstance(value, _PLAIN) or hasattr(type(value), "__array_function__")
    return not is_array and bool(name_of(DATA, value))


def plain(value: Any) -> Any:
    """The numbers of a node or a box; other values as they are."""
    if not is_box(value):
        return value
    if is_tensor(value):
        return value.detach().resolve_conj().numpy()
    return plain(getattr(value, name_of(DATA, value)))
