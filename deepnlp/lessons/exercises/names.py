"""The names that the expressions in ``lessonK.toml`` may use, besides those of ``lessonK.py``."""

# ruff: noqa: F401  what is only imported is for the expressions
import tracemalloc
from collections.abc import Callable
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
from numpy.random import default_rng

from deepnlp import layers, models
from deepnlp.backend import HostArray, asarray, asnumpy
from deepnlp.backend.functions import sigmoid, softmax, softmax_grad, softplus
from deepnlp.gradcheck import CAUSES
from deepnlp.lessons.exercises.values import close, unpacked
from deepnlp.lessons.exercises.verdict import RefusedError, Verdict, is_empty, parts


def draw(*shape: int, seed: int = 0) -> HostArray:
    """Standard normal numbers of that shape."""
    return np.random.default_rng(seed).standard_normal(shape)


def draws(seed: int, *shapes: tuple[int, ...]) -> list[HostArray]:
    """Arrays of standard normal numbers, drawn one after the other."""
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape) for shape in shapes]


def gradient(layer: Any, name: str) -> Any:
    """Return an attribute such as ``dW``, which backward should have set."""
    value = getattr(layer, name, None)
    if is_empty(value):
        raise RefusedError(Verdict.empty(f"after backward there is no {name}"))
    return value


def by_name(answer: Any, *names: str) -> dict[str, Any]:
    """Return the parts of an answer by name."""
    return dict(zip(names, parts(answer, *names), strict=True))


def forwarded(layer: Any, *inputs: Any) -> Any:
    """Return the layer itself, after its forward."""
    layer.forward(*inputs)
    return layer


def memory(work: Callable[[], Any]) -> int:
    """Return the most bytes that some work holds at a time."""
    tracemalloc.start()
    work()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


def scattered(like: HostArray, ids: HostArray, each: HostArray) -> HostArray:
    """Return the sum (V, D) of rows ``each`` at their ids, in the shape of ``like``."""
    total = np.zeros_like(like)
    np.add.at(total, ids, each)
    return total


def overwritten(like: HostArray, ids: HostArray, each: HostArray) -> HostArray:
    """As :func:`scattered`, but of an id that occurs several times the last row stays."""
    total = np.zeros_like(like)
    total[ids] = each
    return total


def whole_numbers(value: Any) -> HostArray | None:
    """Return an array of integers, or None if it is none."""
    array = numbers(value, None)
    return array if array is not None and array.ndim and array.dtype.kind in "iu" else None


def numbers(value: Any, kind: type | None = float) -> HostArray | None:
    """Return an array of numbers, or None if it cannot be one."""
    try:
        return np.asarray(value, dtype=kind)
    except (TypeError, ValueError):
        return None
