"""Watching gradients while a model trains: how far back they reach, every so many updates."""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from deepnlp.gradflow import GradientHistory, gradient_flow
from deepnlp.plots import gradient_heat_map

WINDOWS = 8  # few, so that a look costs less than a training step


class GradientWatch:
    """Looks at the gradients of a model on the same few windows of text, every so many updates.

    Parameters
    ----------
    every : int
        Updates between two looks, 1 or more.
    ids : numpy.ndarray of int, shape (n,)
        The text to look at, on the host.
    steps : int
        How far back to look; less where the text is shorter.

    Raises
    ------
    ValueError
        If ``every`` is below 1.

    Examples
    --------
    >>> from deepnlp.models import RNNLM
    >>> model = RNNLM(vocab_size=9, embed_size=4, hidden_size=4, layers=1)
    >>> watch = GradientWatch(every=10, ids=np.arange(60) % 9, steps=5)
    >>> for update in range(25):
    ...     watch.look(model, update)
    >>> watch.history.updates.tolist()
    [0, 10, 20]
    """

    def __init__(self, every: int, ids: np.ndarray[Any, Any], steps: int) -> None:
        if every < 1:
            raise ValueError(f"watch_gradients should be 1 or more updates, got {every}")
        self.every, self.ids = every, ids
        self.steps = max(1, min(steps, len(ids) - 2))
        self.history = GradientHistory()

    def look(self, model: Any, update: int) -> None:
        """Measure, if it is time to.

        Parameters
        ----------
        model : RNNLM
            Left as it was, but for the gradients of its parameters, which are zero afterwards.
        update : int
            Number of updates so far.
        """
        if update % self.every == 0:
            flow = gradient_flow(model, self.ids, self.steps, WINDOWS, spectra=False)
            self.history.add(update, flow)

    def go_on(self, path: str | PathLike[str], update: int) -> None:
        """Take up the measurements of a run that is resumed, up to the update it goes on from.

        Parameters
        ----------
        path : str or path
            Where :meth:`save` wrote them; nothing happens if there is no such file.
        update : int
        """
        if Path(path).exists():
            self.history = GradientHistory.load(path)
            self.history.drop_after(update)

    def save(self, path: str | PathLike[str]) -> None:
        """Write what was measured.

        Parameters
        ----------
        path : str or path
            An ``.npz`` file.
        """
        self.history.save(path)

    def draw(self, path: str | PathLike[str]) -> None:
        """Draw what was measured as a heat map, if anything was.

        Parameters
        ----------
        path : str or path
        """
        if len(self.history):
            gradient_heat_map(self.history, path)
