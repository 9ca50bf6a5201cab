"""The folder of a run and its files."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Any

from deepnlp.errors import DeepNLPError
from deepnlp.files import replacing
from deepnlp.reading import read_json


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
    ============================  ==========================================================

    Parameters
    ----------
    path : str or path
        The folder; :meth:`open` creates it.

    Examples
    --------
    >>> RunFolder("runs/first").checkpoint.name
    'checkpoint.npz'
    """

    FILES = (
        "config.toml",
        "metrics.jsonl",
        "checkpoint.npz",
        "best.npz",
        "learning_curve.png",
        "result.json",
        "gradients.npz",
        "gradient_flow.png",
    )

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        paths = [self.path / name for name in self.FILES]
        self.config, self.metrics, self.checkpoint, self.best = paths[:4]
        self.figure, self.result, self.gradients, self.gradient_figure = paths[4:]

    @classmethod
    def open(
        cls,
        path: str | PathLike[str] | None = None,
        name: str = "run",
        *,
        resume: bool = False,
        overwrite: bool = False,
    ) -> RunFolder:
        """Make the folder ready for a run; no file of another run is overwritten unless asked for.

        Parameters
        ----------
        path : str or path, optional
            By default a new folder ``runs/NAME-TIME``.
        name : str
        resume : bool
            Continue the run that is there.
        overwrite : bool
            Remove the files of the run that is there, and no others.

        Returns
        -------
        RunFolder

        Raises
        ------
        DeepNLPError
            If a run is there and neither is set.
        FileNotFoundError
            If there is none to resume.
        NotADirectoryError
            If the path is a file.

        Examples
        --------
        >>> RunFolder.open("runs/none-of-that-name", resume=True)
        Traceback (most recent call last):
            ...
        FileNotFoundError: no run to resume in runs/none-of-that-name: ...
        """
        folder = cls(_new_path(name) if path is None else path)
        folder.check(resume=resume, overwrite=overwrite)
        if overwrite:
            folder.clear()
        folder.path.mkdir(parents=True, exist_ok=True)
        return folder

    def check(self, *, resume: bool = False, overwrite: bool = False) -> None:
        """Raise the errors of :meth:`open`, and change nothing.

        Parameters
        ----------
        resume, overwrite : bool
        """
        if resume and overwrite:
            raise ValueError("resume goes on with a run and overwrite removes it: choose one")
        if self.path.exists() and not self.path.is_dir():
            raise NotADirectoryError(f"{self.path} is a file: name a folder for the run")
        if resume and not self.config.exists():
            raise FileNotFoundError(
                f"no run to resume in {self.path}: expected a folder with a config.toml, which "
                "training writes"
            )
        if self.holds_run() and not (resume or overwrite):
            raise DeepNLPError(
                f"{self.path} already holds a run: go on with it (--resume), replace it "
                "(--overwrite), or choose another folder"
            )

    def holds_run(self) -> bool:
        """Whether any file of a run is there.

        Returns
        -------
        bool
        """
        return any((self.path / name).exists() for name in self.FILES)

    def clear(self) -> None:
        """Remove the files of the run, and no others."""
        for name in self.FILES:
            (self.path / name).unlink(missing_ok=True)
            (self.path / f"{name}.tmp").unlink(missing_ok=True)

    def files(self) -> list[str]:
        """Names of the files of the run that are there.

        Returns
        -------
        list of str
        """
        return [name for name in self.FILES if (self.path / name).exists()]

    def write_config(self, text: str) -> None:
        """Write ``config.toml``.

        Parameters
        ----------
        text : str
        """
        with replacing(self.config) as file:
            file.write(text.encode("utf-8"))

    def append_metrics(self, row: Mapping[str, Any]) -> None:
        """Add a line to ``metrics.jsonl``.

        Parameters
        ----------
        row : dict
        """
        with self.metrics.open("a", encoding="utf-8", newline="\n") as file:
            file.write(to_json(row) + "\n")

    def read_metrics(self) -> list[dict[str, Any]]:
        """The lines of ``metrics.jsonl``, without one that a killed run left unfinished.

        Returns
        -------
        list of dict
        """
        if not self.metrics.exists():
            return []
        rows: list[dict[str, Any]] = []
        lines = self.metrics.read_bytes().split(b"\n")
        for number, line in enumerate(lines, start=1):
            try:
                row = json.loads(line.decode("utf-8"))
            except (ValueError, RecursionError):
                row = None
            if isinstance(row, dict):
                rows.append(row)
            elif number < len(lines):  # the last has no end: it is empty, or was being written
                raise DeepNLPError(
                    f"{self.metrics} is damaged in line {number}: bring back a copy of it"
                )
        return rows

    def write_metrics(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write ``metrics.jsonl`` anew, as when resuming drops what came after the checkpoint.

        Parameters
        ----------
        rows : iterable of dict
        """
        with replacing(self.metrics) as file:
            file.write("".join(to_json(row) + "\n" for row in rows).encode("utf-8"))

    def write_result(self, result: Mapping[str, Any]) -> None:
        """Write ``result.json``.

        Parameters
        ----------
        result : dict
        """
        with replacing(self.result) as file:
            file.write((to_json(result, indent=2) + "\n").encode("utf-8"))

    def read_result(self) -> dict[str, Any] | None:
        """What ``result.json`` says, or None where there is none.

        Returns
        -------
        dict or None
        """
        if not self.result.exists():
            return None
        try:
            return read_json(self.result)
        except ValueError as error:
            raise DeepNLPError(f"{self.result} is damaged ({error}): remove it") from error


def to_json(value: Any, indent: int | None = None) -> str:
    """Strictly valid JSON: a number that is not finite becomes null.

    >>> to_json({"perplexity": float("inf"), "epoch": 1})
    '{"perplexity": null, "epoch": 1}'
    """
    return json.dumps(finite(value), ensure_ascii=False, allow_nan=False, indent=indent)


def finite(value: Any) -> Any:
    """The same value with None for every number that is not finite, at any depth.

    >>> finite([1.5, float("nan")])
    [1.5, None]
    """
    if isinstance(value, Mapping):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _new_path(name: str) -> Path:
    """``runs/NAME-TIME``, with a number at the end where two runs begin within a second."""
    if not name or Path(name).name != name:
        raise ValueError(f"the name of a run should be one without folders, got {name!r}")
    stem = f"{name}-{datetime.now():%Y%m%d-%H%M%S}"
    path, number = Path("runs") / stem, 1
    while path.exists():
        number += 1
        path = Path("runs") / f"{stem}-{number}"
    return path
