"""Parts of the larger data sets, whose whole takes seconds to read."""

from __future__ import annotations

import functools
import gzip
import itertools
from pathlib import Path

import pytest

from deepnlp.datasets import pydocs
from deepnlp.datasets.files import data_folder, find_file


@functools.cache
def sentences_of_a_part() -> dict[str, tuple[str, ...]]:
    """What ``pydocs_sentences`` gives, of every eighth module."""
    docstrings, numbers = pydocs.docstrings, itertools.count()

    def of_some(source: bytes) -> list[str]:
        return docstrings(source) if next(numbers) % 8 == 0 else []

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pydocs, "docstrings", of_some)
        sentences: dict[str, tuple[str, ...]] = pydocs.pydocs_sentences.__wrapped__()
    return sentences


def first_lines(relative: str, count: int, folder: Path) -> None:
    """Write the first lines of a file of the data folder to the same place in another folder."""
    path = find_file(data_folder(), relative)
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as lines:
        text = b"".join(itertools.islice(lines, count))
    (folder / relative).parent.mkdir(parents=True, exist_ok=True)
    (folder / relative).write_bytes(text)
