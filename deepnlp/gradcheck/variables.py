"""What the outputs of an object depend on, each with its value and its analytic gradient."""

from __future__ import annotations

from typing import Any

import numpy

from deepnlp.backend import asarray, asnumpy
from deepnlp.gradcheck.engines import plain
from deepnlp.gradcheck.gradients import Held
from deepnlp.gradcheck.walking import Holder, HostArray, replace
from deepnlp.layers.recurrent import TimeRecurrent
from deepnlp.parameter import Parameter


class Variable:
    """Something the outputs depend on: its value can be set, its analytic gradient read."""

    forced: Any = None  # the gradient that the caller named

    def get(self) -> HostArray:
        """Value on the host, in float64."""
        raise TypeError(f"{type(self).__name__} has no get")

    def set(self, value: Any) -> None:
        """Put another value in place for the next forward."""
        raise TypeError(f"{type(self).__name__} has no set")

    def grad(self) -> Any:
        """Gradient after backward; None where there is none."""
        raise TypeError(f"{type(self).__name__} has no grad")

    def source(self) -> str:
        """Where the gradient is, in words."""
        return "grad"

    def remember(self) -> None:
        """Take the value it has now for the one that is put back."""

    def put_back(self) -> None:
        """Undo what a backward did to it that updates its weights itself."""


class Input(Variable):
    """An array that forward takes, by itself or in a dict, a list or a tuple.

    Parameters
    ----------
    inputs : list
        All that forward takes.
    path : tuple
        Its position among them, and the keys that lead to it there.
    name : str
    position : int
        Its place among all that stands in the inputs.
    """

    def __init__(self, inputs: list[Any], path: tuple[Any, ...], name: str, position: int) -> None:
        self.inputs, self.path, self.name, self.position = inputs, path, name, position
        self.key = str(path[-1]) if len(path) > 1 else name
        self.returned: Any = None  # by backward
        self.is_returned = False  # though perhaps as None

    def get(self) -> HostArray:
        """Value on the host."""
        value: Any = self.inputs
        for key in self.path:
            value = value[key]
        return numpy.array(value)

    def set(self, value: Any) -> None:
        """Put another value in place."""
        _put(self.inputs, self.path, value)

    def grad(self) -> Any:
        """What backward returned for it."""
        return self.returned if self.forced is None else self.forced

    def source(self) -> str:
        """Where the gradient is, in words."""
        return "given" if self.forced is not None else "returned"


def _put(owner: Any, path: tuple[Any, ...], value: Any) -> Any:
    """A nested structure with another value in one place; tuples are made anew."""
    key, *rest = path
    new = _put(owner[key], tuple(rest), value) if rest else value
    if isinstance(owner, tuple):
        given = [new if k == key else one for k, one in enumerate(owner)]
        return type(owner)(*given) if hasattr(owner, "_fields") else tuple(given)
    owner[key] = new
    return owner


class State(Variable):
    """The state a recurrent layer starts from; it lives in the snapshot that is put back.

    Parameters
    ----------
    snapshot : dict
    key : str
        Its name there.
    layer : TimeRecurrent
    """

    def __init__(self, snapshot: dict[str, Any], key: str, layer: TimeRecurrent) -> None:
        self.snapshot, self.key, self.layer = snapshot, key, layer

    def get(self) -> HostArray:
        """Value on the host."""
        return numpy.array(self.snapshot[self.key], dtype="float64")

    def set(self, value: Any) -> None:
        """Put another value in place."""
        self.snapshot[self.key] = value

    def grad(self) -> Any:
        """``layer.dh0`` or ``layer.dc0``."""
        return getattr(self.layer, self.source())

    def source(self) -> str:
        """Its name."""
        return f"d{self.key.rpartition('.')[2]}0"


class Weight(Variable):
    """A Parameter, or a reading of one."""

    def __init__(self, parameter: Parameter) -> None:
        self.parameter = parameter
        self.remember()

    def get(self) -> HostArray:
        """Value on the host."""
        return numpy.array(asnumpy(self.parameter.value))

    def set(self, value: Any) -> None:
        """Put another value in place; a complex one makes the weight complex."""
        value = asarray(value)
        if value.dtype.kind == "c":
            self.parameter.astype(value.dtype)
        self.parameter.value = value

    def grad(self) -> Any:
        """``parameter.grad``."""
        return self.parameter.grad

    def remember(self) -> None:
        """Take the value it has now for the one that is put back."""
        self._content = self.parameter.value.copy()

    def put_back(self) -> None:
        """Undo an update."""
        self.parameter.value = self._content


class Attribute(Variable):
    """An array or a number among the attributes or in a list, its gradient beside it.

    Parameters
    ----------
    found : list of Holder
        All that may hold it.
    held : Held
    """

    def __init__(self, found: list[Holder], held: Held) -> None:
        self.found, self.held, self.key, self.name = found, held, str(held.key), held.name
        self.returned: Any = None  # by backward, beside dx
        self.is_returned = False
        self._now = held.value  # what stands in its place
        self._content = held.content

    def get(self) -> HostArray:
        """Value on the host."""
        return numpy.array(self._now, dtype="float64")

    def set(self, value: Any) -> None:
        """Put another value in place.

        A float value is written into the array, because other lists may hold it too; another kind
        of array (complex, or one that a tape follows) replaces it wherever it is held.
        """
        is_array = isinstance(value, numpy.ndarray)
        if not self.held.is_array:
            self._now = value[()] if is_array else value
            self.held.holder.entries[self.held.key] = self._now
            return
        if is_array and not numpy.iscomplexobj(value):
            self.held.value[...] = value
            value = self.held.value
        if self._now is not value:
            replace(self.found, self._now, value)
            self._now = value
        if self.held.holder.is_shared:  # a copy of the check shares it with the check
            self.held.holder.entries[self.held.key] = value

    def grad(self) -> Any:
        """The array beside it, or the one that backward returned."""
        found = self.held.gradient() if self.forced is None else self.forced
        return self.returned if found is None else plain(found)

    def source(self) -> str:
        """Where the gradient is, in words."""
        found = self.held.source()
        if self.forced is not None or found is None:
            return "returned" if self.forced is None else "given"
        return f"[{found[1]}]" if isinstance(found[1], int) else str(found[1])

    def remember(self) -> None:
        """Take the value it has now for the one that is put back."""
        self._content = numpy.array(self._now)

    def put_back(self) -> None:
        """Undo an update, in place or by assignment."""
        entries, key = self.held.holder.entries, self.held.key
        if self.held.is_array:
            self.held.value[...] = self._content
        if not isinstance(entries, tuple):
            entries[key] = self._now
