"""Which files of a folder are those of a run, and so may be written over."""

from __future__ import annotations

import json
import tomllib
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from deepnlp.errors import DeepNLPError
from deepnlp.tasks import TASKS

MARK = "# Options of a run of deepnlp"
PNG = b"\x89PNG\r\n\x1a\n"


def check_files(paths: Sequence[Path]) -> None:
    """An error unless the files that are there are those of a run.

    No path may be a link, through which a run would write elsewhere. A file that cannot be read as
    what its name says is taken for a damaged one of the run if another file is certainly the run's.
    """
    for path in paths:
        if path.is_symlink():
            raise DeepNLPError(
                f"{path} is a symbolic link, through which a run would write elsewhere: replace it "
                "by the file itself, or choose another folder"
            )
        if path.exists() and not path.is_file():
            raise DeepNLPError(f"{path} is no file: move it away, or choose another folder")
    there = [path for path in paths if path.suffix in LOOKS and path.exists()]
    own = {path: _is_ours(path) for path in there if path.stat().st_size}
    for path in own:
        if own[path] is False or True not in own.values():
            raise DeepNLPError(
                f"{path} is not a file of a run of deepnlp: move it away, or choose another folder"
            )


def _is_ours(path: Path) -> bool | None:
    """Whether a file is one of a run, or None where nobody can say."""
    try:
        return LOOKS[path.suffix](path)
    except (ValueError, RecursionError, OSError, zipfile.BadZipFile, NotImplementedError):
        return None


def _is_config(path: Path) -> bool:
    content = path.read_bytes()
    return (
        content.startswith(MARK.encode())
        or tomllib.loads(content.decode("utf-8")).get("task") in TASKS
    )


def _has(key: str, text: bytes) -> bool | None:
    table = json.loads(text)
    return key in table if isinstance(table, dict) and table else None


def _is_archive(path: Path) -> bool:
    """Whether it has one of the members that deepnlp writes."""
    with zipfile.ZipFile(path) as archive:
        return not {"meta.json.npy", "layers.npy"}.isdisjoint(archive.namelist())


def _is_picture(path: Path) -> bool | None:
    start = path.read_bytes()[: len(PNG)]
    return None if PNG.startswith(start) else False


LOOKS: dict[str, Callable[[Path], bool | None]] = {
    ".toml": _is_config,
    ".jsonl": lambda path: _has("epoch", path.read_bytes().partition(b"\n")[0]),
    ".json": lambda path: _has("status", path.read_bytes()),
    ".npz": _is_archive,
    ".png": _is_picture,
}
