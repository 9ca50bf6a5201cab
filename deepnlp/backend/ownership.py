"""Which thread goes forward and back through a layer: one at a time.

A layer belongs to the thread that goes forward through it, until that thread ends or another takes
the layer over. Whatever changes what a layer holds begins with :func:`claim`.
"""

import sys
import threading
from typing import Any

_claiming = threading.Lock()


class OfOneThread:
    """Base of layers, which say in ``_layers()`` what is inside of them."""

    _owner: int | None = None  # the thread that is at the layer

    def take_over(self: Any) -> None:
        """Let the calling thread go forward and back from now on, in place of another.

        A training in a thread of its own begins with this call; :class:`deepnlp.training.Trainer`
        makes it.
        """
        for layer in self._layers():
            layer._owner = None

    def _layers_of_this_thread(self: Any, method: str) -> Any:
        """Return this layer and those inside; raise if another thread is at one of them."""
        layers = self._layers()
        for layer in layers:
            if layer._owner is not None:
                claim(layer, method)
        return layers

    def __getstate__(self) -> dict[str, Any]:
        """Return the state of a copy: all but the thread that owns the layer."""
        return {name: value for name, value in vars(self).items() if name != "_owner"}


def claim(layer: Any, method: str) -> None:
    """Make the calling thread the owner of a layer; a RuntimeError while another thread is."""
    if layer._owner == threading.get_ident():
        return
    with _claiming:
        if layer._owner in sys._current_frames():  # of all threads that there are
            raise RuntimeError(
                f"{type(layer).__name__}.{method}: another thread goes forward and back through "
                "this layer, and one layer holds what one thread saves: give each thread a copy "
                "(copy.deepcopy, or twin() to evaluate with the same weights) or, when the other "
                "is done, call take_over() first"
            )
        layer._owner = threading.get_ident()
