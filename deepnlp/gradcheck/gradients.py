"""Where people keep their weights, and the gradients of them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy

from deepnlp.gradcheck.walking import Holder, HostArray, entries_of, holders, is_real, items
from deepnlp.layer import Layer
from deepnlp.parameter import Parameter, View

GRADS = ("grads", "gradients", "grad", "dparams", "derivatives")
"""Names of a list or dict of gradients beside one of weights."""

PARAMS = ("params", "parameters", "weights", "param")
"""Names of the list or dict of weights."""

CONSTANT = re.compile(
    r"mask|running|moving|encoding|^pe$|^pos|_pos|position|eps|mean|var$|variance|std|noise|prob|"
    r"freq|target|label|one_?hot|(class|sample)_weight|adjacency|state|_prev$|^[hc]0$|const|buffer",
    re.IGNORECASE,
)
"""Names of float arrays that are no weights; they need no gradient."""


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
        return bool(CONSTANT.search(str(self.key))) or not self.value.flags.writeable

    def gradient(self) -> Any:
        """Its gradient, under any of the usual names; None if there is none."""
        entries, parent = self.holder.entries, entries_of(self.holder.parent)
        names = [*gradient_names(self.key)]
        found = _of_names(entries, names)
        if found is None and isinstance(entries, dict):
            found = self._of_lists(entries, names)
        if found is None and isinstance(parent, dict):
            for name in [*gradient_names(self.holder.key), *GRADS]:
                beside = parent.get(name)
                if beside is not None and beside is not entries and found is None:
                    position = [key for key, _ in items(entries)].index(self.key)
                    found = _of_names(beside, [self.key, *names])
                    found = _at(beside, position) if found is None else found
        return found

    def _of_lists(self, entries: dict[str, Any], names: list[str]) -> Any:
        """From a list or dict of gradients among the same attributes."""
        found = None
        for name in GRADS:
            beside = entries.get(name)
            if isinstance(beside, dict):
                found = _of_names(beside, [self.key, *names])
            elif isinstance(beside, list | tuple):
                listed: Any = next((entries[p] for p in PARAMS if p in entries), [])
                places = [k for k, one in items(listed) if one is self.value]
                found = _at(beside, places[0]) if places else None
            elif _is_gradient(beside) and sum(is_real(v) for v in entries.values()) == 2:
                found = beside  # a box with a value and its grad
            if found is not None:
                return found
        return None

    def told_missing(self) -> str:
        """A sentence on what was looked for, where there is no gradient."""
        key = self.key if isinstance(self.key, str) else self.name
        in_list = isinstance(self.holder.owner, list | dict | tuple)
        owner = self.holder.parent if in_list else self.holder.owner
        local = _local_names(getattr(owner, "backward", None)) & set(gradient_names(key))
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


def gradient_names(key: Any) -> list[str]:
    """The usual names of the gradient of something, the likeliest first.

    >>> gradient_names("W")[:4]
    ['dW', 'grad_W', 'W_grad', 'd_W']
    """
    key = str(key)
    both = dict.fromkeys([key, key.strip("_"), key.lower(), key.strip("_").lower()])
    forms = ("d{}", "grad_{}", "{}_grad", "d_{}", "grad{}", "_d{}", "dL_d{}", "dLd{}")
    return [form.format(one) for one in both for form in forms]


def held_arrays(layer: Any) -> Iterator[Held]:
    """The arrays of an object and of the objects inside, except those of Parameters, each once.

    Single numbers are among them where a gradient may be beside them: ``self.a`` and ``self.da``.
    """
    seen: set[int] = set()
    for holder in holders(layer):
        if isinstance(holder.owner, View) or holder.path.rstrip(".").split(".")[-1] in GRADS:
            continue
        for key, value in list(items(holder.entries)):
            is_array = isinstance(value, numpy.ndarray) and value.dtype.kind in "fiu"
            is_number = isinstance(value, float) and isinstance(holder.owner, list | dict) is False
            if id(value) in seen or not (is_array or is_number):
                continue
            if is_array:
                seen.add(id(value))
            yield Held(_name(holder, key), holder, key, value, numpy.array(value))


def held_views(layer: Any) -> Iterator[tuple[str, Parameter]]:
    """The Parameters of an object and of the objects inside, each once, by name."""
    if isinstance(layer, Layer):
        yield from (one for one in layer.named_parameters() if one[1].trainable)
        return
    seen: set[int] = set()
    for holder in holders(layer):
        if isinstance(holder.owner, View):
            continue
        for key, value in list(items(holder.entries)):
            bases = value.named_bases(_name(holder, key)) if isinstance(value, View) else []
            for name, base in bases:
                if id(base) not in seen and base.trainable:
                    seen.add(id(base))
                    yield name, base


def kept_gradient(layer: Any, key: str) -> Any:
    """The gradient of an input that backward kept as ``self.dx``; None if there is none."""
    return _of_names(getattr(layer, "__dict__", {}), gradient_names(key))


def _name(holder: Holder, key: Any) -> str:
    if isinstance(key, int):
        return f"{holder.path.rstrip('.')}[{key}]"
    before, _, last = holder.path.rstrip(".").rpartition(".")
    if last in PARAMS and isinstance(holder.owner, dict):
        return f"{before}.{key}" if before else str(key)
    return f"{holder.path}{key}"


def _of_names(entries: Any, names: list[Any]) -> Any:
    if not isinstance(entries, dict):
        return None
    return next((entries[n] for n in names if n in entries and _is_gradient(entries[n])), None)


def _at(entries: Any, position: int) -> Any:
    if isinstance(entries, list | tuple) and position < len(entries):
        return entries[position] if _is_gradient(entries[position]) else None
    return None


def _is_gradient(value: Any) -> bool:
    """Whether it is an array of numbers, or a number."""
    return isinstance(value, numpy.ndarray | numpy.generic | float | int) and not isinstance(
        value, bool
    )


def _local_names(function: Any) -> set[str]:
    """Names of the local variables of a function, and of those it returns."""
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    return set(code.co_varnames[code.co_argcount :]) if code is not None else set()
