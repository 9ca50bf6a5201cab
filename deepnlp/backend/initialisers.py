"""Fresh weights, drawn on the host in float64 and then cast.

So a seed means the same weights in every number type and on every backend.
"""

import math
from numbers import Real
from typing import Any

from deepnlp.backend import Array, Rng, asarray, float_type, host_generator, xp
from deepnlp.backend.checks import check_memory, check_shape


def uniform(shape: tuple[int, ...], bound: float, rng: Rng = None, dtype: Any = "float32") -> Array:
    """Return weights of a shape, drawn from U(-bound, bound).

    >>> bool(abs(uniform((3, 4), 0.1)).max() <= 0.1)
    True
    """
    rng = host_generator(rng)
    _check("bound", bound, shape, dtype)
    return asarray(rng.uniform(-bound, bound, size=shape).astype(dtype))


def normal(shape: tuple[int, ...], std: float, rng: Rng = None, dtype: Any = "float32") -> Array:
    """Return weights of a shape, drawn from N(0, std^2).

    >>> normal((3, 4), 0.01).shape
    (3, 4)
    """
    rng = host_generator(rng)
    _check("std", std, shape, dtype)
    return asarray((std * rng.standard_normal(size=shape)).astype(dtype))


SCHEMES = ("uniform", "book")


def drawn(
    scheme: str,
    shape: tuple[int, ...],
    bound: float,
    rng: Rng = None,
    dtype: Any = "float32",
    std: float | None = None,
) -> Array:
    """Draw a matrix: uniform from U(-bound, bound), book from N(0, std^2), std 1 / sqrt(rows).

    >>> drawn("book", (100, 3), bound=0.1).shape
    (100, 3)
    """
    if scheme not in SCHEMES:
        raise ValueError(f"unknown scheme {scheme!r}: choose one of {', '.join(SCHEMES)}")
    if scheme == "uniform":
        return uniform(shape, bound, rng, dtype)
    return normal(shape, 1 / math.sqrt(max(shape[0], 1)) if std is None else std, rng, dtype)


def fan_in_bound(fan_in: int) -> float:
    """Return the bound 1 / sqrt(fan-in) of a uniform distribution, a common default.

    >>> fan_in_bound(100)
    0.1
    """
    check_shape((fan_in,), least=1)
    return 1 / math.sqrt(fan_in)


def _check(name: str, width: float, shape: tuple[int, ...], dtype: Any) -> None:
    """Check the shape of weights, and that they spread by a tenth of the largest number at most."""
    check_shape(shape)
    check_memory(shape)
    largest = float(xp.finfo(float_type(dtype)).max) / 10
    if not (isinstance(width, Real) and 0 <= width <= largest):
        raise ValueError(
            f"{name} should be a number, 0 or more and at most {largest:.1e}, got {width!r}"
        )
