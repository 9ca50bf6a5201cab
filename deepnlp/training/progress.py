"""What is shown while a model trains: a moving bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from importlib.util import find_spec
from types import TracebackType
from typing import Any

import tqdm

BAR = "{desc} {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} [{elapsed}<{remaining}{postfix}]"


class Progress:
    """A bar over all steps of a run, on standard error; without a terminal only the lines.

    ``done`` steps were made before, in a run that is resumed.

    >>> with Progress(total=2, enabled=False) as progress:
    ...     progress.step("epoch 1/1", "perplexity 90.1")
    ...     progress.line("done")
    """

    def __init__(self, total: int, done: int = 0, enabled: bool = True) -> None:
        self.enabled = enabled
        self._bar: Any = _kind_of_bar()(
            total=total,
            initial=done,
            disable=not (enabled and (_has_widgets() or sys.stderr.isatty())),
            bar_format=BAR,
            dynamic_ncols=True,
            leave=False,
        )

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.close()

    def expect(self, total: int) -> None:
        """How many steps there are now thought to be: epochs need not have as many each."""
        self._bar.total = total

    def step(self, title: str, figures: str) -> None:
        """One step further, in the epoch of the title; figures such as speed and perplexity."""
        if self._bar.disable:
            return
        self._bar.set_description_str(title, refresh=False)
        self._bar.set_postfix_str(figures, refresh=False)
        self._bar.update()

    def line(self, text: str) -> None:
        """A line of its own, above the bar."""
        if self.enabled:
            tqdm.tqdm.write(text, file=sys.stderr)


class Clock:
    """Time until it is stopped: on the wall, and of the processor in all threads of the process."""

    def __init__(self) -> None:
        self._begin = time.perf_counter(), time.process_time()
        self._end: tuple[float, float] | None = None

    def stop(self) -> None:
        """What it shows stays from now on."""
        self._end = time.perf_counter(), time.process_time()

    @property
    def seconds(self) -> float:
        """On the wall."""
        return (self._end[0] if self._end else time.perf_counter()) - self._begin[0]

    @property
    def cpu_seconds(self) -> float:
        """Of the processor."""
        return (self._end[1] if self._end else time.process_time()) - self._begin[1]


class Speed:
    """Targets per second of training; validation and figures do not count."""

    def __init__(self) -> None:
        self._all_tokens, self._all_seconds = 0, 0.0
        self.begin()

    def begin(self) -> None:
        """An epoch begins."""
        self._tokens, self.clock = 0, Clock()

    def add(self, tokens: int) -> None:
        """Count the targets of a batch."""
        self._tokens += tokens

    def end(self) -> None:
        """The epoch's last batch is done."""
        self.clock.stop()
        self._all_tokens += self._tokens
        self._all_seconds += self.clock.seconds

    @property
    def tokens_per_second(self) -> float:
        """In this epoch."""
        return self._tokens / max(self.clock.seconds, 1e-9)

    @property
    def overall(self) -> float | None:
        """In all epochs; None if nothing was trained."""
        return self._all_tokens / self._all_seconds if self._all_tokens else None


def _kind_of_bar() -> Any:
    """The bar of a notebook, whose import takes as long as all else, or that of a terminal."""
    if not _has_widgets():
        return tqdm.tqdm
    import tqdm.notebook as notebook

    return notebook.tqdm


def _has_widgets() -> bool:
    """Whether this is a notebook that can draw a bar."""
    ipython = sys.modules.get("IPython")
    live = ipython is not None and ipython.get_ipython() is not None
    return live and "ipykernel" in sys.modules and find_spec("ipywidgets") is not None
