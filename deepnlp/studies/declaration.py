"""Tables and searches are declared in TOML files, those of deepnlp in folders of the package."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

from deepnlp.files.reading import read_toml

STUDIES = resources.files("deepnlp").joinpath("studies")
FOLDERS = {"table": STUDIES.joinpath("tables"), "search": STUDIES.joinpath("searches")}
Declared = TypeVar("Declared")


def declared_names(kind: str) -> list[str]:
    """Names of the tables, or of the searches, that come with deepnlp.

    >>> declared_names("search")
    ['dropout-200', 'pydocs-small']
    """
    names = (file.name for file in FOLDERS[kind].iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def read_declaration(kind: str, name: str) -> tuple[str, dict[str, Any], str]:
    """The file of a name, or of a path that ends in .toml: its name, content and source."""
    if name.endswith(".toml"):
        return Path(name).stem, read_toml(name), name
    if name not in declared_names(kind):
        raise ValueError(
            f"unknown {kind} {name!r}: expected one of {', '.join(declared_names(kind))}, or the "
            "path of a .toml file"
        )
    text = FOLDERS[kind].joinpath(f"{name}.toml").read_text(encoding="utf-8")
    return name, tomllib.loads(text), f"{kind} {name}"


def load_declared(
    kind: str, name: str, build: Callable[[str, Mapping[str, Any]], Declared]
) -> Declared:
    """What ``build`` makes of a declaration; its errors name the file."""
    name, content, source = read_declaration(kind, name)
    try:
        return build(name, content)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{source}: {error}") from error


def check_keys(part: Mapping[str, Any], known: Collection[str], what: str) -> None:
    """An error that names a key of a TOML table which is not known."""
    for key in part:
        if key not in known:
            raise ValueError(f"{what} has no {key!r}: expected {', '.join(sorted(known))}")


def build_part(kind: Callable[..., Declared], part: Mapping[str, Any], what: str) -> Declared:
    """A dataclass from a TOML table, or an error that names the wrong or missing key."""
    check_keys(part, {field.name for field in fields(kind)}, what)  # type: ignore[arg-type]
    try:
        return kind(**part)
    except TypeError as error:
        raise ValueError(f"{what}: {str(error).replace('__init__() ', '')}") from error
