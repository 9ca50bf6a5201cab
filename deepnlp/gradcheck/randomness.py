"""Generators of random numbers that a forward may draw from; put back before each."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy

from deepnlp.backend import Generator
from deepnlp.gradcheck.walking import Holder, items

_ENTROPY = 0x5EED_0F_6AD_C4EC_0DD5_A11E_2B1D
"""No seed of a user gives the numbers that follow from it, beside his own."""

GENERATORS = (Generator, numpy.random.RandomState, random.Random)


def private(rng: Generator | None) -> Generator:
    """A generator whose numbers no seed gives; they follow from ``rng``, if there is one."""
    drawn = [] if rng is None else rng.integers(0, 2**32, size=4).tolist()
    return numpy.random.default_rng(numpy.random.SeedSequence([_ENTROPY, *drawn]))


class Generators:
    """All generators that code can reach: of its objects, classes, functions and modules.

    Parameters
    ----------
    found : list of Holder
    """

    def __init__(self, found: list[Holder]) -> None:
        self._all = [(get, put, get()) for get, put in _generators(found)]

    def keep_changed(self) -> None:
        """Forget those that a forward left alone."""
        self._all = [
            (get, put, state)
            for get, put, state in self._all
            if pickle.dumps(get()) != pickle.dumps(state)
        ]

    def restore(self) -> None:
        """Put back what they were."""
        for _, put, state in self._all:
            put(state)


def _generators(found: list[Holder]) -> list[tuple[Callable[[], Any], Callable[[Any], Any]]]:
    states: list[tuple[Callable[[], Any], Callable[[Any], Any]]] = [
        (random.getstate, random.setstate),
        (numpy.random.get_state, numpy.random.set_state),
    ]
    values = [value for holder in found for _, value in items(holder.entries)]
    for value in {id(v): v for v in values if isinstance(v, GENERATORS)}.values():
        if isinstance(value, Generator):
            bits = value.bit_generator
            states.append((partial(getattr, bits, "state"), partial(setattr, bits, "state")))
        elif isinstance(value, numpy.random.RandomState):
            states.append((value.get_state, value.set_state))
        else:
            states.append((value.getstate, value.setstate))
    return states
