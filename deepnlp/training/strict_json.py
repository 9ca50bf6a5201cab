"""JSON in which every number is finite."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any


def to_json(value: Any, indent: int | None = None) -> str:
    """Strictly valid JSON: a number that is not finite becomes null.

    >>> to_json({"perplexity": float("inf"), "epoch": 1})
    '{"perplexity": null, "epoch": 1}'
    """
    return json.dumps(finite(value), ensure_ascii=False, allow_nan=False, indent=indent)


def finite(value: Any) -> Any:
    """The same value with None for every number that is not finite, at any depth.

    >>> finite([1.5, float("nan")])
    [1.5, None]
    """
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
