"""The final figures of a run."""

from __future__ import annotations

import dataclasses
import platform
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deepnlp import __version__, backend
from deepnlp.files.writing import finite
from deepnlp.tasks import Task
from deepnlp.training.runfolder import RunFolder

FINISHED, PRUNED, DIVERGED, OUT_OF_MEMORY = "finished", "pruned", "diverged", "out of memory"
LEAST_PERPLEXITY = 0.999  # 1, but for rounding
STATUSES = (FINISHED, PRUNED, DIVERGED, OUT_OF_MEMORY, "interrupted")


@dataclass
class Result:
    """The result of a training run: the contents of ``result.json``.

    Parameters
    ----------
    status : str
        ``"finished"``, ``"interrupted"``, ``"pruned"`` where a hook ended the run, or
        ``"diverged"``: then there are no final figures.
    epochs, steps : int
        Epochs finished, and updates made.
    best_epoch : int or None
        The epoch whose weights are evaluated: the best on the validation split. None before the
        first validation: then the latest weights are evaluated.
    figures : dict
        What the task measured, by name and then by split; the first is the one that decided. Each
        is an attribute too, and a key of ``result.json``. For language modelling: ``perplexity``
        (``train``, of the last epoch during training, ``valid`` and ``test``),
        ``perplexity_batched`` (with the text cut into ``eval_batch_size`` streams, as some older
        results were measured) and ``eval_batch_size``. A figure that is not finite is None.
    baselines : dict
        ``{"trigram": {"valid": ..., "test": ...}, ...}``: other models on the same data.
    tokens_per_second : float or None
        Training targets per second, validation apart.
    seconds : float
        Wall-clock time of the run with all its evaluations, including the finished epochs of
        earlier sessions of a resumed run.
    cpu_seconds : float or None
        Processor time of the run, of all its threads together. Other work on the machine makes
        ``seconds`` longer, and this hardly.
    peak_memory_mb : float or None
        Largest memory of the process on the host; None where the system does not tell.
    parameters : int
        Number of weights, tied ones counted once.
    corpus, versions : dict
        What it was measured on, and with.
    folder : str or None
    files : list of str
        The files of the run in that folder.
    digest : str or None
        Of the options, the metrics and this result (:meth:`RunFolder.digest`).

    Examples
    --------
    >>> result = Result("finished", 1, 10, 1, {"perplexity": {"valid": 90.0, "test": 88.0}})
    >>> result.perplexity["test"]
    88.0
    >>> print(result.table())
                        valid      test
    model               90.00     88.00
    <BLANKLINE>
    finished after 1 epoch, 10 steps; best validation after epoch 1
    """

    status: str
    epochs: int
    steps: int
    best_epoch: int | None
    figures: dict[str, Any]
    baselines: dict[str, dict[str, float | None]] = dataclasses.field(default_factory=dict)
    tokens_per_second: float | None = None
    seconds: float | None = None
    cpu_seconds: float | None = None
    peak_memory_mb: float | None = None
    parameters: int | None = None
    corpus: dict[str, Any] = dataclasses.field(default_factory=dict)
    versions: dict[str, str] = dataclasses.field(default_factory=dict)
    folder: str | None = None
    files: list[str] = dataclasses.field(default_factory=list)
    digest: str | None = None

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["figures"][name]
        except KeyError:
            raise AttributeError(f"this result has no {name}") from None

    def keep(self, task: Task, folder: RunFolder | None) -> Result:
        """Add what the result depends on besides the options, and write ``result.json``.

        It returns the result as it will be read again. Without a folder it writes nothing.
        """
        self.peak_memory_mb, self.corpus, self.versions = peak_memory_mb(), task.facts(), versions()
        if folder is not None:
            there = {*folder.files(), folder.result.name}
            self.folder, self.files = str(folder.path), [n for n in folder.FILES if n in there]
            self.digest = folder.digest(self.to_dict())
            folder.write_result(self.to_dict())
        return Result.from_dict(finite(self.to_dict()))

    def to_dict(self) -> dict[str, Any]:
        """Return everything by name, ready for JSON, each figure beside the other entries."""
        table: dict[str, Any] = {}
        for name, value in dataclasses.asdict(self).items():
            table |= value if name == "figures" else {name: value}
        return table

    @classmethod
    def of(cls, folder: RunFolder) -> Result | None:
        """Return the result in a run folder, or None where there is none.

        Raises
        ------
        ValueError
            If ``result.json`` is not what :meth:`to_dict` gave: the text names what is wrong.
        """
        try:
            table = folder.read_result()
            return None if table is None else cls.from_dict(table)
        except ValueError as error:
            raise ValueError(f"{folder.result} is damaged ({error}): remove it") from error

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Result:
        """Return a result from what :meth:`to_dict` gave."""
        types = {field.name: str(field.type) for field in dataclasses.fields(cls)}
        if missing := {"status", "epochs"} - table.keys():
            raise ValueError(f"it has no {min(missing)!r}")
        for name in types.keys() & table.keys():  # "float | None" may be an int too
            expected = re.sub(r"\[.*", "", types[name])
            expected = expected.replace("float", "int | float").replace("None", "NoneType")
            if type(table[name]).__name__ not in re.findall(r"\w+", expected):
                raise ValueError(f"its {name!r} is {table[name]!r}")
        known = {name: value for name, value in table.items() if name in types}
        figures = {name: value for name, value in table.items() if name not in types}
        if table["status"] not in STATUSES:
            raise ValueError(f"its 'status' is {table['status']!r}")
        baselines = known.get("baselines", {})
        metric = next(iter(figures), "")  # that of the baselines too
        for name, value in [*baselines.items(), *figures.items()]:
            is_table = isinstance(value, dict)
            splits = [value.get(split) for split in ("valid", "test")] if is_table else []
            of = metric if name in baselines else name
            if (name in baselines and not is_table) or not all(is_figure(of, x) for x in splits):
                raise ValueError(f"its {name!r} is {value!r}")
        return cls(figures=figures, **{"steps": 0, "best_epoch": None, **known})

    @property
    def figure(self) -> Path | None:
        """The learning curve, where one was drawn."""
        name = "learning_curve.png"
        return Path(self.folder or "", name) if name in self.files else None

    def table(self) -> str:
        """Tabulate figures beside the baselines', then time, speed and memory of the run."""
        rows = [*self.baselines.items()]
        splits = {n: f for n, f in self.figures.items() if isinstance(f, dict) and "valid" in f}
        main, streams = next(iter(splits), ""), self.figures.get("eval_batch_size", 1)
        for name, figures in splits.items():
            if name != f"{main}_batched":
                short = f"  {name.replace('bits_per_', 'bits/')}"
                rows.append(("model" if name == main else short, figures))
            elif streams != 1:
                rows.append((f"  in {streams} streams", figures))
        texts = [
            [name, *(figure_text(figures.get(split)) for split in ("valid", "test"))]
            for name, figures in rows
        ]
        least = zip((14, 11, 10), *(map(len, row) for row in texts), strict=True)
        name_width, *widths = [max([first, *(2 + n for n in others)]) for first, *others in least]
        lines = [
            f"{name:{name_width}}{valid:>{widths[0]}}{test:>{widths[1]}}"
            for name, valid, test in (["", "valid", "test"], *texts)
        ]
        plural = "" if self.epochs == 1 else "s"
        best = "no validation yet, the figures are of the latest weights"
        if self.best_epoch:
            best = f"best validation after epoch {self.best_epoch}"
        length = f"{self.epochs} epoch{plural}, {self.steps:,} steps"
        lines += ["", f"{self.status} after {length}; {best}"]
        costs = {
            "{:,} parameters": self.parameters,
            "{:,.0f} tokens/s": self.tokens_per_second,
            "{:,.0f} s": self.seconds,
            "peak memory {:,.0f} MB": self.peak_memory_mb,
        }
        known = [text.format(cost) for text, cost in costs.items() if cost is not None]
        return "\n".join([*lines, ", ".join(known)]).rstrip()


def is_figure(name: str, value: Any) -> bool:
    """Return whether a value is a finite number or None; a perplexity should be 1 or more.

    >>> is_figure("bleu", 0), is_figure("valid_perplexity", -3), is_figure("f1", float("nan"))
    (True, False, False)
    """
    is_number = type(value) in (int, float) and abs(value) <= sys.float_info.max
    least = LEAST_PERPLEXITY if "perplexity" in name else -sys.float_info.max
    return value is None or (is_number and value >= least)


def peak_memory_mb() -> float | None:
    """Return the largest memory of this process, in 2**20 bytes; None if unknown."""
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10  # bytes there, KB elsewhere


def versions() -> dict[str, str]:
    """Return versions, backend and processor, on which a figure depends besides the options."""
    return {
        "deepnlp": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "backend": backend.name(),
        "processor": _processor(),
    }


def _processor() -> str:
    """Return the name of the host's processor, as far as the system tells."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, "") or platform.processor() or platform.machine()


def figure_text(value: float | None) -> str:
    """Make a figure as text: two decimals, three below 1."""
    return "-" if value is None else f"{value:,.{2 if abs(value) >= 1 else 3}f}"
