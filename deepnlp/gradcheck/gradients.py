"""Where people keep their weights, and the gradients of them."""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy

from deepnlp.gradcheck.engines import plain
from deepnlp.gradcheck.names import CONSTANT, DATA, GRAD, GRADS, PARAMS, WEIGHT, gradient_names
from deepnlp.gradcheck.walking import Holder, HostArray, entries_of, is_real, items
from deepnlp.layer import Layer
from deepnlp.parameter import Parameter, View

Source = tuple[Any, Any]
"""The container and the key of a gradient."""


class Held(NamedTuple):
    """A weight: an array, or a number with a gradient beside it.

    Attributes
    ----------
    name : str
        Such as ``"W"``, ``"layers.0.W"``, ``"params[1]"``.
    holder : Holder
    key : str or int
        The weight is ``holder.entries[key]``.
    value : array or float
    content : array
        A copy of it as it was when it was found.
    """

    name: str
    holder: Holder
    key: Any
    value: Any
    content: HostArray

    @property
    def is_float(self) -> bool:
        """Whether it is made of floating-point numbers."""
        return is_real(self.value) or isinstance(self.value, float)

    @property
    def is_array(self) -> bool:
        """Whether it is an array, and no single number."""
        return isinstance(self.value, numpy.ndarray)

    @property
    def is_constant(self) -> bool:
        """Whether nobody expects a gradient: by its name, or because it may not be written."""
        if CONSTANT.search(str(self.key)) or not self.value.flags.writeable:
            return True
        return self.holder.is_shared and not WEIGHT.search(str(self.key))

    def gradient(self) -> Any:
        """Its gradient, under any of the usual names; None if there is none."""
        entries, key = self.source() or (None, None)
        return None if entries is None else entries[key]

    def source(self) -> Source | None:
        """Where its gradient is."""
        entries, names = self.holder.entries, gradient_names(self.key)
        if self.key in DATA and isinstance(self.key, str):  # a box with a value and its gradient
            return _of_names(entries, GRAD)
        found = _of_names(entries, names)
        if found is None and _is_dict(entries):
            found = self._of_lists(entries, names)
        if found is None and self.holder.up is not None and self.holder.is_shared:
            found = _of_names(self.holder.up.entries, names)  # self.dW for a W of the class
        return self._mirrored(entries, names) if found is None else found

    def _mirrored(self, entries: Any, names: list[str]) -> Source | None:
        """From the same place in a container of gradients: ``grads[0]["W"]``, ``dcell.W``."""
        node, way, found = self.holder, list[Any](), None
        while node.up is not None and found is None:
            beside = node.up.entries
            for name in [*gradient_names(node.key), *GRADS] if _is_dict(beside) else []:
                twin = beside.get(name)
                for key in way:
                    twin = _inside(twin, key)
                if twin is not None and twin is not self.holder.owner and found is None:
                    position = [key for key, _ in items(entries)].index(self.key)
                    twin = entries_of(twin)
                    found = _of_names(twin, [self.key, *names]) or _at(twin, position)
            node, way = node.up, [node.key, *way]
        return found

    def _of_lists(self, entries: Any, names: list[str]) -> Source | None:
        """From a list or dict of gradients among the same attributes."""
        for name in GRADS:
            beside, found = entries.get(name), None
            if hasattr(beside, "keys"):
                found = _of_names(beside, [self.key, *names])
            elif isinstance(beside, list | tuple | deque):
                listed: Any = next((entries[p] for p in PARAMS if p in entries), [])
                places = [k for k, one in items(listed) if one is self.value]
                found = _at(beside, places[0]) if places else None
            if found is not None:
                return found
        return None

    def told_missing(self) -> str:
        """A sentence on what was looked for, where there is no gradient."""
        key = self.key if isinstance(self.key, str) else self.name
        in_list = isinstance(self.holder.owner, list | dict | tuple)
        owner = self.holder.up.owner if in_list and self.holder.up else self.holder.owner
        local = local_names(getattr(owner, "backward", None)) & set(gradient_names(key))
        if local:
            name = min(local)
            return (
                f"backward computes {name}, but as a local variable, which is gone when it "
                f"returns: write self.{name} = ..., or return it beside dx"
            )
        if isinstance(self.key, int):
            return f"no gradient of {self.name} was found: grads has none at position {self.key}"
        return (
            f"no gradient of {self.name} was found after backward: neither d{key}, "
            f'{f"d{key}".lower()}, grad_{key} nor {key}_grad, nor grads["{key}"], nor one in grads '
            "in the order of params, nor one returned beside dx (a constant is named in constants=)"
        )


