"""The names that the expressions in ``lessonK.toml`` may use, besides those of ``lessonK.py``."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from deepnlp import layers, models
from deepnlp.backend import HostArray, asarray, asnumpy
from deepnlp.backend.functions import sigmoid, softmax, softmax_grad, softplus
from deepnlp.gradcheck import CAUSES
from deepnlp.lessons.exercises.values import close, compare_values, unpacked
from deepnlp.lessons.exercises.verdict import RefusedError, Verdict, first_failure, is_empty, parts


def draw(*shape: int, seed: int = 0) -> HostArray:
    """Standard normal numbers of that shape."""
    return np.random.default_rng(seed).standard_normal(shape)


def draws(seed: int, *shapes: tuple[int, ...]) -> list[HostArray]:
    """Arrays of standard normal numbers, drawn one after the other."""
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape) for shape in shapes]


def gradient(layer: Any, name: str) -> Any:
    """An attribute such as ``dW``, which backward should have set."""
    value = getattr(layer, name, None)
    if is_empty(value):
        raise RefusedError(Verdict.empty(f"after backward there is no {name}"))
    return value


def forwarded(layer: Any, *inputs: Any) -> Any:
    """The layer itself, after its forward."""
    layer.forward(*inputs)
    return layer


def scattered(like: HostArray, ids: HostArray, each: HostArray) -> HostArray:
    """The sum (V, D) of rows ``each`` at their ids, in the shape of ``like``."""
    total = np.zeros_like(like)
    np.add.at(total, ids, each)
    return total


def overwritten(like: HostArray, ids: HostArray, each: HostArray) -> HostArray:
    """As :func:`scattered`, but of an id that occurs several times the last row stays."""
    total = np.zeros_like(like)
    total[ids] = each
    return total


def whole_numbers(value: Any) -> HostArray | None:
    """A flat array of integers, or None if it cannot be one."""
    found = numbers(value, int)
    return None if found is None else found.ravel()


def numbers(value: Any, kind: type = float) -> HostArray | None:
    """An array of numbers, or None if it cannot be one."""
    try:
        return np.asarray(value, dtype=kind)
    except (TypeError, ValueError):
        return None


def compare_all(got: dict[str, Any], right: dict[str, Any]) -> Verdict:
    """The first verdict on several values by name that is not right, or the last one."""
    return first_failure(*(compare_values(got[name], right[name], name) for name in got))


def all_close(got: dict[str, Any], value: dict[str, Any]) -> bool:
    """Whether all values by name are those that a mistake gives."""
    return all(close(got[name], value[name]) for name in got)


NAMES: dict[str, Any] = {
    "np": np,
    "CAUSES": CAUSES,
    "layers": layers,
    "models": models,
    "default_rng": np.random.default_rng,
    "deepcopy": copy.deepcopy,
    **{
        function.__name__: function
        for function in (
            asarray, asnumpy, sigmoid, softmax, softmax_grad, softplus, close, compare_values,
            unpacked, parts, is_empty, draw, draws, gradient, forwarded, scattered, overwritten,
            whole_numbers, numbers, compare_all, all_close,
        )
    },
}  # fmt: skip
