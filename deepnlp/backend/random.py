"""Random numbers: drawn on the host, whatever the backend, so that a seed means the same."""

from typing import Any, TypeAlias

import numpy

Generator: TypeAlias = numpy.random.Generator
Rng: TypeAlias = Generator | None  # None stands for the generator that seed() sets

_generator = numpy.random.default_rng()


def seed(number: int) -> None:
    """Make a run repeatable: everything drawn afterwards follows from this number.

    Parameters
    ----------
    number : int
        Zero or more. The same seed gives the same weights and dropout masks on every backend.

    Raises
    ------
    ValueError
        If the number is negative or no integer.

    Examples
    --------
    >>> import deepnlp
    >>> deepnlp.seed(0)
    """
    global _generator
    if isinstance(number, bool) or not isinstance(number, int | numpy.integer) or number < 0:
        raise ValueError(f"a seed is an integer of zero or more, got {number!r}")
    _generator = numpy.random.default_rng(number)


def rng() -> Generator:
    """Generator of random numbers on the host that layers use when they are given none.

    Returns
    -------
    numpy.random.Generator
        The one that :func:`seed` set.
    """
    return _generator


def host_generator(rng: Generator | None) -> Generator:
    """Return the generator that was given, or the one that :func:`seed` set.

    Parameters
    ----------
    rng : numpy.random.Generator, optional

    Raises
    ------
    TypeError
        If something else was given, such as a seed.
    """
    if rng is not None and not isinstance(rng, numpy.random.Generator):
        raise TypeError(f"rng should be a numpy.random.Generator, got a {type(rng).__name__}")
    return _generator if rng is None else rng


def philox_uint16(key: int, counter: int, size: int) -> numpy.ndarray[Any, Any]:
    """Return random 16-bit integers that are a pure function of (key, counter).

    Philox is counter-based: it has no state but these two numbers (Salmon, Moraes, Dror, Shaw
    2011, "Parallel random numbers: as easy as 1, 2, 3").

    Parameters
    ----------
    key, counter : int
        Zero or more and below 2**64.
    size : int
        How many integers.

    Returns
    -------
    numpy.ndarray of uint16, shape (size,)
        On the host; the caller brings it over.
    """
    words = numpy.random.Philox(key=(counter << 64) | key).random_raw((size + 3) // 4)
    return numpy.asarray(words).view(numpy.uint16)[:size]
