"""The states that recurrent layers of the package start from."""

from collections.abc import Callable
from typing import Any

from deepnlp.backend import Generator, asarray
from deepnlp.gradcheck.numeric import Function
from deepnlp.gradcheck.variables import State
from deepnlp.layers.recurrent import TimeRecurrent


def draw_states(function: Function, rng: Generator) -> None:
    """Give recurrent layers that carry no state a random one, and make variables of all states."""
    layer = function.layer
    named = [(path, one) for path, one in layer._named_layers() if isinstance(one, TimeRecurrent)]
    if not named:
        return
    given: list[TimeRecurrent] = []  # whose state comes from forward, as an encoder's a decoder
    for _, one in named:
        one.set_state = _noting(one, given)  # type: ignore[method-assign]
    function.raw_forward()
    for _, one in named:
        del one.set_state
    named = [(path, one) for path, one in named if one not in given]
    found = {path: tuple(one.h.shape) for path, one in named if one.h is not None}
    layer.restore(function.snapshot)
    for path, one in named:
        if path in found and (one.h is None or not (one.stateful or one._given)):
            one.set_state(*(asarray(rng.normal(size=found[path])) for _ in one._states))
    function.snapshot = layer.snapshot()
    for path, one in named:
        for state in one._states if path in found else ():
            key = f"{path}.{state}" if path else state
            function.variables[f"{key}0"] = State(function.snapshot, key, one)


def _noting(layer: TimeRecurrent, called: list[Any]) -> Callable[..., None]:
    """The set_state of a layer, which notes in a list that it was called."""
    set_state = layer.set_state

    def noting(*state: Any) -> None:
        called.append(layer)
        set_state(*state)

    return noting
