"""A suite from its settings to its result."""

from __future__ import annotations

import sys
from typing import Any

from tqdm import tqdm

from benchmarks.harness import race
from benchmarks.results import Result, facts
from benchmarks.settings import Settings
from benchmarks.suites import SUITES


def run_suite(name: str, settings: Settings, source: dict[str, Any]) -> Result:
    """Measure a suite, with a bar on standard error where that is a terminal.

    Parameters
    ----------
    name : str
        Of :data:`benchmarks.suites.SUITES`.
    settings : Settings
    source : dict
        What :func:`benchmarks.machine.commit` says.
    """
    entries = [
        entry
        for entry in SUITES[name].entries(settings)
        if settings.torch or not entry.work.startswith(("torch_", "gensim_"))
    ]
    total = len(entries) * settings.rounds
    with tqdm(total=total, desc=name, file=sys.stderr, disable=None, leave=False) as bar:

        def tell(line: str) -> None:
            bar.set_postfix_str(line, refresh=False)
            bar.update()

        records = race(entries, settings, tell)
    return Result(name, facts(name, settings, source), records)
