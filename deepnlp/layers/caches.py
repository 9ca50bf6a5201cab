"""What layers save for backward in a loop over time that calls them at every step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from deepnlp.layer import Layer, keeping


class StepCaches:
    """What layers save for backward, once for each step of a loop that calls them again and again.

    A layer holds what one forward saved. Inside ``with caches.at(t)`` the layers, and those inside
    them, hold what they saved at step t, and the memory in which it lies.

    Parameters
    ----------
    *layers : Layer
    """

    def __init__(self, *layers: Layer) -> None:
        self._layers = layers
        self._steps: list[list[tuple[Any, Any]]] = []

    @contextmanager
    def at(self, t: int) -> Iterator[None]:
        """Exchange what the layers hold for what they held at step t, and back again."""
        if not keeping():  # nothing will be saved
            yield
            return
        layers = [one for layer in self._layers for one in layer._layers()]
        if t == len(self._steps):
            self._steps.append([(None, {})] * len(layers))
        outside = [(one._kept, one._workspaces) for one in layers]
        _hold(layers, self._steps[t])
        try:
            yield
        finally:
            self._steps[t] = [(one._kept, one._workspaces) for one in layers]
            _hold(layers, outside)


def _hold(layers: list[Layer], caches: list[tuple[Any, Any]]) -> None:
    for layer, (kept, workspaces) in zip(layers, caches, strict=True):
        layer._kept, layer._workspaces = kept, workspaces
