"""The table of a model's layers, weights, sizes and ties."""

from collections.abc import Mapping
from typing import Any

from deepnlp.parameter import Parameter, View


def titled(layer: Any, options: Mapping[str, Any]) -> str:
    """Return the name of a layer's class with options, of which ids are counted.

    >>> titled([], {"p": 0.5, "output_ids": [1, 2]})
    'list(p=0.5, output_ids=<2 ids>)'
    """
    shown = ", ".join(
        f"{name}={f'<{len(value):,} ids>' if name.endswith('_ids') else repr(value)}"
        for name, value in options.items()
    )
    return f"{type(layer).__name__}({shown})" if shown else type(layer).__name__


def summary(layer: Any, title: str) -> str:
    """Return a title, a row for each weight, and the number of parameters."""
    first_names: dict[Parameter, str] = {}
    shown: set[int] = set()  # weights, each once if layers share it as it is
    rows: list[tuple[str, str, str, str]] = []
    for path, part in layer._named_layers():
        kind, items = part._title() if path else "", [*part._items()]
        weights = [(place, item) for place, item in items if isinstance(item, View)]
        if not weights and path and not any(hasattr(item, "_items") for _, item in items):
            rows.append((path, kind, "", ""))
        for place, weight in weights:
            if id(weight) in shown:
                continue
            shown.add(id(weight))
            name = f"{path}.{place}" if path else place
            new = [base for base in weight.bases if base not in first_names]
            known = [f"= {first_names[base]}" for base in weight.bases if base not in new]
            first_names |= dict.fromkeys(new, name)
            shape = " x ".join(f"{n:,}" for n in weight.shape)
            size = ", ".join(filter(None, [_sizes(new), *known, weight.how]))
            rows.append((name, kind, shape, size))
            kind = ""
    left, middle, right = (max((len(row[k]) for row in rows), default=0) for k in range(3))
    lines = [
        f"  {name:<{left}}  {kind:<{middle}}  {shape:>{right}}  {size}".rstrip()
        for name, kind, shape, size in rows
    ]
    values = [parameter.value for parameter in layer.parameters()]
    types = " and ".join(sorted({str(value.dtype) for value in values}))
    memory = sum(value.nbytes for value in values) / 1e6
    count = sum(value.size for value in values)
    end = f"  {count:,} parameters" + (f", {memory:.1f} MB as {types}" if values else "")
    return "\n".join([title, *lines, end])


def _sizes(bases: list[Parameter]) -> str:
    """Return how many numbers there are in Parameters, and how many of them are frozen."""
    size = sum(base.value.size for base in bases)
    frozen = sum(base.value.size for base in bases if not base.trainable)
    if frozen in (0, size):
        return f"{size:,}{'  frozen' if frozen else ''}" if bases else ""
    return f"{size:,}, {frozen:,} of them frozen"
