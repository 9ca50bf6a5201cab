"""Fresh weights, drawn on the host in float64 and then cast.

So a seed means the same weights in every number type and on every backend.
"""

from __future__ import annotations

import math
from typing import Any

from deepnlp.backend import Array, Generator, asarray, host_generator


def uniform(
    shape: tuple[int, ...],
    bound: float,
    rng: Generator | None = None,
    dtype: Any = "float32",
) -> Array:
    """Weights of a shape, drawn from U(-bound, bound).

    >>> bool(abs(uniform((3, 4), 0.1)).max() <= 0.1)
    True
    """
    rng = host_generator(rng)
    return asarray(rng.uniform(-bound, bound, size=shape).astype(dtype))


def normal(
    shape: tuple[int, ...],
    std: float,
    rng: Generator | None = None,
    dtype: Any = "float32",
) -> Array:
    """Weights of a shape, drawn from N(0, std^2).

    >>> normal((3, 4), 0.01).shape
    (3, 4)
    """
    rng = host_generator(rng)
    return asarray((std * rng.standard_normal(size=shape)).astype(dtype))


def fan_in_bound(fan_in: int) -> float:
    """The bound 1 / sqrt(fan-in) of a uniform distribution, a common default.

    >>> fan_in_bound(100)
    0.1
    """
    if fan_in < 1:
        raise ValueError(f"the sizes of a layer should be 1 or more, got {fan_in}")
    return 1 / math.sqrt(fan_in)
