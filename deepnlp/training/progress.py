"""The display of a training: a moving bar on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from typing import Any

import tqdm

BAR = "{desc} {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}{postfix}]"
EVERY = 60.0  # seconds between two lines where there is no terminal
LOOK: dict[str, Any] = {"bar_format": BAR, "dynamic_ncols": True, "leave": False}


def _has_widgets() -> bool:
    """Return whether this is a notebook that can draw a bar."""
    ipython = sys.modules.get("IPython")
    live = ipython is not None and ipython.get_ipython() is not None
    return live and "ipykernel" in sys.modules and find_spec("ipywidgets") is not None


if _has_widgets():
    import tqdm.notebook  # slow to import
BAR_KIND: Any = tqdm.notebook.tqdm if _has_widgets() else tqdm.tqdm


class Progress(BAR_KIND):
    """A bar over all steps of a run, on standard error; without a terminal a line each minute.

    ``done`` steps were made before, in a run that is resumed.

    >>> with Progress(total=2, enabled=False) as progress:
    ...     progress.step("epoch 1/1", "perplexity 90.1")
    ...     progress.line("done")
    """

    if sys.platform == "emscripten":
        monitor_interval = 0  # in a browser no thread can watch over the bar

    def __init__(self, total: int, done: int = 0, enabled: bool = True) -> None:
        self.enabled = enabled
        shown = enabled and (_has_widgets() or sys.stderr.isatty())
        super().__init__(total=total, initial=done, disable=not shown, **LOOK)
        self._done = self._first = done
        self._begun = self._shown = time.monotonic()

    def step(self, title: str, figures: str) -> None:
        """Count a step of the epoch in the title, and show figures such as speed and perplexity."""
        self._done += 1
        if not self.disable:
            self.set_description_str(title, refresh=False)
            self.set_postfix_str(figures, refresh=False)
            self.update()
        elif (now := time.monotonic()) - self._shown >= EVERY:
            self._shown = now
            each = (now - self._begun) / (self._done - self._first)
            left = self.format_interval(each * (self.total - self._done))
            self.line(f"{title}  step {self._done:,} of {self.total:,}, {left} left, {figures}")

    def line(self, text: str) -> None:
        """Print a line above the bar."""
        if self.enabled:
            tqdm.tqdm.write(text, file=sys.stderr)


class Clock:
    """Time until it is stopped, on the wall and of the processor in all threads; and speed."""

    def __init__(self) -> None:
        self._begin = _now()
        self._end: dict[str, float] = {}
        self.tokens = 0  # targets trained in this time

    def stop(self) -> None:
        """Stop: the times stay as they are."""
        self._end = _now()

    def add(self, times: Iterable[Mapping[str, Any]]) -> None:
        """Count times that have passed before."""
        for row in times:
            for name in self._begin:
                self._begin[name] -= row.get(name, 0.0)

    def times(self) -> dict[str, Any]:
        """``seconds`` on the wall and ``cpu_seconds`` of the processor."""
        end = self._end or _now()
        return {name: end[name] - begin for name, begin in self._begin.items()}

    @property
    def tokens_per_second(self) -> float:
        """Targets per second of training."""
        return self.tokens / max(self.times()["seconds"], 1e-9)


def _now() -> dict[str, float]:
    return {"seconds": time.perf_counter(), "cpu_seconds": time.process_time()}
