"""deepnlp: where the time of a training step goes, by timing every layer's methods."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable
from statistics import median
from typing import Any

from benchmarks.contestant import Answer
from benchmarks.contestants.language_model import Training
from benchmarks.settings import Spec
from benchmarks.timing import Work, wait_for_device
from deepnlp.layer import Layer

PARTS = {
    "Embedding": "embedding",
    "TimeDropout": "dropout",
    "TimeLSTM": "LSTM",
    "TimeAffine": "output and loss",
    "SoftmaxWithLoss": "output and loss",
    "AffineSoftmaxWithLoss": "output and loss",
}
"""Parts of the model by the class of their layers."""

Key = tuple[str, str]  # part, and the name of its time such as "forward_ms"


class Watch:
    """Gathers the time of wrapped functions, step by step.

    Examples
    --------
    >>> watch = Watch()
    >>> watch.around(len, ("part", "ms"))("three")
    5
    >>> list(watch.now)
    [('part', 'ms')]
    """

    def __init__(self) -> None:
        self.now: dict[Key, float] = defaultdict(float)

    def around(self, function: Callable[..., Any], key: Key) -> Callable[..., Any]:
        """The same function, timed."""

        def timed(*arguments: Any, **options: Any) -> Any:
            begin = time.perf_counter()
            result = function(*arguments, **options)
            wait_for_device()
            self.now[key] += time.perf_counter() - begin
            return result

        return timed


def inner_layers(layer: Layer) -> list[Layer]:
    """The layers right inside a layer, in order."""
    found: list[Layer] = []
    for value in vars(layer).values():
        members = value if isinstance(value, list) else [value]
        found += [one for one in members if isinstance(one, Layer)]
    return found


def watched(watch: Watch, training: Training) -> Work:
    """The training step, with each part timed."""
    for layer in inner_layers(training.model):
        kind = type(layer).__name__
        part = PARTS.get(kind, kind)
        for method in ("forward", "backward"):
            timed = watch.around(getattr(layer, method), (part, f"{method}_ms"))
            setattr(layer, method, timed)
    training.clip = watch.around(training.clip, ("clip", "ms"))
    training.update = watch.around(training.update, ("update", "ms"))
    return watch.around(training.step, ("step", "ms"))


def run(spec: Spec) -> Answer:
    """Time of each part of a step, and of what is between them.

    Parameters
    ----------
    spec : Spec
        Sizes V, N, T, H.
    """
    watch = Watch()
    step = watched(watch, Training(spec.model))
    for _ in range(spec.warmup):
        step()
    steps = []
    for _ in range(spec.steps):
        watch.now.clear()
        step()
        whole = watch.now["step", "ms"]
        watch.now["rest", "ms"] = 2 * whole - sum(watch.now.values())  # the whole is in the sum
        steps.append(dict(watch.now))
    answer: Answer = {}
    for part, name in steps[0]:
        answer.setdefault(part, {})[name] = 1000 * median(times[part, name] for times in steps)
    return answer
