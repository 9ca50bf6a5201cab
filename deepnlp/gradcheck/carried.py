"""The values that an object carries from one forward to the next; restored before each."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy

from deepnlp.gradcheck.walking import Holder, entries_of, items
from deepnlp.parameter import View


class _Gone:
    """Stands for an attribute that is not there."""


class Carried:
    """Hidden states, counters and lists of any object.

    What a forward changes of the attributes that were there before it is what it carries. An array
    that the first forward makes and the second leaves alone, such as a weight whose shape follows
    from the first input, belongs to the object and stays.

    Parameters
    ----------
    reached : callable
        Gives all that the object holds.
    forward : callable
        Runs one forward of it.
    """

    def __init__(self, reached: Callable[[], list[Holder]], forward: Callable[[], Any]) -> None:
        self._lists: list[tuple[Any, list[Any]]] = []
        self._entries: list[tuple[Any, Any, Any, Any]] = []
        self._made: list[tuple[Any, Any, Any, Any]] = []
        before = _snapshot(reached())
        forward()
        once = _snapshot(reached())
        forward()
        for number, (holder, values) in before.items():
            entries = holder.entries
            if isinstance(entries, list | deque) and len(entries) != len(values):
                self._lists.append((entries, [kept for kept, _ in values.values()]))
                _refill(*self._lists[-1])
            after_one = once[number][1] if number in once else {}
            for key in [*values, *(key for key, _ in items(entries) if key not in values)]:
                now, kept = _get(entries, key), values.get(key, (_Gone, None))
                is_made = (kept[0] is None or kept[0] is _Gone) and _is_left_alone(now, once)
                if not _differs(now, kept):
                    continue
                if is_made and not _differs(now, after_one.get(key)):
                    if isinstance(now, numpy.ndarray):
                        self._made.append((holder.owner, key, kept[0], now))
                else:
                    self._entries.append((holder.owner, key, *kept))
        self.restore()

    def holds(self, holder: Holder, key: Any) -> bool:
        """Whether an attribute is among what is carried."""
        return any(holder.owner is owner and key == k for owner, k, _, _ in self._entries)

    def restore(self) -> None:
        """Put everything back."""
        for entries, kept in self._lists:
            _refill(entries, kept)
        for owner, key, kept, content in self._entries:
            if content is not None:
                kept[...] = content
            _put(owner, key, kept)

    @contextmanager
    def as_at_first(self) -> Iterator[None]:
        """Without the arrays that the first forward made."""
        for owner, key, before, _ in self._made:
            _put(owner, key, before)
        try:
            yield
        finally:
            for owner, key, _, made in self._made:
                _put(owner, key, made)


def _is_left_alone(value: Any, once: dict[int, tuple[Holder, dict[Any, Any]]]) -> bool:
    """Whether it is an array, or an object whose attributes the second forward left alone."""
    if isinstance(value, numpy.ndarray) or id(value) not in once:
        return isinstance(value, numpy.ndarray)
    holder, values = once[id(value)]
    is_object = not isinstance(holder.owner, list | dict | deque)
    return is_object and not any(_differs(v, values.get(k)) for k, v in items(holder.entries))


def _put(owner: Any, key: Any, value: Any) -> None:
    entries = entries_of(owner)
    if value is _Gone:
        entries.pop(key, None)
    else:
        entries[key] = value


def _refill(entries: Any, kept: list[Any]) -> None:
    entries.clear()
    entries.extend(kept)


def _snapshot(found: list[Holder]) -> dict[int, tuple[Holder, dict[Any, tuple[Any, Any]]]]:
    """All values as they are, each with a copy of it if it is an array."""
    return {
        id(holder.owner): (
            holder,
            {
                key: (value, value.copy() if isinstance(value, numpy.ndarray) else None)
                for key, value in items(holder.entries)
            },
        )
        for holder in found
        if not isinstance(holder.owner, View) and not isinstance(holder.entries, tuple)
    }


def _get(entries: Any, key: Any) -> Any:
    return entries.get(key, _Gone) if hasattr(entries, "keys") else entries[key]


def _differs(now: Any, before: tuple[Any, Any] | None) -> bool:
    """Whether a value is another object, or an array with other contents."""
    if before is None or now is not before[0]:
        return True
    content = before[1]
    return content is not None and not numpy.array_equal(
        now, content, equal_nan=content.dtype.kind == "f"
    )
