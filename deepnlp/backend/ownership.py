"""Which thread goes forward and back through a layer: one at a time."""

import sys
import threading
from typing import Any

_claiming = threading.Lock()


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