def held_arrays(found: list[Holder]) -> Iterator[Held]:
    """The arrays that these hold, except those of Parameters, each once.

    Single numbers are among them where a gradient may be beside them: ``self.a`` and ``self.da``.
    """
    seen: set[int] = set()
    names: set[str] = set()
    for holder in found:
        if isinstance(holder.owner, View) or holder.path.rstrip(".").split(".")[-1] in GRADS:
            continue
        box = any(name in holder.entries for name in DATA) if _is_dict(holder.entries) else False
        for key, value in list(items(holder.entries)):
            is_array = isinstance(value, numpy.ndarray) and value.dtype.kind in "fiu"
            is_closed = holder.is_shared or isinstance(holder.owner, list | dict | tuple | deque)
            is_number = isinstance(value, float) and not is_closed
            if id(value) in seen or not (is_array or is_number) or (box and key in GRAD):
                continue
            if is_array:
                seen.add(id(value))
            name = path_of(holder, key)
            while name in names:
                name += "'"
            names.add(name)
            yield Held(name, holder, key, value, numpy.array(value))


def held_views(layer: Any, found: list[Holder]) -> Iterator[tuple[str, Parameter]]:
    """The Parameters of an object and of the objects inside, each once, by name."""
    if isinstance(layer, Layer):
        yield from (one for one in layer.named_parameters() if one[1].trainable)
        return
    seen: set[int] = set()
    for holder in found:
        if isinstance(holder.owner, View):
            continue
        for key, value in list(items(holder.entries)):
            bases = value.named_bases(path_of(holder, key)) if isinstance(value, View) else []
            for name, base in bases:
                if id(base) not in seen and base.trainable:
                    seen.add(id(base))
                    yield name, base


def kept_gradient(layer: Any, key: str) -> Any:
    """The gradient of an input that backward kept as ``self.dx``; None if there is none."""
    entries, name = _of_names(entries_of(layer), gradient_names(key)) or (None, None)
    return None if entries is None else entries[name]


def local_names(function: Any) -> set[str]:
    """Names of the local variables of a function, and of those it returns."""
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    return set(code.co_varnames[code.co_argcount :]) if code is not None else set()


def path_of(holder: Holder, key: Any) -> str:
    """The name of what a holder holds, such as ``"layers.0.W"`` or ``"params[1]"``."""
    if isinstance(key, int):
        return f"{holder.path.rstrip('.')}[{key}]"
    before, _, last = holder.path.rstrip(".").rpartition(".")
    if last in PARAMS and isinstance(holder.owner, dict):
        return f"{before}.{key}" if before else str(key)
    return f"{holder.path}{key}"


def _inside(owner: Any, key: Any) -> Any:
    """What stands at a key, a name or a position; None if nothing does."""
    try:
        return entries_of(owner)[key]
    except (KeyError, IndexError, TypeError):
        return None


def _is_dict(entries: Any) -> bool:
    return hasattr(entries, "keys")


def _of_names(entries: Any, names: Any) -> Source | None:
    if not _is_dict(entries):
        return None
    listed = list(entries)
    known = [n for n in names if n in listed and _is_gradient(entries[n])]
    # Of several, the one that was there first: the constructor made it, and an optimizer knows it.
    return (entries, min(known, key=listed.index)) if known else None


def _at(entries: Any, position: int) -> Source | None:
    is_there = isinstance(entries, list | tuple | deque) and position < len(entries)
    return (entries, position) if is_there and _is_gradient(entries[position]) else None


def _is_gradient(value: Any) -> bool:
    """Whether it is an array of numbers, or a number."""
    value = plain(value)
    is_number = isinstance(value, numpy.ndarray | numpy.generic | float | int)
    return is_number and not isinstance(value, bool)
