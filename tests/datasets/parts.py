"""Parts of the larger data sets, whose whole takes seconds to read."""

from __future__ import annotations

import functools
import gzip
import itertools
from pathlib import Path

import pytest

from deepnlp.datasets import pydocs
from deepnlp.datasets.files import data_folder


@functools.cache
def sentences_of_a_part() -> dict[str, tuple[str, ...]]:
    """What ``pydocs_sentences`` gives, of every fourth module."""
    docstrings, numbers = pydocs.docstrings, itertools.count()

    def of_some(source: bytes) -> list[str]:
        return docstrings(source) if next(numbers) % 4 == 0 else []

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pydocs, "docstrings", of_some)
        sentences: dict[str, tuple[str, ...]] = pydocs.pydocs_sentences.__wrapped__()
    return sentences


def first_lines(relative: str, count: int, folder: Path) -> None:
    """Write the first lines of a file of the data folder to the same place in another folder."""
    with gzip.open(data_folder() / f"{relative}.gz", "rt", encoding="utf-8") as lines:
        text = "".join(itertools.islice(lines, count))
    (folder / relative).parent.mkdir(parents=True, exist_ok=True)
    (folder / relative).write_text(text, encoding="utf-8")
