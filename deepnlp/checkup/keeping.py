"""All that a training can reach, kept as it was: weights, optimizers, generators, data."""

import pickle
import random as standard
import sys
from collections import deque
from collections.abc import Iterable
from typing import Any

import numpy

from deepnlp.backend import asnumpy, random, rng
from deepnlp.gradcheck.walking import (
    GENERATORS,
    Fields,
    entries_of,
    generators,
    holders,
    is_tensor,
    items,
    mapped,
)
from deepnlp.layer import Layer

LARGEST = 20_000_000
"""Entries of an array that is kept; a larger one is data, which nobody changes unseen."""

_GONE = object()


class State:
    """Record of what some objects and functions, and all that these reach, hold now.

    Parameters
    ----------
    *roots : object
        Models, optimizers, functions with their closures and globals, namespaces.

    Attributes
    ----------
    reached : list of Holder
    """

    def __init__(self, *roots: Any) -> None:
        self.reached = [one for one in holders(*roots, shared=True) if one.entries is not None]
        self._kept = [(one.owner, one.entries, _copied(one.entries)) for one in self.reached]
        tensors: dict[int, Any] = {}
        for owner, entries, _ in self._kept:
            for value in [owner, *(value for _, value in items(entries))]:
                if is_tensor(value) or is_tensor(getattr(value, "grad", None)):
                    tensors[id(value)] = value
        tensors |= {id(one.grad): one.grad for one in [*tensors.values()] if one.grad is not None}
        self._tensors = [
            (one, one.detach().clone(), one.grad if one.is_leaf else None, one.requires_grad)
            for one in tensors.values()
        ]
        self._generators = generators(self.reached)
        layers = [one.owner for one in self.reached if isinstance(one.owner, Layer)]
        dropouts = [one for one in layers if "drop" in type(one).__name__.lower()]
        self._counted = [(one, one.snapshot()) for one in dropouts]
        self._drawn = rng()
        self._state = self._drawn.bit_generator.state
        torch: Any = sys.modules.get("torch")
        values = [value for _, entries, _ in self._kept for _, value in items(entries)]
        self._streams_of_torch = [
            (value, value.get_state())
            for value in values
            if torch is not None and isinstance(value, torch.Generator)
        ]

    def put_back(self) -> None:
        """Put all of it back, bit for bit."""
        for owner, entries, kept in self._kept:
            now = entries if type(entries) in (dict, list) else entries_of(owner)
            if isinstance(now, list | deque):
                if len(now) != len(kept):
                    now.clear()
                    now.extend(value for value, _ in kept.values())
            elif isinstance(now, dict):
                for key in [key for key in now if key not in kept]:
                    del now[key]
            for key, (value, content) in kept.items():
                if not isinstance(now, tuple) and _get(now, key) is not value:
                    now[key] = value
                if content is not None and value.flags.writeable:
                    numpy.copyto(value, content)
        self._put_back_tensors()
        self.put_back_generators()

    def _put_back_tensors(self) -> None:
        for tensor, content, grad, requires_grad in self._tensors:
            if tensor.data.shape == content.shape:
                tensor.data.copy_(content)
            else:
                tensor.data = content.clone()
            if tensor.is_leaf:
                tensor.grad = grad
                tensor.requires_grad_(requires_grad)

    def put_back_generators(self) -> None:
        """Put back the random numbers that come next, and nothing else."""
        for one in self._generators:
            one.put_back()
        self._drawn.bit_generator.state = self._state
        random._generator = self._drawn  # a step may have called deepnlp.seed
        for layer, snapshot in self._counted:
            layer.restore(snapshot)
        for generator, state in self._streams_of_torch:
            generator.set_state(state)

    def draw_on(self) -> None:
        """Draw some numbers from each generator, so that the next ones are others."""
        numpy.random.random(7)
        standard.random()
        rng().random(7)
        if torch := sys.modules.get("torch"):
            torch.rand(7)
        for _, entries, _ in self._kept:
            for _, value in items(entries):
                if isinstance(value, GENERATORS):
                    value.random()
        for generator, _ in self._streams_of_torch:
            generator.manual_seed(generator.initial_seed() + 1)

    @property
    def drawn(self) -> list[bytes]:
        """The states of all generators, to be compared."""
        states = [pickle.dumps(one.get()) for one in self._generators]
        return [*states, pickle.dumps(rng().bit_generator.state)]

    def content_of(self, holder: Any, key: Any) -> Any:
        """The numbers that an array in a place had."""
        owners = (kept for owner, _, kept in self._kept if owner is holder.owner)
        return next(owners, {}).get(key, (None, None))[1]

    def changes(self) -> list[str]:
        """Where something is no longer as it was, except generators: paths."""
        paths = []
        for holder, (owner, _, kept) in zip(self.reached, self._kept, strict=True):
            now = entries_of(owner)
            for key, (value, content) in kept.items():
                is_other = _get(now, key) is not value
                if is_other or (content is not None and not _same(value, content)):
                    paths.append(f"{holder.path}{key}")
        for number, (tensor, content, _, _) in enumerate(self._tensors):
            if tensor.shape != content.shape or not _same(_host(tensor), _host(content)):
                paths.append(f"tensor {number}")
        return paths


def numbers(value: Any) -> Any:
    """Return a copy of an array or tensor on the host, in float64 where it is real."""
    array = _host(value)
    return array.astype("float64") if array.dtype.kind == "f" else array.copy()


def _host(value: Any) -> Any:
    if is_tensor(value):
        value = value.detach().cpu()
        return (value.float() if value.dtype.itemsize == 2 else value).numpy()
    return asnumpy(value) if hasattr(value, "dtype") else numpy.asarray(value)


def _same(one: Any, other: Any) -> bool:
    return numpy.array_equal(one, other, equal_nan=other.dtype.kind in "fc")


def _copied(entries: Any) -> dict[Any, tuple[Any, Any]]:
    """Each value of some entries, with a copy of its numbers if it is an array."""
    return {key: (value, _content(value)) for key, value in list(items(entries))}


def _content(value: Any) -> Any:
    is_array = isinstance(value, numpy.ndarray) and value.dtype.kind != "O"
    return value.copy() if is_array and value.size <= LARGEST else None


def _get(entries: Any, key: Any) -> Any:
    if isinstance(entries, dict | Fields):
        try:
            return entries.get(key, _GONE)
        except (AttributeError, ValueError):
            return _GONE
    return entries[key] if hasattr(entries, "__getitem__") and key < len(entries) else _GONE


def copies(values: Iterable[Any]) -> tuple[Any, ...]:
    """Return copies of what a batch consists of, so that no step changes the data."""
    return tuple(mapped(_copy, tuple(values)))


def _copy(value: Any) -> Any:
    return value.clone() if is_tensor(value) else value.copy() if hasattr(value, "copy") else value
