"""The values that an object carries from one forward to the next; restored before each."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any

import numpy

from deepnlp.gradcheck.variables import containers


class Carried:
    """Hidden states, counters and random generators of any object.

    What a forward changes of the attributes that were there before it is what it carries.

    Parameters
    ----------
    owner : object
        Left as it was.
    forward : callable
        Runs one forward of it.
    """

    def __init__(self, owner: Any, forward: Callable[[], Any]) -> None:
        self._generators = [
            (one, copy.deepcopy(one.bit_generator.state)) for one in _generators(owner)
        ]
        legacy = numpy.random.get_state()
        before = [(holder, _copied(holder)) for holder in containers(owner)]
        forward()
        self._entries = [
            (holder, key, value)
            for holder, values in before
            for key, value in values.items()
            if _differs(_get(holder, key), value)
        ]
        numpy_draws = not _same_state(legacy, numpy.random.get_state())
        self._legacy: Any = legacy if numpy_draws else None
        self.restore()

    def restore(self) -> None:
        """Put everything back."""
        for holder, key, value in self._entries:
            holder[key] = copy.deepcopy(value)
        for generator, state in self._generators:
            generator.bit_generator.state = copy.deepcopy(state)
        if self._legacy is not None:
            numpy.random.set_state(self._legacy)


def _same_state(a: Any, b: Any) -> bool:
    """Whether NumPy's own generator was left alone."""
    return bool(a[2] == b[2] and a[3] == b[3] and (a[1] == b[1]).all())


def _copied(holder: Any) -> dict[Any, Any]:
    items = holder.items() if isinstance(holder, dict) else enumerate(holder)
    plain = (numpy.ndarray, bool, int, float, str, type(None))
    return {k: copy.deepcopy(v) for k, v in items if isinstance(v, plain)}


def _get(holder: Any, key: Any) -> Any:
    try:
        return holder[key]
    except (KeyError, IndexError):
        return Carried  # gone: no array equals this


def _differs(now: Any, before: Any) -> bool:
    if isinstance(now, numpy.ndarray) and isinstance(before, numpy.ndarray):
        return not numpy.array_equal(now, before, equal_nan=now.dtype.kind == "f")
    return type(now) is not type(before) or (not isinstance(now, numpy.ndarray) and now != before)


def _generators(owner: Any) -> list[Any]:
    """Generators held by the object, by the objects inside, and by the module of its class."""
    holders = [*containers(owner), vars(inspect.getmodule(type(owner)) or owner)]
    values = [v for h in holders for v in (h.values() if isinstance(h, dict) else h)]
    found = {id(v): v for v in values if isinstance(v, numpy.random.Generator)}
    return list(found.values())
