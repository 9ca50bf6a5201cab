"""One contestant in its own process: ``python -m benchmarks.contestant``.

What to do comes as JSON on standard input, the answer goes as JSON to standard output: numbers by
name, such as ``{"step": {"train_ms": 52.1, "memory_mb": 61.0}}``, the outer names being rows of a
table.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module

from benchmarks.settings import Spec
from deepnlp import backend

Answer = dict[str, dict[str, float]]


def perform(spec: Spec) -> Answer:
    """Run the work of a contestant in this process.

    Returns
    -------
    dict of str to dict of str to float
        Numbers by row and name.

    Examples
    --------
    >>> sizes = {"V": 9, "N": 2, "T": 3, "H": 4}
    >>> answer = perform(Spec("language_model", sizes, warmup=1, steps=1, seconds=0))
    >>> sorted(answer["step"])
    ['eval_ms', 'memory_mb', 'train_ms']
    """
    if not spec.work.startswith("torch_"):
        backend.use(spec.backend)
    module = import_module(f"benchmarks.contestants.{spec.work}")
    answer: Answer = module.run(spec)
    return answer


def main() -> None:
    """Read a :class:`Spec`, do its work, print the answer."""
    json.dump(perform(Spec(**json.load(sys.stdin))), sys.stdout)


if __name__ == "__main__":
    main()
