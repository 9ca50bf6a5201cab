"""Hooks into a training run, and the hook that watches how far back gradients reach."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from deepnlp.gradflow import GradientHistory, gradient_flow
from deepnlp.training.runfolder import RunFolder

WINDOWS = 8  # few, so that a look costs less than a training step


class Hook:
    """Callbacks of a trainer; a subclass overrides those that it needs.

    A hook must not change the weights or the state that a model carries. Only
    :meth:`after_backward` may change gradients, for instance to add those of other processes.
    """

    def after_backward(self, model: Any, step: int) -> None:
        """Run between the backward pass and clipping, after ``step`` updates."""

    def save(self, folder: RunFolder) -> None:
        """Run before a checkpoint is written."""

    def go_on(self, folder: RunFolder, step: int) -> None:
        """Run when a run is resumed, after ``step`` updates."""

    def draw(self, folder: RunFolder) -> None:
        """Run at the end of an epoch."""

    def ends(self, history: Sequence[Mapping[str, Any]]) -> bool:
        """Return whether to end the run: asked after each epoch but the last, and at a resume.

        ``history`` has the row of figures of each finished epoch.
        """
        return False


class GradientWatch(Hook):
    """Follow gradients back through the same few windows of text, every ``every`` updates.

    It looks ``steps`` back in ``ids`` (n,), on the host; less where the text is shorter.

    >>> from deepnlp.models import RNNLM
    >>> model = RNNLM(vocab_size=9, embed_size=4, hidden_size=4, layers=1)
    >>> watch = GradientWatch(every=10, ids=np.arange(60) % 9, steps=5)
    >>> for step in range(25):
    ...     watch.after_backward(model, step)
    >>> watch.history.updates.tolist()
    [0, 10, 20]
    """

    def __init__(self, every: int, ids: np.ndarray[Any, Any], steps: int) -> None:
        if every < 1:
            raise ValueError(f"watch_gradients should be 1 or more updates, got {every}")
        self.every, self.ids = every, ids
        self.steps = max(1, min(steps, len(ids) - 2))
        self.history = GradientHistory()

    def after_backward(self, model: Any, step: int) -> None:
        """Look if an observation is due; the gradients of the update are not changed."""
        if step % self.every == 0:
            flow = gradient_flow(model, self.ids, self.steps, WINDOWS, spectra=False)
            self.history.add(step, flow)

    def save(self, folder: RunFolder) -> None:
        """Write ``gradients.npz``."""
        self.history.save(folder.gradients)

    def go_on(self, folder: RunFolder, step: int) -> None:
        """Read ``gradients.npz``, up to the update that the run continues from."""
        if folder.gradients.exists():
            self.history = GradientHistory.load(folder.gradients)
            self.history.drop_after(step - 1)

    def draw(self, folder: RunFolder) -> None:
        """Draw the heat map ``gradient_flow.png``."""
        from deepnlp.plots import gradient_heat_map  # matplotlib takes a second to import

        if len(self.history):
            gradient_heat_map(self.history, folder.gradient_figure)
