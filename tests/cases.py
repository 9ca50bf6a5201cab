"""One test for many cases: few items, each of which says the case at which it failed."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Iterable
from typing import Any

import pytest

Test = Callable[..., None]


def together(**values: Iterable[Any]) -> Callable[[Test], Test]:
    """Run a test for every combination of these values of its arguments, as one item.

    Fixtures are made once for all of them.
    """
    names, combinations = [*values], [*itertools.product(*values.values())]

    def decorate(test: Test) -> Test:
        return _looping(test, names, None, lambda _: combinations)

    return decorate


def by_layer(examples: Iterable[Any], argument: str = "case") -> Callable[[Test], Test]:
    """Run a test for the examples of a layer or model as one item: ``test_x[TimeLSTM]``."""
    groups: dict[str, list[tuple[Any]]] = {}
    for example in examples:
        groups.setdefault(example.covers.__name__, []).append((example,))

    def decorate(test: Test) -> Test:
        looping = _looping(test, [argument], "examples", lambda group: group)
        return pytest.mark.parametrize("examples", groups.values(), ids=groups)(looping)

    return decorate


def _looping(
    test: Test, names: list[str], of: str | None, combinations: Callable[[Any], list[tuple]]
) -> Test:
    """The test without the arguments ``names``, called for each combination of them."""
    signature = inspect.signature(test)
    kept = [p for p in signature.parameters.values() if p.name not in names]
    if of is not None:
        kept.append(inspect.Parameter(of, inspect.Parameter.POSITIONAL_OR_KEYWORD))

    @functools.wraps(test)
    def run(**arguments: Any) -> None:
        group = arguments.pop(of) if of is not None else None
        for values in combinations(group):
            case = dict(zip(names, values, strict=True))
            try:
                test(**arguments, **case)
            except Exception as error:
                error.add_note(", ".join(f"{name} = {value}" for name, value in case.items()))
                raise

    run.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
    return run
