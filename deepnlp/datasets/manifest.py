"""The known data sets as ``manifest.toml`` states them: addresses, sizes, checksums, terms."""

import tomllib
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class DataFile:
    """A file of the data folder: its path there, its bytes, and its name inside an archive."""

    path: str
    bytes: int
    sha256: str
    member: str | None = None


@dataclass(frozen=True)
class Download:
    """A download from one of some addresses, and the files that it yields.

    ``bytes`` and ``sha256`` are those of what is served, where it is packed and they are known.
    """

    files: tuple[DataFile, ...]
    addresses: tuple[str, ...] = ()
    bytes: int | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class DataSet:
    """A data set of the manifest."""

    name: str
    title: str
    licence: str
    cite: str
    downloads: tuple[Download, ...]

    @property
    def files(self) -> list[DataFile]:
        """The files of all downloads."""
        return [file for download in self.downloads for file in download.files]


@cache
def manifest() -> dict[str, DataSet]:
    """Return the known data sets by name.

    >>> manifest()["ptb"].files[0].path
    'ptb/ptb.train.txt'
    """
    text = Path(__file__).with_name("manifest.toml").read_text(encoding="utf-8")
    return {name: _data_set(name, stated) for name, stated in tomllib.loads(text).items()}


def data_set(name: str) -> DataSet:
    """Return the data set of a name, or an error that says which there are.

    >>> data_set("pbt")
    Traceback (most recent call last):
        ...
    ValueError: unknown data set 'pbt': did you mean ptb? `deepnlp data list` shows all
    """
    if name == "pydocs":
        raise ValueError("pydocs is in every Python installation: there is nothing to fetch")
    if name not in manifest():
        near = get_close_matches(name, manifest(), 1)
        meant = f"did you mean {near[0]}? " if near else ""
        raise ValueError(f"unknown data set {name!r}: {meant}`deepnlp data list` shows all")
    return manifest()[name]


def set_with(path: str) -> DataSet | None:
    """Return the data set that a file of the data folder belongs to.

    >>> set_with("multi30k/val.en").name
    'multi30k'
    """
    sets = manifest().values()
    return next((known for known in sets for file in known.files if file.path == path), None)


def _data_set(name: str, stated: dict[str, Any]) -> DataSet:
    return DataSet(name, **stated | {"downloads": tuple(map(_download, stated["downloads"]))})


def _download(stated: dict[str, Any]) -> Download:
    files = tuple(DataFile(**file) for file in stated["files"])
    return Download(**stated | {"files": files, "addresses": tuple(stated.get("addresses", ()))})
