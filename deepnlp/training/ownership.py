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
    there = [
        path for path in paths if path.name in _KINDS and path.exists() and path.stat().st_size
    ]
    own = {path: _KINDS[path.name](path) for path in there}
    for path in there:
        if own[path] is False or True not in own.values():
            raise DeepNLPError(
                f"{path} is not a file of a run of deepnlp: move it away, or choose another folder"
            )


# Whether a file is one of a run, or None where that cannot be told.


def _is_config(path: Path) -> bool | None:
    content = path.read_bytes()
    if content.startswith(MARK.encode()):
        return True
    try:
        return tomllib.loads(content.decode("utf-8")).get("task") in TASKS
    except (ValueError, RecursionError):
        return None


def _has_key(text: bytes, key: str) -> bool | None:
    try:
        table = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return key in table if isinstance(table, dict) and table else None


def _is_archive(path: Path) -> bool | None:
    """Whether it has one of the members that deepnlp writes."""
    try:
        with zipfile.ZipFile(path) as archive:
            return not {"meta.json.npy", "layers.npy"}.isdisjoint(archive.namelist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return None


def _is_picture(path: Path) -> bool | None:
    with path.open("rb") as file:
        start = file.read(len(PNG))
    return None if PNG.startswith(start) or start == PNG else False


_KINDS: dict[str, Callable[[Path], bool | None]] = {
    "config.toml": _is_config,
    "metrics.jsonl": lambda path: _has_key(path.read_bytes().partition(b"\n")[0], "epoch"),
    "result.json": lambda path: _has_key(path.read_bytes(), "status"),
    "checkpoint.npz": _is_archive,
    "best.npz": _is_archive,
    "gradients.npz": _is_archive,
    "learning_curve.png": _is_picture,
    "gradient_flow.png": _is_picture,
}
