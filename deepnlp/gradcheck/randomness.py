"""Generators of random numbers that a forward may draw from; put back before each."""

from __future__ import annotations

import inspect
import pickle
import random
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy

from deepnlp.backend import Generator
from deepnlp.gradcheck.walking import holders, items

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
    owner : object
    functions : list of callable
    """

    def __init__(self, owner: Any, functions: list[Any]) -> None:
        self._all = [(get, put, get()) for get, put in _found(owner, functions)]

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


def _found(
    owner: Any, functions: list[Any]
) -> list[tuple[Callable[[], Any], Callable[[Any], Any]]]:
    states: list[tuple[Callable[[], Any], Callable[[Any], Any]]] = [
        (random.getstate, random.setstate),
        (numpy.random.get_state, numpy.random.set_state),
    ]
    for value in _reachable(owner, functions):
        if isinstance(value, Generator):
            bits = value.bit_generator
            states.append((partial(getattr, bits, "state"), partial(setattr, bits, "state")))
        elif isinstance(value, numpy.random.RandomState):
            states.append((value.get_state, value.set_state))
        elif isinstance(value, random.Random):
            states.append((value.getstate, value.setstate))
    return states


def _reachable(owner: Any, functions: list[Any]) -> list[Any]:
    """Values of attributes, of classes and their modules, and what functions bring along."""
    found: dict[int, Any] = {}
    inside = holders(owner)
    classes = {base for holder in inside for base in type(holder.owner).__mro__}
    written = {c for c in classes if c.__module__.split(".")[0] not in ("builtins", "numpy")}
    methods = [getattr(m, "__func__", m) for c in written for m in vars(c).values()]
    called = [getattr(f, "__func__", f) for f in functions] + methods
    called = [f for f in map(inspect.unwrap, called) if inspect.isfunction(f)]
    modules = [vars(sys.modules[c.__module__]) for c in written if c.__module__ in sys.modules]
    for names in [
        *(holder.entries for holder in inside),
        *map(vars, written),
        *modules,
        *(f.__globals__ for f in called),
        *(f.__kwdefaults__ or {} for f in called),
        *(f.__defaults__ or () for f in called),
        *([cell.cell_contents for cell in f.__closure__ or () if _is_set(cell)] for f in called),
    ]:
        if id(names) not in found:
            found[id(names)] = names
    values = [
        v
        for names in found.values()
        for _, v in items(dict(names) if hasattr(names, "items") else names)
    ]
    return list({id(v): v for v in values}.values())


def _is_set(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False
