"""The text that goes with tensors: what a checkpoint says of its model besides its weights."""

from __future__ import annotations

import json
from typing import Any

from deepnlp.errors import DeepNLPError

Meta = dict[str, Any]

FORMAT = "deepnlp"
VERSION = 1


def to_text(meta: Meta) -> str:
    """Class, arguments and vocabularies as JSON."""
    head = {"format": FORMAT, "version": VERSION, **meta}
    return json.dumps(head, ensure_ascii=False, sort_keys=True)


def from_text(text: Any) -> Meta:
    """What :func:`to_text` wrote."""
    try:
        meta = json.loads(text)
        if meta.pop("format") != FORMAT:
            raise ValueError("another format")
        version = meta.pop("version")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"its description of the model cannot be read ({error})") from None
    if version != VERSION:
        raise DeepNLPError(
            f"it describes a model in format {version}, this deepnlp reads format {VERSION}"
        )
    return dict(meta)
