"""Time of a piece of work: after a warm-up, the median over many repetitions."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping

from benchmarks.settings import Spec
from deepnlp import backend
from deepnlp.backend import asarray

Work = Callable[[], object]

MOST_REPETITIONS = 2000


def wait_for_device() -> None:
    """Wait until the device has finished its work; on a CPU there is nothing to wait for."""
    if backend.name() != "numpy":
        float(asarray(0.0))  # reading a number waits for everything that was launched before


def median_ms(work: Work, spec: Spec, wait: Work = wait_for_device) -> float:
    """Milliseconds of one repetition, the median.

    Parameters
    ----------
    work : callable
    spec : Spec
        How often, and for how long at least.
    wait : callable
        Returns when the device is done.

    Examples
    --------
    >>> median_ms(lambda: sum(range(100)), Spec("", steps=3, seconds=0)) > 0
    True
    """
    return interleaved_ms({"": work}, spec, wait)[""]


def interleaved_ms(
    works: Mapping[str, Work], spec: Spec, wait: Work = wait_for_device
) -> dict[str, float]:
    """Milliseconds of several works, run in turn so that a busy moment slows all of them alike.

    Returns
    -------
    dict of str to float
        The median of each.

    Examples
    --------
    >>> spec = Spec("", steps=3, seconds=0)
    >>> sorted(interleaved_ms({"one": lambda: None, "two": lambda: None}, spec))
    ['one', 'two']
    """
    for _ in range(spec.warmup):
        for work in works.values():
            work()
    wait()
    times: dict[str, list[float]] = {name: [] for name in works}
    started = time.perf_counter()
    for turn in range(MOST_REPETITIONS):
        if turn >= spec.steps and time.perf_counter() - started >= spec.seconds:
            break
        for name, work in works.items():
            begin = time.perf_counter()
            work()
            wait()
            times[name].append(time.perf_counter() - begin)
    return {name: 1000 * statistics.median(values) for name, values in times.items()}
