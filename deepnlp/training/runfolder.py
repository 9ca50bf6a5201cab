"""The folder of a run and its files."""

from __future__ import annotations

import hashlib
import itertools
import json
import tomllib
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any, Literal

from deepnlp.errors import DeepNLPError
from deepnlp.files.archives import DAMAGE
from deepnlp.files.reading import NO_TEXT, content_of, read_json
from deepnlp.files.writing import left_by_writers, locked, to_json, write_whole
from deepnlp.tasks import TASKS

MARK = "# Options of a run of deepnlp"
PLACES = ("folder", "files")  # keys of result.json that say where the run was made
PNG = b"\x89PNG\r\n\x1a\n"


class RunFolder:
    """The files of a run, by what they are.

    ============================  ==========================================================
    ``config.toml``               the options of the run
    ``metrics.jsonl``             one line of figures per epoch
    ``checkpoint.npz``            everything that is needed to resume
    ``best.npz``                  the model that was best on the validation split
    ``learning_curve.png``        perplexity by epoch
    ``result.json``               the final figures
    ``gradients.npz``             with ``--watch-gradients``: norms by step back in time
    ``gradient_flow.png``         these as a heat map over the updates
    ``steps.jsonl``               of some updates norms of gradients by layer, and samples
    ``report.html``               the page of ``deepnlp report``
    ============================  ==========================================================

    Beside them lies ``.lock``, which the process that trains holds (:meth:`held`). Every file is
    replaced as a whole; ``config.toml`` is there first, and all else can be made again from
    ``checkpoint.npz``, except for the times in the figures.

    Parameters
    ----------
    path : str or path
        The folder; :meth:`held` creates it.

    Examples
    --------
    >>> RunFolder("runs/first").checkpoint.name
    'checkpoint.npz'
    """

    FILES = (
        "config.toml", "metrics.jsonl", "checkpoint.npz", "best.npz", "learning_curve.png",
        "result.json", "gradients.npz", "gradient_flow.png", "steps.jsonl", "report.html",
    )  # fmt: skip

    def __init__(self, path: str | PathLike[str]) -> None:
        if not str(path):
            raise ValueError("the folder of a run has no name: name one, or leave it out")
        if NO_TEXT.search(str(path)):  # bytes of another encoding
            raise ValueError(f"the name of a folder should be text in UTF-8, got {str(path)!r}")
        self.path = Path(path)
        self._own = [self.path / name for name in self.FILES]
        self.config, self.metrics, self.checkpoint, self.best = self._own[:4]
        self.figure, self.result, self.gradients, self.gradient_figure = self._own[4:8]
        self.steps, self.report = self._own[8:]
        self.lock = self.path / ".lock"
        # The first checkpoint of a run that replaces another, and its options
        self._next_config, self._next_checkpoint = (
            path.with_name(f"{path.name}.next") for path in (self.config, self.checkpoint)
        )
        self.replaces = False  # whether the run that is there is to be replaced
        self._is_held = False

    @classmethod
    def of(cls, out: Out, name: str = "run") -> RunFolder:
        """Return the folder of a path; without one a new folder, which is made: ``runs/NAME-TIME``.

        Parameters
        ----------
        out : RunFolder, str or path, optional
        name : str
            NAME of a new folder. There is a number at its end where two runs begin in a second.
        """
        if out is not None and out is not False:
            return out if isinstance(out, RunFolder) else cls(out)
        if not name or Path(name).name != name:
            raise ValueError(f"the name of a run should be one without folders, got {name!r}")
        stem = f"{name}-{datetime.now():%Y%m%d-%H%M%S}"
        for number in itertools.count(1):
            path = Path("runs") / (stem if number == 1 else f"{stem}-{number}")
            with suppress(FileExistsError):
                path.mkdir(parents=True)
                break
        return cls(path)

    @contextmanager
    def held(self, *, resume: bool = False, overwrite: bool = False) -> Iterator[RunFolder]:
        """Context in which a run is begun in the folder, or the one that is there is gone on with.

        This is the only check of whether that is possible. Until the end of the context no other
        process trains in the folder; the lock ends with the process. Files that killed processes
        left behind are removed. A folder that was made is removed again if nothing was written.
        Holding a folder twice changes nothing.

        Parameters
        ----------
        resume : bool
            Continue the run that is there.
        overwrite : bool
            Replace the run that is there, and no other files, when the new one has a checkpoint
            (:meth:`replace_run`).

        Raises
        ------
        DeepNLPError
            If a run is there and neither is set, if what is there is not a run of deepnlp alone, or
            if another process, or another thread, trains there.
        FileNotFoundError
            If there is none to resume.
        NotADirectoryError
            If the path is a file.

        Examples
        --------
        >>> with RunFolder("runs/none-of-that-name").held(resume=True):
        ...     pass
        Traceback (most recent call last):
            ...
        FileNotFoundError: no run to resume in runs/none-of-that-name: ...
        """
        if self._is_held:
            yield self
            return
        if resume and overwrite:
            raise ValueError("resume goes on with a run and overwrite removes it: choose one")
        if self.path.exists() and not self.path.is_dir():
            raise NotADirectoryError(f"{self.path} is a file: name a folder for the run")
        _check_files(self._paths())
        made = [path for path in (self.path, *self.path.parents) if not path.exists()]
        is_new = not self.lock.exists()
        self.path.mkdir(parents=True, exist_ok=True)
        with locked(self.lock, patience=0) as free:
            if not free:
                raise _refusal(f"another process is training in {self.path}: wait for it")
            try:
                self._roll_forward()
                self._check_use(resume, overwrite)
                for path in self._paths():
                    for left in left_by_writers(path):
                        left.unlink(missing_ok=True)
                self._next_config.unlink(missing_ok=True)
                self._is_held, self.replaces = True, overwrite and bool(self.files())
                yield self
            finally:
                if is_new and not (self._is_held and self.files()):
                    self.lock.unlink()
                    with suppress(OSError):  # it is not empty
                        for path in made:
                            path.rmdir()
                self._is_held = False

    def _check_use(self, resume: bool, overwrite: bool) -> None:
        """Raise an error unless there is a run to resume, or none that would be written over."""
        there = self.files()
        if resume and not self.config.exists():
            advice = "expected a folder with a config.toml, which training writes"
            if there:
                back = "begin again with --overwrite, or bring config.toml back"
                advice += f"; {there[0]} is there: {back}"
            raise FileNotFoundError(f"no run to resume in {self.path}: {advice}")
        if there and not (resume or overwrite):
            resumed = "go on with it (--resume), " if self.config.exists() else ""
            raise _refusal(f"{self.path} already holds a run: {resumed}replace it (--overwrite)")

    def replace_run(self, config: str, write_checkpoint: Callable[[Path], None]) -> None:
        """Put a run in place of the one that is there, which is whole until then.

        As soon as the new checkpoint has been written, under another name, the new run counts: if
        the process is killed then, :meth:`held` finishes the replacement.

        Parameters
        ----------
        config : str
            The new ``config.toml``.
        write_checkpoint : callable
            Writes the new checkpoint to a path.
        """
        write_whole(self._next_config, f"{MARK}\n{config}")
        write_checkpoint(self._next_checkpoint)
        self._roll_forward()
        self.replaces = False

    def _roll_forward(self) -> None:
        """Rename the next run's files, if it has a checkpoint, and remove the others."""
        if not self._next_checkpoint.exists():
            return
        if self._next_config.exists():
            self._next_config.replace(self.config)
        for path in self._own:
            if path not in (self.config, self.checkpoint):
                path.unlink(missing_ok=True)
        self._next_checkpoint.replace(self.checkpoint)

    def clear(self) -> None:
        """Remove the files of the run, and no others; the result before the options."""
        for path in reversed(self._own):
            path.unlink(missing_ok=True)

    def files(self) -> list[str]:
        """Return names of the files of the run that are there."""
        return [path.name for path in self._own if path.exists()]

    def _paths(self) -> list[Path]:
        """Return all paths that may be written."""
        return [*self._own, self.lock, self._next_config, self._next_checkpoint]

    def write_config(self, text: str) -> None:
        """Write ``config.toml``.

        Parameters
        ----------
        text : str
        """
        write_whole(self.config, f"{MARK}\n{text}")

    def read_metrics(self) -> list[dict[str, Any]]:
        """Return the lines of ``metrics.jsonl``, without one that a killed run left unfinished."""
        return self._read_rows(self.metrics, "epoch", "figures of an epoch")

    def read_steps(self) -> list[dict[str, Any]]:
        """Return the lines of ``steps.jsonl``."""
        return self._read_rows(self.steps, "step", "figures of an update")

    def _read_rows(self, path: Path, key: str, what: str) -> list[dict[str, Any]]:
        if not path.exists():
            return []
        rows: list[dict[str, Any]] = []
        lines = content_of(path).splitlines(keepends=True)
        for number, line in enumerate(lines, start=1):
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                row = None
            if isinstance(row, dict) and type(row.get(key)) is int:
                rows.append(row)
            elif row is not None or line.endswith(b"\n"):
                raise DeepNLPError(f"{path} is damaged in line {number}: expected the {what}")
        return rows

    def write_metrics(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write ``metrics.jsonl``, all of it.

        Parameters
        ----------
        rows : iterable of dict
        """
        write_whole(self.metrics, "".join(to_json(row) + "\n" for row in rows))

    def write_steps(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write ``steps.jsonl``, all of it.

        Parameters
        ----------
        rows : iterable of dict
        """
        write_whole(self.steps, "".join(to_json(row) + "\n" for row in rows))

    def write_result(self, result: Mapping[str, Any]) -> None:
        """Write ``result.json``.

        Parameters
        ----------
        result : dict
        """
        write_whole(self.result, to_json(result, indent=2) + "\n")

    def digest(self, result: Mapping[str, Any]) -> str:
        """Return the SHA-256 of the options, the metrics and a result, which belong to one run.

        The entries that say where the run was made (:data:`PLACES`) do not count.

        Parameters
        ----------
        result : dict
        """
        facts = {key: result[key] for key in sorted(result) if key not in (*PLACES, "digest")}
        logs = [content_of(path) for path in (self.config, self.metrics) if path.exists()]
        text = b"".join([*logs, to_json(facts).encode()]).replace(b"\r\n", b"\n")
        return hashlib.sha256(text).hexdigest()

    def read_result(self) -> dict[str, Any] | None:
        """Read ``result.json``; None if there is none."""
        with suppress(FileNotFoundError):  # or the run has just been resumed
            return read_json(self.result)
        return None


Out = RunFolder | str | PathLike[str] | Literal[False] | None  # where a run writes; False: nowhere


def _refusal(said: str) -> DeepNLPError:
    return DeepNLPError(f"{said}, or choose another folder")


# --- Which files of a folder are those of a run, and so may be written over --------------------


def _check_files(paths: Sequence[Path]) -> None:
    """Raise an error unless the files that are there are those of a run.

    No path may be a link, through which a run would write elsewhere. A file that cannot be read
    counts as a damaged file of the run if another file certainly belongs to the run.
    """
    for path in paths:
        if path.is_symlink():
            link = "a symbolic link, through which a run would write elsewhere"
            raise _refusal(f"{path} is {link}: replace it by the file itself")
        if path.exists() and not path.is_file():
            raise _refusal(f"{path} is no file: move it away")
    there = [path for path in paths if path.suffix in LOOKS and path.exists()]
    verdicts = {path: _is_ours(path) for path in there if path.stat().st_size}
    for path, is_ours in verdicts.items():
        if is_ours is False or True not in verdicts.values():
            raise _refusal(f"{path} is not a file of a run of deepnlp: move it away")


def _is_ours(path: Path) -> bool | None:
    """Return whether a file is one of a run, or None if that cannot be known."""
    try:
        return LOOKS[path.suffix](path)
    except DAMAGE:
        return None


def _is_config(path: Path) -> bool:
    text = path.read_text(encoding="utf-8")
    return text.startswith(MARK) or tomllib.loads(text).get("task") in TASKS


def _is_archive(path: Path) -> bool:
    """Return whether an archive has one of the members that deepnlp writes."""
    with zipfile.ZipFile(path) as archive:
        return not {"meta.json.npy", "layers.npy"}.isdisjoint(archive.namelist())


LOOKS: dict[str, Callable[[Path], bool | None]] = {
    ".toml": _is_config,
    ".jsonl": lambda path: (
        not {"epoch", "step"}.isdisjoint(json.loads(path.read_bytes().partition(b"\n")[0]))
    ),
    ".html": lambda path: b'content="deepnlp"' in path.read_bytes()[:500],
    ".json": lambda path: "status" in json.loads(path.read_bytes()),
    ".npz": _is_archive,
    ".png": lambda path: None if PNG.startswith(path.read_bytes()[: len(PNG)]) else False,
}
