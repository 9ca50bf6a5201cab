"""The final figures of a run."""

from __future__ import annotations

import dataclasses
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from deepnlp import __version__, backend


@dataclass
class Result:
    """What a training run reached; the fields are those of ``result.json``.

    Parameters
    ----------
    status : str
        ``"finished"``, or ``"interrupted"``.
    epochs, steps : int
        Epochs finished, and updates made.
    best_epoch : int or None
        The epoch whose weights are evaluated: the best on the validation split. None before the
        first validation; then the latest weights are.
    perplexity : dict of str to float or None
        ``train`` (of the last epoch, while it was learning), ``valid`` and ``test`` of the best
        weights; a perplexity that is not finite is None.
    perplexity_batched : dict of str to float or None
        ``valid`` and ``test`` with the text cut into ``eval_batch_size`` streams, as some older
        results were measured.
    eval_batch_size : int
    baselines : dict
        ``{"trigram": {"valid": ..., "test": ...}, ...}`` of n-gram models on the same text.
    tokens_per_second : float or None
        Training speed, validation apart.
    seconds : float
        Wall-clock time of the run, with all its evaluations; what earlier sessions of a resumed
        run took in finished epochs is counted in.
    peak_memory_mb : float or None
        Most memory the process held on the host; None where the system does not say.
    parameters : int
        Numbers that are learned, tied ones counted once.
    corpus, versions : dict
        What it was measured on, and with.
    folder : str or None
    files : list of str
        The files of the run in that folder.

    Examples
    --------
    >>> result = Result("finished", 1, 10, 1, {"valid": 90.0, "test": 88.0})
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
    perplexity: dict[str, float | None]
    perplexity_batched: dict[str, float | None] = dataclasses.field(default_factory=dict)
    eval_batch_size: int = 1
    baselines: dict[str, dict[str, float | None]] = dataclasses.field(default_factory=dict)
    tokens_per_second: float | None = None
    seconds: float | None = None
    peak_memory_mb: float | None = None
    parameters: int | None = None
    corpus: dict[str, Any] = dataclasses.field(default_factory=dict)
    versions: dict[str, str] = dataclasses.field(default_factory=dict)
    folder: str | None = None
    files: list[str] = dataclasses.field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        """All fields by name, ready for JSON.

        Returns
        -------
        dict
        """
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Result:
        """A result from what :meth:`to_dict` gave.

        Parameters
        ----------
        fields : dict

        Returns
        -------
        Result
        """
        return cls(**fields)

    @property
    def figure(self) -> Path | None:
        """The learning curve, where one was drawn."""
        if self.folder is None or "learning_curve.png" not in self.files:
            return None
        return Path(self.folder) / "learning_curve.png"

    def table(self) -> str:
        """Perplexities beside those of the baselines, then what the run took.

        Returns
        -------
        str
        """
        rows = [(name, figures) for name, figures in self.baselines.items()]
        rows.append(("model", self.perplexity))
        if self.perplexity_batched and self.eval_batch_size != 1:
            rows.append((f"  in {self.eval_batch_size} streams", self.perplexity_batched))
        lines = [f"{'':14}{'valid':>11}{'test':>10}"]
        for name, figures in rows:
            valid, test = (_number(figures.get(split)) for split in ("valid", "test"))
            lines.append(f"{name:14}{valid:>11}{test:>10}")
        return "\n".join([*lines, "", self._what_happened(), *self._costs()])

    def _what_happened(self) -> str:
        plural = "" if self.epochs == 1 else "s"
        best = (
            f"best validation after epoch {self.best_epoch}"
            if self.best_epoch
            else "no validation yet, the figures are of the latest weights"
        )
        return f"{self.status} after {self.epochs} epoch{plural}, {self.steps:,} steps; {best}"

    def _costs(self) -> list[str]:
        costs = [
            text.format(value)
            for text, value in [
                ("{:,} parameters", self.parameters),
                ("{:,.0f} tokens/s", self.tokens_per_second),
                ("{:,.0f} s", self.seconds),
                ("peak memory {:,.0f} MB", self.peak_memory_mb),
            ]
            if value is not None
        ]
        return [", ".join(costs)] if costs else []


def peak_memory_mb() -> float | None:
    """Most memory that this process has held so far, in MB (2**20 bytes).

    Returns
    -------
    float or None
        None on a system that does not say, such as Windows.

    Examples
    --------
    >>> peak_memory_mb() is None or peak_memory_mb() > 1
    True
    """
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 2**10  # bytes there, KB elsewhere


def versions() -> dict[str, str]:
    """What a figure depends on beside the options: versions and backend.

    Returns
    -------
    dict of str to str
    """
    return {
        "deepnlp": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "backend": backend.name(),
    }


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.2f}"
