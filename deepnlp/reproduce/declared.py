"""Tables and searches are declared in TOML files, those of deepnlp in folders of the package."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from deepnlp.files.reading import read_toml


def names_in(folder: Traversable) -> list[str]:
    """Names of the TOML files in a folder of the package, without their ending."""
    names = (file.name for file in folder.iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def read_declaration(name: str, folder: Traversable, what: str) -> tuple[str, dict[str, Any], str]:
    """The file of a name, or of a path that ends in .toml: its name, content and source."""
    if name.endswith(".toml"):
        return Path(name).stem, read_toml(name), name
    if name not in names_in(folder):
        raise ValueError(
            f"unknown {what} {name!r}: expected one of {', '.join(names_in(folder))}, or the path "
            "of a .toml file"
        )
    text = folder.joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return name, tomllib.loads(text), f"{what} {name}"


def made(kind: Any, part: Mapping[str, Any], what: str) -> Any:
    """A dataclass from a table of TOML, or an error that names the wrong key."""
    known = {one.name for one in fields(kind)}
    for key in part:
        if key not in known:
            raise ValueError(f"{what} has no {key!r}: expected {', '.join(sorted(known))}")
    try:
        return kind(**part)
    except TypeError as error:
        raise ValueError(f"{what}: {str(error).replace('__init__() ', '')}") from error
