"""Which thread goes forward and back through a layer: one at a time."""

from __future__ import annotations

import threading

_claiming = threading.Lock()


class Owner:
    """The thread that is at a layer; a copy of the layer has none yet."""

    def __init__(self, thread: int = 0) -> None:
        self.thread = thread

    def __reduce__(self) -> tuple[type[Owner], tuple[()]]:
        return Owner, ()


def claimed(owner: Owner | None, name: str) -> Owner:
    """The calling thread as owner, after none or itself; a RuntimeError while another one is.

    ``name`` is the layer and its method, as in ``"Affine.forward"``.
    """
    if owner is not None and owner.thread == threading.get_ident():
        return owner
    with _claiming:
        running = [thread.ident for thread in threading.enumerate()]
        if owner is not None and owner.thread in running:
            raise RuntimeError(
                f"{name}: another thread goes forward and back through "
                "this layer, and one layer holds what one thread saves: give each thread a copy "
                "(copy.deepcopy) or, when the other is done, call take_over() first"
            )
        return Owner(threading.get_ident())
