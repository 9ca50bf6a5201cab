"""What the outputs of an object depend on, each with its value and its analytic gradient."""

from __future__ import annotations

from typing import Any

import numpy

from deepnlp.backend import asarray, asnumpy
from deepnlp.gradcheck.gradients import Held
from deepnlp.gradcheck.walking import HostArray, replace
from deepnlp.layers.recurrent import TimeRecurrent
from deepnlp.parameter import Parameter


class Variable:
    """Something the outputs depend on: its value can be set, its analytic gradient read."""

    def get(self) -> HostArray:
        """Value on the host, in float64."""
        raise TypeError(f"{type(self).__name__} has no get")

    def set(self, value: Any) -> None:
        """Put another value in place for the next forward."""
        raise TypeError(f"{type(self).__name__} has no set")

    def grad(self) -> Any:
        """Gradient after backward; None where there is none."""
        raise TypeError(f"{type(self).__name__} has no grad")

    def remember(self) -> None:
        """Take the value it has now for the one that is put back."""

    def put_back(self) -> None:
        """Undo what a backward did to it that updates its weights itself."""


class Input(Variable):
    """An array that forward takes.

    Parameters
    ----------
    inputs : list
        All that forward takes.
    position : int
        Which of them.
    key : str
        Its name.
    """

    def __init__(self, inputs: list[Any], position: int, key: str) -> None:
        self.inputs, self.position, self.key = inputs, position, key
        self.returned: Any = None  # by backward

    def get(self) -> HostArray:
        """Value on the host."""
        return numpy.array(self.inputs[self.position])

    def set(self, value: Any) -> None:
        """Put another value in place."""
        self.inputs[self.position] = value

    def grad(self) -> Any:
        """What backward returned for it."""
        return self.returned


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
        return getattr(self.layer, f"d{self.key.rpartition('.')[2]}0")


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
    layer : object
        The object under test.
    held : Held
    """

    def __init__(self, layer: Any, held: Held) -> None:
        self.layer, self.held, self.key = layer, held, str(held.key)
        self.returned: Any = None  # by backward, beside dx
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
            replace(self.layer, self._now, value)
            self._now = value

    def grad(self) -> Any:
        """The array beside it, or the one that backward returned."""
        found = self.held.gradient()
        return self.returned if found is None else found

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
