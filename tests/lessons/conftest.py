"""Lessons, their scripts and their experiments run on a part of the documentation of Python."""

import functools
import itertools

import pytest

from deepnlp.datasets import pydocs


@functools.cache
def sentences_of_a_part():
    """The splits of pydocs with every fourth module: all of them take seconds to read."""
    docstrings, numbers = pydocs.docstrings, itertools.count()

    def of_some(source):
        return docstrings(source) if next(numbers) % 4 == 0 else []

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pydocs, "docstrings", of_some)
        return pydocs.pydocs_sentences.__wrapped__()


@pytest.fixture(scope="module", autouse=True)
def _part_of_pydocs():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("deepnlp.datasets.loading.pydocs_sentences", sentences_of_a_part)
        yield
