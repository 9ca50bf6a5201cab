"""Which thread goes forward and back through a layer: one at a time."""

from __future__ import annotations

import threading

_claiming = threading.Lock()


def claimed(owner: int | None, name: str) -> int:
    """The calling thread as owner, after none or itself; a RuntimeError while another one is.

    ``name`` is the layer and its method, as in ``"Affine.forward"``.
    """
    if owner == threading.get_ident():
        return owner
    with _claiming:
        running = [thread.ident for thread in threading.enumerate()]
        if owner in running:
            raise RuntimeError(
                f"{name}: another thread goes forward and back through "
                "this layer, and one layer holds what one thread saves: give each thread a copy "
                "(copy.deepcopy) or, when the other is done, call take_over() first"
            )
        return threading.get_ident()
