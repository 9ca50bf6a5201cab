"""A finished suite: its records and what they depend on, as one JSON file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.machine import machine, versions
from benchmarks.records import Record
from benchmarks.settings import Settings
from deepnlp.errors import DeepNLPError
from deepnlp.files.writing import replacing


@dataclass(frozen=True)
class Result:
    """The measurements of a suite.

    Parameters
    ----------
    suite : str
    facts : dict
        The command, the date, the machine, versions, commit and options.
    records : list of Record
    """

    suite: str
    facts: dict[str, Any]
    records: list[Record]

    @property
    def options(self) -> dict[str, Any]:
        """The options it ran with."""
        options: dict[str, Any] = self.facts["options"]
        return options

    @property
    def file(self) -> str:
        """Name of its file: results of a GPU, and with TF32, stand beside those of a CPU."""
        return file_name(self.suite, self.options["backend"], self.options["tf32"])

    def to_dict(self) -> dict[str, Any]:
        """All of it, ready for JSON."""
        measurements = [record.to_dict() for record in self.records]
        return {"suite": self.suite, **self.facts, "measurements": measurements}

    def write(self, folder: str | Path) -> Path:
        """Write it into a folder, over an older result of the same suite."""
        path = Path(folder) / self.file
        with replacing(path) as file:
            file.write((json.dumps(self.to_dict(), indent=1) + "\n").encode("utf-8"))
        return path


def file_name(suite: str, backend: str = "numpy", tf32: bool = False) -> str:
    """Name of the file of a suite's result.

    Examples
    --------
    >>> file_name("lm"), file_name("lm", "cupy", tf32=True)
    ('lm.json', 'lm-cupy-tf32.json')
    """
    device = "" if backend == "numpy" else f"-{backend}"
    return f"{suite}{device}{'-tf32' if tf32 else ''}.json"


def facts(suite: str, settings: Settings, source: dict[str, Any]) -> dict[str, Any]:
    """Return what the numbers of a suite depend on.

    Parameters
    ----------
    suite : str
    settings : Settings
    source : dict
        What :func:`benchmarks.machine.commit` said before the first suite.
    """
    return {
        "command": command(suite, settings),
        "date": datetime.now(UTC).date().isoformat(),
        **source,
        "machine": machine(),
        "versions": versions(settings.torch),
        "options": settings.to_dict(),
    }


def command(suite: str, settings: Settings) -> str:
    """The command that repeats a measurement.

    Examples
    --------
    >>> command("lm", Settings(backend="cupy", threads=2))
    'deepnlp bench lm --backend cupy --threads 2 --rounds 5'
    """
    parts = ["deepnlp", "bench", suite]
    if settings.backend != "numpy":
        parts += ["--backend", settings.backend]
    parts += ["--threads", str(settings.threads), "--rounds", str(settings.rounds)]
    if settings.quick:
        parts.append("--quick")
    if settings.sizes != Settings().sizes:
        parts += ["--sizes", ",".join(map(str, settings.sizes))]
    if settings.tf32:
        parts.append("--tf32")
    if settings.epochs:
        parts += ["--epochs", str(settings.epochs)]
    if not settings.torch:
        parts.append("--no-torch")
    return " ".join(parts)


def read(path: str | Path) -> Result:
    """Read a result.

    Raises
    ------
    DeepNLPError
        If the file is not one that a suite wrote.
    """
    try:
        fields = json.loads(Path(path).read_text(encoding="utf-8"))
        suite = fields.pop("suite")
        records = [Record.from_dict(one) for one in fields.pop("measurements")]
        return Result(suite, fields, records)
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise DeepNLPError(
            f"{path} is no result of a benchmark: write it anew with `deepnlp bench`"
        ) from error


def read_all(folder: str | Path) -> dict[str, Result]:
    """Read the results of a folder.

    Returns
    -------
    dict of str to Result
        By the name of the file without its ending: "lm", "lm-cupy".

    Raises
    ------
    FileNotFoundError
        If there is none.
    """
    found = {path.stem: read(path) for path in sorted(Path(folder).glob("*.json"))}
    if not found:
        raise FileNotFoundError(f"no results in {folder}: run `deepnlp bench` first")
    return found
