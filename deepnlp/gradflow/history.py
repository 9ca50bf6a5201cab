"""Gradient flow over the course of training."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from deepnlp.backend import HostArray
from deepnlp.errors import DeepNLPError
from deepnlp.files.archives import DAMAGE
from deepnlp.files.writing import replacing
from deepnlp.gradflow.microscope import GradientFlow, share


class GradientHistory:
    """Measurements of :func:`gradient_flow` at several updates.

    Parameters
    ----------
    layers : tuple of str
        Paths of the recurrent layers, such as ``layers.2``.

    Examples
    --------
    >>> from deepnlp.gradflow import gradient_flow
    >>> from deepnlp.models import RNNLM
    >>> model = RNNLM(vocab_size=9, embed_size=4, hidden_size=4, layers=2)
    >>> history = GradientHistory()
    >>> for update in (0, 10):
    ...     flow = gradient_flow(model, np.arange(50) % 9, steps=6, spectra=False)
    ...     history.add(update, flow)
    >>> history.updates.tolist(), history.dh.shape        # updates, layers, steps back
    ([0, 10], (2, 2, 7))
    """

    def __init__(self, layers: tuple[str, ...] = ()) -> None:
        self.layers = layers
        self._arrays = {"update": np.zeros(0, dtype=int)}  # their first axis is the measurement

    def __len__(self) -> int:
        return len(self.updates)

    @property
    def updates(self) -> HostArray:
        """After how many updates each measurement was made, (M,)."""
        return self._arrays["update"]

    @property
    def dh(self) -> HostArray:
        """Norms of dL/dh (M, layers, T), the last step of the window first."""
        return self._arrays["dh"]

    @property
    def dh_share(self) -> HostArray:
        """The norms of dL/dh as shares of those at the last step, (M, layers, T)."""
        return share(self.dh)

    def add(self, update: int, flow: GradientFlow) -> None:
        """Keep a measurement.

        Parameters
        ----------
        update : int
            Number of updates before it.
        flow : GradientFlow
        """
        self.layers = tuple(layer.name for layer in flow.layers)
        row: dict[str, Any] = {"update": update, "loss": flow.loss}
        row["dh"] = [layer.dh for layer in flow.layers]
        cells = [layer.dc for layer in flow.layers if layer.dc is not None]
        row |= {"dc": cells} if cells else {}
        for name in flow.layers[0].gates:
            uses = [layer.gates[name] for layer in flow.layers]
            row[f"gate_{name}"] = [[use.mean, use.shut, use.open] for use in uses]
        for name, values in row.items():
            new = np.array([values])
            self._arrays[name] = np.concatenate([self._arrays.get(name, new[:0]), new])

    def drop_after(self, update: int) -> None:
        """Drop the measurements after an update, to continue from an older checkpoint.

        Parameters
        ----------
        update : int
        """
        kept = self.updates <= update
        self._arrays = {name: array[kept] for name, array in self._arrays.items()}

    def to_arrays(self) -> dict[str, HostArray]:
        """Return everything as arrays whose first axis is the measurement.

        Returns
        -------
        dict of str to numpy.ndarray
            ``layers`` (paths), ``update`` (M,), ``loss`` (M,), ``dh`` and ``dc`` (M, layers, T),
            and for each gate, such as ``gate_f`` (M, layers, 3), its mean and its shares below
            0.1 and above 0.9.
        """
        return {"layers": np.array(self.layers, dtype=str), **self._arrays}

    def save(self, path: str | PathLike[str]) -> None:
        """Write :meth:`to_arrays` to an ``.npz`` file.

        Parameters
        ----------
        path : str or path
        """
        with replacing(path) as file:
            np.savez(file, **self.to_arrays())  # type: ignore[arg-type]

    @classmethod
    def load(cls, path: str | PathLike[str]) -> GradientHistory:
        """Read what :meth:`save` wrote.

        Parameters
        ----------
        path : str or path

        Raises
        ------
        DeepNLPError
            If the file is not what :meth:`save` wrote.
        """
        with Path(path).open("rb") as file:
            try:
                with np.load(file) as archive:
                    arrays = dict(archive)
                history = cls(tuple(str(name) for name in arrays.pop("layers")))
                history._arrays = arrays
                history.drop_after(int(max(history.updates, default=0)))  # one length for all
            except DAMAGE as error:
                raise DeepNLPError(f"{path} is damaged ({error}): remove it") from error
        return history
